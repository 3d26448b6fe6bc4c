//! Entries with a role or a playbook. Fields, defaults and where things are looked for are ansible-operator's.

use std::path::{Path, PathBuf};

use kube_core::{GroupVersionKind, Selector};
use serde_json::{Map, Value};
use steersman_yaml::{Content, Node};

use super::entry::Loader;
use super::fields::Fields;
use super::selector::read_selector;
use super::sources::read_sources;
use crate::ansible::{AnsibleContent, AnsibleFinalizer, AnsibleSources, AnsibleWatch};
use crate::ansible_paths::{AnsiblePaths, absolute};

pub(super) const FIELDS: &[&str] = &[
    "group",
    "version",
    "kind",
    "chart",
    "role",
    "playbook",
    "vars",
    "maxRunnerArtifacts",
    "reconcilePeriod",
    "manageStatus",
    "watchDependentResources",
    "watchClusterScopedResources",
    "snakeCaseParameters",
    "watchAnnotationsChanges",
    "markUnsafe",
    "blacklist",
    "finalizer",
    "selector",
    "maxConcurrentReconciles",
    "serviceAccountName",
    "deleteDependents",
];
/// What only a chart has a use for. A run that lacks what they say would not be what the author wants.
const FIELDS_OF_CHARTS: &[&str] = &[
    "wait",
    "stages",
    "order",
    "dependsOn",
    "healthChecks",
    "expandClaims",
    "test",
    "valueFiles",
    "valuesFrom",
    "overrides",
    "postRender",
    "procedures",
    "status",
    "scale",
];
pub(super) const FINALIZER_FIELDS: &[&str] = &["name", "role", "playbook", "vars"];
pub(super) const KIND_FIELDS: &[&str] = &["group", "version", "kind"];

/// How many folders of artifacts are kept where the entry does not say.
const ARTIFACTS: u32 = 20;

/// What is wrong has been noted.
struct Reported;

/// Whether an entry is one of Ansible's: it names a role or a playbook, and no chart.
pub(super) fn is_ansible(node: &Node) -> bool {
    let Content::Mapping(pairs) = &node.value else {
        return false;
    };
    let has = |field: &str| {
        let mut keys = pairs.iter().filter_map(|(key, _)| key.as_str());
        keys.any(|key| key.eq_ignore_ascii_case(field))
    };
    has("role") || has("playbook")
}

impl Loader<'_> {
    /// What an entry says; `None` where that is known to be wrong.
    pub(super) fn ansible_entry(&mut self, index: usize, node: &Node) -> Option<AnsibleWatch> {
        let fields = Fields::read(node, format!("[{index}]"), FIELDS, &mut self.findings)?;
        let gvk = self.new_kind(&fields);
        if let Some((_, chart)) = fields.get("chart") {
            let message = "an entry has either a chart, or a role or playbook";
            self.findings.problem(chart, &fields.key("chart"), message);
        }
        self.refuse_fields_of_charts(&fields);
        let content = self.content(&fields);
        if matches!(content, Ok(None)) {
            self.missing_content(&fields);
        }
        let finalizer = fields
            .get("finalizer")
            .and_then(|(_, node)| self.finalizer(node, fields.key("finalizer")));
        let selector = match fields.get("selector") {
            Some((_, node)) => read_selector(node, fields.key("selector"), &mut self.findings),
            None => Selector::default(),
        };
        let vars = self.variables(&fields);
        let blacklist = self.blacklist(&fields);
        let reconcile_period = self.reconcile_period(&fields);
        let max_runner_artifacts = self.max_runner_artifacts(&fields);
        let of_entry = self.max_concurrent_reconciles(&fields);
        let service_account = self.service_account(&fields);
        let gvk = gvk?;
        let found = content.as_ref().ok().and_then(Option::as_ref);
        let sources = found.map(|content| self.sources(content, finalizer.as_ref()));
        let mut is_on = |field: &str, default: bool| {
            let given = fields.boolean(field, &mut self.findings);
            given.unwrap_or(default)
        };
        Some(AnsibleWatch {
            manage_status: is_on("manageStatus", true),
            watch_dependents: is_on("watchDependentResources", true),
            watch_cluster_scoped: is_on("watchClusterScopedResources", false),
            snake_case_parameters: is_on("snakeCaseParameters", true),
            watch_annotations: is_on("watchAnnotationsChanges", false),
            mark_unsafe: is_on("markUnsafe", false),
            delete_dependents: is_on("deleteDependents", false),
            max_concurrent_reconciles: self.concurrency_of_environment(&gvk, &fields).or(of_entry),
            verbosity: self.verbosity_of_environment(&gvk, &fields),
            gvk,
            content: content.ok()??,
            sources: sources?,
            vars,
            finalizer,
            selector,
            reconcile_period,
            max_runner_artifacts,
            blacklist,
            service_account,
            line: node.line,
        })
    }

    fn refuse_fields_of_charts(&mut self, fields: &Fields<'_>) {
        let Content::Mapping(pairs) = &fields.node.value else {
            return;
        };
        for (key, _) in pairs {
            let name = key.as_str().unwrap_or_default();
            let of_charts = FIELDS_OF_CHARTS
                .iter()
                .find(|field| field.eq_ignore_ascii_case(name));
            if let Some(field) = of_charts {
                let message = "is for entries with a chart";
                let of_values = ["valueFiles", "valuesFrom", "overrides"].contains(field);
                let hint = of_values.then(|| "`vars` are variables of each run".to_owned());
                self.findings
                    .problem_with_hint(key, &fields.key(field), message, hint);
            }
        }
    }

    fn sources(&self, content: &AnsibleContent, finalizer: Option<&AnsibleFinalizer>) -> AnsibleSources {
        let of_finalizer = finalizer.and_then(|finalizer| finalizer.content.as_ref());
        let contents = [Some(content), of_finalizer].into_iter().flatten();
        let beside = contents.clone().filter_map(|content| match content {
            AnsibleContent::Role(path) => path.parent().map(Path::to_owned),
            AnsibleContent::Playbook(_) => None,
        });
        let folders: Vec<PathBuf> = beside.chain(self.role_folders()).collect();
        read_sources(contents.map(AnsibleContent::path), &folders)
    }

    fn missing_content(&mut self, fields: &Fields<'_>) {
        let message = "`role` or `playbook` must not be empty";
        self.findings.problem(fields.node, &fields.path, message);
    }

    /// The playbook, or else the role, of a mapping; `None` where it names none.
    fn content(&mut self, fields: &Fields<'_>) -> Result<Option<AnsibleContent>, Reported> {
        let mut named = |field: &str| {
            let named = fields.text(field, &mut self.findings);
            named.filter(|(text, _)| !text.is_empty())
        };
        if let Some((text, node)) = named("playbook") {
            return self.playbook(&text, node, &fields.key("playbook")).map(Some);
        }
        match named("role") {
            Some((text, node)) => self.role(&text, node, &fields.key("role")).map(Some),
            None => Ok(None),
        }
    }

    fn playbook(&mut self, text: &str, node: &Node, key: &str) -> Result<AnsibleContent, Reported> {
        let path = absolute(Path::new(text));
        if path.is_file() {
            return Ok(AnsibleContent::Playbook(path));
        }
        let message = format!("playbook `{}` was not found", text.escape_debug());
        let hint = Path::new(text)
            .is_relative()
            .then(|| "paths of playbooks start in the working directory, not beside the file".to_owned());
        self.findings.problem_with_hint(node, key, message, hint);
        Err(Reported)
    }

    fn role(&mut self, text: &str, node: &Node, key: &str) -> Result<AnsibleContent, Reported> {
        let places = self.places_of_role(text);
        if let Some(path) = places.iter().find(|path| path.is_dir()) {
            return Ok(AnsibleContent::Role(path.clone()));
        }
        let message = format!("role `{}` was not found", text.escape_debug());
        let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        let hint = format!("it was looked for at {}", places.join(", "));
        self.findings.problem_with_hint(node, key, message, Some(hint));
        Err(Reported)
    }

    /// Where a role may be, the first place first.
    fn places_of_role(&self, text: &str) -> Vec<PathBuf> {
        let path = Path::new(text);
        if path.is_absolute() {
            return vec![path.to_owned()];
        }
        let mut places = Vec::new();
        if let [namespace, collection, role] = text.split('.').collect::<Vec<_>>()[..] {
            let below: PathBuf = ["ansible_collections", namespace, collection, "roles", role]
                .iter()
                .collect();
            let collections = AnsiblePaths::of(self.environment).collections;
            places.extend(collections.iter().map(|folder| folder.join(&below)));
        }
        places.extend(self.role_folders().into_iter().map(|folder| folder.join(path)));
        places.iter().map(|place| absolute(place)).collect()
    }

    /// The folders in which roles lie that are not of a collection.
    fn role_folders(&self) -> Vec<PathBuf> {
        let mut folders = AnsiblePaths::of(self.environment).roles;
        folders.push(absolute(Path::new("roles")));
        folders
    }

    fn finalizer(&mut self, node: &Node, path: String) -> Option<AnsibleFinalizer> {
        let fields = Fields::read(node, path, FINALIZER_FIELDS, &mut self.findings)?;
        let name = self.required(
            &fields,
            "name",
            "such as `cache.example.com/finalizer`",
            is_finalizer,
        );
        let vars = self.variables(&fields);
        let content = self.content(&fields);
        if matches!(content, Ok(None)) && vars.is_empty() {
            let message = "a finalizer names a role, a playbook or vars";
            self.findings.problem(node, &fields.path, message);
        }
        Some(AnsibleFinalizer {
            name: name?,
            content: content.ok()?,
            vars,
        })
    }

    fn variables(&mut self, fields: &Fields<'_>) -> Map<String, Value> {
        let Some((_, node)) = fields.get("vars") else {
            return Map::new();
        };
        match node.to_json() {
            Ok(Value::Object(vars)) => return vars,
            Ok(_) => self
                .findings
                .expected("a map of variables", node, &fields.key("vars")),
            Err(error) => self.findings.problem(node, &fields.key("vars"), error.message()),
        }
        Map::new()
    }

    fn blacklist(&mut self, fields: &Fields<'_>) -> Vec<GroupVersionKind> {
        let items = fields.items("blacklist", "kinds", &mut self.findings);
        let mut kinds = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", fields.key("blacklist"));
            let fields = Fields::read(item, path, KIND_FIELDS, &mut self.findings);
            kinds.extend(fields.and_then(|fields| self.gvk(&fields)));
        }
        kinds
    }

    fn max_runner_artifacts(&mut self, fields: &Fields<'_>) -> u32 {
        let Some((_, node)) = fields.get("maxRunnerArtifacts") else {
            return ARTIFACTS;
        };
        match node.value {
            Content::Int(0) => ARTIFACTS,
            Content::Int(number @ 1..=1_000_000) => u32::try_from(number).unwrap_or(ARTIFACTS),
            _ => {
                let path = fields.key("maxRunnerArtifacts");
                self.findings
                    .expected("a whole number from 0 to 1000000", node, &path);
                ARTIFACTS
            }
        }
    }

    fn concurrency_of_environment(&mut self, gvk: &GroupVersionKind, fields: &Fields<'_>) -> Option<usize> {
        let name = of_kind("MAX_CONCURRENT_RECONCILES", gvk);
        if self.environment.get(&name).is_some() {
            return self.number(&name, fields, 1..=1_000_000);
        }
        let old = of_kind("WORKER", gvk);
        self.environment.get(&old)?;
        let message = format!("the environment variable `{old}` is deprecated; its new name is `{name}`");
        self.findings.notice(fields.node, &fields.path, message);
        self.number(&old, fields, 1..=1_000_000)
    }

    fn verbosity_of_environment(&mut self, gvk: &GroupVersionKind, fields: &Fields<'_>) -> Option<u8> {
        let number = self.number(&of_kind("ANSIBLE_VERBOSITY", gvk), fields, 0..=7)?;
        u8::try_from(number).ok()
    }

    /// The number that an environment variable says, if it is one of those in `range`.
    fn number(
        &mut self,
        name: &str,
        fields: &Fields<'_>,
        range: std::ops::RangeInclusive<usize>,
    ) -> Option<usize> {
        let text = self.environment.get(name)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (first, last) = (range.start(), range.end());
            let message = format!(
                "the environment variable `{name}` is not a whole number from {first} to {last}, so it does not count"
            );
            self.findings.notice(fields.node, &fields.path, message);
        }
        number
    }
}

/// The name of an environment variable that is about a kind.
fn of_kind(prefix: &str, gvk: &GroupVersionKind) -> String {
    let name = format!("{prefix}_{}_{}", gvk.kind, gvk.group);
    name.replace('.', "_").to_ascii_uppercase()
}

/// Whether the API server takes it as a finalizer of a custom resource: a qualified name.
fn is_finalizer(name: &str) -> bool {
    let (prefix, name) = name
        .split_once('/')
        .map_or((None, name), |(prefix, name)| (Some(prefix), name));
    let is_middle = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    (1..=63).contains(&name.len())
        && name.chars().all(is_middle)
        && name.starts_with(is_edge)
        && name.ends_with(is_edge)
        && prefix.is_none_or(crate::names::is_dns_subdomain)
}
