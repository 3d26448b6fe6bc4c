//! The operator on a real Kubernetes API.

mod applying;
mod bench;
mod drift;
mod failure;
mod lifecycle;
