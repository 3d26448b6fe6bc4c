//! Hooks that a former process has started, and left running.

use std::time::Duration;

use kube::api::DynamicObject;
use steersman_chart::HookEvent;
use steersman_cluster::{Owner, RequestError};

use super::Turns;
use super::error::HookError;
use super::event::event_name;
use super::order::hooks_in_order;
use super::progress::{Progress, progress};
use super::run::{Run, is_marked};
use super::wait::{HookWait, Term};
use crate::apply::applier::Applier;
use crate::dependents::Until;
use crate::release::{HookRecord, Journal};

/// What may be under way of a revision.
#[derive(Clone, Copy, Debug)]
pub struct HooksLeft<'a> {
    /// The events that may have been gone through for it, each with the hooks that run then.
    pub hooks: &'a [(HookEvent, &'a [HookRecord])],
    /// What the revision says of those that have run.
    pub journal: &'a Journal<'a>,
    /// How long each may take; `None` is as long as it likes.
    pub timeout: Option<Duration>,
}

/// A Job or Pod that comes next, or was started already.
struct NextRun<'a> {
    run: Run<'a>,
    /// What its object carries.
    mark: String,
    /// How many hooks of the event before it make the same object.
    turn: usize,
}

impl Applier {
    /// The hook of a revision that runs without anybody who waits for it, as that was another process: the first of an event
    /// that the revision does not say of that it has run, as each waits for the one before. What can't be read of the stored
    /// hooks, may not be read any longer, or is of a kind that is gone, is not waited for, nor one whose time is over.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn hook_under_way(
        &self,
        owner: &Owner,
        left: HooksLeft<'_>,
    ) -> Result<Option<HookWait>, HookError> {
        for (event, hooks) in left.hooks {
            let due = hooks_in_order(hooks, *event);
            let next = self.next_run(owner, &due, *event, left.journal).await?;
            if let Some(next) = next
                && let Some(wait) = self.left_running(owner, next, left.timeout).await?
            {
                return Ok(Some(wait));
            }
        }
        Ok(None)
    }

    /// Whether the first Job or Pod of an event was started, or has run.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn has_started(
        &self,
        owner: &Owner,
        hooks: &[HookRecord],
        event: HookEvent,
        journal: &Journal<'_>,
    ) -> Result<bool, HookError> {
        let due = hooks_in_order(hooks, event);
        match self.next_run(owner, &due, event, journal).await? {
            Some(next) => self.is_left(owner, &next.run, &next.mark).await,
            None => Ok(journal.has_begun(event_name(event))),
        }
    }

    /// The first Job or Pod of an event of which the revision does not say that it has run. What can't be read of the hooks, or
    /// is of a kind that is gone, is passed over, object by object.
    async fn next_run<'a>(
        &self,
        owner: &Owner,
        due: &[&'a HookRecord],
        event: HookEvent,
        journal: &Journal<'_>,
    ) -> Result<Option<NextRun<'a>>, HookError> {
        let mut turns = Turns::default();
        for hook in due {
            let prepared = match self.prepare_each(owner, hook, event_name(event)).await {
                Ok(prepared) => prepared,
                Err(error @ HookError::Discovery(_)) => return Err(error),
                Err(_) => continue,
            };
            for run in prepared.into_iter().flatten() {
                let turn = turns.next(&run.id);
                if run.has_an_end() && journal.times_run(run.event, &run.id) <= turn {
                    let mark = journal.mark(run.event, turn);
                    return Ok(Some(NextRun { run, mark, turn }));
                }
            }
        }
        Ok(None)
    }

    async fn left_running(
        &self,
        owner: &Owner,
        next: NextRun<'_>,
        timeout: Option<Duration>,
    ) -> Result<Option<HookWait>, HookError> {
        let NextRun { run, mark, turn } = next;
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let found = match api.get_opt(&run.id.name).await.map_err(RequestError::from) {
            Ok(found) => found,
            Err(error) if error.is_transient() => return Err(run.failed("read", error)),
            Err(_) => None,
        };
        let is_running = |object: &DynamicObject| {
            let progress = progress(&run.id.kind, &object.metadata, &object.data);
            matches!(progress, Progress::Running(_))
                && object.metadata.deletion_timestamp.is_none()
                && is_marked(owner, &object.metadata, &mark)
        };
        let Some(object) = found.filter(is_running) else {
            return Ok(None);
        };
        let metadata = &object.metadata;
        let term = Term::new(timeout).of(metadata);
        if term.exceeded().is_some() {
            return Ok(None);
        }
        self.dependents
            .expect(&owner.uid, &run.id, metadata, Until::Ended);
        let wait = self.wait_for(&owner.uid, &run, term, metadata, true).await;
        Ok(Some(HookWait {
            mark,
            turn,
            is_uncertain: true,
            ..wait
        }))
    }
}
