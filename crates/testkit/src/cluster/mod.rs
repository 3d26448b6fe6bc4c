//! A real Kubernetes API for tests: etcd, kube-apiserver and kube-controller-manager on loopback ports.
//!
//! There is no scheduler and no node, so no pod runs. Everything else is Kubernetes: admission, validation,
//! defaulting, RBAC, server-side apply, watches, garbage collection, the emptying of namespaces.
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use steersman_testkit::cluster::TestCluster;
//!
//! let Some(cluster) = TestCluster::shared_or_skip("a_config_map_is_kept") else { return Ok(()) };
//! let namespace = cluster.unique_namespace("config").await?;
//! let operator = cluster.operator("operator").await?;
//! let mark = cluster.audit_mark().await?;
//! // ... run the operator with operator.kubeconfig() or operator.client().await? ...
//! let audit = cluster.audit_since(mark).await?;
//! assert!(audit.by_user("operator").writes().is_empty(), "{audit}");
//! # Ok(())
//! # }
//! ```

mod apply;
mod assets;
mod audit;
mod certificates;
mod command;
mod component;
mod control_plane;
mod error;
mod faults;
mod kubeconfig;
mod memory_group;
mod operator;
mod readiness;
mod supervisor;
mod test_cluster;

pub use assets::Assets;
pub use audit::{AuditLog, AuditMark, Request};
pub use component::Component;
pub use control_plane::ControlPlane;
pub use error::ControlPlaneError;
pub use faults::{Call, Fault, FaultId, FaultProxy, wanted_faults};
pub use kubeconfig::User;
pub use memory_group::MemoryGroup;
pub use operator::{OperatorCommand, OperatorProcess, ansible_operator_or_say, helm_operator_or_say};
pub use test_cluster::{TestCluster, number_of_releases, number_of_sessions, seconds_of_waiting};
