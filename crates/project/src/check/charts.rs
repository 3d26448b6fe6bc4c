//! Charts: what `lint` says, and what they render with the defaults and with the samples.

use std::collections::BTreeSet;
use std::path::Path;

use steersman_chart::lint::{self, LintInput, given_up};
use steersman_chart::values::overlay;
use steersman_chart::{Capabilities, Limits, Operation, ReleaseInfo, RenderInput, Rendered, Values};

use super::{Finding, Project, Watched, samples};

/// The release of a rendering, where a resource has no name.
const RELEASE: &str = "sample";

pub(super) fn check(project: &Project<'_>, watched: &Watched, findings: &mut Vec<Finding>) {
    let missing = watched.chart.missing_dependencies();
    if !missing.is_empty() {
        let message = format!("{} of Chart.yaml is not in charts/", missing.join(", "));
        let hint = format!("`steersman dependency build {}` fetches it", watched.chart_path);
        findings.push(Finding::error(&watched.chart_path, 0, message).with_hint(hint));
        return;
    }
    let mut gone = BTreeSet::new();
    match render(project, watched, RELEASE, &values_of(watched, Values::new())) {
        Ok(rendered) => note_kinds(project, watched, &rendered, &mut gone),
        Err(message) => {
            let message = format!("a resource without values is not released: {}", message.trim());
            findings.push(Finding::warning(&watched.chart_path, 0, message));
        }
    }
    for sample in samples::of(project, &watched.kind) {
        let values = values_of(
            watched,
            sample.value["spec"].as_object().cloned().unwrap_or_default(),
        );
        let name = sample.value["metadata"]["name"].as_str().unwrap_or(RELEASE);
        match render(project, watched, name, &values) {
            Ok(rendered) => note_kinds(project, watched, &rendered, &mut gone),
            Err(message) => {
                let message = format!("the chart can't be rendered with it: {}", message.trim());
                findings.push(Finding::error(&sample.file, sample.line_of("/spec"), message));
            }
        }
    }
    lint_chart(project, watched, findings);
    findings.extend(gone);
}

/// The values of a release, where a resource has this spec.
fn values_of(watched: &Watched, spec: Values) -> Values {
    let mut values = watched.below.clone();
    overlay(&mut values, spec);
    overlay(&mut values, watched.overrides.clone());
    values
}

fn render(project: &Project<'_>, watched: &Watched, name: &str, values: &Values) -> Result<Rendered, String> {
    let capabilities = Capabilities {
        kube_version: project.kube_version.clone(),
        ..Capabilities::default()
    };
    let release = ReleaseInfo {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    let rendered = watched.chart.render(&RenderInput {
        release: &release,
        values,
        capabilities: &capabilities,
        world: project.world,
        limits: Limits::default(),
        expired: project.expired,
        skip_schema_validation: false,
        subchart_notes: false,
    });
    let rendered = rendered.map_err(|error| error.to_string())?;
    match project.post_render {
        Some(post_render) => post_render(watched, rendered),
        None => Ok(rendered),
    }
}

/// Kinds that Kubernetes has given up, or is about to.
fn note_kinds(project: &Project<'_>, watched: &Watched, rendered: &Rendered, gone: &mut BTreeSet<Finding>) {
    let hooks = rendered.hooks.iter().map(|hook| &hook.manifest);
    for manifest in rendered.manifests.iter().chain(hooks) {
        let Some(row) = given_up(&manifest.api_version, &manifest.kind, project.kube_version) else {
            continue;
        };
        // The names of templates begin with the chart's, the path with its folder.
        let inside = manifest
            .source
            .split_once('/')
            .map_or(manifest.source.as_str(), |(_, inside)| inside);
        let file = format!("{}/{inside}", watched.chart_path.trim_end_matches('/'));
        let what = format!("{} {}", manifest.api_version, manifest.kind);
        let finding = if row.is_removed {
            Finding::error(
                &file,
                0,
                format!("{what} is not served by Kubernetes 1.{} and later", row.removed),
            )
        } else {
            let message = format!("{what} is deprecated, and goes with Kubernetes 1.{}", row.removed);
            Finding::warning(&file, 0, message)
        };
        gone.insert(match row.replacement {
            "" => finding,
            other => finding.with_hint(format!("use {other}")),
        });
    }
}

/// What `helm lint` would say, but for what is said of kinds and of renderings above.
fn lint_chart(project: &Project<'_>, watched: &Watched, findings: &mut Vec<Finding>) {
    let input = LintInput {
        values: &values_of(watched, Values::new()),
        namespace: "default",
        kube_version: Some(project.kube_version),
        skip_schema_validation: true,
        world: project.world,
        limits: Limits::default(),
    };
    let Ok(report) = lint::lint(Path::new(&watched.chart_path), &input) else {
        return;
    };
    for found in report.findings {
        let is_said = found.message.contains("is deprecated in v1.");
        let finding = match found.severity {
            lint::Severity::Info => continue,
            _ if is_said => continue,
            lint::Severity::Warning => Finding::warning,
            lint::Severity::Error => Finding::error,
        };
        let chart = watched.chart_path.trim_end_matches('/');
        let file = match found.path.trim_end_matches('/') {
            "" => chart.to_owned(),
            path if path.starts_with(chart) => path.to_owned(),
            path => format!("{chart}/{path}"),
        };
        findings.push(finding(&file, 0, found.message.trim()));
    }
}
