//! What is being done, in the status of the resource before the first write to an object.
//!
//! Who waits for a resource takes one of which nothing is said for settled, so it is said at the first moment: what a
//! chart has made of the values is known, and nothing of it is written yet. A try that repeats a failed one leaves what
//! the status says of that: the failure is what people look for, and a request for each try tells nobody anything.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_model::{Inputs, chain};
use steersman_watches::controls::Controls;

use super::error::ReconcileError;
use super::release_cache::ReleaseCache;
use super::session::{Freshness, Session, Written, changed_by_others};
use crate::status::{
    Deployed, Projection, ReleaseReport, StatusError, next_status, status_showing, write_status,
};

/// The status field that says which `reconcile-at` annotation was acted on; the name is Flux'.
const HANDLED_FIELD: &str = "lastHandledReconcileAt";

/// What is tried: the same again is no news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// What the release is made of; `None` where it goes.
    inputs: Option<Inputs>,
    controls: Controls,
}

impl Session {
    /// Says in the status what is being done with these inputs. Nothing is said of a try that repeats a failed one.
    ///
    /// # Errors
    /// The status can't be written for a while, or the resource is another one. One that the server refuses holds up no
    /// release: the report at the end is refused, too, and says so.
    pub(super) async fn announce(
        &self,
        cache: &mut ReleaseCache,
        inputs: Option<Inputs>,
        report: &ReleaseReport,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        let attempt = Attempt {
            inputs,
            controls: self.controls.clone(),
        };
        if !self.progress.has_announced() && cache.is_announced(&attempt) {
            return Ok(());
        }
        self.say(report, now).await?;
        cache.note_announced(attempt);
        Ok(())
    }

    /// Says in the status that the release goes. The resource itself says that it is being deleted, so nothing waits for
    /// this.
    pub(super) async fn announce_end(&self, cache: &mut ReleaseCache, now: Timestamp) {
        let going = ReleaseReport::Uninstalling(Vec::new());
        if let Err(error) = self.announce(cache, None, &going, now).await {
            self.log_error("failed to say what is being done", &chain(&error));
        }
    }

    /// Says in the status what is being done now, if it says what was done before it.
    pub(super) async fn announce_more(
        &self,
        report: &ReleaseReport,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        if self.progress.has_announced() {
            self.say(report, now).await?;
        }
        Ok(())
    }

    /// Says in the status what is being done, which what follows goes on from.
    pub(super) async fn say(&self, report: &ReleaseReport, now: Timestamp) -> Result<(), ReconcileError> {
        self.progress.note_said(report.clone());
        match self.report((report, None), None, now).await {
            Ok(Some(object)) => {
                self.progress.note_written(object);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(StatusError(error)) if error.is_transient() || error.is_other_uid() => {
                Err(StatusError(error).into())
            }
            Err(error) => {
                self.log_error("failed to say what is being done", &chain(&error));
                Ok(())
            }
        }
    }

    /// Writes a report into the status, and what is `deployed` where that is not shown yet; gives the resource if that was necessary.
    pub(super) async fn report(
        &self,
        (report, deployed): (&ReleaseReport, Option<&Deployed>),
        projection: Option<&Projection>,
        now: Timestamp,
    ) -> Result<Option<DynamicObject>, StatusError> {
        let written = self.progress.written();
        let object = written.as_ref().unwrap_or(self.object());
        let current = object.data.get("status").cloned().unwrap_or(Value::Null);
        let going = self.going(report);
        let report = going.as_ref().unwrap_or(report);
        let shown = deployed.map(|deployed| status_showing(&current, deployed, self.generation, now));
        let mut next = next_status(shown.as_ref().unwrap_or(&current), report, self.generation, now);
        if let Some(projection) = projection {
            projection.put_into(&mut next, now);
        }
        if let (Some(handled), Some(next)) = (&self.controls.reconcile_at, next.as_object_mut()) {
            next.insert(HANDLED_FIELD.to_owned(), handled.as_str().into());
        }
        let metadata = &object.metadata;
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = metadata.uid.as_deref().unwrap_or_default();
        write_status(&self.api, name, (uid, None), &current, &next).await
    }

    /// The report on a release that goes, with the names of what is still there masked: they may be made of what its chart
    /// has looked up.
    fn going(&self, report: &ReleaseReport) -> Option<ReleaseReport> {
        let ReleaseReport::Uninstalling(blockers) = report else {
            return None;
        };
        Some(ReleaseReport::Uninstalling(self.redactor.mask_all_own(blockers)))
    }

    /// The resource is from now on as the last announcement of an action has left it. Gives whether others have changed it.
    pub(super) fn accept_announced(&mut self) -> bool {
        let Some(object) = self.progress.take_written() else {
            return false;
        };
        let freshness = if changed_by_others(self.object(), &object) {
            Freshness::ChangedByOthers
        } else {
            Freshness::OurWrite
        };
        self.accept(Written {
            freshness: self.freshness.max(freshness),
            generation: self.generation,
            object,
        })
    }
}
