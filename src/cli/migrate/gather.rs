//! Looks at everything that the switch touches.

use std::collections::BTreeSet;

use anyhow::anyhow;
use kube::api::{Api, DynamicObject, ListParams};
use steersman_cluster::client::list_all;
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, Environment, chain};
use steersman_operator::namespaces::Namespaces;
use steersman_operator::reconcile::{Cause, Decision, DryRun, ObjectDryRun, ObjectResult};
use steersman_watches::controls::Controls;
use steersman_watches::{Watch, Watches};

use super::Args;
use super::finding::{Report, Subject, Weight, changed_fields};
use crate::cli::cluster::{Cluster, failed};
use crate::cli::diff::{self, dry_run};
use crate::cli::{Failure, run};

/// Everything that was found.
///
/// # Errors
/// The cluster can't be asked at all.
pub(super) async fn gather(arguments: &Args, environment: &Environment) -> Result<Report, Failure> {
    let mut report = Report::default();
    if !arguments.flags.is_empty() {
        report.push(flags(&arguments.flags, environment));
    }
    let mut file = Subject::new(arguments.watches_file.display().to_string());
    let watches = match Watches::load(&arguments.watches_file, environment) {
        Ok(watches) => watches,
        Err(error) => {
            file.add(Weight::Problem, error.to_string());
            report.push(file);
            return Ok(report);
        }
    };
    for notice in watches.notices() {
        let message = format!("line {}: {}: {}", notice.line, notice.key, notice.message);
        file.add(Weight::Differs, message);
    }
    file.add(Weight::Same, format!("{} entries", watches.iter().count()));
    report.push(file);
    let namespaces = Namespaces::parse(environment.get("WATCH_NAMESPACE"));
    let namespaces =
        namespaces.map_err(|message| Failure::usage(anyhow!("WATCH_NAMESPACE: {message}"), None))?;
    let cluster = arguments.cluster.connect(environment).await?;
    for watch in &watches {
        Box::pin(look_at_watch(&cluster, watch, &namespaces, &mut report)).await?;
    }
    Ok(report)
}

/// Whether `run` takes the flags of helm-operator's Deployment.
fn flags(flags: &[String], environment: &Environment) -> Subject {
    let mut subject = Subject::new("flags");
    match run::check_flags(flags, environment) {
        Ok(notices) => {
            for notice in notices {
                subject.add(Weight::Differs, notice);
            }
            subject.add(Weight::Same, "`steersman run` takes them");
        }
        Err(problem) => subject.add(Weight::Problem, problem),
    }
    subject
}

async fn look_at_watch(
    cluster: &Cluster,
    watch: &Watch,
    namespaces: &Namespaces,
    report: &mut Report,
) -> Result<(), Failure> {
    let gvk = &watch.gvk;
    let served = cluster.discovery.served().await.map_err(failed)?;
    let api = ApiKind {
        group: gvk.group.clone(),
        version: gvk.version.clone(),
        kind: gvk.kind.clone(),
    };
    let Some(resource) = served.resource(&api) else {
        let mut subject = Subject::new(format!("{} in {}", gvk.kind, gvk.api_version()));
        subject.add(Weight::Differs, "is not served: the operator would wait for it");
        report.push(subject);
        return Ok(());
    };
    let resources = list(cluster, watch, resource, namespaces).await?;
    if resources.is_empty() {
        let mut subject = Subject::new(format!("{} in {}", gvk.kind, gvk.api_version()));
        subject.add(Weight::Same, "there are no resources");
        report.push(subject);
    }
    for mut object in resources {
        // Items of a list name no type.
        object.types.get_or_insert_with(|| kube::core::TypeMeta {
            api_version: gvk.api_version(),
            kind: gvk.kind.clone(),
        });
        report.push(look_at_resource(cluster, watch, resource, object).await);
    }
    Ok(())
}

async fn list(
    cluster: &Cluster,
    watch: &Watch,
    resource: &Resource,
    namespaces: &Namespaces,
) -> Result<Vec<DynamicObject>, Failure> {
    let apis: Vec<Api<DynamicObject>> = match namespaces {
        Namespaces::Listed(names) if resource.namespaced => {
            let in_namespace = |name: &String| resource.objects(&cluster.client, Some(name));
            names.iter().map(in_namespace).collect()
        }
        _ => vec![resource.objects(&cluster.client, None)],
    };
    let mut found = Vec::new();
    for api in apis {
        let all = list_all(&api, ListParams::default().labels_from(&watch.selector)).await;
        found.extend(
            all.map_err(|error| anyhow!(error).context(format!("failed to list {}", watch.gvk.kind)))?,
        );
    }
    Ok(found)
}

async fn look_at_resource(
    cluster: &Cluster,
    watch: &Watch,
    resource: &Resource,
    object: DynamicObject,
) -> Subject {
    let annotations = object.metadata.annotations.clone().unwrap_or_default();
    let wanted = diff::Subject {
        object,
        resource: resource.clone(),
        watch,
    };
    let mut subject = Subject::new(wanted.title());
    for name in Controls::without_effect(&annotations) {
        subject.add(Weight::Differs, format!("annotation {name} has no effect"));
    }
    for complaint in Controls::read(Some(&annotations)).1 {
        subject.add(Weight::Differs, complaint);
    }
    match dry_run(cluster, wanted).await {
        Ok(dry_run) => tell(&dry_run, &mut subject),
        Err(error) => subject.add(Weight::Problem, chain(&error)),
    }
    subject
}

fn tell(dry_run: &DryRun, subject: &mut Subject) {
    let (weight, message) = decision(dry_run.decision);
    subject.add(weight, message);
    if let Some(waits) = &dry_run.waits {
        subject.add(Weight::Differs, dry_run.redactor.mask(waits));
    }
    for hook in &dry_run.hooks {
        subject.add(Weight::Differs, format!("hook {hook} would run"));
    }
    let mut managers = BTreeSet::new();
    for object in &dry_run.objects {
        if let Some((weight, message)) = finding(object) {
            subject.add(weight, dry_run.redactor.mask(&message));
        }
        if let Some(message) = dropped(object) {
            subject.add(Weight::Differs, dry_run.redactor.mask(&message));
        }
        managers.extend(object.managers.iter().map(String::as_str));
    }
    for id in &dry_run.unrecorded {
        let message = format!(
            "{id} belongs to the resource, and no revision names it: it would stay until that is deleted"
        );
        subject.add(Weight::Differs, message);
    }
    let is_ours = matches!(dry_run.decision, Decision::Keep(_) | Decision::Recover(_));
    if !managers.is_empty() && !is_ours {
        let names: Vec<&str> = managers.into_iter().collect();
        let message = format!(
            "fields are owned by {}; those of the former operator become ours",
            names.join(", ")
        );
        subject.add(Weight::Same, message);
    }
}

/// What an object loses because its fields become ours.
fn dropped(object: &ObjectDryRun) -> Option<String> {
    let fields = object.dropped.join(", ");
    (!fields.is_empty()).then(|| {
        format!(
            "{} would lose what the former operator has written and the chart does not render: {fields}",
            object.id
        )
    })
}

fn decision(decision: Decision) -> (Weight, String) {
    match decision {
        Decision::TakeOver(revision) => (
            Weight::Same,
            format!("revision {revision} would be taken over as it is"),
        ),
        Decision::Keep(revision) => (Weight::Same, format!("revision {revision} is ours already")),
        Decision::Uninstall => (Weight::Differs, "is being deleted".to_owned()),
        Decision::Install => (
            Weight::Differs,
            "has no release, and one would be installed".to_owned(),
        ),
        Decision::Upgrade(revision, Cause::TakenOver) => (
            Weight::Differs,
            format!(
                "would be upgraded to revision {revision}: chart or values are not those of the last one"
            ),
        ),
        Decision::Upgrade(revision, _) => (
            Weight::Differs,
            format!("would be upgraded to revision {revision}"),
        ),
        Decision::Recover(revision) => (
            Weight::Differs,
            format!("revision {revision} would be applied again, as that has not succeeded yet"),
        ),
        Decision::RollBack(revision) => (Weight::Differs, format!("would go back to revision {revision}")),
    }
}

fn finding(object: &ObjectDryRun) -> Option<(Weight, String)> {
    let id = &object.id;
    match (&object.result, &object.live) {
        (ObjectResult::Refused(reason), _) => {
            Some((Weight::Problem, format!("{id} would be refused: {reason}")))
        }
        (ObjectResult::Recreated(_), _) => Some((
            Weight::Differs,
            format!("{id} would be deleted and created again"),
        )),
        (ObjectResult::Deleted, _) => Some((Weight::Differs, format!("{id} would be deleted"))),
        (ObjectResult::Kept, _) => None,
        (ObjectResult::Applied(_), None) => Some((Weight::Differs, format!("{id} would be created"))),
        (ObjectResult::Applied(after), Some(live)) => {
            let fields = changed_fields(live, after);
            let is_other = !fields.is_empty();
            is_other.then(|| {
                (
                    Weight::Differs,
                    format!("{id} would change: {}", fields.join(", ")),
                )
            })
        }
    }
}
