//! Turns a Helm chart into a Kubernetes operator.
