//! Bringing an operator into a cluster, and taking it out again.
//!
//! ```text
//! objects of a project --Plan::new--> Plan       plan.rs      what comes first, which kinds it defines
//! Plan --Deployer::deploy--> cluster             deployer.rs  namespaces, definitions, the rest; all or a reason
//!      --Deployer::wait-->                       rollout.rs   until the Deployments are available
//! Plan --Deployer::undeploy--> cluster           undeploy.rs  resources, definitions, the rest, namespaces
//!                                                dependents.rs  what the garbage collector has to see first
//!                                                leftover.rs  what keeps a namespace
//!                                                left_behind.rs  what the operator has made for itself
//! ```
//!
//! Objects are applied by the server under the field manager of the operator. Nothing is deleted while resources are
//! left whose finalizers only the operator takes off.

mod dependents;
mod deployer;
mod left_behind;
mod leftover;
mod plan;
mod rollout;
mod undeploy;

pub use deployer::{DeployError, Deployer, Step};
pub use plan::{Plan, PlanError};
pub use rollout::RolloutError;
pub use undeploy::{Removal, UndeployError};
