//! What all parts of the running operator share.

use std::sync::Arc;

use steersman_cluster::permissions::Permissions;
use steersman_watches::Selectors;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::release::Signer;
use crate::runs::RunTools;
use crate::server::Readiness;

/// Shared handles, handed to everything that reconciles. Clones are cheap and share everything.
#[derive(Clone)]
pub struct Context {
    /// The API server.
    pub client: kube::Client,
    /// What flags and environment mean.
    pub config: Arc<Config>,
    /// One permit for each reconcile that may be at work, of whichever kind; `None` without such a limit.
    pub workers_in_all: Option<Arc<Semaphore>>,
    /// The numbers that `/metrics` shows.
    pub metrics: Metrics,
    /// What `/readyz` says.
    pub readiness: Readiness,
    /// What the API server lets the operator do.
    pub permissions: Arc<Permissions>,
    /// The memory that reconciles may take.
    pub budget: Arc<Budget>,
    /// Vouches for the revisions of releases.
    pub signer: Arc<Signer>,
    /// Runs roles and playbooks; `None` where no entry names one.
    pub runs: Option<RunTools>,
    /// Under which selectors those held custom resources that were the leader before.
    pub former_selectors: Selectors,
    /// Cancelled when the process is asked to stop: no reconcile starts after that, running ones end.
    pub shutdown: CancellationToken,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
