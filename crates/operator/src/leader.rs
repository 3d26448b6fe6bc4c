//! Leader election: of several replicas, only the one that holds a Lease reconciles.
//!
//! The protocol is client-go's: a lease whose record has not changed for its duration, as seen by our own clock, is
//! free. No two clocks are ever compared.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use steersman_cluster::client::Tenure;
use steersman_model::chain;
use steersman_watches::Selectors;
use tokio::time::{Instant, sleep, timeout};

use crate::config::LeaseTimes;

/// The annotation of a lease that says under which selectors its holders have held custom resources.
const SELECTORS_ANNOTATION: &str = "steersman.dev/selectors";
/// By then a holder has taken its finalizer off the resources that its selectors no longer match, so that the former ones
/// are forgotten.
const FORGET_AFTER: Duration = Duration::from_mins(1);

const RETRY_PERIOD: Duration = LeaseTimes::RETRY_PERIOD;
/// The shortest pause between two looks, for a lease that runs out this moment.
const SOONEST: Duration = Duration::from_millis(50);

/// A lease that this process tries to hold, or holds.
#[derive(Clone, Debug)]
pub struct Elector {
    leases: Api<Lease>,
    name: String,
    identity: String,
    times: LeaseTimes,
    observed: Option<ObservedLease>,
    /// Under which selectors this process holds custom resources.
    present: Selectors,
    /// Under which earlier holders held them, until that is of no interest any longer.
    former: Selectors,
    tenure: Tenure,
}

/// A record of the lease, and when it was first seen.
#[derive(Clone, Debug)]
struct ObservedLease {
    spec: LeaseSpec,
    since: Instant,
}

/// What to do about a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseAction {
    Take,
    Renew,
    Wait,
}

impl Elector {
    /// An elector for a lease of this name. The identity must be unique among the replicas.
    pub fn new(client: Client, namespace: &str, name: &str, identity: String) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity,
            times: LeaseTimes::default(),
            observed: None,
            present: Selectors::default(),
            former: Selectors::default(),
            tenure: Tenure::default(),
        }
    }

    /// Lets the lease remember under which selectors this process holds custom resources, for those that hold it
    /// after this one.
    #[must_use]
    pub fn remembering(self, selectors: Selectors) -> Self {
        Self {
            present: selectors,
            ..self
        }
    }

    /// Renews by these times in place of the defaults.
    #[must_use]
    pub fn with_times(self, times: LeaseTimes) -> Self {
        Self { times, ..self }
    }

    /// Under which selectors those held them that had the lease before; known once it is acquired.
    pub fn former_selectors(&self) -> &Selectors {
        &self.former
    }

    /// Until when this process may act.
    pub fn tenure(&self) -> Tenure {
        self.tenure.clone()
    }

    /// The same elector, which says in `tenure` until when this process may act.
    #[must_use]
    pub fn with_tenure(self, tenure: Tenure) -> Self {
        Self { tenure, ..self }
    }

    /// Waits until this process holds the lease. Trouble with the API server is logged and outlasted.
    ///
    /// # Cancellation
    /// Safe to drop at any await; a lease that was just taken runs out by itself.
    pub async fn acquire(&mut self) {
        tracing::info!(lease = %self.name, "Attempting to acquire leader lease");
        loop {
            match timeout(self.times.renew_deadline(), self.attempt()).await {
                Ok(Ok(true)) => {
                    tracing::info!(lease = %self.name, identity = %self.identity, "Successfully acquired lease");
                    return;
                }
                Ok(Ok(false)) => {}
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => {
                    tracing::warn!(lease = %self.name, error = %chain(&error), "Failed to acquire lease");
                }
                Err(_) => tracing::warn!(lease = %self.name, "Failed to acquire lease: no answer"),
            }
            sleep(self.pause()).await;
        }
    }

    /// How long to wait before the next look at a lease that is somebody else's: it is taken as soon as it is free.
    fn pause(&self) -> Duration {
        let left = self.observed.as_ref().map(|observed| {
            let duration = duration_of(&observed.spec);
            duration.saturating_sub(observed.since.elapsed())
        });
        next_look(left)
    }

    /// Renews the lease until that has failed for too long or somebody else holds it; returns why it is lost.
    pub async fn hold(&mut self) -> String {
        let mut renewed = Instant::now();
        let begun = renewed;
        loop {
            sleep(RETRY_PERIOD).await;
            if begun.elapsed() >= FORGET_AFTER {
                self.former = Selectors::default();
            }
            let left = self.times.renew_deadline().saturating_sub(renewed.elapsed());
            let reason = match timeout(left, self.attempt()).await {
                Ok(Ok(true)) => {
                    renewed = Instant::now();
                    continue;
                }
                Ok(Ok(false)) => return "another process holds it".to_owned(),
                Ok(Err(error)) => chain(&error),
                Err(_) => "no answer".to_owned(),
            };
            if renewed.elapsed() + RETRY_PERIOD >= self.times.renew_deadline() {
                return reason;
            }
            tracing::warn!(lease = %self.name, error = %reason, "Failed to renew lease");
        }
    }

    /// Gives the lease back, so that the next process need not wait for it to run out. Best effort.
    pub async fn release(&mut self) {
        let Ok(Ok(Some(lease))) = timeout(RETRY_PERIOD, self.leases.get_opt(&self.name)).await else {
            return;
        };
        let held = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.holder_identity.as_deref());
        if held != Some(self.identity.as_str()) {
            return;
        }
        let mut released = lease;
        let spec = released.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        let _ = timeout(
            RETRY_PERIOD,
            self.leases.replace(&self.name, &PostParams::default(), &released),
        )
        .await;
    }

    /// One look at the lease, and one write if it is ours to write. Whether we hold it now; a conflict, where
    /// somebody else wrote at the same time, is an error that the next attempt clears up.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        let begun = Instant::now();
        let is_ours = self.try_to_hold().await?;
        if is_ours {
            self.tenure.extend(begun + self.times.duration());
        }
        Ok(is_ours)
    }

    async fn try_to_hold(&mut self) -> Result<bool, kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.name).await? else {
            self.leases
                .create(&PostParams::default(), &self.new_lease())
                .await?;
            return Ok(true);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        if self
            .observed
            .as_ref()
            .is_none_or(|observed| observed.spec != spec)
        {
            self.observed = Some(ObservedLease {
                spec: spec.clone(),
                since: Instant::now(),
            });
        }
        let unchanged_for = self
            .observed
            .as_ref()
            .map_or(Duration::ZERO, |observed| observed.since.elapsed());
        let action = lease_action(&spec, unchanged_for, &self.identity);
        if action == LeaseAction::Wait {
            return Ok(false);
        }
        let mut next = Lease {
            spec: Some(self.next_spec(&spec, action)),
            ..lease
        };
        if action == LeaseAction::Take {
            self.former = selectors_of(&next.metadata);
        }
        self.note_selectors(&mut next.metadata);
        self.leases
            .replace(&self.name, &PostParams::default(), &next)
            .await?;
        Ok(true)
    }

    fn new_lease(&self) -> Lease {
        let mut metadata = ObjectMeta {
            name: Some(self.name.clone()),
            ..ObjectMeta::default()
        };
        self.note_selectors(&mut metadata);
        Lease {
            metadata,
            spec: Some(self.next_spec(&LeaseSpec::default(), LeaseAction::Take)),
        }
    }

    fn note_selectors(&self, metadata: &mut ObjectMeta) {
        let mut selectors = self.former.clone();
        selectors.join(&self.present);
        if let (false, Ok(text)) = (selectors.is_empty(), serde_json::to_string(&selectors)) {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(SELECTORS_ANNOTATION.to_owned(), text);
        }
    }

    fn next_spec(&self, before: &LeaseSpec, action: LeaseAction) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let mut next = before.clone();
        if action == LeaseAction::Take {
            let is_new = before.holder_identity.is_none() && before.lease_transitions.is_none();
            let transitions = before.lease_transitions.unwrap_or_default();
            next.lease_transitions = Some(if is_new { 0 } else { transitions.saturating_add(1) });
            next.acquire_time = Some(now.clone());
        }
        next.holder_identity = Some(self.identity.clone());
        next.lease_duration_seconds =
            Some(i32::try_from(self.times.duration().as_secs()).unwrap_or(i32::MAX));
        next.renew_time = Some(now);
        next
    }
}

/// What a lease says of its holders' selectors; nothing where that can't be understood.
fn selectors_of(metadata: &ObjectMeta) -> Selectors {
    let annotations = metadata.annotations.as_ref();
    let text = annotations.and_then(|all| all.get(SELECTORS_ANNOTATION));
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// Decides from a record and from how long it has not changed. A duration that makes no sense counts as ours by default.
fn lease_action(spec: &LeaseSpec, unchanged_for: Duration, identity: &str) -> LeaseAction {
    let holder = spec.holder_identity.as_deref().unwrap_or_default();
    if holder == identity {
        return LeaseAction::Renew;
    }
    if holder.is_empty() || unchanged_for >= duration_of(spec) {
        LeaseAction::Take
    } else {
        LeaseAction::Wait
    }
}

fn duration_of(spec: &LeaseSpec) -> Duration {
    match spec.lease_duration_seconds {
        Some(seconds @ 1..=3600) => Duration::from_secs(u64::from(seconds.unsigned_abs())),
        _ => LeaseTimes::default().duration(),
    }
}

/// When to look at a lease again that runs out in `left`, if nobody renews it.
fn next_look(left: Option<Duration>) -> Duration {
    match left {
        // It has run out, and taking it failed.
        None | Some(Duration::ZERO) => RETRY_PERIOD,
        Some(left) => left.clamp(SOONEST, RETRY_PERIOD),
    }
}

/// An identity that no other process has: the host's name for people, random letters for certainty.
pub fn new_identity(host: &str) -> String {
    let mut random = [0_u8; 8];
    // Without randomness the process number still differs between replicas on one host.
    if getrandom::fill(&mut random).is_err() {
        random = u64::from(std::process::id()).to_be_bytes();
    }
    format!("{host}_{:016x}", u64::from_be_bytes(random))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::coordination::v1::LeaseSpec;

    use super::{LeaseAction, RETRY_PERIOD, lease_action, new_identity, next_look};

    fn check(holder: Option<&str>, duration: Option<i32>, unchanged_for: u64, expect: LeaseAction) {
        let spec = LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: duration,
            ..LeaseSpec::default()
        };
        assert_eq!(
            lease_action(&spec, Duration::from_secs(unchanged_for), "me"),
            expect
        );
    }

    #[test]
    fn a_lease_is_taken_when_nobody_holds_it_any_more() {
        check(None, None, 0, LeaseAction::Take);
        check(Some(""), Some(1), 0, LeaseAction::Take);
        check(Some("other"), Some(15), 14, LeaseAction::Wait);
        check(Some("other"), Some(15), 15, LeaseAction::Take);
        check(Some("other"), Some(60), 15, LeaseAction::Wait);
        check(Some("me"), Some(15), 0, LeaseAction::Renew);
    }

    #[test]
    fn a_senseless_duration_counts_as_ours() {
        check(Some("other"), Some(-1), 14, LeaseAction::Wait);
        check(Some("other"), Some(i32::MAX), 15, LeaseAction::Take);
        check(Some("other"), Some(0), 0, LeaseAction::Wait);
        check(Some("\u{1b}[31m"), None, 15, LeaseAction::Take);
    }

    #[test]
    fn a_lease_is_looked_at_when_it_runs_out() {
        let millis = Duration::from_millis;
        for (left, expect) in [
            (None, RETRY_PERIOD),
            (Some(millis(9000)), RETRY_PERIOD),
            (Some(millis(700)), millis(700)),
            (Some(millis(1)), millis(50)),
            (Some(millis(0)), RETRY_PERIOD),
        ] {
            assert_eq!(next_look(left), expect, "{left:?}");
        }
    }

    #[test]
    fn identities_differ() {
        assert!(new_identity("host").starts_with("host_"));
        assert_ne!(new_identity("host"), new_identity("host"));
    }
}
