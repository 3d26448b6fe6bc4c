//! What a reconcile would do, without doing it.

use kube::api::DynamicObject;
use steersman_chart::{HookEvent, Operation};

use super::action::deploy::{former_managers, in_effect};
use super::error::ReconcileError;
use super::foreseen::{Plan, Preview};
use super::memory::{Known, Memory, was_ever_deployed};
use super::render::{definitions, manifest};
use super::secrets::redactor;
use super::session::Session;
use super::state::{Action, Observed};
use super::{Reconciler, next_action, release_state};
use crate::release::Stored;
use steersman_model::Revision;
use steersman_model::{RenderedObject, objects_of_manifest};
use steersman_watches::controls::Mode;
use steersman_watches::drift::DriftMode;
use steersman_watches::values::user_values;

/// Where the objects of a preview come from.
pub(super) struct Wanted {
    pub(super) objects: Vec<RenderedObject>,
    pub(super) definitions: Vec<RenderedObject>,
    pub(super) hooks: Vec<String>,
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
            wish: Mode::Apply,
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
        let objects = wanted.as_ref().map(|wanted| wanted.objects.as_slice());
        let redactor = redactor(&session, in_effect(&revisions), objects.unwrap_or_default());
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
            paused: session.controls.mode == Mode::Pause,
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
