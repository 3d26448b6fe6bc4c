//! Why a reconcile failed, and what that means.

use std::time::Duration;

use steersman_chart::{RenderError, RenderErrorKind};
use steersman_cluster::RequestError;
use steersman_cluster::discovery::DiscoveryError;
use steersman_cluster::lookup::LookupError;
use steersman_model::{DocumentsError, InvalidReleaseName, ObjectId, chain, in_words};
use steersman_watches::order::{AnnotationError, ClaimedTwice};
use steersman_watches::post_render::PostRenderError;
use steersman_watches::values::ValuesError;
use steersman_watches::{NameError, OutOfBounds};

use crate::apply::{ApplyError, CrdError, HookError, HookWait, PruneError};
use crate::release::HistoryError;
use crate::status::{FailureStage, LearningRedactor, StatusError};

/// How many letters are kept of a failure that is being undone.
const LONGEST_FAILURE: usize = 4096;

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The resource's name can't be a release's.
    #[error(transparent)]
    Name(#[from] InvalidReleaseName),
    /// The values can't be made.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// What the resource depends on can't be named.
    #[error("failed to name {field}[{index}]")]
    ReferenceName {
        /// Of the entry, such as `dependsOn`.
        field: &'static str,
        /// Which one of the entry, from 0.
        index: usize,
        /// Why.
        source: NameError,
    },
    /// What other objects have for values can't be used.
    #[error("{0}")]
    Unusable(String),
    /// What an annotation of the resource names can't be understood.
    #[error("failed to read the annotation {name}: {reason}")]
    Annotation {
        /// By its whole name.
        name: &'static str,
        /// Why.
        reason: String,
    },
    /// The resource takes too much memory, so that not all of it is known.
    #[error(
        "failed to read the resource: it takes {} of memory, which is more than the memory limit of the operator allows",
        in_words(*weight)
    )]
    TooLarge {
        /// So many bytes.
        weight: usize,
    },
    /// The revisions can't be read or written.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The server can't be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The chart can't be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A patch of the watch does not fit what the chart renders.
    #[error(transparent)]
    PostRender(#[from] Box<PostRenderError>),
    /// Two stages of the watch claim an object.
    #[error(transparent)]
    ClaimedTwice(#[from] Box<ClaimedTwice>),
    /// The annotations of the chart's objects say no order.
    #[error("failed to find the order of the chart's objects")]
    Order(#[from] AnnotationError),
    /// The server did not answer a lookup of a template.
    #[error("{place}")]
    Lookup {
        /// The template, and where in it.
        place: String,
        /// Why.
        source: LookupError,
    },
    /// The watch does not let its releases have an object.
    #[error("{origin}: {id} may not be part of the release")]
    OutOfBounds {
        /// The template.
        origin: String,
        /// The one that it renders, such as `ConfigMap kube-system/web`.
        id: Box<ObjectId>,
        /// By which rule.
        source: OutOfBounds,
    },
    /// The renderer came to an unexpected end.
    #[error("the renderer stopped unexpectedly")]
    Renderer,
    /// What was rendered or stored is no object.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// A definition can't be installed.
    #[error(transparent)]
    Crd(#[from] CrdError),
    /// An object can't be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// An object can't be deleted.
    #[error(transparent)]
    Prune(#[from] PruneError),
    /// The finalizer can't be written.
    #[error("failed to {attempt} the finalizer")]
    Finalizer {
        /// A verb: `add`, `remove` or `look for`.
        attempt: &'static str,
        /// What the server said.
        source: RequestError,
    },
    /// What is to become of the objects can't be understood, so nothing is deleted.
    #[error("nothing is deleted: annotation steersman.dev/deletion-policy is neither `delete` nor `orphan`")]
    DeletionPolicy,
    /// The revisions are orphaned, and no object can tell whether the release is, so nothing is deleted.
    #[error(
        "nothing is deleted: the revisions have lost their owner, as after `kubectl delete --cascade=orphan`, and no object \
         can tell whether that was so; set the annotation steersman.dev/deletion-policy to `delete` or `orphan`"
    )]
    Orphaned,
    /// The release is in another namespace than its watch says: its revisions and objects there would be left behind.
    #[error(
        "release {release} is in namespace {former}, and releaseNamespace is {namespace}: nothing is done before that is set \
         back; to move a release, delete its resource first"
    )]
    Moved {
        /// By its name, which is the resource's.
        release: String,
        /// Where its revisions are.
        former: String,
        /// Where they would be.
        namespace: String,
    },
    /// Nobody can be told what is being done.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// A revision has failed, and is being undone: in words without secrets, as no more is kept of it.
    #[error("{message}")]
    Undone {
        /// Not longer than a few lines.
        message: String,
        /// As of the failure.
        needs_change: bool,
        /// As of the failure.
        is_stalled: bool,
    },
    /// A revision has failed, and to undo it something has no answer yet.
    #[error("{failure}; it can't be undone yet")]
    NotUndone {
        /// In a few words without secrets.
        failure: String,
        /// Why not.
        source: Box<ReconcileError>,
    },
    /// The objects of a revision were not ready in time.
    #[error("{message}")]
    Unready {
        /// Which, and why not, without secrets.
        message: String,
        /// How that is told.
        stage: FailureStage,
    },
    /// Objects of a later stage are not gone yet, and what comes before them waits for that.
    #[error("failed to delete what comes before: still there are {objects}")]
    StillThere {
        /// With what holds each.
        objects: String,
    },
    /// The chart does not make a Job of a file that a step of a procedure names.
    #[error("failed to make the Job of {file}: {reason}")]
    StepJob {
        /// As watches.yaml has it.
        file: String,
        /// Why, without secrets.
        reason: String,
    },
    /// The server serves no Jobs, or not yet.
    #[error("failed to find the kind Job")]
    NoJobs,
    /// The drifted objects can't be applied.
    #[error("failed to correct drift")]
    Drift(#[source] ApplyError),
}

impl ReconcileError {
    /// An error of the correction of drift, where objects can't be applied.
    pub(super) fn of_drift(self) -> Self {
        match self {
            Self::Apply(error) => Self::Drift(error),
            other => other,
        }
    }

    /// The same failure in words, for as long as it takes to undo it: what a server says may be as long as what it was sent.
    pub(super) fn told(self, redactor: &LearningRedactor) -> Self {
        Self::Undone {
            message: self.in_few_words(redactor),
            needs_change: self.needs_change(),
            is_stalled: self.is_stalled(),
        }
    }

    /// The failure in words without secrets, of which there are a few lines.
    pub(super) fn in_few_words(&self, redactor: &LearningRedactor) -> String {
        cut(self.masked(redactor))
    }

    /// A failure that is being undone, as it was written down in a few words.
    pub(super) fn undone(message: String) -> Self {
        Self::Undone {
            message,
            needs_change: false,
            is_stalled: false,
        }
    }

    /// Where it failed: `first` when no revision was ever deployed.
    pub fn stage(&self, first: bool, deleting: bool) -> FailureStage {
        let is_undone = matches!(self, Self::NotUndone { .. });
        if !is_undone && self.is_transient() {
            return FailureStage::Transient;
        }
        let of_release = if first {
            FailureStage::Install
        } else {
            FailureStage::Upgrade
        };
        match self {
            Self::Unready { stage, .. } => *stage,
            Self::History(_) | Self::Moved { .. } => FailureStage::State,
            _ if deleting => FailureStage::Uninstall,
            Self::Values(_)
            | Self::Unusable(_)
            | Self::ReferenceName { .. }
            | Self::Annotation { .. }
            | Self::TooLarge { .. } => FailureStage::Values,
            Self::Render(_)
            | Self::PostRender(_)
            | Self::ClaimedTwice(_)
            | Self::Order(_)
            | Self::Lookup { .. } => {
                if first {
                    FailureStage::RenderInstall
                } else {
                    FailureStage::RenderUpgrade
                }
            }
            Self::Discovery(_) | Self::Drift(_) | Self::Finalizer { .. } | Self::Status(_) => {
                FailureStage::Reconcile
            }
            Self::Name(_)
            | Self::Renderer
            | Self::DeletionPolicy
            | Self::Orphaned
            | Self::OutOfBounds { .. }
            | Self::Documents(_)
            | Self::Crd(_)
            | Self::Apply(_)
            | Self::Hook(_)
            | Self::Prune(_)
            | Self::Undone { .. }
            | Self::StillThere { .. }
            | Self::StepJob { .. }
            | Self::NoJobs
            | Self::NotUndone { .. } => of_release,
        }
    }

    /// Whether only a change helps: of the inputs, of an annotation, or of what is in the way. It may
    /// come without a sign, so it is tried again nevertheless.
    pub fn needs_change(&self) -> bool {
        let damaged = matches!(self, Self::History(error) if !matches!(error, HistoryError::Request { .. }));
        let has_run = matches!(
            self,
            Self::Hook(HookError::Exists { .. } | HookError::Kept { .. })
        );
        let of_claims = matches!(
            self,
            Self::Apply(ApplyError::Claims { source, .. }) | Self::Drift(ApplyError::Claims { source, .. })
                if source.needs_change()
        );
        let refused = self.request().is_some_and(RequestError::is_about_a_field);
        let was_so = matches!(
            self,
            Self::Undone {
                needs_change: true,
                ..
            }
        );
        // They may become ready, and then it goes on.
        let is_unready = matches!(self, Self::Unready { .. });
        self.is_stalled() || damaged || has_run || of_claims || refused || was_so || is_unready
    }

    /// Whether only other inputs help.
    pub fn is_stalled(&self) -> bool {
        if let Self::Lookup { source, .. } = self {
            return source.is_out_of_bounds();
        }
        matches!(
            self,
            Self::Name(_)
                | Self::OutOfBounds { .. }
                | Self::Values(_)
                | Self::Unusable(_)
                | Self::ReferenceName { .. }
                | Self::Annotation { .. }
                | Self::TooLarge { .. }
                | Self::Documents(DocumentsError::TooLarge { .. })
                | Self::Render(_)
                | Self::PostRender(_)
                | Self::ClaimedTwice(_)
                | Self::Order(_)
                | Self::Renderer
                | Self::DeletionPolicy
                | Self::Orphaned
                | Self::Moved { .. }
                | Self::Apply(ApplyError::Duplicate { .. })
                | Self::Undone { is_stalled: true, .. }
        )
    }

    /// Whether more memory may help.
    pub fn is_about_memory(&self) -> bool {
        match self {
            Self::History(error) => error.is_about_memory(),
            Self::Render(error) => error.kind() == RenderErrorKind::Budget,
            Self::Lookup { source, .. } => source.is_about_memory(),
            Self::Documents(error) => matches!(error, DocumentsError::TooLarge { .. }),
            _ => false,
        }
    }

    /// The hook that is to be waited for, where nothing has failed but that.
    pub fn awaited(&self) -> Option<&HookWait> {
        match self {
            Self::Hook(HookError::Waiting(wait)) => Some(wait),
            _ => None,
        }
    }

    /// Whether the same may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Hook(error) => error.is_unanswered(),
            Self::StillThere { .. } | Self::NoJobs => true,
            _ => self.request().is_some_and(RequestError::is_transient),
        }
    }

    /// Whether others have a word in it: the server, or what runs in a hook.
    pub fn has_words_of_others(&self) -> bool {
        self.request().is_some() || matches!(self, Self::Hook(_))
    }

    /// What it says, without secrets.
    pub(super) fn masked(&self, redactor: &LearningRedactor) -> String {
        let words = chain(self);
        if self.has_words_of_others() {
            redactor.mask(&words)
        } else {
            redactor.mask_own(&words)
        }
    }

    /// Whether a request was refused for want of a permission, or by a policy.
    pub fn is_forbidden(&self) -> bool {
        self.request().is_some_and(|request| request.code == 403)
    }

    /// Whether what is remembered of the revisions is out of date.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::History(_))
    }

    /// How long the server asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        self.request().and_then(RequestError::retry_after)
    }

    /// The request that failed, if one did.
    fn request(&self) -> Option<&RequestError> {
        RequestError::behind(self)
    }
}

/// The first lines of a failure.
fn cut(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(LONGEST_FAILURE) {
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup_that_failed_with(code: u16) -> ReconcileError {
        let source = RequestError {
            code,
            message: "the server's words".into(),
            causes: Box::default(),
            retry_after: Some(7),
        };
        ReconcileError::Lookup {
            place: "template: web/templates/a.yaml:1:3: error calling lookup".to_owned(),
            source: LookupError::Request {
                verb: "get",
                what: "configmaps default/source".to_owned(),
                source,
            },
        }
    }

    #[test]
    fn what_is_kept_of_a_failure_is_short_and_has_no_secret() {
        let redactor = LearningRedactor::default();
        let secret = serde_json::json!({"password": "hunter2canary"});
        redactor.learn(crate::status::Redactor::new([], &secret));
        let place = format!("hunter2canary {}", "x".repeat(1_000_000));
        let error = ReconcileError::Finalizer {
            attempt: "add",
            source: RequestError::local(&place),
        };
        let told = error.told(&redactor);
        let text = told.to_string();
        assert!(
            text.chars().count() <= LONGEST_FAILURE + 1 && !text.contains("canary"),
            "{text}"
        );
        assert!(!told.is_transient() && !told.needs_change());
    }

    #[test]
    fn a_lookup_that_the_server_does_not_answer_is_tried_again() {
        for (code, transient) in [(0, true), (429, true), (503, true), (403, false)] {
            let error = lookup_that_failed_with(code);
            assert_eq!(error.is_transient(), transient, "{code}");
            assert!(!error.is_stalled() && !error.needs_change(), "{code}");
            let stage = if transient {
                FailureStage::Transient
            } else {
                FailureStage::RenderInstall
            };
            assert_eq!(error.stage(true, false), stage, "{code}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        }
        let mut error = lookup_that_failed_with(429);
        if let ReconcileError::Lookup {
            source: LookupError::Request { source, .. },
            ..
        } = &mut error
        {
            source.retry_after = Some(u32::MAX);
        }
        assert_eq!(error.retry_after(), Some(Duration::from_mins(5)));
        assert_eq!(
            steersman_model::chain(&lookup_that_failed_with(403)),
            "template: web/templates/a.yaml:1:3: error calling lookup: failed to get configmaps default/source: the \
             server's words"
        );
    }
}
