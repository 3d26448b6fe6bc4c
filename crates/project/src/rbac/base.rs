//! What the operator needs whatever its charts are.

use super::{ActsAs, Rule, Rules};
use crate::{CustomKind, Scope};

/// What the operator does with Helm's Secrets and events, for any chart.
pub fn base_rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "",
            &["secrets"],
            &["get", "list", "watch", "create", "patch", "delete"],
            "the revisions of releases are Helm's Secrets",
        ),
        events(),
    ]
}

/// What the operator does for any role or playbook. What their tasks make is for the tasks to say.
pub fn run_base_rules() -> Vec<Rule> {
    vec![events()]
}

fn events() -> Rule {
    Rule::new(
        "",
        &["events"],
        &["create"],
        "what becomes of custom resources is told by events",
    )
}

/// What the operator does with the custom resources of a kind that a role or playbook is run for.
pub fn run_rules(kind: &CustomKind) -> Vec<Rule> {
    custom_resource(kind)
}

/// What an operator of these watches does whatever their charts and tasks are: one without charts has no releases.
pub fn base_rules_of(watches: &[Rules]) -> Vec<Rule> {
    let has_releases = watches.is_empty() || watches.iter().any(|rules| rules.has_releases);
    if has_releases {
        base_rules()
    } else {
        run_base_rules()
    }
}

/// What an operator with `--leader-elect` needs in its own namespace.
pub fn leader_election_rules() -> Vec<Rule> {
    vec![Rule::new(
        "coordination.k8s.io",
        &["leases"],
        &["get", "create", "update"],
        "the replica that holds the lease acts",
    )]
}

/// The Secret with the keys that sign the revisions of releases.
pub const SIGNING_KEYS: &str = "steersman-signing-keys";

/// What every operator needs in its own namespace. A role can't say which objects may be created.
pub fn signing_rules() -> Vec<Rule> {
    let reads = Rule::new(
        "",
        &["secrets"],
        &["get"],
        "the keys that sign the revisions of releases",
    );
    vec![
        Rule {
            resource_names: vec![SIGNING_KEYS.to_owned()],
            ..reads
        },
        Rule::new("", &["secrets"], &["create"], "the first of these keys"),
    ]
}

/// What an operator with `--metrics-secure --metrics-require-rbac` needs.
pub fn metrics_rules() -> Vec<Rule> {
    vec![
        Rule::new(
            "authentication.k8s.io",
            &["tokenreviews"],
            &["create"],
            "whose token it is that asks for /metrics",
        )
        .of_cluster(),
        Rule::new(
            "authorization.k8s.io",
            &["subjectaccessreviews"],
            &["create"],
            "whether that user may have /metrics",
        )
        .of_cluster(),
    ]
}

/// What the operator does with the custom resources of a kind.
pub(super) fn custom_resource(kind: &CustomKind) -> Vec<Rule> {
    let rule = |resource: &str, verbs: &[&str], reason: &str| {
        reaching(kind, Rule::new(&kind.group, &[resource], verbs, reason))
    };
    let plural = &kind.plural;
    let mut rules = vec![
        rule(
            plural,
            &["get", "list", "watch", "patch"],
            "the custom resources, and the finalizer on them",
        ),
        rule(&format!("{plural}/status"), &["patch"], "what became of each"),
    ];
    rules.extend(ownership(kind));
    rules
}

/// What is needed by whoever writes an object of a release.
pub(super) fn ownership(kind: &CustomKind) -> Vec<Rule> {
    let reason = "objects name their custom resource as an owner whose deletion waits for theirs";
    vec![finalizers(kind, reason)]
}

/// The leave to name resources of a kind as owners whose deletion waits.
pub(super) fn finalizers(kind: &CustomKind, reason: impl Into<String>) -> Rule {
    let resource = format!("{}/finalizers", kind.plural);
    reaching(
        kind,
        Rule::new(&kind.group, &[&resource], &["update"], reason).held(),
    )
}

/// The rule in a kind of role that can hold it where resources of this kind are.
pub(super) fn reaching(kind: &CustomKind, rule: Rule) -> Rule {
    match kind.scope {
        Scope::Namespaced => rule,
        Scope::Cluster => rule.of_cluster(),
    }
}

/// What an operator needs that makes releases as a ServiceAccount.
pub(super) fn acting(acts_as: &ActsAs) -> Vec<Rule> {
    let namespaces = Rule::new(
        "",
        &["namespaces"],
        &["get"],
        "whether a namespace is being deleted whose ServiceAccount may do nothing any more",
    );
    vec![
        impersonate(
            acts_as,
            "releases are made as a ServiceAccount of their namespace",
        ),
        namespaces,
    ]
}

/// The leave to act as a ServiceAccount.
pub(super) fn impersonate(acts_as: &ActsAs, reason: &str) -> Rule {
    let mut impersonate = Rule::new("", &["serviceaccounts"], &["impersonate"], reason).held();
    if let ActsAs::Account(name) = acts_as {
        impersonate.resource_names.push(name.clone());
    }
    impersonate
}
