//! Events about a custom resource.
//!
//! They are written to the core API, because helm-operator's role allows that and not the newer
//! group. An event that can't be written is no failure of the release.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Client;
use kube::api::{Api, PostParams};
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;
use tokio::time::Instant;

use super::recent_events::{RecentEvents, Verdict};

/// A name has at most 253 letters; a time follows this part of it.
const MAX_NAME: usize = 230;
/// The server's limit for a message.
const MAX_MESSAGE: usize = 1000;

/// The `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Something was done.
    Normal,
    /// Something failed, or needs the user's attention.
    Warning,
}

impl EventKind {
    /// As it stands in an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What an event tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventReason {
    /// The first revision is deployed.
    ReleaseInstalled,
    /// A later revision is deployed.
    ReleaseUpgraded,
    /// A release of Helm or helm-operator is ours from now on, without a revision.
    ReleaseTakenOver,
    /// A failed revision was undone.
    ReleaseRolledBack,
    /// A try failed, and another one follows.
    ReleaseFailed,
    /// A try failed, and only a change helps.
    ReleaseStalled,
    /// The resource matches the selector no longer; its objects stay.
    ReleaseLetGo,
    /// The resource was deleted; its objects and its history stay.
    ReleaseOrphaned,
    /// Objects that somebody changed or deleted were put back.
    DriftCorrected,
    /// Objects have drifted, and the watch only says so.
    DriftDetected,
    /// Somebody changes a value again after each correction.
    DriftFight,
    /// What a client that creates objects gets away with was left out.
    ObjectMended,
    /// An object was deleted and created again.
    ObjectRecreated,
    /// A set that was to be created again can't be, and its release goes without its pods.
    PodsLeft,
    /// A claim of a set was expanded, as its template grew.
    ClaimExpanded,
    /// A claim template asks for less, and claims stay as they are.
    ClaimKept,
    /// All tests of a revision have succeeded.
    TestSucceeded,
    /// A test of a revision has failed.
    TestFailed,
    /// Values of watches.yaml win over the spec. helm-operator's.
    OverrideValuesInUse,
    /// A hook of a release that is deleted is out of the bounds of its watch, and did not run.
    HookLeftOut,
    /// A revision can't be read, so something of the release may stay.
    HistoryUnreadable,
    /// A revision of a release that goes is not signed, so no hook of it runs.
    HistoryUnsigned,
    /// The objects of a stage are ready, and the next one begins.
    StageReady,
    /// The next stage begins although objects are not ready, as somebody has asked for.
    StageSkipped,
    /// The next stage waits until somebody says that it may begin.
    ApprovalRequired,
    /// A run of a role or playbook takes a while; what it does.
    RunProgressing,
    /// A role or playbook has come to its end, and nothing has failed.
    RunSucceeded,
    /// A run of a role or playbook has failed, and another one follows.
    RunFailed,
    /// A run of a procedure begins its first step.
    ProcedureBegun,
    /// All steps of it have succeeded.
    ProcedureSucceeded,
    /// It has failed, was refused or cancelled.
    ProcedureFailed,
    /// A procedure can't run by itself as the resource asks for it.
    ProcedureUnusable,
}

impl EventReason {
    /// All events that the operator writes.
    pub const ALL: [Self; 32] = [
        Self::ReleaseInstalled,
        Self::ReleaseUpgraded,
        Self::ReleaseTakenOver,
        Self::ReleaseRolledBack,
        Self::ReleaseFailed,
        Self::ReleaseStalled,
        Self::ReleaseLetGo,
        Self::ReleaseOrphaned,
        Self::DriftCorrected,
        Self::DriftDetected,
        Self::DriftFight,
        Self::ObjectMended,
        Self::ObjectRecreated,
        Self::PodsLeft,
        Self::ClaimExpanded,
        Self::ClaimKept,
        Self::TestSucceeded,
        Self::TestFailed,
        Self::OverrideValuesInUse,
        Self::HookLeftOut,
        Self::HistoryUnreadable,
        Self::HistoryUnsigned,
        Self::StageReady,
        Self::StageSkipped,
        Self::ApprovalRequired,
        Self::RunProgressing,
        Self::RunSucceeded,
        Self::RunFailed,
        Self::ProcedureBegun,
        Self::ProcedureSucceeded,
        Self::ProcedureFailed,
        Self::ProcedureUnusable,
    ];

    /// In the field `reason` of an event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReleaseInstalled => "ReleaseInstalled",
            Self::ReleaseUpgraded => "ReleaseUpgraded",
            Self::ReleaseTakenOver => "ReleaseTakenOver",
            Self::ReleaseRolledBack => "ReleaseRolledBack",
            Self::ReleaseFailed => "ReleaseFailed",
            Self::ReleaseStalled => "ReleaseStalled",
            Self::ReleaseLetGo => "ReleaseLetGo",
            Self::ReleaseOrphaned => "ReleaseOrphaned",
            Self::DriftCorrected => "DriftCorrected",
            Self::DriftDetected => "DriftDetected",
            Self::DriftFight => "DriftFight",
            Self::ObjectMended => "ObjectMended",
            Self::ObjectRecreated => "ObjectRecreated",
            Self::PodsLeft => "PodsLeft",
            Self::ClaimExpanded => "ClaimExpanded",
            Self::ClaimKept => "ClaimKept",
            Self::TestSucceeded => "TestSucceeded",
            Self::TestFailed => "TestFailed",
            Self::OverrideValuesInUse => "OverrideValuesInUse",
            Self::HookLeftOut => "HookLeftOut",
            Self::HistoryUnreadable => "HistoryUnreadable",
            Self::HistoryUnsigned => "HistoryUnsigned",
            Self::StageReady => "StageReady",
            Self::StageSkipped => "StageSkipped",
            Self::ApprovalRequired => "ApprovalRequired",
            Self::RunProgressing => "RunProgressing",
            Self::RunSucceeded => "RunSucceeded",
            Self::RunFailed => "RunFailed",
            Self::ProcedureBegun => "ProcedureBegun",
            Self::ProcedureSucceeded => "ProcedureSucceeded",
            Self::ProcedureFailed => "ProcedureFailed",
            Self::ProcedureUnusable => "ProcedureUnusable",
        }
    }

    /// Whether it is good to know or needs attention.
    pub fn kind(self) -> EventKind {
        match self {
            Self::ReleaseInstalled
            | Self::ReleaseUpgraded
            | Self::ReleaseTakenOver
            | Self::ReleaseRolledBack
            | Self::ReleaseLetGo
            | Self::ReleaseOrphaned
            | Self::DriftCorrected
            | Self::StageReady
            | Self::StageSkipped
            | Self::ApprovalRequired
            | Self::ClaimExpanded
            | Self::ClaimKept
            | Self::TestSucceeded
            | Self::RunProgressing
            | Self::RunSucceeded
            | Self::ProcedureBegun
            | Self::ProcedureSucceeded => EventKind::Normal,
            Self::ReleaseFailed
            | Self::ReleaseStalled
            | Self::DriftDetected
            | Self::DriftFight
            | Self::ObjectMended
            | Self::TestFailed
            | Self::ObjectRecreated
            | Self::PodsLeft
            | Self::OverrideValuesInUse
            | Self::HookLeftOut
            | Self::HistoryUnreadable
            | Self::HistoryUnsigned
            | Self::RunFailed
            | Self::ProcedureFailed
            | Self::ProcedureUnusable => EventKind::Warning,
        }
    }
}

/// Writes events, in the background.
#[derive(Clone)]
pub struct Events {
    client: Client,
    recent: Arc<Mutex<RecentEvents>>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// No event is written yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            recent: Arc::default(),
        }
    }

    /// Writes an event about `about`, unless the same, or too many of it, were written a moment ago.
    pub fn send(&self, about: &ObjectReference, reason: EventReason, message: &str, now: Timestamp) {
        if !self.is_news(about, reason, message) {
            return;
        }
        let event = event(about, reason, message, now);
        let api: Api<Event> = Api::namespaced(
            self.client.clone(),
            event.metadata.namespace.as_deref().unwrap_or("default"),
        );
        tokio::spawn(async move {
            if let Err(error) = api.create(&PostParams::default(), &event).await {
                tracing::debug!(error = %RequestError::from(error), "failed to write an event");
            }
        });
    }

    fn is_news(&self, about: &ObjectReference, reason: EventReason, message: &str) -> bool {
        let uid = about.uid.as_deref().unwrap_or_default();
        let verdict = {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            recent.judge(uid, reason.as_str(), message, Instant::now())
        };
        let namespace = about.namespace.as_deref().unwrap_or_default();
        let name = about.name.as_deref().unwrap_or_default();
        match verdict {
            Verdict::FirstTooMany => {
                tracing::warn!(
                    namespace,
                    name,
                    "the resource has had too many events; no more are written for some minutes"
                );
            }
            Verdict::TooMany(more) => tracing::debug!(namespace, name, more, "an event is left out"),
            Verdict::News | Verdict::Known => {}
        }
        verdict == Verdict::News
    }
}

/// What events of a resource are about, by its API version and kind.
pub(crate) fn reference((api_version, kind): (&str, &str), metadata: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn event(about: &ObjectReference, reason: EventReason, message: &str, now: Timestamp) -> Event {
    let end = (0..=message.len().min(MAX_MESSAGE))
        .rev()
        .find(|&at| message.is_char_boundary(at));
    let message = message.get(..end.unwrap_or_default()).unwrap_or_default();
    let name = about.name.as_deref().unwrap_or_default();
    let name = name.get(..MAX_NAME).unwrap_or(name);
    Event {
        metadata: ObjectMeta {
            name: Some(format!(
                "{}.{:x}",
                name.trim_end_matches(['-', '.']),
                now.as_nanosecond()
            )),
            namespace: Some(about.namespace.clone().unwrap_or_else(|| "default".to_owned())),
            ..ObjectMeta::default()
        },
        involved_object: about.clone(),
        type_: Some(reason.kind().as_str().to_owned()),
        reason: Some(reason.as_str().to_owned()),
        message: Some(message.to_owned()),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        source: Some(EventSource {
            component: Some(FIELD_MANAGER.to_owned()),
            host: None,
        }),
        ..Event::default()
    }
}
