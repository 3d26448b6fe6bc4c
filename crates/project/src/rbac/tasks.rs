//! From what tasks say to rules: for roles and playbooks, whose runs reach the API server by the operator's rights.

use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::survey::Survey;

use super::resources::{KUBERNETES, Resolved, ResourceName, group, resolve};
use super::{ActsAs, Known, Options, Reach, Recorded, RecordedPlace, Rule, Rules, base, escalation, merged};
use crate::tasks::{KindUse, TaskSurvey, UseScope};
use crate::{CustomKind, Scope};

/// The order of verbs in a rule.
const VERBS: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// How many places of one kind a comment names.
const PLACES: usize = 3;

/// What kubectl calls resources for short, as tasks may.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("cj", "CronJob"),
    ("cm", "ConfigMap"),
    ("crd", "CustomResourceDefinition"),
    ("deploy", "Deployment"),
    ("ds", "DaemonSet"),
    ("ep", "Endpoints"),
    ("hpa", "HorizontalPodAutoscaler"),
    ("ing", "Ingress"),
    ("netpol", "NetworkPolicy"),
    ("no", "Node"),
    ("ns", "Namespace"),
    ("pdb", "PodDisruptionBudget"),
    ("po", "Pod"),
    ("pv", "PersistentVolume"),
    ("pvc", "PersistentVolumeClaim"),
    ("rs", "ReplicaSet"),
    ("sa", "ServiceAccount"),
    ("sc", "StorageClass"),
    ("sts", "StatefulSet"),
    ("svc", "Service"),
];

/// Which objects that runs make the operator watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// None (`watchDependentResources: false`).
    Nothing,
    /// Without `watchClusterScopedResources`.
    #[default]
    Namespaced,
    /// Those of the cluster, too (`watchClusterScopedResources`).
    All,
}

/// What the permissions for a role or playbook depend on, besides its tasks.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the entry or a flag, and none follows from another"
)]
pub struct TaskOptions {
    /// Lets the operator write Kubernetes' roles without having their rules: `escalate` and `bind`.
    pub allow_escalation: bool,
    /// Whether the operator writes the status (`manageStatus`).
    pub manages_status: bool,
    /// Whether resources carry a finalizer.
    pub has_finalizer: bool,
    /// Whether the operator deletes what the garbage collector leaves (`deleteDependents`).
    pub deletes_dependents: bool,
    /// Which objects are watched.
    pub follows: Follows,
    /// Group and kind of those that are not, whatever else is (`blacklist`).
    pub blacklist: BTreeSet<(String, String)>,
    /// As which ServiceAccount runs write; `None` for the operator itself.
    pub acts_as: Option<ActsAs>,
    /// Resources of kinds that neither Kubernetes nor the tasks define.
    pub known: Known,
    /// What runs have asked for.
    pub recorded: Recorded,
}

impl Rules {
    /// The permissions for runs of these tasks, and for what the operator does itself for them.
    pub fn of_tasks(kind: &CustomKind, survey: &TaskSurvey, options: &TaskOptions) -> Self {
        let mut rules = Self {
            kind: kind.clone(),
            rules: custom_resource(kind, options),
            acts_as: options.acts_as.clone(),
            account: Vec::new(),
            elsewhere: BTreeMap::new(),
            notices: Vec::new(),
            has_releases: false,
        };
        for found in &survey.undetermined {
            rules.notice(format!("{}: {}", found.place, found.message));
        }
        for found in &survey.problems {
            rules.notice(format!("{}: {}", found.place, found.message));
        }
        if options.recorded.is_cut() {
            rules.notice("the record of permissions is full: runs may have asked for more".to_owned());
        }
        let tasks = Tasks { survey, options };
        let uses = tasks.uses(kind, None, &mut rules);
        let mut granting = Self {
            rules: Vec::new(),
            notices: Vec::new(),
            ..rules.clone()
        };
        let objects = tasks.chart_survey();
        let escalation_options = Options {
            allow_escalation: options.allow_escalation,
            ..Options::default()
        };
        escalation::add(&objects, &escalation_options, &mut granting);
        rules.notices.append(&mut granting.notices);
        match &options.acts_as {
            None => {
                rules.rules.extend(base::ownership(kind));
                rules.rules.extend(tasks.of_both(&uses));
                rules.rules.append(&mut granting.rules);
            }
            Some(acts_as) => {
                let reason = "runs write as a ServiceAccount of the resource's namespace";
                rules.rules.push(base::impersonate(acts_as, reason));
                rules.rules.extend(tasks.followed(&uses));
                rules.account = base::ownership(kind);
                rules.account.extend(Tasks::of_runs(&uses));
                rules.account.append(&mut granting.rules);
            }
        }
        tasks.elsewhere(kind, &mut rules);
        rules
    }
}

/// What the operator does with the custom resources themselves.
fn custom_resource(kind: &CustomKind, options: &TaskOptions) -> Vec<Rule> {
    let rule = |resource: &str, verbs: &[&str], reason: &str| {
        let rule = Rule::new(&kind.group, &[resource], verbs, reason);
        match kind.scope {
            Scope::Namespaced => rule,
            Scope::Cluster => rule.of_cluster(),
        }
    };
    let plural = &kind.plural;
    let mut rules = vec![if options.has_finalizer {
        let verbs = ["get", "list", "watch", "patch"];
        rule(plural, &verbs, "the custom resources, and the finalizer on them")
    } else {
        rule(plural, &["get", "list", "watch"], "the custom resources")
    }];
    if options.manages_status {
        let status = format!("{plural}/status");
        rules.push(rule(&status, &["patch"], "what became of each"));
    }
    rules
}

/// Group, kind of role, and resource with its subresource.
type Key = (String, Reach, String);

#[derive(Default)]
struct Use {
    verbs: BTreeSet<String>,
    places: Vec<String>,
    /// Whether the operator watches what is made of it.
    is_followed: bool,
}

struct Tasks<'a> {
    survey: &'a TaskSurvey,
    options: &'a TaskOptions,
}

impl Tasks<'_> {
    /// What is asked for, all of it or in a namespace that tasks name.
    fn uses(&self, kind: &CustomKind, namespace: Option<&str>, rules: &mut Rules) -> BTreeMap<Key, Use> {
        let mut uses = BTreeMap::new();
        for one in &self.survey.uses {
            let is_there = match (&one.scope, namespace) {
                (_, None) => true,
                (UseScope::Named(name), Some(namespace)) => name == namespace,
                _ => false,
            };
            if is_there {
                self.add(one, &mut uses, rules);
            }
        }
        for (place, rule) in self.options.recorded.rules(kind) {
            let is_there = match (&place, namespace) {
                (_, None) => true,
                (RecordedPlace::Namespace(name), Some(namespace)) => name == namespace,
                _ => false,
            };
            if is_there {
                self.add_recorded(&place, &rule, &mut uses);
            }
        }
        uses
    }

    fn add(&self, one: &KindUse, uses: &mut BTreeMap<Key, Use>, rules: &mut Rules) {
        let Some((group, kind, name)) = self.resource(one, rules) else {
            return;
        };
        let reach = if name.is_namespaced && one.scope != UseScope::All {
            Reach::Namespaces
        } else {
            Reach::Cluster
        };
        let resource = match one.subresource {
            None => name.plural,
            Some(subresource) => format!("{}/{subresource}", name.plural),
        };
        let is_listed = self.options.blacklist.contains(&(group.clone(), kind));
        let found = uses.entry((group, reach, resource)).or_default();
        found.is_followed |= one.is_made && !is_listed && self.follows(name.is_namespaced);
        found
            .verbs
            .extend(one.verbs.iter().map(|verb| (*verb).to_owned()));
        let place = one.place.to_string();
        if !found.places.contains(&place) {
            found.places.push(place);
        }
    }

    fn add_recorded(&self, place: &RecordedPlace, rule: &Rule, uses: &mut BTreeMap<Key, Use>) {
        let reach = match place {
            RecordedPlace::Cluster => Reach::Cluster,
            RecordedPlace::OwnNamespace | RecordedPlace::Namespace(_) => Reach::Namespaces,
        };
        for (group, resource) in std::iter::zip(&rule.api_groups, &rule.resources) {
            let found = uses.entry((group.clone(), reach, resource.clone())).or_default();
            // What a run creates is its resource's, but for subresources, events, and questions such as reviews.
            let is_object = rule.verbs.iter().any(|verb| verb == "create")
                && rule.verbs.iter().any(|verb| verb == "get")
                && !resource.contains('/')
                && resource != "events";
            let is_listed = self.options.known.iter().any(|(known, kind, name)| {
                let listed = (known.to_owned(), kind.to_owned());
                known == group && name.plural == *resource && self.options.blacklist.contains(&listed)
            });
            found.is_followed |= is_object && !is_listed && self.follows(reach == Reach::Namespaces);
            found.verbs.extend(rule.verbs.iter().cloned());
            let place = "recorded".to_owned();
            if !found.places.contains(&place) {
                found.places.push(place);
            }
        }
    }

    fn follows(&self, is_namespaced: bool) -> bool {
        match self.options.follows {
            Follows::Nothing => false,
            Follows::Namespaced => is_namespaced,
            Follows::All => true,
        }
    }

    /// Group, kind and name of what a task calls a kind. The module takes plurals and short names, too, and a kind of any
    /// group where the API version is `v1`, its default.
    fn resource(&self, one: &KindUse, rules: &mut Rules) -> Option<(String, String, ResourceName)> {
        let wanted = group(&one.api_version);
        let short = SHORT_NAMES.iter().find(|(short, _)| *short == one.kind);
        let kind = short.map_or(one.kind.as_str(), |(_, kind)| *kind);
        let is_it = |known: &str, name: &ResourceName| {
            known.eq_ignore_ascii_case(kind) || name.plural.eq_ignore_ascii_case(kind)
        };
        let tables = || self.options.known.iter().chain(Known::of_kubernetes().iter());
        let in_group = tables().find(|(group, known, name)| *group == wanted && is_it(known, name));
        let in_any = || tables().find(|(_, known, name)| one.api_version == "v1" && is_it(known, name));
        if let Some((group, known, name)) = in_group.or_else(in_any) {
            return Some((group.to_owned(), known.to_owned(), name.clone()));
        }
        let found = |name| Some((wanted.to_owned(), kind.to_owned(), name));
        match resolve(wanted, kind, &self.chart_survey(), &self.options.known) {
            Resolved::Is(name) => found(name),
            Resolved::Guessed(name) => {
                rules.notice(format!(
                    "{kind}.{wanted}: taken for {:?}, in namespaces; nothing here defines it",
                    name.plural
                ));
                found(name)
            }
            Resolved::Removed => {
                rules.notice(format!(
                    "{}: {kind} of {}: no rule, as Kubernetes {KUBERNETES} does not serve it",
                    one.place, one.api_version
                ));
                None
            }
        }
    }

    /// What tasks make, as far as charts have the same.
    fn chart_survey(&self) -> Survey {
        Survey {
            definitions: self.survey.definitions.clone(),
            roles: self.survey.roles.clone(),
            bindings: self.survey.bindings.clone(),
            ..Survey::default()
        }
    }

    /// The rules of those whose rights runs have.
    fn of_runs(uses: &BTreeMap<Key, Use>) -> Vec<Rule> {
        let rules = uses
            .iter()
            .map(|(key, used)| rule(key, &used.verbs, &used.places));
        in_order(rules.collect())
    }

    /// The rules of the operator, which watches what runs make.
    fn followed(&self, uses: &BTreeMap<Key, Use>) -> Vec<Rule> {
        let verbs = self.following();
        let followed = uses.iter().filter(|(_, used)| used.is_followed);
        let rules = followed.map(|(key, used)| rule(key, &verbs, &used.places));
        in_order(rules.collect())
    }

    /// Both, where the operator's rights are those of runs.
    fn of_both(&self, uses: &BTreeMap<Key, Use>) -> Vec<Rule> {
        let rules = uses.iter().map(|(key, used)| {
            let mut verbs = used.verbs.clone();
            if used.is_followed {
                verbs.extend(self.following());
            }
            rule(key, &verbs, &used.places)
        });
        in_order(rules.collect())
    }

    /// What is asked about objects that are watched.
    fn following(&self) -> BTreeSet<String> {
        let mut verbs = vec!["list", "watch"];
        if self.options.deletes_dependents {
            verbs.extend(["get", "delete"]);
        }
        verbs.into_iter().map(str::to_owned).collect()
    }

    /// Notes what is needed in each namespace that tasks name, or runs have been in.
    fn elsewhere(&self, kind: &CustomKind, rules: &mut Rules) {
        let named = self.survey.uses.iter().filter_map(|one| match &one.scope {
            UseScope::Named(name) => Some(name.clone()),
            _ => None,
        });
        let recorded = self.options.recorded.rules(kind);
        let recorded = recorded.into_iter().filter_map(|(place, _)| match place {
            RecordedPlace::Namespace(name) => Some(name),
            _ => None,
        });
        let namespaces: BTreeSet<String> = named.chain(recorded).collect();
        for namespace in namespaces {
            let mut notices = rules.clone();
            let uses = self.uses(kind, Some(&namespace), &mut notices);
            let found = if self.options.acts_as.is_none() {
                self.of_both(&uses)
            } else {
                rules.notice(format!(
                    "namespace {namespace}: tasks name it; bind the role of the ServiceAccounts there, too, to those whose \
                     runs may have something there"
                ));
                self.followed(&uses)
            };
            let found: Vec<Rule> = found
                .into_iter()
                .filter(|rule| rule.reach == Reach::Namespaces)
                .collect();
            if !found.is_empty() {
                rules.elsewhere.insert(namespace, found);
            }
        }
    }
}

fn rule((group, reach, resource): &Key, verbs: &BTreeSet<String>, places: &[String]) -> Rule {
    let known = VERBS.iter().copied().filter(|verb| verbs.contains(*verb));
    let others = verbs
        .iter()
        .map(String::as_str)
        .filter(|verb| !VERBS.contains(verb));
    let verbs: Vec<&str> = known.chain(others).collect();
    let shown: Vec<&str> = places.iter().take(PLACES).map(String::as_str).collect();
    let more = match places.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let reason = format!("{resource}: {}{more}", shown.join(", "));
    Rule {
        reach: *reach,
        ..Rule::new(group, &[resource], &verbs, reason)
    }
}

/// Namespaced rules last, as operator-sdk has them.
fn in_order(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.sort_by_key(|rule| rule.reach == Reach::Namespaces);
    merged(rules)
}
