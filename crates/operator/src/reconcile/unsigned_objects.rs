//! Objects of a record that nobody vouches for, held beside what is live.

use std::collections::BTreeSet;

use steersman_cluster::without_marks;
use steersman_model::RenderedObject;

use super::ReconcileSettings;
use super::comparable::comparable;
use super::error::ReconcileError;
use super::session::Session;
use crate::apply::{Applier, ApplyOptions, DryRunApply, Handover};

/// Has the server say what applying objects would change.
#[derive(Clone, Copy)]
pub(super) struct UnsignedObjects<'a> {
    pub(super) applier: &'a Applier,
    pub(super) settings: &'a ReconcileSettings,
}

impl UnsignedObjects<'_> {
    /// Whether each of `objects` is live, is the release's by its own marks, and would stay as it is if it were applied: then
    /// whoever wrote the record has written down what is there, and nothing else.
    pub(super) async fn are_live(
        &self,
        session: &Session,
        objects: &[RenderedObject],
        former_managers: Option<&[String]>,
    ) -> Result<bool, ReconcileError> {
        if objects.is_empty() {
            return Ok(true);
        }
        let owner = &session.owner;
        let kinds = objects.iter().map(|object| &object.api);
        let served = self.applier.served_with(kinds).await?;
        let rules = &self.settings.drift.ignore;
        let (wanted, before) = (objects.to_vec(), objects.to_vec());
        let left = self
            .applier
            .leave_to_others(owner, rules, wanted, before, Handover::DryRun);
        let none_is_new = BTreeSet::new();
        for object in &left.await? {
            let trial = DryRunApply {
                object,
                served: &served,
                is_defined: false,
                new_namespaces: &none_is_new,
                former_managers,
                options: ApplyOptions {
                    conflicts: self.settings.conflicts,
                    ..ApplyOptions::default()
                },
            };
            let tried = self.applier.dry_run_apply(owner, trial).await?;
            let (Some(live), Ok(applied), false) = (tried.live, tried.result, tried.recreated) else {
                return Ok(false);
            };
            if without_marks(comparable(live)) != without_marks(comparable(applied)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
