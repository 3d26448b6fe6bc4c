//! Hooks that a former process has started, and left running.

use std::time::Duration;

use kube::api::DynamicObject;
use steersman_chart::HookEvent;
use steersman_cluster::{Owner, Ownership, RequestError};

use super::error::HookError;
use super::event::{RUN, event_name};
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
    /// Its hooks, and those of the revisions that it is undone to.
    pub hooks: &'a [&'a [HookRecord]],
    /// What the revision says of those that have run.
    pub journal: &'a HookJournal<'a>,
    /// Whether it is being undone: hooks of a release's end run for that, too.
    pub is_undone: bool,
    /// How long each may take; `None` is as long as it likes.
    pub timeout: Option<Duration>,
}

impl Applier {
    /// The first hook of a revision that runs without anybody who waits for it, as that was another process. What can't be
    /// read of the stored hooks, may not be read any longer, or is of a kind that is gone, is not waited for, nor one whose time
    /// is over.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn hook_under_way(
        &self,
        owner: &Owner,
        left: HooksLeft<'_>,
    ) -> Result<Option<HookWait>, HookError> {
        let is_of_end = |event: &HookEvent| matches!(event, HookEvent::PreDelete | HookEvent::PostDelete);
        for event in RUN
            .into_iter()
            .filter(|event| left.is_undone || !is_of_end(event))
        {
            for hooks in left.hooks {
                let mut place = 0;
                for hook in hooks_in_order(hooks, event) {
                    let runs = match self.prepare(owner, hook, event_name(event)).await {
                        Err(error @ HookError::Discovery(_)) => return Err(error),
                        Err(_) => break,
                        Ok(runs) => runs,
                    };
                    for run in runs {
                        if run.has_an_end()
                            && let Some(wait) = self.left_running(owner, &run, left).await?
                        {
                            return Ok(Some(HookWait { place, ..wait }));
                        }
                        place += 1;
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
        left: HooksLeft<'_>,
    ) -> Result<Option<HookWait>, HookError> {
        let mark = left.journal.mark(run.event);
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
        Ok(Some(HookWait { mark, ..wait }))
    }
}
