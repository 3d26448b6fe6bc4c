//! The loop for one resource: observe, decide, act, report.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use steersman_ansible::ExtraVars;
use steersman_cluster::client::ServiceAccount;
use steersman_cluster::discovery::Resource;
use steersman_cluster::{PrimaryResource, RequestError};
use steersman_model::{Digest, FIELD_MANAGER, chain};
use steersman_watches::controls::Mode;
use steersman_watches::{AnsibleContent, AnsibleWatch};

use super::decide::{next_action, run_state};
use super::record::RunRecord;
use super::report::{RECORD, RunReport, next_status};
use super::run::{Due, Ended, RunFailure, RunTools};
use super::state::{Action, Cause, LastRun, Observed, RunInputs};
use crate::dependents::Dependents;
use crate::reconcile::{Next, ReconcileOutcome};
use crate::release::Signer;
use crate::status::{LearningRedactor, write_status};

/// What is remembered of a resource between reconciles.
#[derive(Debug, Default)]
pub struct RunCache {
    /// Failures in a row.
    pub failures: u32,
    /// The last run: what the status says, where that is the operator's word.
    record: Option<RunRecord>,
    /// Whether the status was read since the process began.
    is_read: bool,
}

/// Reconciles the resources of one kind by runs.
#[derive(Clone)]
pub struct RunReconciler {
    /// The API server.
    pub client: kube::Client,
    /// Signs what the status says of runs.
    pub signer: Arc<Signer>,
    /// What is live of what runs have made.
    pub dependents: Arc<Dependents>,
    /// Runs roles and playbooks.
    pub tools: RunTools,
    /// The entry of the kind.
    pub watch: Arc<AnsibleWatch>,
    /// What of it a run is made of.
    pub content: Digest,
    /// How resources of it are addressed.
    pub resource: Resource,
    /// How often one is run for without a change.
    pub period: Option<Duration>,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Why a reconcile has failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Run(#[from] RunFailure),
    #[error("failed to {attempt} the resource")]
    Request {
        attempt: &'static str,
        source: RequestError,
    },
    #[error("{words}")]
    Tasks { words: String },
}

/// One resource, while it is reconciled.
struct Subject {
    object: DynamicObject,
    owner: PrimaryResource,
    redactor: Arc<LearningRedactor>,
}

impl std::fmt::Debug for RunReconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunReconciler")
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}

impl RunReconciler {
    /// Runs what is due for `object`, and reports it in the object's status.
    ///
    /// # Guarantees
    /// A settled resource costs no request and no run.
    ///
    /// # Cancellation
    /// Safe at any await: a run that is under way is killed, and made anew.
    pub async fn reconcile(&self, object: DynamicObject, cache: &mut RunCache) -> ReconcileOutcome {
        let Some(mut subject) = self.subject(object) else {
            return ReconcileOutcome::of(Next::Never);
        };
        if !cache.is_read {
            cache.record = self.recorded(&subject);
            cache.is_read = true;
        }
        match self.converge(&mut subject, cache).await {
            Ok(next) => {
                cache.failures = 0;
                ReconcileOutcome {
                    object: Some(subject.object),
                    ..ReconcileOutcome::of(next)
                }
            }
            Err(error) => {
                cache.failures = cache.failures.saturating_add(1);
                let words = subject.redactor.mask(&chain(&error));
                tracing::error!(name = %subject.owner.name, error = words, "Reconcile failed");
                ReconcileOutcome {
                    object: Some(subject.object),
                    ..ReconcileOutcome::of(Next::Retry(None))
                }
            }
        }
    }

    fn subject(&self, object: DynamicObject) -> Option<Subject> {
        let owner = PrimaryResource {
            api_version: self.resource.api.api_version.clone(),
            kind: self.resource.api.kind.clone(),
            namespace: object.metadata.namespace.clone(),
            name: object.metadata.name.clone()?,
            uid: object.metadata.uid.clone()?,
        };
        Some(Subject {
            object,
            owner,
            redactor: Arc::default(),
        })
    }

    /// What the status says of the last run, where the operator has said it.
    fn recorded(&self, subject: &Subject) -> Option<RunRecord> {
        let written = subject.object.data.pointer(&format!("/status/{RECORD}"))?;
        match RunRecord::read(written, &self.signer.keys(), &subject.owner.uid) {
            Ok(record) => Some(record),
            Err(error) => {
                tracing::warn!(name = %subject.owner.name, error = chain(&error), "a run is made");
                None
            }
        }
    }

    async fn converge(&self, subject: &mut Subject, cache: &mut RunCache) -> Result<Next, Failure> {
        loop {
            let observed = self.observe(subject, cache);
            match next_action(run_state(&observed)) {
                None => return Ok(self.rest(cache)),
                Some(Action::AddFinalizer) => self.write_finalizer(subject, true).await?,
                Some(Action::Finalize) => {
                    self.finalize(subject).await?;
                    return Ok(Next::Never);
                }
                Some(Action::Run(cause)) => self.run(subject, cache, observed.inputs, cause).await?,
            }
        }
    }

    fn observe(&self, subject: &Subject, cache: &RunCache) -> Observed {
        let metadata = &subject.object.metadata;
        let finalizer = self.watch.finalizer.as_ref();
        let held = metadata.finalizers.iter().flatten();
        let now = (self.now)();
        let record = cache.record.as_ref();
        let is_due = |record: &RunRecord| {
            let period = self.period.map(|period| record.ended.saturating_add(period));
            let by_period = period.is_some_and(|due| due.is_ok_and(|due| due <= now));
            by_period || record.next.is_some_and(|next| next <= now)
        };
        Observed {
            deleting: metadata.deletion_timestamp.is_some(),
            wants_finalizer: finalizer.is_some(),
            has_finalizer: finalizer.is_some_and(|wanted| held.clone().any(|held| *held == wanted.name)),
            mode: Mode::Apply,
            last: record.map(RunRecord::run),
            inputs: self.inputs(subject),
            has_drifted: record.is_some_and(|record| self.has_drifted(subject, record)),
            is_due: record.is_some_and(is_due),
        }
    }

    fn inputs(&self, subject: &Subject) -> RunInputs {
        let metadata = &subject.object.metadata;
        let annotations = metadata
            .annotations
            .as_ref()
            .filter(|_| self.watch.watch_annotations);
        let said = json!([subject.object.data.get("spec"), annotations]);
        RunInputs {
            resource: steersman_model::digest_of_json(&said),
            content: self.content,
        }
    }

    /// Whether others have changed or deleted what the last run has left, as far as that is watched.
    fn has_drifted(&self, subject: &Subject, record: &RunRecord) -> bool {
        let uid = &subject.owner.uid;
        self.watch.watch_dependents
            && record.objects.iter().any(|left| {
                let live = self.dependents.live(uid, &left.id);
                live.is_none_or(|live| {
                    live.uid != left.uid || live.fields.is_some_and(|fields| fields.digest != left.fields)
                })
            })
    }

    async fn run(
        &self,
        subject: &mut Subject,
        cache: &mut RunCache,
        inputs: RunInputs,
        cause: Cause,
    ) -> Result<(), Failure> {
        self.report(subject, &RunReport::Running { cause }, cache.record.as_ref())
            .await?;
        let vars = self.extra_vars(subject, None);
        let ended = self.tools.run(self.due(subject, &self.watch.content, vars)).await;
        let ended = match ended {
            Ok(ended) => ended,
            Err(failure) => {
                let words = subject.redactor.mask(&chain(&failure));
                let report = RunReport::Failed {
                    result: None,
                    message: words.clone(),
                    words,
                };
                cache.record = None;
                self.report(subject, &report, None).await?;
                return Err(failure.into());
            }
        };
        let has_succeeded = ended.outcome.is_successful();
        let record = record_of(inputs, &ended, (self.now)());
        let report = report_of(&ended, subject);
        cache.record = Some(record);
        self.report(subject, &report, cache.record.as_ref()).await?;
        match report {
            RunReport::Failed { words, .. } if !has_succeeded => Err(Failure::Tasks { words }),
            _ => Ok(()),
        }
    }

    fn due<'a>(
        &self,
        subject: &'a Subject,
        content: &'a AnsibleContent,
        extra_vars: serde_json::Map<String, Value>,
    ) -> Due<'a> {
        let account = self.watch.service_account.as_ref().map(|name| ServiceAccount {
            namespace: subject.owner.namespace.clone().unwrap_or_default(),
            name: name.clone(),
        });
        Due {
            owner: &subject.owner,
            account,
            content,
            extra_vars,
            verbosity: self.watch.verbosity.unwrap_or(self.tools.defaults.verbosity),
            kept_artifacts: self.watch.max_runner_artifacts,
            redactor: &subject.redactor,
        }
    }

    fn extra_vars(
        &self,
        subject: &Subject,
        finalizer: Option<&serde_json::Map<String, Value>>,
    ) -> serde_json::Map<String, Value> {
        let watch = &self.watch;
        let vars = ExtraVars {
            snake_case: watch.snake_case_parameters,
            mark_unsafe: watch.mark_unsafe,
            vars: watch.vars.clone(),
            finalizer_vars: finalizer.cloned().unwrap_or_default(),
            ..ExtraVars::new(&watch.gvk.group, &watch.gvk.kind)
        };
        let resource = serde_json::to_value(&subject.object).unwrap_or_default();
        vars.of(&resource)
    }

    /// Runs what the entry says for a deletion, and takes the finalizer off when that has succeeded.
    async fn finalize(&self, subject: &mut Subject) -> Result<(), Failure> {
        let Some(finalizer) = &self.watch.finalizer else {
            return Ok(());
        };
        let content = finalizer.content.as_ref().unwrap_or(&self.watch.content);
        let vars = self.extra_vars(subject, Some(&finalizer.vars));
        let ended = self.tools.run(self.due(subject, content, vars)).await?;
        if let RunReport::Failed { words, .. } = report_of(&ended, subject) {
            let report = RunReport::Finalizing { words: words.clone() };
            self.report(subject, &report, None).await?;
            return Err(Failure::Tasks { words });
        }
        self.write_finalizer(subject, false).await
    }

    async fn write_finalizer(&self, subject: &mut Subject, is_wanted: bool) -> Result<(), Failure> {
        let Some(finalizer) = &self.watch.finalizer else {
            return Ok(());
        };
        let metadata = &subject.object.metadata;
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|name| *name != finalizer.name);
        if is_wanted {
            finalizers.push(finalizer.name.clone());
        }
        let patch = json!({ "metadata": {
            "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers,
        }});
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let (api, patch) = (self.api(subject), Patch::Merge(patch));
        let patched = api.patch(&subject.owner.name, &parameters, &patch).await;
        match patched.map_err(RequestError::from) {
            Ok(object) => subject.object = object,
            Err(error) if error.is_not_found() => {}
            Err(source) => {
                let attempt = if is_wanted {
                    "add the finalizer of"
                } else {
                    "take the finalizer off"
                };
                return Err(Failure::Request { attempt, source });
            }
        }
        Ok(())
    }

    async fn report(
        &self,
        subject: &mut Subject,
        report: &RunReport,
        record: Option<&RunRecord>,
    ) -> Result<(), Failure> {
        if !self.watch.manage_status {
            return Ok(());
        }
        let signed = record.and_then(|record| record.sign(&self.signer.keys(), &subject.owner.uid));
        let current = subject.object.data.get("status").cloned().unwrap_or_default();
        let generation = subject.object.metadata.generation;
        let next = next_status(&current, report, generation, signed, (self.now)());
        let (api, owner) = (self.api(subject), &subject.owner);
        let written = write_status(&api, &owner.name, &owner.uid, &current, &next).await;
        let written = written.map_err(|error| Failure::Request {
            attempt: "write the status of",
            source: error.0,
        })?;
        if let Some(object) = written {
            subject.object = object;
        }
        Ok(())
    }

    /// When to look again at a resource for which nothing is to be done.
    fn rest(&self, cache: &RunCache) -> Next {
        let now = (self.now)();
        let next = cache.record.as_ref().and_then(|record| record.next);
        match next.and_then(|next| Duration::try_from(next.duration_since(now)).ok()) {
            Some(pause) => Next::After(pause),
            None => Next::Period,
        }
    }

    fn api(&self, subject: &Subject) -> Api<DynamicObject> {
        self.resource
            .objects(&self.client, subject.owner.namespace.as_deref())
    }
}

/// What is recorded of a run that has ended now.
fn record_of(inputs: RunInputs, ended: &Ended, now: Timestamp) -> RunRecord {
    let has_succeeded = ended.outcome.is_successful();
    let asked = ended.outcome.requeue_after.as_ref();
    let asked = asked.and_then(|asked| asked.as_ref().ok()).copied();
    let next = asked.and_then(|pause| now.saturating_add(pause).ok());
    let run = LastRun {
        inputs,
        has_succeeded,
    };
    let mut record = RunRecord::new(run, now).with_objects(ended.objects.clone());
    record.next = next;
    record
}

/// What is said of a run that has come to its end, with secrets masked.
fn report_of(ended: &Ended, subject: &Subject) -> RunReport {
    let result = serde_json::to_value(&ended.outcome.result).unwrap_or_default();
    let Some(first) = ended.outcome.failed.first() else {
        return RunReport::Succeeded { result };
    };
    let messages: Vec<&str> = ended
        .outcome
        .failed
        .iter()
        .map(|task| task.message.as_str())
        .collect();
    RunReport::Failed {
        result: Some(result),
        message: subject.redactor.mask(&messages.join("\n")),
        words: subject.redactor.mask(&first.to_string()),
    }
}
