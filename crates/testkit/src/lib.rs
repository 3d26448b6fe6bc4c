//! What the tests of this workspace stand on.
//!
//! - [`corpus`]: public charts and what Helm renders for them.
//! - [`functions`]: template snippets and what Helm's engine makes of them.
//! - [`bundle_judge`]: what the Operator Framework's own libraries say about bundles and catalogs.
//! - [`kstatus_judge`]: what kstatus says about objects.
//! - [`cel_judge`]: what cel-go says about expressions.
//! - [`prometheus`]: what Prometheus makes of rules and numbers.
//! - [`ansible`]: a Python environment with ansible-runner.
//! - `browser`: a Chromium that shows pages, with feature `browser`.
//! - [`processes`]: what /proc says of processes.
//! - [`program`]: programs of others that judge.
//! - `cluster`: a real Kubernetes control plane, with feature `cluster`.
//!
//! The recordings lie beside the checkout, not in it, and the control plane is built beforehand. Where something is
//! missing a test says so on one line and passes ([`skip`]); with `CI=true` it fails. The Go operators are the
//! exception: nothing here builds them, so what they would judge is left out wherever `HELM_OPERATOR` and `ANSIBLE_OPERATOR` name
//! no binary. So is operator-sdk, and `OPERATOR_SDK`.

pub mod ansible;
#[cfg(feature = "browser")]
pub mod browser;
pub mod bundle_judge;
pub mod cel_judge;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod corpus;
mod environment;
pub mod functions;
pub mod kstatus_judge;
mod ports;
pub mod processes;
pub mod program;
pub mod prometheus;
pub mod skip;
