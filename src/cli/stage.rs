//! `stage`: a word about a stage of a release.

use std::collections::BTreeMap;

use anyhow::anyhow;
use clap::Subcommand;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;
use steersman_cluster::RequestError;
use steersman_model::Environment;
use steersman_watches::controls::{LONGEST_LIST, StageName};

use super::Failure;
use super::cluster::{Cluster, ClusterFlags, Named, block_on, failed};
use super::progress::say as say_aside;
use super::report::print_line;
use super::style::harmless;

/// So often an annotation is written where others write the resource at the same time: its operator does, too.
const TRIES: u32 = 10;

const EXAMPLES: &str = "\
Examples:
  # The stage segmentstore, which waits for a word, may begin
  steersman stage approve pravegacluster/west segmentstore

  # Its objects are applied once more, and have all their time again
  steersman stage retry pravegacluster/west controller

  # The next stage begins although this one is not ready
  steersman stage skip pravegacluster/west controller";

const APPROVE: &str = "\
Examples:
  steersman stage approve pravegacluster/west segmentstore";

const SKIP: &str = "\
Examples:
  steersman stage skip pravegacluster/west controller";

const RETRY: &str = "\
Examples:
  steersman stage retry pravegacluster/west controller";

/// What `stage` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    word: Word,
}

#[derive(Debug, Subcommand)]
enum Word {
    /// Let a stage begin that waits for approval
    #[command(after_help = APPROVE)]
    Approve(Of),
    /// Let the next stage begin although this one is not ready
    #[command(after_help = SKIP)]
    Skip(Of),
    /// Apply the objects of a stage once more, with all their time again
    #[command(after_help = RETRY)]
    Retry(Of),
}

/// Which one, of which resource.
#[derive(Debug, clap::Args)]
struct Of {
    /// The custom resource: KIND/NAME
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// The stage, as watches.yaml and `steersman status` name it
    #[arg(value_name = "STAGE")]
    stage: String,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Word {
    fn of(&self) -> &Of {
        match self {
            Self::Approve(of) | Self::Skip(of) | Self::Retry(of) => of,
        }
    }

    /// The annotation, and in which states of a stage it means something.
    fn meaning(&self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Approve(_) => ("steersman.dev/approve-stage", &["Pending", "ApprovalRequired"]),
            Self::Skip(_) => ("steersman.dev/skip-stage", &["Pending", "Progressing", "Failed"]),
            Self::Retry(_) => ("steersman.dev/retry-stage", &["Progressing", "Failed"]),
        }
    }

    /// What is said of it when it is done.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Approve(_) => "may begin",
            Self::Skip(_) => "is passed over",
            Self::Retry(_) => "is applied once more",
        }
    }
}

/// Writes the annotation that says it.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let word = &arguments.word;
    let of = word.of();
    let named = Named::read(std::slice::from_ref(&of.resource))?;
    let Some(named) = named.first() else {
        return Ok(());
    };
    let revision = block_on(async {
        let cluster = of.cluster.connect(environment).await?;
        say(&cluster, named, word).await
    })?;
    let (resource, stage) = (harmless(&of.resource), harmless(&of.stage));
    print_line(&format!(
        "{resource}: stage {stage} of revision {revision} {}",
        word.outcome()
    ))?;
    Ok(())
}

async fn say(cluster: &Cluster, named: &Named, word: &Word) -> Result<u64, Failure> {
    let served = cluster.discovery.served().await.map_err(failed)?;
    let (api, resource) = Cluster::kind(&served, &named.kind, |_| false)?;
    let stage = &word.of().stage;
    let (annotation, states) = word.meaning();
    let mut tries_left = TRIES;
    loop {
        let object = cluster.get(&api, &resource, &named.name).await?;
        if object.metadata.deletion_timestamp.is_some() {
            let error = anyhow!(
                "{} {} is being deleted: no stage of it begins",
                api.kind,
                named.name
            );
            return Err(Failure::failed(error, None));
        }
        let revision = revision_of(&object, stage, states)?;
        compare_with_records(cluster, &object, revision).await?;
        let name = format!("{revision}/{stage}");
        let value = match word {
            Word::Retry(_) => format!("{name}/{}", Timestamp::now()),
            Word::Approve(_) | Word::Skip(_) => with_others(&object, annotation, revision, &name),
        };
        if value.len() > LONGEST_LIST {
            let error = anyhow!(
                "annotation {annotation} would have more than {LONGEST_LIST} bytes, which are not read"
            );
            let hint = "take stages out of it that have begun".to_owned();
            return Err(Failure::failed(error, Some(hint)));
        }
        tries_left -= 1;
        match cluster
            .annotate(&resource, &object, annotation, Some(&value))
            .await
        {
            Ok(()) => return Ok(revision),
            // Others may have named a stage meanwhile.
            Err(error) if error.is_conflict() && tries_left > 0 => {}
            Err(error) => {
                let attempt = format!("failed to annotate {} {}", api.kind, named.name);
                return Err(anyhow!(error).context(attempt).into());
            }
        }
    }
}

/// Looks whether the revision is the newest one that is recorded, where the user may list Secrets: whoever may write the status
/// could name one that nobody has seen yet.
async fn compare_with_records(
    cluster: &Cluster,
    object: &DynamicObject,
    revision: u64,
) -> Result<(), Failure> {
    let metadata = &object.metadata;
    let (Some(name), Some(namespace)) = (&metadata.name, &metadata.namespace) else {
        // Where the releases of a kind without namespaces are, its operator knows.
        return Ok(());
    };
    let records: Api<Secret> = Api::namespaced(cluster.client.clone(), namespace);
    let of_release = ListParams::default().labels(&format!("owner=helm,name={name}"));
    let found = match records.list_metadata(&of_release).await {
        Ok(found) => found,
        Err(error) => {
            let cause = RequestError::from(error);
            say_aside(&format!("not compared with the records of the release: {cause}"));
            return Ok(());
        }
    };
    let number = |labels: &BTreeMap<String, String>| labels.get("version")?.parse::<u64>().ok();
    let labels = found
        .items
        .iter()
        .filter_map(|record| record.metadata.labels.as_ref());
    let newest = labels.filter_map(number).max();
    if newest == Some(revision) {
        return Ok(());
    }
    let newest = newest.map_or_else(|| "none".to_owned(), |newest| format!("revision {newest}"));
    let error = anyhow!(
        "the status of {name} tells of revision {revision}, and the newest that is recorded is {newest}"
    );
    let hint = "its operator has not told yet, or somebody else has written the status".to_owned();
    Err(Failure::failed(error, Some(hint)))
}

/// What the annotation is to say: the stages of this revision that it names already, and this one.
fn with_others(object: &DynamicObject, annotation: &str, revision: u64, name: &str) -> String {
    let annotations = object.metadata.annotations.as_ref();
    let before = annotations.and_then(|annotations| annotations.get(annotation));
    let before = before.map(String::as_str).unwrap_or_default();
    let is_other = |part: &&str| {
        let stage = StageName::parse(part);
        *part != name && stage.is_some_and(|stage| u64::from(stage.revision) == revision)
    };
    let mut stages: Vec<&str> = before.split(',').map(str::trim).filter(is_other).collect();
    stages.push(name);
    stages.join(",")
}

/// The revision of the resource that has a stage of this name, in one of these states.
fn revision_of(object: &DynamicObject, name: &str, wanted: &[&str]) -> Result<u64, Failure> {
    let all = object.data.pointer("/status/stages").and_then(Value::as_array);
    let all = all.map(Vec::as_slice).unwrap_or_default();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let Some(found) = all.iter().find(|one| text(one, "name") == name) else {
        let names: Vec<String> = all.iter().map(|one| text(one, "name")).collect();
        let hint = if names.is_empty() {
            "its status says of no stages".to_owned()
        } else {
            format!("there are {}", harmless(&names.join(", ")))
        };
        let error = anyhow!("there is no stage `{}`", name.escape_debug());
        return Err(Failure::failed(error, Some(hint)));
    };
    let is_now = text(found, "state");
    let revision = found["revision"].as_u64();
    match revision.filter(|_| wanted.contains(&is_now.as_str())) {
        Some(revision) => Ok(revision),
        None => Err(Failure::failed(
            anyhow!("stage `{}` is {}", name.escape_debug(), harmless(&is_now)),
            Some(format!("this is for one that is {}", wanted.join(" or "))),
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(stage: &str, states: &[&str], expect: Option<u64>) {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "example.com/v1", "kind": "Web", "metadata": {"name": "shop"},
            "status": {"stages": [
                {"name": "a", "revision": 7, "state": "Ready"},
                {"name": "b", "revision": 7, "state": "Failed"},
            ]},
        }))
        .unwrap();
        assert_eq!(
            revision_of(&object, stage, states).ok(),
            expect,
            "{stage} {states:?}"
        );
    }

    #[test]
    fn a_stage_is_named_beside_others_of_its_revision() {
        for (before, expect) in [
            (None, "7/b"),
            (Some("6/a,7/a, 7/b"), "7/a,7/b"),
            (Some("nonsense"), "7/b"),
        ] {
            let annotations = before.map(|before| json!({"said": before}));
            let object: DynamicObject =
                serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap();
            assert_eq!(with_others(&object, "said", 7, "7/b"), expect);
        }
    }

    #[test]
    fn a_word_is_for_a_stage_that_waits() {
        check("b", &["Failed"], Some(7));
        check("a", &["Failed"], None);
        check("c", &["Failed"], None);
    }
}
