//! Turns a Helm chart into a Kubernetes operator.

pub mod apply;
pub mod dependents;
pub mod discovery;
pub mod release;
pub mod status;
