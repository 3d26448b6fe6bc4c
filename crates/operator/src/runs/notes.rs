//! What the proxy tells of runs that are under way: what they leave, and which secrets pass.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steersman_model::ObjectId;
use steersman_proxy::{Observer, RunId, Seen, Standing, Verb};

use super::record::LeftObject;
use crate::status::{LearningRedactor, Redactor};

/// So many objects of a run are noted.
const MOST_OBJECTS: usize = 10_000;

/// The notes of all runs. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<BTreeMap<RunId, RunNotes>>>);

/// Of one run.
pub(super) struct RunNotes {
    /// What it has left of the resource's, as the API server has answered it.
    pub(super) objects: BTreeMap<ObjectId, LeftObject>,
    /// Knows the secrets of the resource.
    redactor: Arc<LearningRedactor>,
}

impl Notes {
    /// A run begins, of a resource whose secrets this masks. Notes are taken until they are taken away.
    pub(super) fn begin(&self, run: RunId, redactor: Arc<LearningRedactor>) {
        let notes = RunNotes {
            objects: BTreeMap::new(),
            redactor,
        };
        self.lock().insert(run, notes);
    }

    /// What was noted of a run that has ended.
    pub(super) fn take(&self, run: RunId) -> BTreeMap<ObjectId, LeftObject> {
        let notes = self.lock().remove(&run);
        notes.map(|notes| notes.objects).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, RunNotes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Notes {
    fn answered(&self, seen: &Seen<'_>) {
        let mut all = self.lock();
        let Some(notes) = all
            .get_mut(&seen.run)
            .filter(|_| seen.status < 300 && !seen.is_dry_run)
        else {
            return;
        };
        let Some((id, left)) = left_of(seen) else {
            return;
        };
        let is_ours = seen
            .object
            .is_some_and(|object| matches!(object.standing, Standing::Owned { .. }));
        if *seen.verb == Verb::Delete || !is_ours {
            notes.objects.remove(&id);
        } else if notes.objects.len() < MOST_OBJECTS {
            notes.objects.insert(id, left);
        }
    }

    fn secret(&self, run: RunId, value: &[u8]) {
        let redactor = self.lock().get(&run).map(|notes| Arc::clone(&notes.redactor));
        if let (Some(redactor), Ok(value)) = (redactor, std::str::from_utf8(value)) {
            let mut learnt = Redactor::default();
            learnt.add_all(&value.into());
            redactor.learn(learnt);
        }
    }
}

/// The object of an answer about a whole one.
fn left_of(seen: &Seen<'_>) -> Option<(ObjectId, LeftObject)> {
    let (target, object) = (seen.resource?, seen.object?);
    if target.subresource.is_some() {
        return None;
    }
    let id = ObjectId {
        group: target.group.clone(),
        kind: object.kind.clone(),
        namespace: object.metadata.namespace.clone(),
        name: object.metadata.name.clone()?,
    };
    let left = LeftObject {
        id: id.clone(),
        uid: object.metadata.uid.clone()?,
        fields: object.fields,
    };
    Some((id, left))
}
