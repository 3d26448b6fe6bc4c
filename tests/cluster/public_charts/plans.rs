//! What a plan says when it is shown, beside what the audit log has of its execution.
//!
//! Dry runs, `diff` and `migrate --check` show the plan that a reconcile carries out. What the server alone decides is
//! asked of it when the plan is shown; so what is said is all that happens, and nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use kube::discovery::Discovery;
use serde_json::Value;
use steersman_testkit::cluster::{AuditMark, Request};

use super::{CHARTS, kind, plural};
use crate::bench::Bench;
use crate::developer::Developer;

/// An object as all of them name it: kind, namespace or nothing, name.
type Name = (String, String, String);

/// What happens to objects, or is said to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) created: BTreeSet<Name>,
    pub(super) changed: BTreeSet<Name>,
    pub(super) deleted: BTreeSet<Name>,
    /// `Job web-migrate`
    pub(super) hooks: BTreeSet<(String, String)>,
}

impl Happening {
    fn note(&mut self, what: &str, name: Name) {
        match what {
            "created" => self.created.insert(name),
            "changed" => self.changed.insert(name),
            "deleted" => self.deleted.insert(name),
            other => panic!("{name:?} would be {other}"),
        };
    }

    fn extend(&mut self, other: Self) {
        self.created.extend(other.created);
        self.changed.extend(other.changed);
        self.deleted.extend(other.deleted);
        self.hooks.extend(other.hooks);
    }
}

/// Asks all resources for a dry run and gives what their status says of it.
pub(super) async fn said_in_status(bench: &Bench) -> Happening {
    let mut all = Happening::default();
    for (name, ..) in CHARTS {
        let api = bench.kind_api(&kind(name), &plural(name));
        let said = bench
            .wait("the dry run", &api, name, |resource| {
                let said = resource.pointer("/status/dryRun")?;
                let is_current = said["observedGeneration"] == resource["metadata"]["generation"];
                is_current.then(|| said.clone())
            })
            .await;
        all.extend(of_status(name, &said));
    }
    all
}

fn of_status(release: &str, said: &Value) -> Happening {
    let mut all = Happening::default();
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let objects = said["objects"].as_array().unwrap();
    for object in objects {
        let would = text(object, "would");
        let what = would.strip_prefix("be ").unwrap_or_default();
        let name = (
            text(object, "kind"),
            text(object, "namespace"),
            text(object, "name"),
        );
        assert_ne!(what, "refused", "{release}: {object}");
        all.note(what, name);
    }
    let counted: u64 = said["counts"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(
        counted,
        objects.len() as u64,
        "{release}: not all objects are listed"
    );
    for hook in said["hooks"].as_array().unwrap() {
        all.hooks.extend(hook_name(hook.as_str().unwrap()));
    }
    all
}

/// `pre-upgrade Job web-migrate`
fn hook_name(said: &str) -> Option<(String, String)> {
    let mut words = said.split_whitespace().skip(1);
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// What `steersman diff` says of all resources.
pub(super) fn said_by_diff(developer: &Developer) -> Happening {
    let resources: Vec<String> = CHARTS
        .iter()
        .map(|(name, ..)| format!("{}/{name}", plural(name)))
        .collect();
    let mut arguments = vec!["diff"];
    arguments.extend(resources.iter().map(String::as_str));
    let said = developer.run(&arguments);
    assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
    let said = said.stdout;
    let mut all = Happening::default();
    for line in said.lines().filter_map(|line| line.strip_prefix("  ")) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("hook"), Some(_), Some(kind)) => {
                let name = words.next().unwrap_or_default();
                all.hooks.insert((kind.to_owned(), name.to_owned()));
            }
            // The summary at the end of a release counts in the same words.
            (Some(what @ ("created" | "changed" | "deleted" | "recreated")), Some(kind), Some(name))
                if !kind.ends_with(',') =>
            {
                all.note(what, shown_name(kind, name));
            }
            _ => {}
        }
    }
    all
}

/// `ConfigMap` with `ns/name`, or `Widget.acme.com` with `name`.
fn shown_name(kind: &str, name: &str) -> Name {
    let kind = kind.split('.').next().unwrap_or_default();
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    (kind.to_owned(), namespace.to_owned(), name.to_owned())
}

/// What `steersman migrate --check` says would become of objects.
pub(super) fn said_by_migrate(said: &str) -> Happening {
    let mut all = Happening::default();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["differs", kind, name, "would", "be", what, ..] => all.note(what, shown_name(kind, name)),
            ["differs", kind, name, "would", "change:", ..] => all.note("changed", shown_name(kind, name)),
            _ => {}
        }
        if let ["differs", "hook", _, kind, name, "would", "run"] = words.as_slice() {
            all.hooks.insert(((*kind).to_owned(), (*name).to_owned()));
        }
    }
    all
}

/// What the operator has done to objects since, by the audit log. Objects that were written and stay as they are, are
/// among those that it has `changed`.
pub(super) async fn done_since(bench: &Bench, mark: AuditMark) -> Happening {
    let kinds = kinds(bench).await;
    let log = bench.cluster.audit_since(mark).await.unwrap();
    let mut all = Happening::default();
    for request in &log.by_user(bench.user.name()).writes().requests {
        let is_tried = request.uri.contains("dryRun=All");
        let is_done = request.code.is_some_and(|code| code < 300);
        if is_tried || !is_done || is_about_the_release(bench, request) {
            continue;
        }
        let key = (request.group.clone(), request.resource.clone());
        let kind = kinds.get(&key).unwrap_or_else(|| panic!("{key:?} is no kind"));
        let name = (kind.clone(), request.namespace.clone(), request.name.clone());
        match (request.verb.as_str(), request.code) {
            ("create", _) | ("patch", Some(201)) => all.created.insert(name),
            ("delete", _) => all.deleted.insert(name),
            _ => all.changed.insert(name),
        };
    }
    all
}

/// What a release needs beside its objects: the resource itself, its revisions, events, the lease, the keys.
fn is_about_the_release(bench: &Bench, request: &Request) -> bool {
    request.group == bench.group
        || request.resource == "events"
        || request.resource == "leases"
        || request.name == "steersman-signing-keys"
        || request.resource == "secrets" && request.name.starts_with("sh.helm.release.v1.")
}

/// The kinds of all resources, by group and plural.
async fn kinds(bench: &Bench) -> BTreeMap<(String, String), String> {
    let discovery = Discovery::new(bench.client.clone())
        .run_aggregated()
        .await
        .unwrap();
    let resources = discovery.groups().flat_map(|group| {
        let versions: Vec<&str> = group.versions().collect();
        let all: Vec<_> = versions
            .into_iter()
            .flat_map(|version| group.versioned_resources(version))
            .collect();
        all
    });
    resources
        .map(|(resource, _)| ((resource.group, resource.plural), resource.kind))
        .collect()
}

/// What is said is what was done.
pub(super) fn check(said: &Happening, done: &Happening, when: &str) {
    let is_hook = |(kind, _, name): &Name| said.hooks.contains(&(kind.clone(), name.clone()));
    let but_hooks = |names: &BTreeSet<Name>| -> BTreeSet<Name> {
        names.iter().filter(|name| !is_hook(name)).cloned().collect()
    };
    let (created, deleted) = (but_hooks(&done.created), but_hooks(&done.deleted));
    assert_eq!(created, but_hooks(&said.created), "created {when}");
    assert_eq!(deleted, but_hooks(&said.deleted), "deleted {when}");
    let unwritten: Vec<&Name> = said.changed.difference(&done.changed).collect();
    assert!(
        unwritten.is_empty(),
        "said to be changed and not written {when}: {unwritten:?}"
    );
    let made: BTreeSet<(String, String)> = done
        .created
        .iter()
        .chain(&done.changed)
        .map(|(kind, _, name)| (kind.clone(), name.clone()))
        .collect();
    let missing: Vec<_> = said.hooks.difference(&made).collect();
    assert!(missing.is_empty(), "hooks that did not run {when}: {missing:?}");
}

/// What is live is another thing where a change was said, and the same where none was.
pub(super) fn check_contents(
    said: &Happening,
    before: &BTreeMap<(String, String), Value>,
    after: &BTreeMap<(String, String), Value>,
) {
    let said: BTreeSet<(String, String)> = said
        .changed
        .iter()
        .map(|(kind, _, name)| (kind.clone(), name.clone()))
        .collect();
    let mut wrong = Vec::new();
    for (id, old) in before {
        let Some(new) = after.get(id) else { continue };
        let differs = content(old) != content(new);
        if differs != said.contains(id) {
            let fields = steersman_operator::status::differing_fields(&content(old), &content(new));
            wrong.push(format!("{id:?} differs: {differs}, at {fields:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An object without what the server and controllers write beside a release.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for counted in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(counted);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deployment.kubernetes.io/revision");
        }
    }
    object
}
