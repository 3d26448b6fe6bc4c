//! The control plane that everything is measured on.

use std::time::{Duration, Instant};

use anyhow::Result;
use kube::Client;
use steersman_testkit::cluster::{AuditLog, AuditMark, TestCluster};

use crate::candidate::Candidate;

/// So long without a request means that an operator has nothing to do.
pub(crate) const QUIET: Duration = Duration::from_secs(5);

/// How long an operator may take to become quiet.
const QUIET_WITHIN: Duration = Duration::from_mins(5);

/// A control plane, and the time since it was there.
pub(crate) struct Rig {
    pub(crate) cluster: TestCluster,
    pub(crate) client: Client,
    started: Instant,
}

impl Rig {
    pub(crate) async fn start() -> Result<Self> {
        let started = Instant::now();
        let cluster = tokio::task::spawn_blocking(TestCluster::start).await??;
        let client = cluster.client().await?;
        Ok(Self {
            cluster,
            client,
            started,
        })
    }

    /// Tells how far the measurement is.
    pub(crate) fn say(&self, who: &str, what: &str) {
        eprintln!("{:6.1} s  {who}: {what}", self.started.elapsed().as_secs_f32());
    }

    pub(crate) async fn mark(&self) -> Result<AuditMark> {
        Ok(self.cluster.audit_mark().await?)
    }

    /// What a user has asked of the API server since then.
    pub(crate) async fn requests_since(&self, mark: AuditMark, user: &str) -> Result<AuditLog> {
        Ok(self.cluster.audit_since(mark).await?.by_user(user))
    }

    /// Returns when the operator has not asked for anything for a while.
    pub(crate) async fn wait_quiet(&self, candidate: &Candidate) -> Result<()> {
        let begun = Instant::now();
        loop {
            let mark = self.mark().await?;
            tokio::time::sleep(QUIET).await;
            let requests = self.requests_since(mark, candidate.user.name()).await?;
            if requests.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > QUIET_WITHIN {
                self.say(candidate.name, &format!("is never quiet:\n{requests}"));
                return Ok(());
            }
        }
    }

    /// The version of the API server.
    pub(crate) async fn kubernetes(&self) -> Result<String> {
        Ok(self.client.apiserver_version().await?.git_version)
    }
}
