//! From the file to checked watches.

mod drift;
mod expand;
mod fields;
mod names;
mod selector;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube_core::{GroupVersionKind, Selector};
use steersman_chart::Chart;
use steersman_yaml::{Content, Node};

use crate::drift::DriftDetection;
use crate::error::{Problem, WatchesError};
use crate::load::drift::read_drift_detection;
use crate::load::expand::{Templates, expand_environment};
use crate::load::fields::{Fields, Findings, join, scalar_text};
use crate::load::names::{is_dns_subdomain, is_kind, is_namespace, is_version};
use crate::load::selector::read_selector;
use crate::{ConflictPolicy, CrdPolicy};
use crate::{HelmOperatorCompat, Watch, Watches};
use steersman_model::Environment;
use steersman_model::chain;
use steersman_model::parse_duration;

const FIELDS: &[&str] = &[
    "group",
    "version",
    "kind",
    "chart",
    "watchDependentResources",
    "overrideValues",
    "selector",
    "reconcilePeriod",
    "dryRunOption",
    "maxConcurrentReconciles",
    "releaseNamespace",
    "driftDetection",
    "crds",
    "conflicts",
    "reuseValues",
    "manifestInStatus",
];

/// The smallest file that works, for those who have none.
const EXAMPLE: &str = "an entry looks like this:\n  - group: example.com\n    version: v1alpha1\n    kind: Memcached\n    \
                       chart: helm-charts/memcached";

const WORKING_DIRECTORY: &str = "paths of charts start in the working directory, not beside the file";

impl Watches {
    /// Loads a watches.yaml and the charts that it names. Paths of charts are relative to the working directory.
    ///
    /// # Errors
    /// The file cannot be read, is not a list of entries, has no entry, or anything in it is wrong: then every
    /// problem is in the error, with its place.
    pub fn load(path: &Path, environment: &Environment) -> Result<Self, WatchesError> {
        let bytes = fs::read(path).map_err(|source| WatchesError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::read(&bytes, environment).map_err(|problems| WatchesError::Invalid {
            path: path.to_owned(),
            problems,
        })
    }

    /// Reads the text of a watches.yaml. The list of problems is not empty.
    fn read(bytes: &[u8], environment: &Environment) -> Result<Self, Vec<Problem>> {
        let node = steersman_yaml::parse_bytes(bytes).map_err(|error| {
            vec![Problem {
                line: error.line(),
                column: 0,
                key: String::new(),
                message: format!("not valid YAML: {}", error.message()),
                hint: None,
            }]
        })?;
        let items = entries(&node).map_err(|problem| vec![*problem])?;
        let mut loader = Loader {
            environment,
            templates: Templates::new(environment),
            charts: BTreeMap::new(),
            findings: Findings::default(),
        };
        let mut watches = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            watches.extend(loader.entry(index, item, &watches));
        }
        let Findings {
            mut problems,
            notices,
        } = loader.findings;
        if problems.is_empty() {
            return Ok(Self {
                watches: watches.into_iter().filter_map(Draft::finish).collect(),
                notices,
            });
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(problems)
    }
}

/// The items of the list that the file should be.
fn entries(node: &Node) -> Result<&[Node], Box<Problem>> {
    let problem = |message: &str| {
        Box::new(Problem {
            line: if node.value == Content::Null { 0 } else { node.line },
            column: 0,
            key: String::new(),
            message: message.to_owned(),
            hint: Some(EXAMPLE.to_owned()),
        })
    };
    match &node.value {
        Content::Sequence(items) if !items.is_empty() => Ok(items),
        Content::Null | Content::Sequence(_) => Err(problem("names no watch, so there is nothing to do")),
        Content::Mapping(_) => Err(problem(
            "expected a list of watches, found a map; entries start with `- `",
        )),
        _ => Err(problem("expected a list of watches")),
    }
}

/// What loading draws on, and what it found.
struct Loader<'a> {
    environment: &'a Environment,
    templates: Templates<'a>,
    /// What came of the charts that were loaded already: the chart, or the line of the problem.
    charts: BTreeMap<PathBuf, Result<Chart, u32>>,
    findings: Findings,
}

/// An entry whose kind is known although other parts may be missing, so that duplicates show.
struct Draft {
    gvk: Option<GroupVersionKind>,
    line: u32,
    rest: Option<Rest>,
}

/// An override value, evaluated.
struct OverrideValue {
    text: String,
    from_environment: bool,
}

struct Rest {
    chart: Chart,
    chart_path: PathBuf,
    override_values: BTreeMap<String, OverrideValue>,
    watch_dependents: bool,
    selector: Selector,
    release_namespace: Option<String>,
    crds: CrdPolicy,
    conflicts: ConflictPolicy,
    compat: HelmOperatorCompat,
    drift: DriftDetection,
    reconcile_period: Option<Duration>,
    max_concurrent_reconciles: Option<usize>,
}

impl Draft {
    fn finish(self) -> Option<Watch> {
        let (gvk, rest) = (self.gvk?, self.rest?);
        Some(Watch {
            gvk,
            chart: rest.chart,
            chart_path: rest.chart_path,
            overrides_from_environment: rest
                .override_values
                .iter()
                .filter(|(_, value)| value.from_environment)
                .map(|(key, _)| key.clone())
                .collect(),
            override_values: rest
                .override_values
                .into_iter()
                .map(|(key, value)| (key, value.text))
                .collect(),
            watch_dependents: rest.watch_dependents,
            selector: rest.selector,
            release_namespace: rest.release_namespace,
            crds: rest.crds,
            conflicts: rest.conflicts,
            compat: rest.compat,
            drift: rest.drift,
            reconcile_period: rest.reconcile_period,
            max_concurrent_reconciles: rest.max_concurrent_reconciles,
            line: self.line,
        })
    }
}

impl Loader<'_> {
    fn entry(&mut self, index: usize, node: &Node, earlier: &[Draft]) -> Option<Draft> {
        let fields = Fields::read(node, format!("[{index}]"), FIELDS, &mut self.findings)?;
        let gvk = self.gvk(&fields);
        if let Some(gvk) = &gvk
            && let Some(first) = earlier.iter().find(|draft| draft.gvk.as_ref() == Some(gvk))
        {
            let message = format!(
                "{} is watched by the entry on line {} already",
                display(gvk),
                first.line
            );
            self.findings.problem(node, &fields.path, message);
        }
        let chart = self.chart(&fields);
        let override_values = self.override_values(&fields);
        let watch_dependents = fields
            .boolean("watchDependentResources", &mut self.findings)
            .unwrap_or(true);
        let selector = match fields.get("selector") {
            Some((_, node)) => read_selector(node, fields.key("selector"), &mut self.findings),
            None => Selector::default(),
        };
        let release_namespace = self.name(
            &fields,
            "releaseNamespace",
            "(at most 63 lower-case letters, digits and `-`)",
            is_namespace,
        );
        let drift = match fields.get("driftDetection") {
            Some((_, node)) => read_drift_detection(node, fields.key("driftDetection"), &mut self.findings),
            None => DriftDetection::default(),
        };
        let reconcile_period = self.reconcile_period(&fields);
        self.check_dry_run(&fields);
        let max_concurrent_reconciles = self.max_concurrent_reconciles(&fields);
        let rest = chart.map(|(chart, chart_path)| Rest {
            chart,
            chart_path,
            override_values,
            watch_dependents,
            selector,
            release_namespace,
            crds: self.crds(&fields),
            conflicts: self.conflicts(&fields),
            compat: HelmOperatorCompat {
                reuse_values: self.switch(&fields, "reuseValues"),
                manifest_in_status: self.switch(&fields, "manifestInStatus"),
            },
            drift,
            reconcile_period,
            max_concurrent_reconciles,
        });
        Some(Draft {
            gvk,
            line: node.line,
            rest,
        })
    }

    fn gvk(&mut self, fields: &Fields<'_>) -> Option<GroupVersionKind> {
        let group = match fields.get("group") {
            Some(_) => self.name(fields, "group", "such as `example.com`", |group| {
                group.is_empty() || is_dns_subdomain(group)
            }),
            None => Some(String::new()),
        };
        let version = self.required(fields, "version", "such as `v1alpha1`", is_version);
        let kind = self.required(fields, "kind", "such as `Memcached`", is_kind);
        Some(GroupVersionKind::gvk(&group?, &version?, &kind?))
    }

    /// A field that must be there and must be a name of its sort.
    fn required(
        &mut self,
        fields: &Fields<'_>,
        field: &str,
        example: &str,
        accept: impl Fn(&str) -> bool,
    ) -> Option<String> {
        if fields
            .get(field)
            .is_none_or(|(_, node)| node.as_str() == Some(""))
        {
            self.findings.problem(
                fields.node,
                &fields.path,
                format_args!("`{field}` must not be empty"),
            );
            return None;
        }
        self.name(fields, field, example, accept)
    }

    fn name(
        &mut self,
        fields: &Fields<'_>,
        field: &str,
        example: &str,
        accept: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let (name, node) = fields.text(field, &mut self.findings)?;
        if accept(&name) {
            return Some(name);
        }
        let message = format!("`{}` is not a {field} {example}", name.escape_debug());
        self.findings.problem(node, &fields.key(field), message);
        None
    }

    fn chart(&mut self, fields: &Fields<'_>) -> Option<(Chart, PathBuf)> {
        if fields
            .get("chart")
            .is_none_or(|(_, node)| node.as_str() == Some(""))
        {
            self.findings
                .problem(fields.node, &fields.path, "`chart` must not be empty");
            return None;
        }
        let (text, node) = fields.text("chart", &mut self.findings)?;
        let path = PathBuf::from(text);
        let key = fields.key("chart");
        let chart = match self.charts.get(&path) {
            Some(Ok(chart)) => Ok(chart.clone()),
            Some(Err(line)) => {
                let message = format!("cannot load chart `{}`, as line {line} says", path.display());
                self.findings.problem(node, &key, message);
                Err(*line)
            }
            None => Chart::load(&path).map_err(|error| {
                let message = format!("cannot load chart `{}`: {}", path.display(), chain(&error));
                let hint = (path.is_relative() && !path.exists()).then(|| WORKING_DIRECTORY.to_owned());
                self.findings.problem_with_hint(node, &key, message, hint);
                node.line
            }),
        };
        self.charts.insert(path.clone(), chart.clone());
        Some((chart.ok()?, path))
    }

    fn override_values(&mut self, fields: &Fields<'_>) -> BTreeMap<String, OverrideValue> {
        let path = fields.key("overrideValues");
        let Some((_, node)) = fields.get("overrideValues") else {
            return BTreeMap::new();
        };
        let Content::Mapping(pairs) = &node.value else {
            self.findings.expected("a map of texts", node, &path);
            return BTreeMap::new();
        };
        let mut values = BTreeMap::new();
        for (key, value) in pairs {
            match key.key_string() {
                Ok(name) => values.extend(
                    self.override_value(&name, value, &path)
                        .map(|value| (name, value)),
                ),
                Err(error) => self.findings.problem(key, &path, error.message()),
            }
        }
        values
    }

    fn override_value(&mut self, name: &str, node: &Node, path: &str) -> Option<OverrideValue> {
        let path = join(path, name.escape_debug());
        let text = match (&node.value, scalar_text(node)) {
            (Content::Null, _) => String::new(),
            (_, Some(text)) => text,
            (_, None) => {
                self.findings.expected("a text", node, &path);
                return None;
            }
        };
        let expanded = expand_environment(&text, self.environment);
        for variable in &expanded.unset {
            let message = format!(
                "the environment variable `{}` is not set; nothing stands in its place",
                variable.escape_debug()
            );
            self.findings.notice(node, &path, message);
        }
        match self.templates.render(name, &expanded.text) {
            Ok(value) => Some(OverrideValue {
                text: value,
                from_environment: expanded.text != text || Templates::ask_environment(&text),
            }),
            Err(error) => {
                self.findings
                    .problem(node, &path, format_args!("cannot be evaluated: {error}"));
                None
            }
        }
    }

    fn reconcile_period(&mut self, fields: &Fields<'_>) -> Option<Duration> {
        let (_, node) = fields.get("reconcilePeriod")?;
        let path = fields.key("reconcilePeriod");
        let Some(text) = node.as_str() else {
            self.findings.expected("a duration such as `1m30s`", node, &path);
            return None;
        };
        parse_duration(text)
            .map_err(|error| self.findings.problem(node, &path, error))
            .ok()
            .filter(|period| !period.is_zero())
    }

    /// helm-operator takes any text, and most of them have no effect there either.
    fn check_dry_run(&mut self, fields: &Fields<'_>) {
        if let Some((text, node)) = fields.text("dryRunOption", &mut self.findings)
            && !["", "client", "server", "none", "true", "false"].contains(&text.as_str())
        {
            let message = format!("`{}` is none of `client`, `server`", text.escape_debug());
            self.findings.notice(node, &fields.key("dryRunOption"), message);
        }
    }

    fn switch(&mut self, fields: &Fields<'_>, field: &str) -> bool {
        fields.boolean(field, &mut self.findings).unwrap_or(false)
    }

    /// The words are Helm's and Flux', in any case and with or without a dash.
    fn crds(&mut self, fields: &Fields<'_>) -> CrdPolicy {
        let Some((text, node)) = fields.text("crds", &mut self.findings) else {
            return CrdPolicy::Create;
        };
        match text.to_ascii_lowercase().replace('-', "").as_str() {
            "create" => CrdPolicy::Create,
            "createreplace" => CrdPolicy::CreateReplace,
            "skip" => CrdPolicy::Skip,
            _ => {
                let message = format!(
                    "`{}` is none of `create`, `create-replace`, `skip`",
                    text.escape_debug()
                );
                self.findings.problem(node, &fields.key("crds"), message);
                CrdPolicy::Create
            }
        }
    }

    fn conflicts(&mut self, fields: &Fields<'_>) -> ConflictPolicy {
        let Some((text, node)) = fields.text("conflicts", &mut self.findings) else {
            return ConflictPolicy::default();
        };
        match text.as_str() {
            "overwrite" => ConflictPolicy::Overwrite,
            "fail" => ConflictPolicy::Fail,
            _ => {
                let message = format!("`{}` is none of `overwrite`, `fail`", text.escape_debug());
                self.findings.problem(node, &fields.key("conflicts"), message);
                ConflictPolicy::default()
            }
        }
    }

    fn max_concurrent_reconciles(&mut self, fields: &Fields<'_>) -> Option<usize> {
        let (_, node) = fields.get("maxConcurrentReconciles")?;
        if let Content::Int(number @ 1..=1_000_000) = node.value {
            return usize::try_from(number).ok();
        }
        let path = fields.key("maxConcurrentReconciles");
        self.findings
            .expected("a whole number from 1 to 1000000", node, &path);
        None
    }
}

/// A kind as people write it: `Memcached in cache.example.com/v1`.
fn display(gvk: &GroupVersionKind) -> String {
    format!("{} in {}", gvk.kind, gvk.api_version())
}

#[cfg(test)]
mod tests;
