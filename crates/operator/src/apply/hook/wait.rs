//! Waiting for a hook: a release that does keeps nothing but this, and is taken up again when the wait is over.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use steersman_model::ObjectId;
use tokio::time::Instant;

use crate::dependents::Dependents;
use crate::release::Journal;

/// How soon a hook is looked at again whose kind can't be watched, at first; later more seldom.
const FIRST_LOOK: Duration = Duration::from_secs(1);
const LAST_LOOK: Duration = Duration::from_secs(15);

/// What is kept of a hook that runs, to go on after its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookWait {
    /// For which it runs, such as `pre-install`.
    pub event: &'static str,
    /// Its template.
    pub path: String,
    /// Its object, such as `Job default/migrate`.
    pub id: ObjectId,
    /// The UID of that, which another one of its name does not have.
    pub(in crate::apply) uid: Option<String>,
    /// Whether it has started; else an earlier object of its name is still there.
    pub(in crate::apply) has_started: bool,
    /// What its object carries, which tells the revision, too.
    pub(in crate::apply) mark: String,
    /// How many hooks of the event before it make the same object.
    pub(in crate::apply) turn: usize,
    /// Whether it is not known how far its revision has come: another process has started it, or what came after it had no
    /// answer.
    pub(in crate::apply) is_uncertain: bool,
    pub(in crate::apply) term: Term,
    /// When to look at it without a sign of it; `None` where it is watched.
    pub(in crate::apply) next_look: Option<Instant>,
}

/// How long a hook may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::apply) struct Term {
    pub(in crate::apply) since: Instant,
    pub(in crate::apply) timeout: Option<Duration>,
}

impl Term {
    /// Of a hook that starts now.
    pub(super) fn new(timeout: Option<Duration>) -> Self {
        let since = Instant::now();
        Self { since, timeout }
    }

    /// The same of one whose object is there since it was started, by whichever process.
    pub(super) fn of(self, object: &ObjectMeta) -> Self {
        let created = object.creation_timestamp.as_ref();
        self.begun(created.map_or_else(Timestamp::now, |created| created.0))
    }

    /// Counted from this moment on.
    pub(super) fn begun(self, begun: Timestamp) -> Self {
        let age = Duration::try_from(Timestamp::now().duration_since(begun));
        let since = Instant::now().checked_sub(age.unwrap_or_default());
        Self {
            since: since.unwrap_or(self.since),
            ..self
        }
    }

    /// The timeout, if it is over.
    pub(super) fn exceeded(&self) -> Option<Duration> {
        let end = self.end()?;
        self.timeout.filter(|_| Instant::now() >= end)
    }

    fn end(&self) -> Option<Instant> {
        self.since.checked_add(self.timeout?)
    }
}

impl HookWait {
    /// Whether there is no sign yet that the wait is over. Nothing is asked for that.
    pub fn goes_on(&self, dependents: &Dependents, owner: &str) -> bool {
        let is_due = self.until().is_some_and(|until| Instant::now() >= until);
        !is_due && (self.next_look.is_some() || !dependents.has_come(owner))
    }

    /// Whether it is one of the revision with this journal, as often as that was undone by now, for an event.
    pub(crate) fn is_of(&self, journal: &Journal<'_>, event: &str) -> bool {
        self.mark == journal.mark(event, self.turn)
    }

    /// The same where what came after it had no answer.
    #[must_use]
    pub fn with_uncertain_progress(self) -> Self {
        Self {
            is_uncertain: true,
            ..self
        }
    }

    /// Whether it is not known how far its revision has come.
    pub fn is_uncertain(&self) -> bool {
        self.is_uncertain
    }

    /// How long it is until the hook is looked at without a sign of it; `None` where it may take for ever.
    pub fn pause(&self) -> Option<Duration> {
        self.until()
            .map(|until| until.saturating_duration_since(Instant::now()))
    }

    fn until(&self) -> Option<Instant> {
        [self.term.end(), self.next_look].into_iter().flatten().min()
    }

    /// When to look next at a hook that can't be watched.
    pub(super) fn next_look(term: Term) -> Instant {
        let now = Instant::now();
        now + (now.duration_since(term.since) / 4).clamp(FIRST_LOOK, LAST_LOOK)
    }
}

impl fmt::Display for HookWait {
    /// What goes on: `pre-install hook web/templates/migrate.yaml: Job shop/migrate runs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event, path, id, .. } = self;
        if self.has_started {
            write!(f, "{event} hook {path}: {id} runs")
        } else {
            write!(f, "{event} hook {path}: an earlier {id} is being deleted")
        }
    }
}

#[cfg(test)]
impl HookWait {
    /// For a Job that runs before an upgrade.
    pub(crate) fn of_test() -> Self {
        Self {
            event: "pre-upgrade",
            path: "web/templates/migrate.yaml".to_owned(),
            id: ObjectId {
                group: "batch".to_owned(),
                kind: "Job".to_owned(),
                namespace: Some("shop".to_owned()),
                name: "migrate".to_owned(),
            },
            uid: None,
            has_started: true,
            mark: String::new(),
            turn: 0,
            is_uncertain: false,
            term: Term::new(None),
            next_look: None,
        }
    }
}
