//! What a reconcile would do, without doing it.

use std::collections::BTreeSet;
use std::fmt;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use steersman_chart::{HookEvent, Operation};

use super::action::deploy::{former_managers, in_effect};
use super::error::ReconcileError;
use super::memory::{Known, Memory, was_ever_deployed};
use super::render::{definitions, manifest};
use super::session::Session;
use super::state::{Action, Cause, Observed};
use super::{Reconciler, next_action, release_state};
use crate::apply::{
    CrdPolicy, FIELD_MANAGER, Handover, ObjectId, RenderedObject, Tried, chain, kinds_defined_by,
    objects_of_manifest,
};
use crate::controls::Wish;
use crate::discovery::Served;
use crate::drift::DriftMode;
use crate::release::{Revision, Stored};
use crate::status::{Redactor, differing_fields};
use crate::values::user_values;

/// So many objects are asked about at a time.
const PARALLEL: usize = 4;

/// What a reconcile of a custom resource would do.
#[derive(Debug)]
pub struct Preview {
    /// The release's name.
    pub release: String,
    /// The release's namespace.
    pub namespace: String,
    /// What would be done.
    pub plan: Plan,
    /// Whether annotations keep it from being done.
    pub paused: bool,
    /// The hooks that would run, in order, such as `pre-upgrade Job web-migrate`.
    pub hooks: Vec<String>,
    /// The objects that the release has or would have.
    pub objects: Vec<ObjectPreview>,
    /// Objects that carry the marks of the release's resource and that no revision names.
    pub strays: Vec<ObjectId>,
    /// Masks the secrets of the release as it is and as it would be.
    pub redactor: Redactor,
}

/// What would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The first revision would be installed.
    Install,
    /// Another revision would follow.
    Upgrade(Revision, Cause),
    /// The revision, which Helm or helm-operator deployed, would become ours as it is.
    TakeOver(Revision),
    /// The last revision would be brought into effect, from its stored manifest.
    Recover(Revision),
    /// The revision is deployed, and only what others have changed would be put back.
    Keep(Revision),
    /// The resource is being deleted.
    Leave,
}

impl fmt::Display for Plan {
    /// What goes on after the release's name: `would be upgraded to revision 2, as …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Install => f.write_str("would be installed"),
            Self::Upgrade(revision, cause) => {
                let why = match cause {
                    Cause::TakenOver => "the last one is not the operator's",
                    Cause::Identity => "the last one is of another resource of this name",
                    Cause::Chart => "the chart has changed",
                    Cause::Values => "the values have changed",
                    Cause::Lookups => "what the chart looks up has changed",
                    Cause::NotDeployed => "the last one is not deployed",
                };
                write!(f, "would be upgraded to revision {revision}, as {why}")
            }
            Self::TakeOver(revision) => write!(f, "revision {revision} would be taken over as it is"),
            Self::Recover(revision) => write!(
                f,
                "revision {revision} would be applied, as that has not succeeded yet"
            ),
            Self::Keep(revision) => write!(f, "revision {revision} would stay"),
            Self::Leave => f.write_str("is being deleted"),
        }
    }
}

/// What would become of an object.
#[derive(Debug)]
pub struct ObjectPreview {
    /// Which object.
    pub id: ObjectId,
    /// It as it is in the cluster, if it is there.
    pub live: Option<Value>,
    /// Who else owns fields of it.
    pub managers: BTreeSet<String>,
    /// What would become of it.
    pub fate: Fate,
    /// JSON pointers to the values that would go with the fields of its former manager.
    pub dropped: Vec<String>,
}

/// What would become of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It would be this.
    Applied(Value),
    /// It would be deleted.
    Deleted,
    /// No revision wants it any longer, and it would stay, as the chart asks for that.
    Kept,
    /// It would not be applied, for this reason.
    Refused(String),
}

impl ObjectPreview {
    /// Whether a reconcile would change anything of it.
    pub fn differs(&self) -> bool {
        match (&self.fate, &self.live) {
            (Fate::Applied(value), Some(live)) => value != live,
            (Fate::Applied(_), None) | (Fate::Deleted | Fate::Refused(_), _) => true,
            (Fate::Kept, _) => false,
        }
    }
}

/// Where the objects of a preview come from.
struct Wanted {
    objects: Vec<RenderedObject>,
    definitions: Vec<RenderedObject>,
    hooks: Vec<String>,
}

impl Reconciler {
    /// What a reconcile of `object` would do. The object need not be in the cluster, but it has a UID.
    ///
    /// # Guarantees
    /// Nothing is written.
    ///
    /// # Errors
    /// The chart can't be rendered with the values of the object, or the cluster does not answer.
    pub async fn preview(&self, object: DynamicObject) -> Result<Preview, ReconcileError> {
        let session = Session::new(&self.shared, &self.settings, &self.resource, object);
        let mut session = session.map_err(|(_, error)| error)?;
        session.values = user_values(&session.object.data, &self.settings.override_values)?;
        let revisions = session.history.load().await?;
        self.reuse_values(&mut session, &revisions);
        let inputs = self.inputs(&session);
        session.inputs = Some(inputs);
        session.first = !was_ever_deployed(&revisions);
        let known = Known::new(&revisions);
        let lookups_changed = self
            .lookups_have_changed(&session, &mut Memory::of(known.clone()), inputs)
            .await?;
        let action = next_action(release_state(Observed {
            deleting: session.deleting(),
            guarded: true,
            wish: Wish::Act,
            last: known.last.clone(),
            inputs,
            lookups_changed,
            refused: None,
            drifted: Vec::new(),
            drift_mode: self.settings.drift.mode,
        }));
        let last = known.last.map_or(Revision::FIRST, |last| last.revision);
        let (plan, wanted) = match action {
            Some(Action::Uninstall) => (Plan::Leave, None),
            Some(Action::Install) => {
                let wanted = self.rendered(&session, Revision::FIRST).await?;
                (Plan::Install, Some(wanted))
            }
            Some(Action::Upgrade(cause)) => {
                if let Some(wanted) = self.taken_over(&session, &revisions).await? {
                    (Plan::TakeOver(last), Some(wanted))
                } else {
                    let next = last.next();
                    let wanted = self.rendered(&session, next).await?;
                    (Plan::Upgrade(next, cause), Some(wanted))
                }
            }
            Some(Action::Recover) => (Plan::Recover(last), Some(stored(&revisions, last)?)),
            // What has drifted stays so.
            _ if self.settings.drift.mode != DriftMode::Enabled => {
                (Plan::Keep(known.deployed.unwrap_or(last)), None)
            }
            _ => {
                let deployed = known.deployed.unwrap_or(last);
                (Plan::Keep(deployed), Some(stored(&revisions, deployed)?))
            }
        };
        let redactor = redactor(&session, &revisions, wanted.as_ref());
        let (hooks, objects) = match wanted {
            Some(wanted) => {
                // What is ours already is not taken over.
                let formers: Option<Vec<String>> = match plan {
                    Plan::Keep(_) | Plan::Leave => None,
                    _ => Some(former_managers(&revisions)),
                };
                let objects = self
                    .fates(&session, &wanted, &revisions, formers.as_deref())
                    .await?;
                (wanted.hooks, objects)
            }
            None => (Vec::new(), Vec::new()),
        };
        let strays = self.strays(&session, &objects).await?;
        Ok(Preview {
            release: session.release.to_string(),
            namespace: session.owner.release_namespace.clone(),
            plan,
            paused: session.controls.wish == Wish::Pause,
            hooks,
            objects,
            strays,
            redactor,
        })
    }

    async fn rendered(&self, session: &Session, revision: Revision) -> Result<Wanted, ReconcileError> {
        let (operation, moments) = if session.first {
            let moments = [HookEvent::PreInstall, HookEvent::PostInstall];
            (Operation::Install, moments)
        } else {
            let moments = [HookEvent::PreUpgrade, HookEvent::PostUpgrade];
            (Operation::Upgrade, moments)
        };
        let rendered = self.render(session, revision, operation).await?;
        let controls = if session.first {
            &session.controls.install
        } else {
            &session.controls.upgrade
        };
        let mut hooks = Vec::new();
        for moment in moments.into_iter().filter(|_| !controls.hooks_disabled) {
            let mut due: Vec<_> = rendered
                .hooks
                .iter()
                .filter(|hook| hook.events.contains(&moment))
                .collect();
            due.sort_by_key(|hook| hook.weight);
            let named = due.iter().map(|hook| {
                let event = super::render::event_name(moment);
                format!("{event} {} {}", hook.manifest.kind, hook.manifest.name)
            });
            hooks.extend(named);
        }
        Ok(Wanted {
            objects: objects_of_manifest(&manifest(&rendered))?,
            definitions: definitions(&rendered.crds)?,
            hooks,
        })
    }

    /// What the last revision wants, if it is somebody else's and rendering it again gives what it is.
    async fn taken_over(
        &self,
        session: &Session,
        revisions: &[Stored],
    ) -> Result<Option<Wanted>, ReconcileError> {
        let found = self.rendered_as_it_is(session, revisions).await?;
        Ok(found.map(|(_, _, objects)| Wanted {
            objects,
            definitions: Vec::new(),
            hooks: Vec::new(),
        }))
    }

    async fn fates(
        &self,
        session: &Session,
        wanted: &Wanted,
        revisions: &[Stored],
        formers: Option<&[String]>,
    ) -> Result<Vec<ObjectPreview>, ReconcileError> {
        let apis = wanted.objects.iter().map(|object| &object.api);
        let served = self.shared.discovery.served_with(apis).await?;
        let mut defined = kinds_defined_by(&wanted.objects);
        defined.extend(kinds_defined_by(&wanted.definitions));
        let mut objects = Vec::new();
        for definition in &wanted.definitions {
            objects.extend(self.definition_fate(definition, &served).await?);
        }
        let left = self
            .leave_to_others(session, wanted.objects.clone(), revisions, Handover::Imagine)
            .await?;
        let requests = left.iter().map(|object| {
            let is_defined = defined.contains(&object.api);
            let applier = &self.shared.applier;
            applier
                .try_apply(
                    &session.owner,
                    object,
                    &served,
                    is_defined,
                    formers,
                    self.settings.conflicts,
                )
                .boxed()
        });
        let requests: Vec<_> = requests.collect();
        let tried: Vec<Tried> = futures::stream::iter(requests)
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        let desired: BTreeSet<ObjectId> = tried.iter().map(|tried| tried.id.clone()).collect();
        objects.extend(tried.into_iter().map(object_preview));
        objects.extend(self.orphans(session, revisions, &desired).await?);
        Ok(objects)
    }

    /// What would become of a definition in the chart's `crds/` folder, if anything.
    async fn definition_fate(
        &self,
        definition: &RenderedObject,
        served: &Served,
    ) -> Result<Option<ObjectPreview>, ReconcileError> {
        let id = ObjectId {
            group: definition.api.group.clone(),
            kind: definition.api.kind.clone(),
            namespace: None,
            name: definition.name.clone(),
        };
        let kinds = kinds_defined_by(std::slice::from_ref(definition));
        let is_missing = kinds.iter().any(|kind| served.resource(kind).is_none());
        let (live, value) = match self.settings.crds {
            CrdPolicy::Create if is_missing => (None, definition.value.clone()),
            CrdPolicy::Create | CrdPolicy::Skip => return Ok(None),
            CrdPolicy::CreateReplace => match self.shared.applier.try_replace_crd(definition).await? {
                Some((live, replaced)) => (Some(comparable(live)), replaced),
                None => (None, definition.value.clone()),
            },
        };
        Ok(Some(ObjectPreview {
            id,
            live,
            managers: BTreeSet::new(),
            fate: Fate::Applied(comparable(value)),
            dropped: Vec::new(),
        }))
    }

    /// What stored revisions name and nobody wants any longer, as far as it is there and ours.
    async fn orphans(
        &self,
        session: &Session,
        revisions: &[Stored],
        desired: &BTreeSet<ObjectId>,
    ) -> Result<Vec<ObjectPreview>, ReconcileError> {
        let mut orphans: Vec<ObjectPreview> = Vec::new();
        for (id, object) in self.inventory(session, in_effect(revisions)).await? {
            if desired.contains(&id) || orphans.iter().any(|orphan| orphan.id == id) {
                continue;
            }
            if let Some(live) = self.shared.applier.live(&session.owner, &id).await? {
                orphans.push(ObjectPreview {
                    fate: if object.is_kept() {
                        Fate::Kept
                    } else {
                        Fate::Deleted
                    },
                    managers: managers(Some(&live)),
                    live: Some(comparable(live)),
                    dropped: Vec::new(),
                    id,
                });
            }
        }
        Ok(orphans)
    }

    /// Objects of the kinds of the release, in its namespace, that belong to its resource and are not `known`.
    async fn strays(
        &self,
        session: &Session,
        known: &[ObjectPreview],
    ) -> Result<Vec<ObjectId>, ReconcileError> {
        let kinds: BTreeSet<(&str, &str)> = known
            .iter()
            .map(|object| (object.id.group.as_str(), object.id.kind.as_str()))
            .collect();
        let mut strays = Vec::new();
        for (group, kind) in kinds {
            let found = self.shared.applier.marked(&session.owner, group, kind).await?;
            strays.extend(
                found
                    .into_iter()
                    .filter(|id| known.iter().all(|object| object.id != *id)),
            );
        }
        Ok(strays)
    }
}

/// What a stored revision wants.
fn stored(revisions: &[Stored], revision: Revision) -> Result<Wanted, ReconcileError> {
    let found = revisions.iter().find(|stored| stored.record.version == revision);
    Ok(Wanted {
        objects: match found {
            Some(stored) => objects_of_manifest(&stored.record.manifest)?,
            None => Vec::new(),
        },
        definitions: Vec::new(),
        hooks: Vec::new(),
    })
}

/// Knows the secrets of the revisions in effect and of what is wanted. A manifest that can't be read names no secret
/// that could be shown.
fn redactor(session: &Session, revisions: &[Stored], wanted: Option<&Wanted>) -> Redactor {
    let mut objects = Vec::new();
    let mut values = vec![Value::Object(session.values.clone())];
    for stored in in_effect(revisions) {
        objects.extend(objects_of_manifest(&stored.record.manifest).unwrap_or_default());
        values.extend(stored.record.config.clone().map(Value::Object));
    }
    let wanted = wanted.map(|wanted| wanted.objects.as_slice()).unwrap_or_default();
    Redactor::new(objects.iter().chain(wanted), &json!(values))
}

fn object_preview(tried: Tried) -> ObjectPreview {
    let fate = match tried.result {
        Ok(value) => Fate::Applied(comparable(value)),
        Err(error) => Fate::Refused(chain(&error)),
    };
    let dropped = match (&fate, tried.without_takeover.map(comparable)) {
        (Fate::Applied(after), Some(before)) => differing_fields(&before, after),
        _ => Vec::new(),
    };
    ObjectPreview {
        id: tried.id,
        managers: managers(tried.live.as_ref()),
        live: tried.live.map(comparable),
        fate,
        dropped,
    }
}

/// The managers but ourselves that own fields of an object, the status apart.
fn managers(live: Option<&Value>) -> BTreeSet<String> {
    let entries = live.and_then(|live| live.pointer("/metadata/managedFields")?.as_array());
    let of_object = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("subresource").is_none());
    let names = of_object.filter_map(|entry| entry.get("manager")?.as_str());
    names
        .filter(|name| *name != FIELD_MANAGER)
        .map(str::to_owned)
        .collect()
}

/// An object without what changes although nothing has changed.
fn comparable(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            for noise in [
                "managedFields",
                "resourceVersion",
                "generation",
                "uid",
                "creationTimestamp",
                "selfLink",
            ] {
                metadata.remove(noise);
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(live: Option<Value>, fate: Fate) -> ObjectPreview {
        ObjectPreview {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: None,
                name: "a".to_owned(),
            },
            managers: BTreeSet::new(),
            live: live.map(comparable),
            fate,
            dropped: Vec::new(),
        }
    }

    #[test]
    fn what_the_server_counts_is_no_difference() {
        let live = json!({"metadata": {"name": "a", "resourceVersion": "1", "generation": 3, "uid": "u"},
            "data": {"a": "1"}, "status": {"x": 1}});
        let same = comparable(json!({"metadata": {"name": "a", "resourceVersion": "2"}, "data": {"a": "1"}}));
        let other = comparable(json!({"metadata": {"name": "a"}, "data": {"a": "2"}}));
        for (live, fate, expect) in [
            (Some(&live), Fate::Applied(same.clone()), false),
            (Some(&live), Fate::Applied(other), true),
            (None, Fate::Applied(same), true),
            (Some(&live), Fate::Deleted, true),
            (Some(&live), Fate::Kept, false),
            (None, Fate::Refused("no".to_owned()), true),
        ] {
            let preview = preview(live.cloned(), fate);
            assert_eq!(preview.differs(), expect, "{preview:?}");
        }
    }
}
