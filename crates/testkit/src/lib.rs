//! A real Kubernetes control plane for tests.
