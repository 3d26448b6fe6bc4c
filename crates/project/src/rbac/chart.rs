//! From the survey of a chart to rules for its objects.

use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::survey::{HookUse, ObjectKind, Source, Survey};

use super::resources::{KUBERNETES, Resolved, ResourceName, group, resolve};
use super::{Options, Reach, Rule, Rules, merged, procedures};

/// What becomes of objects of a release: found or not, applied, watched, gone.
const OBJECT: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// The same where nobody looks at them in between.
const UNWATCHED: &[&str] = &["get", "create", "patch", "delete"];
/// Definitions in `crds/`, and those that are hooks, stay when the release goes.
const DEFINITION: &[&str] = &["get", "create", "patch"];

/// Claims of a set are looked for, and expanded; their set's controller makes and deletes them.
const CLAIM: &[&str] = &["list", "patch"];

/// How many places of one kind a comment names.
const PLACES: usize = 3;

/// What is done with a resource, and where the chart says so.
#[derive(Default)]
struct Use {
    verbs: Vec<&'static str>,
    places: Vec<String>,
}

/// Adds the rules for the objects of the chart, and for what its templates look up.
pub(super) fn add(survey: &Survey, options: &Options, rules: &mut Rules) {
    let mut uses: BTreeMap<(String, Reach, String), Use> = BTreeMap::new();
    for object in &survey.objects {
        let Some(name) = name(object, survey, options, rules) else {
            continue;
        };
        let found = uses.entry(entry(&object.api_version, &name)).or_default();
        found.add(verbs(object, options), object.sources.iter().map(described));
    }
    for lookup in &survey.lookups {
        let object = ObjectKind {
            api_version: lookup.api_version.clone(),
            kind: lookup.kind.clone(),
            sources: Vec::new(),
        };
        let Some(name) = name(&object, survey, options, rules) else {
            continue;
        };
        let place = format!("{}, looked up", lookup.place);
        let entry = entry(&lookup.api_version, &name);
        let mut verbs = Vec::new();
        verbs.extend(lookup.gets.then_some("get"));
        // Lists of all namespaces are the cluster's.
        let is_wide = lookup.namespaces.as_ref().is_some_and(BTreeSet::is_empty);
        if lookup.lists && is_wide {
            let of_cluster = (entry.0.clone(), Reach::Cluster, entry.2.clone());
            uses.entry(of_cluster)
                .or_default()
                .add(vec!["list"], [place.clone()]);
        } else if lookup.lists {
            verbs.push("list");
        }
        if !verbs.is_empty() {
            uses.entry(entry).or_default().add(verbs, [place]);
        }
    }
    let jobs_of_procedures = procedures::places(options);
    if !jobs_of_procedures.is_empty() {
        let mut add = |group: &str, resource: &str, verbs: &[&'static str]| {
            let entry = (group.to_owned(), Reach::Namespaces, resource.to_owned());
            let places = jobs_of_procedures.iter().cloned();
            uses.entry(entry).or_default().add(verbs.to_vec(), places);
        };
        add("batch", "jobs", OBJECT);
        add("", "pods", procedures::PODS);
    }
    let mut found = Vec::new();
    for ((group, reach, resource), used) in uses {
        let mut rule = Rule::new(&group, &[&resource], &used.verbs, reason(&resource, &used.places));
        rule.reach = reach;
        found.push(rule);
    }
    if has_jobs_as_hooks(survey) {
        let reason = "how the pods of a hook that failed have ended";
        found.push(Rule::new("", &["pods"], &["list"], reason));
    }
    if options.expands_claims && has_stateful_sets(survey) {
        let reason = "claims that StatefulSets have made, as templates of these grow";
        found.push(Rule::new("", &["persistentvolumeclaims"], CLAIM, reason));
    }
    // Namespaced rules last, as operator-sdk has them.
    found.sort_by_key(|rule| rule.reach == Reach::Namespaces);
    rules.rules.extend(merged(found));
    for found in &survey.undetermined {
        rules.notices.push(format!("{}: {}", found.place, found.message));
    }
}

fn entry(api_version: &str, name: &ResourceName) -> (String, Reach, String) {
    let reach = if name.is_namespaced {
        Reach::Namespaces
    } else {
        Reach::Cluster
    };
    (group(api_version).to_owned(), reach, name.plural.clone())
}

/// What the resource of a kind is called; none, and a notice, where there is no such resource any longer.
fn name(object: &ObjectKind, survey: &Survey, options: &Options, rules: &mut Rules) -> Option<ResourceName> {
    let group = group(&object.api_version);
    let kind = &object.kind;
    match resolve(group, kind, survey, &options.known) {
        Resolved::Is(name) => Some(name),
        Resolved::Guessed(name) => {
            rules.notice(format!(
                "{kind}.{group}: taken for {:?}, in namespaces; nothing here defines it",
                name.plural
            ));
            Some(name)
        }
        Resolved::Removed => {
            rules.notice(format!(
                "{kind} of {}: no rule, as Kubernetes {KUBERNETES} does not serve it",
                object.api_version
            ));
            None
        }
    }
}

fn verbs(object: &ObjectKind, options: &Options) -> Vec<&'static str> {
    let is_hook = |source: &Source| source.hook == HookUse::Always;
    let stays = |source: &Source| is_hook(source) || source.template.contains("/crds/");
    if object.kind == "CustomResourceDefinition" && object.sources.iter().all(stays) {
        return DEFINITION.to_vec();
    }
    // The end of a hook is watched for, whatever else is.
    let is_awaited = matches!(object.kind.as_str(), "Job" | "Pod")
        && object.sources.iter().any(|source| source.hook != HookUse::Never);
    if !is_awaited && (object.sources.iter().all(is_hook) || options.ignores_dependents) {
        return UNWATCHED.to_vec();
    }
    OBJECT.to_vec()
}

fn has_jobs_as_hooks(survey: &Survey) -> bool {
    let jobs = survey.objects.iter().filter(|object| object.kind == "Job");
    jobs.flat_map(|object| &object.sources)
        .any(|source| source.hook != HookUse::Never)
}

fn has_stateful_sets(survey: &Survey) -> bool {
    let is_one = |object: &ObjectKind| object.kind == "StatefulSet" && group(&object.api_version) == "apps";
    survey.objects.iter().any(is_one)
}

fn described(source: &Source) -> String {
    let hook = match source.hook {
        HookUse::Never => "",
        HookUse::Sometimes => ", a hook for some values",
        HookUse::Always => ", a hook",
    };
    let place = if source.place.file.as_ref() == source.template {
        source.place.to_string()
    } else {
        source.template.clone()
    };
    format!("{place}{hook}")
}

fn reason(resource: &str, places: &[String]) -> String {
    let shown: Vec<&str> = places.iter().take(PLACES).map(String::as_str).collect();
    let more = match places.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{resource}: {}{more}", shown.join(", "))
}

impl Use {
    fn add(&mut self, verbs: Vec<&'static str>, places: impl IntoIterator<Item = String>) {
        let all = |verb: &&'static str| verbs.contains(verb) || self.verbs.contains(verb);
        self.verbs = OBJECT.iter().copied().filter(all).collect();
        for place in places {
            if !self.places.contains(&place) {
                self.places.push(place);
            }
        }
    }
}

impl Rules {
    pub(super) fn notice(&mut self, text: String) {
        if !self.notices.contains(&text) {
            self.notices.push(text);
        }
    }
}
