//! What the Operator Framework's own libraries say about our bundles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use steersman_project::bundle::{Bundle, MetadataRequest, annotations};
use steersman_testkit::bundle_judge::BundleJudge;
use tempfile::TempDir;

use crate::{bundle_of, objects, request};

/// The files of a bundle with its metadata.
pub(crate) fn files_of(bundle: &Bundle) -> BTreeMap<String, String> {
    let metadata = annotations(&MetadataRequest {
        package: bundle.package.clone(),
        channels: "stable".to_owned(),
        default_channel: Some("stable".to_owned()),
        builder: "steersman-v0.1.0".to_owned(),
        layout: "helm.sdk.operatorframework.io/v1".to_owned(),
        has_scorecard: bundle.scorecard.is_some(),
        folder: "bundle".to_owned(),
    });
    let mut files = bundle.files();
    files.insert("metadata/annotations.yaml".to_owned(), metadata);
    files
}

/// Writes files into a folder.
pub(crate) fn write(files: &BTreeMap<String, String>, folder: &Path) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn the_operator_framework_finds_nothing_wrong() {
    let Some(judge) = BundleJudge::find_or_skip() else {
        return;
    };
    let temporary = TempDir::new().unwrap();
    // Folders whose names start with a dot, as that of a temporary folder does, are not looked into.
    let folder = temporary.path().join("bundle");
    let mut bundle = bundle_of(objects(), &request());
    bundle.stamp(None, "2026-01-01T00:00:00Z");
    write(&files_of(&bundle), &folder);
    let findings: Vec<String> = judge
        .bundle(&folder)
        .into_iter()
        .map(|finding| format!("{} {}: {}", finding.level, finding.validator, finding.detail))
        .collect();
    // A picture is for people to choose; the project has none.
    assert_eq!(
        findings,
        ["Warning operatorhubv2: (cache-operator.v0.0.1) csv.Spec.Icon not specified"]
    );
}

#[test]
fn the_judge_sees_what_is_wrong() {
    let Some(judge) = BundleJudge::find_or_skip() else {
        return;
    };
    let temporary = TempDir::new().unwrap();
    let folder = temporary.path().join("bundle");
    let bundle = bundle_of(objects(), &request());
    write(&files_of(&bundle), &folder);
    fs::remove_file(folder.join("manifests/cache.example.com_caches.yaml")).unwrap();
    let findings = judge.bundle(&folder);
    let missing = findings
        .iter()
        .find(|finding| finding.validator == "bundle")
        .unwrap();
    assert_eq!(missing.level, "Error");
    assert!(missing.detail.contains("not found in bundle"), "{missing:?}");
}
