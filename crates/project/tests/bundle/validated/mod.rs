//! What our own validation finds, beside what the Operator Framework's libraries find.

mod cases;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steersman_project::bundle::to_yaml;
use steersman_project::bundle::validate::{Finding, Optional, Severity, validate};
use steersman_testkit::bundle_judge::BundleJudge;
use tempfile::TempDir;

use crate::judged::{files_of, write};
use crate::{bundle_of, objects, request};
use cases::{Judge, cases_of_the_rest, cases_of_the_service_version, examples};

const SERVICE_VERSION: &str = "manifests/cache-operator.clusterserviceversion.yaml";
const DEFINITION: &str = "manifests/cache.example.com_caches.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

type Files = BTreeMap<String, String>;

fn good() -> Files {
    let mut bundle = bundle_of(objects(), &request());
    bundle.stamp(None, "2026-01-01T00:00:00Z");
    files_of(&bundle)
}

/// Changes the object in a file.
fn edit(files: &mut Files, path: &str, change: impl FnOnce(&mut Value)) {
    let mut object = steersman_yaml::to_json(&files[path]).unwrap();
    change(&mut object);
    files.insert(path.to_owned(), to_yaml(&object));
}

fn edited(path: &str, change: impl FnOnce(&mut Value)) -> Files {
    let mut files = good();
    edit(&mut files, path, change);
    files
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{} {finding}", finding.severity.name()))
        .collect()
}

#[test]
fn a_good_bundle_has_no_findings() {
    assert_eq!(texts(&validate(&good(), &[])), [""; 0]);
    assert_eq!(
        texts(&validate(&good(), &Optional::ALL)),
        [format!("warning {SERVICE_VERSION}: spec.icon: is missing")]
    );
}

#[test]
fn what_the_operator_framework_finds_is_found_here_too() {
    let judge = BundleJudge::find_or_skip();
    let temporary = TempDir::new().unwrap();
    let mut differences = Vec::new();
    let cases = cases_of_the_service_version()
        .into_iter()
        .chain(cases_of_the_rest());
    for (index, case) in cases.enumerate() {
        let findings = validate(&case.files, &Optional::ALL);
        let ours = findings
            .iter()
            .find(|finding| finding.to_string().contains(case.expect))
            .unwrap_or_else(|| panic!("`{}` is not among {:#?}", case.expect, texts(&findings)));
        let Some(judge) = &judge else {
            continue;
        };
        let level = match case.judge {
            Judge::NotAsked => continue,
            Judge::Silent => None,
            Judge::Error => Some(("Error", Severity::Error)),
            Judge::Warning => Some(("Warning", Severity::Warning)),
        };
        let folder = temporary.path().join(index.to_string());
        write(&case.files, &folder);
        let theirs: Vec<String> = judge
            .bundle(&folder)
            .into_iter()
            // The good bundle has no icon either.
            .filter(|finding| !finding.detail.ends_with("csv.Spec.Icon not specified"))
            .map(|finding| format!("{} {}", finding.level, finding.detail))
            .collect();
        let agree = match level {
            None => theirs.is_empty(),
            Some((level, severity)) => {
                ours.severity == severity && theirs.iter().any(|text| text.starts_with(level))
            }
        };
        if !agree {
            differences.push(format!("{ours:?}\n  {theirs:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_null_is_no_difference_but_in_a_list() {
    let with = |spec: Value| {
        let sample = json!([{"apiVersion": "cache.example.com/v1alpha1", "kind": "Cache", "spec": spec}]);
        texts(&validate(&edited(SERVICE_VERSION, examples(&sample)), &[]))
    };
    assert_eq!(with(json!({"policy": null})), [""; 0]);
    let findings = with(json!({"extraArgs": [null]}));
    assert!(findings[0].contains("spec.extraArgs[0]: is null"), "{findings:?}");
}

#[test]
fn files_that_are_no_yaml_are_named() {
    let mut files = good();
    files.insert("manifests/broken.yaml".to_owned(), "a: [".to_owned());
    files.insert("manifests/empty.yaml".to_owned(), "# nothing\n".to_owned());
    files.insert(
        "manifests/two.yaml".to_owned(),
        format!("{0}---\n{0}", files[DEFINITION]),
    );
    let findings = texts(&validate(&files, &[]));
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings[0].starts_with("error manifests/broken.yaml: this is no YAML"),
        "{findings:?}"
    );
    assert_eq!(findings[1], "error manifests/empty.yaml: the file is empty");
    assert!(findings[2].contains("several objects"), "{findings:?}");
}

#[test]
fn a_bundle_that_is_too_large_is_refused() {
    let mut files = good();
    // Digits of a generator: text that hardly compresses.
    let mut state = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{:x}", state >> 33)
    })
    .take(300_000)
    .collect();
    let large =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"a": noise}});
    files.insert("manifests/large.yaml".to_owned(), to_yaml(&large));
    let findings = texts(&validate(&files, &[]));
    assert!(findings[0].starts_with("error the bundle takes "), "{findings:?}");
    if let Some(judge) = BundleJudge::find_or_skip() {
        let temporary = TempDir::new().unwrap();
        let folder = temporary.path().join("bundle");
        write(&files, &folder);
        assert!(
            judge
                .bundle(&folder)
                .iter()
                .any(|finding| finding.detail.contains("size exceeded"))
        );
    }
}
