//! Which revisions are kept, and what must be remembered of those that are not.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use steersman_model::{ObjectId, ReleaseStatus, Revision};

use crate::reconcile::error::ReconcileError;
use crate::reconcile::executor::Executor;
use crate::reconcile::kept_up::last_in_effect;
use crate::reconcile::plan::{in_effect, inventory, objects_named_by};
use crate::reconcile::release_cache::owning;
use crate::reconcile::session::Session;
use crate::release::{Stored, surplus};

/// The revisions among `earlier` that have to go for `stored` to have a place in the history, of which `keep` are kept, and the
/// last one before it in any case where `keeps_last`.
/// What only they name is added to its snapshot, so that the inventory stays complete: the
/// snapshot must be written before they are deleted.
pub(super) async fn make_room(
    executor: &Executor,
    session: &Session,
    (keep, keeps_last): (Option<NonZeroUsize>, bool),
    earlier: &[Stored],
    stored: &mut Stored,
) -> Result<Vec<Revision>, ReconcileError> {
    let deployed = stored.record.info.status == ReleaseStatus::Deployed;
    let mut hook_objects: BTreeSet<ObjectId> = earlier
        .iter()
        .flat_map(|former| former.snapshot.hook_objects.iter().cloned())
        .collect();
    let mut abandoned: BTreeSet<ObjectId> = in_effect(earlier)
        .iter()
        .flat_map(|former| former.snapshot.abandoned.iter().cloned())
        .collect();
    let gone = match keep {
        None => Vec::new(),
        Some(keep) => {
            let mut all: Vec<_> = earlier.iter().map(|former| state(former, deployed)).collect();
            all.push(state(stored, false));
            let owning = if deployed {
                BTreeSet::new()
            } else {
                owning(earlier)
            };
            let mut gone = surplus(&all, stored.record.version, keep);
            // What they have applied is healed from them.
            gone.retain(|revision| !owning.contains(revision));
            let last = last_in_effect(earlier)
                .filter(|_| keeps_last)
                .map(|last| last.record.version);
            gone.retain(|revision| Some(*revision) != last);
            gone
        }
    };
    let goes = |former: &&Stored| gone.contains(&former.record.version);
    let newest_first = earlier.iter().rev().filter(goes);
    let hooks: Vec<_> = newest_first.flat_map(Stored::hooks).collect();
    hook_objects.extend(executor.applier.left_by_hooks(&session.owner, &hooks).await?);
    let named = objects_named_by(in_effect(earlier).iter().filter(goes));
    let named = executor.identities(session, named).await?;
    let deletable = inventory(named, &[]).into_iter().filter(|(_, kept)| !kept);
    abandoned.extend(deletable.map(|(id, _)| id));
    // A revision in effect has nothing left to delete.
    if !deployed {
        stored.snapshot.abandoned = abandoned.into_iter().collect();
    }
    stored.snapshot.hook_objects = hook_objects.into_iter().collect();
    Ok(gone)
}

/// `superseded` says that a deployed one is about not to be any longer.
fn state(stored: &Stored, superseded: bool) -> (Revision, ReleaseStatus) {
    match stored.record.info.status {
        ReleaseStatus::Deployed if superseded => (stored.record.version, ReleaseStatus::Superseded),
        status => (stored.record.version, status),
    }
}
