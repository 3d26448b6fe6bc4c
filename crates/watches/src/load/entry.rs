//! One entry of the file: the kind, its chart, and what is done with its resources.

use kube_core::{GroupVersionKind, Selector};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use steersman_chart::Chart;
use steersman_model::{Environment, chain};
use steersman_yaml::{Content, Node};

use super::confine::read_confinement;
use super::drift::read_drift_detection;
use super::expand::Templates;
use super::fields::{Fields, Findings};
use super::health::read_health_checks;
use super::order::read_order;
use super::post_render::read_post_render;
use super::selector::read_selector;
use super::status::{read_scale, read_status};
use crate::drift::DriftDetection;
use crate::names::{is_dns_subdomain, is_kind, is_namespace, is_service_account, is_version};
use crate::{HelmOperatorCompat, Watch};

pub(super) const FIELDS: &[&str] = &[
    "group",
    "version",
    "kind",
    "chart",
    "watchDependentResources",
    "overrideValues",
    "overrides",
    "valueFiles",
    "postRender",
    "selector",
    "reconcilePeriod",
    "dryRunOption",
    "maxConcurrentReconciles",
    "releaseNamespace",
    "driftDetection",
    "crds",
    "conflicts",
    "expandClaims",
    "test",
    "reuseValues",
    "manifestInStatus",
    "serviceAccountName",
    "confine",
    "wait",
    "stages",
    "order",
    "dependsOn",
    "valuesFrom",
    "healthChecks",
    "procedures",
    "status",
    "scale",
];

const WORKING_DIRECTORY: &str = "paths of charts start in the working directory, not beside the file";

/// What loading draws on, and what it found.
pub(super) struct Loader<'a> {
    pub(super) environment: &'a Environment,
    /// Where the file lies.
    pub(super) folder: &'a Path,
    pub(super) templates: Templates<'a>,
    /// What came of the charts that were loaded already: the chart, or the line of the problem.
    pub(super) charts: BTreeMap<PathBuf, Result<Chart, u32>>,
    /// The kinds of the entries before, each with its line.
    pub(super) kinds: Vec<(GroupVersionKind, u32)>,
    /// The groups and kinds of runs of the entries before, each with its procedure.
    pub(super) run_kinds: Vec<(String, String, Node)>,
    pub(super) findings: Findings,
}

impl Loader<'_> {
    /// What an entry says; `None` where that is known to be wrong.
    pub(super) fn entry(&mut self, index: usize, node: &Node) -> Option<Watch> {
        let fields = Fields::read(node, format!("[{index}]"), FIELDS, &mut self.findings)?;
        let gvk = self.new_kind(&fields);
        let chart = self.chart(&fields);
        let values = self.entry_values(&fields, chart.as_ref().map(|(chart, _)| chart));
        let post_render = read_post_render(&fields, &mut self.findings);
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
        let order = read_order(&fields, &mut self.findings);
        let confinement = fields
            .given("confine")
            .map(|node| read_confinement(node, fields.key("confine"), &mut self.findings));
        let health_checks = read_health_checks(&fields, &mut self.findings);
        let service_account = self.service_account(&fields);
        let depends_on = self.dependencies(&fields);
        let values_from = self.values_from(&fields);
        let reconcile_period = self.reconcile_period(&fields);
        self.check_dry_run(&fields);
        let max_concurrent_reconciles = self.max_concurrent_reconciles(&fields);
        let (crds, conflicts) = (self.crds(&fields), self.conflicts(&fields));
        let compat = HelmOperatorCompat {
            reuse_values: self.switch(&fields, "reuseValues"),
            manifest_in_status: self.switch(&fields, "manifestInStatus"),
        };
        let expand_claims = self.expand_claims(&fields, confinement.as_ref());
        let tests = self.tests(&fields);
        let procedures = self.procedures(&fields, gvk.as_ref(), chart.as_ref().map(|(chart, _)| chart));
        let status = read_status(&fields, &mut self.findings);
        let of_chart = chart.as_ref().map(|(chart, _)| chart);
        let scale = read_scale(&fields, &status, of_chart, &mut self.findings);
        let (chart, chart_path) = chart?;
        Some(Watch {
            gvk: gvk?,
            chart,
            chart_path,
            values,
            post_render,
            watch_dependents,
            selector,
            release_namespace,
            crds,
            conflicts,
            expand_claims,
            tests,
            compat,
            drift,
            order,
            reconcile_period,
            max_concurrent_reconciles,
            service_account,
            confinement,
            depends_on,
            values_from,
            health_checks,
            procedures,
            status: status.status,
            scale,
            line: node.line,
        })
    }

    /// The kind of an entry, which no entry before it has.
    pub(super) fn new_kind(&mut self, fields: &Fields<'_>) -> Option<GroupVersionKind> {
        let gvk = self.gvk(fields)?;
        let line = fields.node.line;
        if let Some((_, first)) = self.kinds.iter().find(|(known, _)| *known == gvk) {
            let message = format!(
                "{} is watched by the entry on line {first} already",
                display(&gvk)
            );
            self.findings.problem(fields.node, &fields.path, message);
        }
        self.kinds.push((gvk.clone(), line));
        Some(gvk)
    }

    pub(super) fn gvk(&mut self, fields: &Fields<'_>) -> Option<GroupVersionKind> {
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
    pub(super) fn required(
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

    /// What says that rights are limited is never nothing: not by an empty value, either.
    pub(super) fn service_account(&mut self, fields: &Fields<'_>) -> Option<String> {
        let field = "serviceAccountName";
        let node = fields.given(field)?;
        if node.value == Content::Null {
            self.findings.expected("a text", node, &fields.key(field));
            return None;
        }
        self.name(fields, field, "such as `deployer`", is_service_account)
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
}

/// A kind as people write it: `Memcached in cache.example.com/v1`.
fn display(gvk: &GroupVersionKind) -> String {
    format!("{} in {}", gvk.kind, gvk.api_version())
}
