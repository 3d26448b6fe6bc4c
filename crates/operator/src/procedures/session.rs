//! What one reconcile of a run works on.

use std::sync::Arc;

use kube::api::{Api, DynamicObject};
use steersman_model::ObjectId;

use super::cache::Written;
use super::job::job_name;
use super::record::{ProcedureRecord, StepRecord};
use super::report::Report;
use super::state::Claim;
use super::subject::Run;
use crate::budget::Share;
use crate::reconcile::StepPlace;

/// What a run is carried out with.
pub(super) struct Session {
    pub(super) run: Run,
    pub(super) api: Api<DynamicObject>,
    pub(super) record: Option<ProcedureRecord>,
    /// Whether it has the mark of a run that was begun.
    pub(super) is_begun: bool,
    pub(super) report: Report,
    /// `None` where it is gone, or is another one.
    pub(super) resource: Option<DynamicObject>,
    pub(super) place: Option<StepPlace>,
    pub(super) share: Arc<Share>,
    /// What may stand in its status.
    pub(super) records: Written,
    pub(super) written: bool,
}

impl Session {
    /// Whether its resource is there, and is being deleted.
    pub(super) fn is_resource_going(&self) -> bool {
        let resource = self.resource.as_ref();
        resource.is_some_and(|resource| resource.metadata.deletion_timestamp.is_some())
    }

    /// The name of the Job of a try.
    pub(super) fn job_name(&self, step: &StepRecord) -> String {
        job_name(&self.run.name, &self.run.uid, &step.name, step.attempt)
    }

    pub(super) fn job_id(&self, step: &StepRecord, namespace: &str) -> ObjectId {
        ObjectId {
            group: "batch".to_owned(),
            kind: "Job".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: self.job_name(step),
        }
    }

    /// What the run says of itself.
    pub(super) fn claim(&self) -> Claim {
        self.run.claim(self.is_begun)
    }

    /// Whether it is a copy of a run that was begun, as from a backup of the cluster: nobody knows what that has done.
    pub(super) fn is_copy(&self) -> bool {
        !self.is_begun && self.run.has_mark()
    }

    /// The run is as a write has left it.
    pub(super) fn accept(&mut self, object: DynamicObject) {
        if let Some(run) = Run::new(object) {
            self.run = run;
            self.written = true;
        }
    }
}
