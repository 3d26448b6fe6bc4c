//! A dry run in the status of a resource that asks for no more than that.

use steersman_model::chain;

use super::{DryRun, ObjectDryRun, ObjectResult};
use crate::reconcile::Reconciler;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::session::Session;
use crate::status::{DryRunChange, DryRunEntry, DryRunStatus, ReleaseReport, differing_fields};
use crate::telemetry::masked_before;

impl Reconciler {
    /// What would be done with the release, for the status; and for the log, when it is news.
    ///
    /// # Guarantees
    /// Nothing is written: the server only tries.
    ///
    /// # Errors
    /// The server does not answer. What a reconcile would fail of is part of the report.
    pub(in crate::reconcile) async fn report_dry_run(
        &self,
        session: &Session,
    ) -> Result<ReleaseReport, ReconcileError> {
        let dry_run = match self.dry_run_of(session).await {
            Ok(dry_run) => status_of(&dry_run),
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => DryRunStatus {
                summary: format!("would fail: {}", session.redactor.mask(&chain(&error))),
                hooks: Vec::new(),
                stages: Vec::new(),
                objects: Vec::new(),
            },
        };
        // What is left to do is to say it, which needs no memory that others wait for.
        session.share.keep(0);
        let status = session.object().data.get("status");
        let said = status.and_then(|status| status.pointer("/dryRun/summary"));
        if said.and_then(serde_json::Value::as_str) != Some(dry_run.summary.as_str()) {
            log(session, &dry_run);
        }
        Ok(ReleaseReport::DryRun(dry_run))
    }
}

fn log(session: &Session, dry_run: &DryRunStatus) {
    tracing::info!(release = %session.release, "dry run: {}", dry_run.summary);
    let objects: Vec<String> = dry_run.objects.iter().map(|entry| entry.id.to_string()).collect();
    let objects = session.redactor.mask_all_own(&objects);
    masked_before(|| {
        for (DryRunEntry { change, .. }, object) in dry_run.objects.iter().zip(objects) {
            tracing::info!(release = %session.release, object, "dry run: would be {}", change.as_str());
        }
    });
}

fn status_of(dry_run: &DryRun) -> DryRunStatus {
    let objects: Vec<DryRunEntry> = dry_run.objects.iter().filter_map(would_be).collect();
    let count = match objects.len() {
        0 => "no object would change".to_owned(),
        1 => "1 object would change".to_owned(),
        count => format!("{count} objects would change"),
    };
    let waits = dry_run.waits.as_ref();
    let waits = waits.map(|waits| format!("; it {waits}")).unwrap_or_default();
    DryRunStatus {
        summary: format!("release {} {}; {count}{waits}", dry_run.release, dry_run.decision),
        hooks: dry_run.hooks.clone(),
        stages: dry_run.stages.clone(),
        objects,
    }
}

fn would_be(object: &ObjectDryRun) -> Option<DryRunEntry> {
    if !object.differs() {
        return None;
    }
    let claims = || object.claims.iter().map(ToString::to_string).collect();
    let change = match (&object.result, &object.live) {
        (ObjectResult::Applied(_), None) => DryRunChange::Created(claims()),
        (ObjectResult::Applied(value), Some(live)) => DryRunChange::Changed(differing_fields(live, value)),
        (ObjectResult::Recreated(_), _) => DryRunChange::Recreated(claims()),
        (ObjectResult::Deleted, _) => DryRunChange::Deleted,
        (ObjectResult::Refused(reason), _) => DryRunChange::Refused(reason.clone()),
        (ObjectResult::Kept, _) => return None,
    };
    Some(DryRunEntry {
        id: object.id.clone(),
        change,
    })
}
