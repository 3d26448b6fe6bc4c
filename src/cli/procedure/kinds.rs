//! Which procedures a kind has, and of which kinds their runs are: categories of definitions say it, which everybody may read.

use anyhow::anyhow;
use kube::api::DynamicObject;
use steersman_cluster::discovery::{Resource, Served};
use steersman_model::ApiKind;

use super::view::RunView;
use crate::cli::Failure;
use crate::cli::cluster::{Cluster, Named, failed};
use crate::cli::style::harmless;

/// The category that the kinds of all runs have.
const ALL: &str = "procedures";

/// A resource with the procedures of its kind.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) api: ApiKind,
    pub(super) resource: Resource,
    pub(super) name: String,
    /// By their names.
    pub(super) procedures: Vec<RunKind>,
}

/// The kind of the runs of a procedure.
#[derive(Clone, Debug)]
pub(super) struct RunKind {
    pub(super) procedure: String,
    pub(super) api: ApiKind,
    pub(super) resource: Resource,
}

/// A run that was found by its name.
#[derive(Debug)]
pub(super) struct FoundRun {
    pub(super) api: ApiKind,
    pub(super) resource: Resource,
    pub(super) object: DynamicObject,
}

impl Subject {
    /// The resource that the user names; it is not read.
    pub(super) async fn find(cluster: &Cluster, word: &str) -> Result<Self, Failure> {
        let named = only(word)?;
        let served = cluster.discovery.served().await.map_err(failed)?;
        let is_preferred = |api: &ApiKind| {
            let resource = served.resource(api);
            resource.is_some_and(|resource| !run_kinds(&served, api, resource).is_empty())
        };
        let (api, resource) = Cluster::kind(&served, &named.kind, is_preferred)?;
        let procedures = run_kinds(&served, &api, &resource);
        if procedures.is_empty() {
            let error = anyhow!("the API server knows no procedures of {}", api.kind);
            let hint = "those of watches.yaml are known when their definitions are applied, as `steersman crd` \
                        prints them";
            return Err(Failure::failed(error, Some(hint.to_owned())));
        }
        Ok(Self {
            api,
            resource,
            name: named.name,
            procedures,
        })
    }

    /// What the API server has under its name; without that there is nothing to be done.
    pub(super) async fn read(&self, cluster: &Cluster) -> Result<DynamicObject, Failure> {
        cluster.get(&self.api, &self.resource, &self.name).await
    }

    /// The one that the user names; where there is none, the error tells which there are.
    pub(super) fn procedure(&self, name: &str) -> Result<&RunKind, Failure> {
        let found = self.procedures.iter().find(|one| one.procedure == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.procedures.iter().map(|one| one.procedure.as_str()).collect();
            let kind = &self.api.kind;
            let error = anyhow!("{kind} has no procedure `{}`", name.escape_debug());
            let hint = format!("there are {}", harmless(&known.join(", ")));
            Failure::usage(error, Some(hint))
        })
    }
}

impl FoundRun {
    /// Reads the run that the user names.
    pub(super) async fn read(cluster: &Cluster, word: &str) -> Result<Self, Failure> {
        let named = only(word)?;
        let served = cluster.discovery.served().await.map_err(failed)?;
        let all = served.in_category(ALL);
        let is_of_runs = |api: &ApiKind| {
            all.iter()
                .any(|(of_run, _, _)| (&of_run.group, &of_run.kind) == (&api.group, &api.kind))
        };
        let (api, resource) = Cluster::kind(&served, &named.kind, is_of_runs)?;
        if !is_of_runs(&api) {
            let error = anyhow!("{} is no kind of runs of a procedure", api.kind);
            let hint = "`steersman procedure list` shows the runs of a resource as KIND/NAME".to_owned();
            return Err(Failure::usage(error, Some(hint)));
        }
        let object = cluster.get(&api, &resource, &named.name).await?;
        Ok(Self {
            api,
            resource,
            object,
        })
    }

    /// What it says.
    pub(super) fn view(&self) -> RunView {
        RunView::of(&self.api.kind, "", &self.object)
    }
}

/// The one resource that a word names.
fn only(word: &str) -> Result<Named, Failure> {
    let named = Named::read(&[word.to_owned()])?;
    let first = named.into_iter().next();
    first.ok_or_else(|| Failure::usage(anyhow!("no resource is named"), None))
}

/// The procedures of a kind, by their names.
fn run_kinds(served: &Served, api: &ApiKind, resource: &Resource) -> Vec<RunKind> {
    let mut found = Vec::new();
    for (run_api, run_resource, categories) in served.in_category(ALL) {
        if run_api.group != api.group {
            continue;
        }
        for procedure in procedures(&resource.api.plural, categories) {
            found.push(RunKind {
                procedure: procedure.to_owned(),
                api: run_api.clone(),
                resource: run_resource.clone(),
            });
        }
    }
    found.sort_by(|one, other| one.procedure.cmp(&other.procedure));
    found
}

/// The procedures that categories name, for the kind with this plural.
fn procedures<'a>(plural: &str, categories: &'a [String]) -> impl Iterator<Item = &'a str> {
    categories.iter().filter_map(move |category| {
        let name = category.strip_prefix(plural)?.strip_prefix('-')?;
        Some(name).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::procedures;

    #[test]
    fn a_category_names_the_procedure_behind_the_plural() {
        let check = |plural: &str, categories: &[&str], expect: &[&str]| {
            let categories: Vec<String> = categories.iter().map(|&one| one.to_owned()).collect();
            let found: Vec<&str> = procedures(plural, &categories).collect();
            assert_eq!(found, expect, "{plural} {categories:?}");
        };
        check("webs", &["procedures", "webs-take-snapshot"], &["take-snapshot"]);
        check("web", &["procedures", "webs-backup"], &[]);
        check("webs", &["webs-", "webs", "all"], &[]);
    }
}
