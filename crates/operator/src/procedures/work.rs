//! What is done about runs without anybody's word: they are made, cancelled and deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use serde_json::{Value, json};
use steersman_cluster::discovery::Resource;
use steersman_cluster::{OWNER_UID_LABEL, RequestError};
use steersman_model::{FIELD_MANAGER, chain};
use steersman_watches::procedure::Procedure;
use steersman_watches::procedure::names::{CANCEL, PROCEDURE_LABEL, REQUEST, SCHEDULED_AT, TRIGGER};

use super::index::Procedures;
use super::job::finalizers_but_ours;
use super::subject::Run;
use crate::coordination::{Want, run_name, run_name_of};
use crate::namespaces::Namespaces;
use crate::reconcile::{Reconciler, patch_finalizers};
use crate::status::{EventReason, second};

/// So many requests are under way at a time: many resources may have one schedule.
const PARALLEL: usize = 8;
/// Nothing is looked at sooner.
const LEAST: Duration = Duration::from_millis(10);
/// How soon what has failed is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// One thing to be done.
#[derive(Debug)]
pub(super) enum Work {
    Make(Making),
    Cancel {
        procedure: Arc<Procedure>,
        namespace: Option<String>,
        name: String,
    },
    Delete {
        procedure: Arc<Procedure>,
        namespace: Option<String>,
        name: String,
        uid: String,
    },
    /// The Jobs of the run with this UID may go: it is gone without having let them.
    LetGo {
        namespace: Option<String>,
        uid: String,
    },
    /// So may those of runs that have gone while no operator was there.
    LetGoOfFormer,
    /// Something is wrong with the resource of this UID.
    Complain {
        uid: String,
        words: String,
    },
}

/// A run to be made.
#[derive(Clone, Debug)]
pub(super) struct Making {
    pub(super) procedure: Arc<Procedure>,
    pub(super) namespace: Option<String>,
    pub(super) resource: String,
    pub(super) uid: String,
    pub(super) scheduled_at: Option<Timestamp>,
    pub(super) request: Option<String>,
    /// What the release wants it for.
    pub(super) wanted: Option<Want>,
    /// The time for which one was made before.
    pub(super) before: Option<Timestamp>,
}

impl Work {
    pub(super) fn complain(uid: &str, words: String) -> Self {
        Self::Complain {
            uid: uid.to_owned(),
            words,
        }
    }
}

impl Making {
    /// The name of the run. It is the same for the same time or request, so that a run is made once.
    pub(super) fn name(&self) -> String {
        let (resource, procedure) = (&self.resource, &self.procedure.name);
        let text = match (&self.scheduled_at, &self.wanted) {
            (Some(time), _) => {
                return run_name_of(resource, procedure, &(time.as_second() / 60).to_string());
            }
            (None, Some(want)) => return want.name.clone(),
            (None, None) => self.request.clone().unwrap_or_default(),
        };
        run_name(resource, &self.uid, procedure, &text)
    }

    fn object(&self, (resource, runs): (&Resource, &Resource)) -> Value {
        let mut annotations = BTreeMap::new();
        let trigger = match (&self.scheduled_at, &self.wanted) {
            (Some(_), _) => "schedule",
            (None, Some(want)) => want.trigger(),
            (None, None) => "annotation",
        };
        annotations.insert(TRIGGER, trigger.to_owned());
        if let Some(time) = self.scheduled_at {
            annotations.insert(SCHEDULED_AT, second(time));
        }
        if let Some(request) = &self.request {
            annotations.insert(REQUEST, request.clone());
        }
        json!({
            "apiVersion": runs.api.api_version,
            "kind": runs.api.kind,
            "metadata": {
                "name": self.name(),
                "namespace": self.namespace,
                "labels": { (PROCEDURE_LABEL): self.procedure.name },
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": resource.api.api_version,
                    "kind": resource.api.kind,
                    "name": self.resource,
                    "uid": self.uid,
                }],
            },
            "spec": { "resource": self.resource },
        })
    }
}

/// Does what is due of an entry.
pub(crate) struct Scheduler {
    pub(crate) procedures: Arc<Procedures>,
    pub(crate) releases: Reconciler,
    pub(crate) client: Client,
    /// Where runs are.
    pub(crate) namespaces: Namespaces,
    /// How the resources are addressed.
    pub(crate) resource: Resource,
    /// How the runs of each procedure are, by its name.
    pub(crate) runs: BTreeMap<String, Resource>,
    pub(crate) now: fn() -> Timestamp,
}

impl Scheduler {
    /// Makes runs when their time comes, and deletes those that there is no place for. It ends when it is dropped.
    ///
    /// # Guarantees
    /// Between two times nothing is requested. A run has a name that follows from its time, so that it is made once, whichever
    /// process makes it; one that was missed is made when a process is there again.
    pub(crate) async fn run(self) {
        let mut undone: Vec<Work> = Vec::new();
        loop {
            let (due, next) = self.procedures.work((self.now)());
            let due = undone.drain(..).chain(due).collect::<Vec<_>>();
            let done = stream::iter(due).map(|work| self.carry_out(work));
            let left = done.buffer_unordered(PARALLEL).filter_map(std::future::ready);
            undone = left.collect().await;
            let pause = next.map(|next| next.duration_since((self.now)()));
            let pause = pause.map(|pause| Duration::try_from(pause).unwrap_or_default());
            let retry = (!undone.is_empty()).then_some(RETRY);
            let pause = pause.into_iter().chain(retry).min();
            tokio::select! {
                () = self.procedures.changed() => {}
                () = tokio::time::sleep(pause.unwrap_or_default().max(LEAST)), if pause.is_some() => {}
            }
        }
    }

    /// Gives what is to be tried again. What is to be made is known to the procedures.
    async fn carry_out(&self, work: Work) -> Option<Work> {
        let is_done = match &work {
            Work::Make(making) => {
                self.make(making).await;
                true
            }
            Work::Cancel {
                procedure,
                namespace,
                name,
            } => {
                let patch = json!({ "metadata": { "annotations": { (CANCEL): "true" } } });
                let api = self.api(procedure, namespace.as_deref())?;
                let cancelled = api
                    .patch(name, &PatchParams::default(), &Patch::Merge(patch))
                    .await;
                said(name, "cancel", cancelled.map(|_| ()))
            }
            Work::Delete {
                procedure,
                namespace,
                name,
                uid,
            } => {
                let api = self.api(procedure, namespace.as_deref())?;
                let parameters = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid: Some(uid.clone()),
                        resource_version: None,
                    }),
                    ..DeleteParams::background()
                };
                let deleted = api.delete(name, &parameters).await;
                said(name, "delete", deleted.map(|_| ()))
            }
            Work::LetGo { namespace, uid } => {
                let let_go = self.let_go(namespace.as_deref(), uid).await;
                if let Err(error) = &let_go {
                    let error = chain(error);
                    tracing::warn!(%uid, error, "failed to let go of the Jobs of a run that is gone, trying again");
                }
                let_go.is_ok()
            }
            Work::LetGoOfFormer => {
                let let_go = self.let_go_of_former().await;
                if let Err(error) = &let_go {
                    let error = chain(error);
                    tracing::warn!(error, "failed to let go of the Jobs of former runs, trying again");
                }
                let_go.is_ok()
            }
            Work::Complain { uid, words } => {
                self.complain(uid, words).await;
                true
            }
        };
        (!is_done).then_some(work)
    }

    /// Takes our finalizer off the Jobs of a run: their owner is gone, so that they follow it.
    async fn let_go(&self, namespace: Option<&str>, uid: &str) -> Result<(), RequestError> {
        let Some(namespace) = namespace else {
            return Ok(());
        };
        let selected = ListParams::default().labels(&format!("{OWNER_UID_LABEL}={uid}"));
        for job in self.jobs(Some(namespace)).list_metadata(&selected).await?.items {
            self.let_go_of(&job.metadata).await?;
        }
        Ok(())
    }

    /// The same for Jobs that are to go and whose run is not there any longer: nobody has told of that.
    async fn let_go_of_former(&self) -> Result<(), RequestError> {
        let names = self.namespaces.names();
        let all = names.is_empty().then_some(None);
        let selected = ListParams::default().labels(OWNER_UID_LABEL);
        for namespace in names.iter().map(|name| Some(name.as_str())).chain(all) {
            for job in self.jobs(namespace).list_metadata(&selected).await?.items {
                if job.metadata.deletion_timestamp.is_some() && self.is_of_former(&job.metadata).await? {
                    self.let_go_of(&job.metadata).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether a Job is of a run of these procedures that is not there.
    async fn is_of_former(&self, job: &ObjectMeta) -> Result<bool, RequestError> {
        let is_run = |owner: &&OwnerReference| {
            let mut kinds = self.runs.values().map(|runs| &runs.api);
            kinds.any(|api| api.kind == owner.kind && api.api_version == owner.api_version)
        };
        let owner = job.owner_references.iter().flatten().find(is_run);
        let Some(owner) = owner.filter(|_| finalizers_but_ours(job).is_some()) else {
            return Ok(false);
        };
        let runs = self.runs.values().find(|runs| runs.api.kind == owner.kind);
        let Some(runs) =
            runs.map(|runs| runs.objects::<DynamicObject>(&self.client, job.namespace.as_deref()))
        else {
            return Ok(false);
        };
        let found = runs.get_metadata_opt(&owner.name).await?;
        Ok(found.is_none_or(|found| found.metadata.uid.as_ref() != Some(&owner.uid)))
    }

    async fn let_go_of(&self, job: &ObjectMeta) -> Result<(), RequestError> {
        let Some(finalizers) = finalizers_but_ours(job) else {
            return Ok(());
        };
        match patch_finalizers(&self.jobs(job.namespace.as_deref()), job, &finalizers, None).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Those of a namespace, or of the whole cluster.
    fn jobs(&self, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<Job>(&());
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn api(&self, procedure: &Procedure, namespace: Option<&str>) -> Option<Api<DynamicObject>> {
        let runs = self.runs.get(&procedure.name)?;
        Some(runs.objects(&self.client, namespace))
    }

    async fn make(&self, making: &Making) {
        let procedure = &making.procedure;
        let (Some(api), Some(runs)) = (
            self.api(procedure, making.namespace.as_deref()),
            self.runs.get(&procedure.name),
        ) else {
            return;
        };
        let Ok(object) = serde_json::from_value(making.object((&self.resource, runs))) else {
            return;
        };
        let parameters = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let name = making.name();
        match api.create(&parameters, &object).await {
            Ok(_) => {
                tracing::info!(run = %name, procedure = %procedure.name, "Made run of procedure");
                self.procedures.note_made(making);
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                self.judge_existing(making, &api, &name).await;
            }
            Err(error) => {
                let error = RequestError::from(error);
                tracing::warn!(run = %name, procedure = %procedure.name, %error, "failed to make a run, trying again");
                self.procedures.note_unmade(making, (self.now)());
            }
        }
    }

    /// A run of this name is there. Anybody may have made it, so it counts where it is the resource's.
    async fn judge_existing(&self, making: &Making, api: &Api<DynamicObject>, name: &str) {
        let found = api.get_opt(name).await.ok().flatten();
        let is_ours = found.and_then(Run::new).is_some_and(|found| {
            let mut owners = found.object.metadata.owner_references.iter().flatten();
            // Behind a gate it counts whoever has made it, where it is made as the operator would.
            let is_owned = owners.any(|owner| owner.uid == making.uid) || making.wanted.is_some();
            is_owned && found.is_plain(&making.procedure) && found.resource == making.resource
        });
        if is_ours {
            self.procedures.note_made(making);
            return;
        }
        let kind = &making.procedure.run_kind;
        let words = format!(
            "procedure {} does not run: there is a {kind} {name} of somebody else's",
            making.procedure.name
        );
        self.complain(&making.uid, &words).await;
        self.procedures.note_unmade(making, (self.now)());
    }

    async fn complain(&self, uid: &str, words: &str) {
        let Some((namespace, name)) = self.procedures.named(uid) else {
            return;
        };
        tracing::warn!(%name, "{words}");
        let api = self.resource.objects(&self.client, namespace.as_deref());
        if let Ok(Some(object)) = api.get_opt(&name).await {
            self.releases
                .event_about(&object, EventReason::ProcedureUnusable, words);
        }
    }
}

/// Gives whether it is done, or needs not be, and says what else.
fn said(name: &str, attempt: &str, done: Result<(), kube::Error>) -> bool {
    match done.map_err(RequestError::from) {
        Err(error) if !error.is_not_found() && !error.is_other_uid() && !error.is_conflict() => {
            tracing::warn!(run = %name, %error, "failed to {attempt} a run, trying again");
            false
        }
        _ => true,
    }
}
