//! The operator on a real Kubernetes API.

mod applying;
