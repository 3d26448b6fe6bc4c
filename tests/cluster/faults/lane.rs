//! An operator behind a proxy of faults, and started again when a fault has killed it.

use serde_json::json;
use steersman_testkit::cluster::{FaultProxy, OperatorProcess};
use tokio::sync::Mutex;

use crate::bench::{Bench, PATIENCE};

/// A kind, a namespace, a user, a proxy and an operator of their own.
pub(crate) struct Lane {
    pub(crate) bench: Bench,
    pub(crate) proxy: FaultProxy,
    operator: Mutex<Option<OperatorProcess>>,
}

impl Lane {
    /// `None` where there is no control plane, which has been said. No operator runs yet.
    pub(crate) async fn new(test: &str) -> Option<Self> {
        Some(Self::on(Bench::with_kind(test).await?).await)
    }

    /// One of the campaign.
    pub(super) async fn of_campaign(test: &str) -> Option<Self> {
        let bench = Bench::of_campaign(test).await?;
        bench.define_kind().await;
        Some(Self::on(bench).await)
    }

    async fn on(mut bench: Bench) -> Self {
        let proxy = FaultProxy::start(bench.cluster, &bench.user).await.unwrap();
        bench.user = proxy.user().clone();
        // The period would heal in time what is to be healed at once.
        let watches = json!([{"group": bench.group, "version": "v1", "kind": "Web", "chart": "web",
            "reconcilePeriod": "10h"}]);
        bench.watches(&watches.to_string());
        Self {
            bench,
            proxy,
            operator: Mutex::default(),
        }
    }

    /// The same with an operator that is ready.
    pub(crate) async fn ready(test: &str) -> Option<Self> {
        let lane = Self::new(test).await?;
        lane.start().await;
        Some(lane)
    }

    /// Starts the operator and waits until it is ready.
    pub(crate) async fn start(&self) {
        self.have(self.bench.ready_operator().await).await;
    }

    /// The same with flags.
    pub(crate) async fn start_with(&self, flags: &[&str]) {
        self.have(self.bench.operator_with(flags).await).await;
    }

    async fn have(&self, operator: OperatorProcess) {
        self.proxy.attach(operator.id().await);
        *self.operator.lock().await = Some(operator);
    }

    /// Starts the operator again if it was killed.
    pub(crate) async fn keep_alive(&self) {
        let mut operator = self.operator.lock().await;
        let ended = match operator.as_ref() {
            Some(operator) => operator.ended().await.unwrap().is_some(),
            None => true,
        };
        if ended {
            let next = self.bench.operator();
            self.proxy.attach(next.id().await);
            *operator = Some(next);
        }
    }

    /// Waits until a fault has killed the operator.
    pub(crate) async fn wait_killed(&self) {
        let operator = self.operator.lock().await;
        let operator = operator.as_ref().unwrap();
        let begun = std::time::Instant::now();
        while operator.ended().await.unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "the operator was not killed");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Ends the operator at once, as a crash would.
    pub(crate) async fn kill(&self) {
        if let Some(operator) = self.operator.lock().await.take() {
            operator.kill().await.unwrap();
        }
    }

    /// What the operator has logged.
    pub(crate) async fn log(&self) -> String {
        self.operator
            .lock()
            .await
            .as_ref()
            .map(OperatorProcess::log_text)
            .unwrap_or_default()
    }

    /// Stops the operator in order.
    pub(crate) async fn stop(&self) {
        if let Some(operator) = self.operator.lock().await.take() {
            operator.stop().await.unwrap();
        }
    }
}
