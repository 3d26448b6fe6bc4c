//! Saying what a reconcile would do, and doing nothing.

use super::Reconciler;
use super::error::ReconcileError;
use super::foreseen::{Fate, ObjectPreview, Preview};
use super::session::Session;
use crate::status::{DryRun, Report, WouldBe, WouldChange, differing_fields};
use steersman_model::chain;

impl Reconciler {
    /// What would be done with the release, for the status; and for the log, when it is news.
    ///
    /// # Guarantees
    /// Nothing is written: the server only tries.
    ///
    /// # Errors
    /// The server does not answer. What a reconcile would fail of is part of the report.
    pub(super) async fn rehearse(&self, session: &Session) -> Result<Report, ReconcileError> {
        let dry_run = match self.preview(session.object.clone()).await {
            Ok(preview) => dry_run(&preview),
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => DryRun {
                summary: format!("would fail: {}", session.redactor.mask(&chain(&error))),
                hooks: Vec::new(),
                objects: Vec::new(),
            },
        };
        let status = session.object.data.get("status");
        let said = status.and_then(|status| status.pointer("/dryRun/summary"));
        if said.and_then(serde_json::Value::as_str) != Some(dry_run.summary.as_str()) {
            tracing::info!(release = %session.release, "dry run: {}", dry_run.summary);
            for WouldBe { id, change } in &dry_run.objects {
                tracing::info!(release = %session.release, object = %id, "dry run: would be {}", change.as_str());
            }
        }
        Ok(Report::DryRun(dry_run))
    }
}

fn dry_run(preview: &Preview) -> DryRun {
    let objects: Vec<WouldBe> = preview
        .objects
        .iter()
        .filter_map(|object| would_be(object, preview))
        .collect();
    let count = match objects.len() {
        0 => "no object would change".to_owned(),
        1 => "1 object would change".to_owned(),
        count => format!("{count} objects would change"),
    };
    DryRun {
        summary: format!("release {} {}; {count}", preview.release, preview.plan),
        hooks: preview.hooks.clone(),
        objects,
    }
}

fn would_be(object: &ObjectPreview, preview: &Preview) -> Option<WouldBe> {
    if !object.differs() {
        return None;
    }
    let change = match (&object.fate, &object.live) {
        (Fate::Applied(_), None) => WouldChange::Created,
        (Fate::Applied(value), Some(live)) => WouldChange::Changed(differing_fields(live, value)),
        (Fate::Deleted, _) => WouldChange::Deleted,
        (Fate::Refused(reason), _) => WouldChange::Refused(preview.redactor.mask(reason)),
        (Fate::Kept, _) => return None,
    };
    Some(WouldBe {
        id: object.id.clone(),
        change,
    })
}
