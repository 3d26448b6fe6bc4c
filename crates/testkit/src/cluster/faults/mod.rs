//! Faults between an operator and its API server, at chosen requests.
//!
//! A [`FaultProxy`] passes every request on as the operator's own user, so that the audit log tells what the API
//! server did, and keeps a trace of them. A [`Fault`] says which request suffers what, before the API server hears of
//! it or after it has answered. Nothing happens by chance: the same faults meet the same requests in every run.
//!
//! ```no_run
//! # async fn test(cluster: &steersman_testkit::cluster::TestCluster) -> Result<(), Box<dyn std::error::Error>> {
//! use steersman_testkit::cluster::{Fault, FaultProxy};
//!
//! let operator = cluster.user("operator", &[])?;
//! let proxy = FaultProxy::start(cluster, &operator).await?;
//! // ... run the operator with proxy.user().kubeconfig() ...
//! let lost = proxy.inject(Fault::on("create", "secrets").lose_answer());
//! // ... wait for what the operator makes of it ...
//! assert_eq!(proxy.struck(lost), 1);
//! # Ok(())
//! # }
//! ```

mod answer;
mod call;
mod fault;
mod proxy;
mod script;

pub use call::Call;
pub use fault::Fault;
pub use proxy::FaultProxy;
pub use script::FaultId;

/// What `STEERSMAN_FAULTS` asks of a campaign of faults; `None` where it asks for nothing.
#[must_use]
pub fn wanted_faults() -> Option<String> {
    crate::environment::variable("STEERSMAN_FAULTS").map(|text| text.to_string_lossy().into_owned())
}
