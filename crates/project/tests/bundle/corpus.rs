//! Bundles of the charts of the corpus, with the definitions that are made of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use steersman_chart::Chart;
use steersman_project::CustomKind;
use steersman_project::bundle::validate::{Optional, Severity, validate};
use steersman_project::bundle::{CapabilityLevel, ChartFacts, base};
use steersman_project::definition::{Definition, Options};
use steersman_testkit::bundle_judge::BundleJudge;
use steersman_testkit::corpus::{Expectation, root_or_skip};
use tempfile::TempDir;

use crate::judged::{files_of, write};
use crate::{bundle_of, objects, request};

/// Every so many-th bundle is shown to the judge: it takes a process for each.
const JUDGED: usize = 10;

#[test]
fn every_chart_becomes_a_sound_bundle() {
    let Some(corpus) = root_or_skip() else { return };
    let judge = BundleJudge::find_or_skip();
    let cases = corpus.cases().unwrap();
    let charts: BTreeSet<String> = cases
        .into_iter()
        .filter(|case| case.expect == Expectation::Ok)
        .map(|case| case.chart)
        .collect();
    let temporary = TempDir::new().unwrap();
    let mut problems = Vec::new();
    for (number, path) in charts.iter().enumerate() {
        let chart = Chart::load(&corpus.path(path)).unwrap();
        let mut bundle = bundle_of(project_of(&chart), &request());
        bundle.stamp(None, "2026-01-01T00:00:00Z");
        let files = files_of(&bundle);
        let findings = validate(&files, &Optional::ALL);
        let errors = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        problems.extend(errors.map(|finding| format!("{path}: {finding}")));
        let Some(judge) = judge.as_ref().filter(|_| number % JUDGED == 0) else {
            continue;
        };
        let folder = temporary.path().join(number.to_string());
        write(&files, &folder);
        let theirs = judge
            .bundle(&folder)
            .into_iter()
            .filter(|finding| finding.level == "Error");
        problems.extend(theirs.map(|finding| format!("{path}: {finding:?}")));
    }
    assert!(!charts.is_empty());
    assert!(
        problems.is_empty(),
        "{} of {} charts:\n{}",
        problems.len(),
        charts.len(),
        problems.join("\n")
    );
}

/// The objects of a project of this chart: the definition, a sample with its defaults, and what every operator has.
fn project_of(chart: &Chart) -> Vec<Value> {
    let kind = CustomKind::new("cache.example.com", "v1alpha1", "Cache");
    let definition = Definition::of(&kind, chart, &Options::default()).unwrap();
    let replaced = ["CustomResourceDefinition", "ClusterServiceVersion", "Cache"];
    let mut objects: Vec<Value> = objects()
        .into_iter()
        .filter(|object| !replaced.contains(&object["kind"].as_str().unwrap_or_default()))
        .collect();
    objects.push(definition.value().clone());
    objects.push(base(
        "cache-operator",
        &[ChartFacts::from(chart.metadata())],
        CapabilityLevel::default(),
    ));
    let spec = Value::Object(chart.values().clone());
    objects.push(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "sample"}, "spec": spec,
    }));
    objects
}
