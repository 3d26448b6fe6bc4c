//! Hooks that a former process has started, and left running.

use std::time::Duration;

use kube::api::DynamicObject;
use steersman_chart::HookEvent;
use steersman_cluster::{Owner, Ownership, RequestError};

use super::Turns;
use super::error::HookError;
use super::event::event_name;
use super::order::hooks_in_order;
use super::progress::{Progress, progress};
use super::run::{Run, mark_of};
use super::wait::{HookWait, Term};
use crate::apply::applier::Applier;
use crate::dependents::Until;
use crate::release::{HookJournal, HookRecord};

/// What may be under way of a revision.
#[derive(Clone, Copy, Debug)]
pub struct HooksLeft<'a> {
    /// The events that may have been gone through for it, each with the hooks that run then.
    pub hooks: &'a [(HookEvent, &'a [HookRecord])],
    /// What the revision says of those that have run.
    pub journal: &'a HookJournal<'a>,
    /// How long each may take; `None` is as long as it likes.
    pub timeout: Option<Duration>,
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
            let mut turns = Turns::default();
            'event: for hook in hooks_in_order(hooks, *event) {
                let runs = match self.prepare(owner, hook, event_name(*event)).await {
                    Err(error @ HookError::Discovery(_)) => return Err(error),
                    Err(_) => continue,
                    Ok(runs) => runs,
                };
                for run in runs {
                    let turn = turns.next(&run.id);
                    if !run.has_an_end() || left.journal.times_run(run.event, &run.id) > turn {
                        continue;
                    }
                    match self.left_running(owner, &run, turn, left).await? {
                        Some(wait) => return Ok(Some(wait)),
                        None => break 'event,
                    }
                }
            }
        }
        Ok(None)
    }

    async fn left_running(
        &self,
        owner: &Owner,
        run: &Run<'_>,
        turn: usize,
        left: HooksLeft<'_>,
    ) -> Result<Option<HookWait>, HookError> {
        let mark = left.journal.mark(run.event, turn);
        let api = self.api(&run.resource, run.id.namespace.as_deref());
        let found = match api.get_opt(&run.id.name).await.map_err(RequestError::from) {
            Ok(found) => found,
            Err(error) if error.is_transient() => return Err(run.failed("read", error)),
            Err(_) => None,
        };
        let is_running = |object: &DynamicObject| {
            let progress = progress(&run.id.kind, &object.metadata, &object.data);
            matches!(progress, Progress::Running(_))
                && mark_of(&object.metadata) == Some(&mark)
                && object.metadata.deletion_timestamp.is_none()
                && owner.ownership(&object.metadata) == Ownership::Ours
        };
        let Some(object) = found.filter(is_running) else {
            return Ok(None);
        };
        let metadata = &object.metadata;
        let term = Term::new(left.timeout).of(metadata);
        if term.exceeded().is_some() {
            return Ok(None);
        }
        self.dependents
            .expect(&owner.uid, &run.id, metadata, Until::Ended);
        let wait = self.wait_for(&owner.uid, run, term, metadata, true).await;
        Ok(Some(HookWait { mark, turn, ..wait }))
    }
}
