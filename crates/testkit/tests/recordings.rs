//! The corpus and the snippet cases as tests get them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world should panic"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use steersman_testkit::corpus::{self, Corpus, CorpusError, Expectation};
use steersman_testkit::functions;

const CASE: &str = r#"{"id": "one", "chart": "charts/one", "release": "demo", "namespace": "default", "values": [],
 "set": ["a=b"], "kube_version": "1.36.0", "api_versions": [], "is_upgrade": false, "include_crds": true,
 "extra_args": [], "expect": "error", "golden": "golden/one.err", "volatile": [{"doc": {"index": 3,
 "apiVersion": "v1", "kind": "Secret", "name": "s"}, "pointer": "/data/x"}]}"#;

fn write_corpus(folder: &Path) {
    fs::create_dir_all(folder.join("golden")).unwrap();
    fs::write(folder.join("index.jsonl"), CASE.replace('\n', "")).unwrap();
    fs::write(folder.join("golden/one.err"), "Error: no").unwrap();
}

fn check_corpus(corpus: &Corpus) {
    let cases = corpus.cases().unwrap();
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].expect, Expectation::Error);
    assert_eq!(cases[0].volatile[0].doc.namespace, None);
    assert_eq!(corpus.golden(&cases[0]).unwrap(), "Error: no");
}

#[test]
fn an_unpacked_corpus_is_used_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    write_corpus(folder.path());
    let corpus = Corpus::open_at(folder.path(), Path::new("/nonexistent")).unwrap();
    assert_eq!(corpus.root(), folder.path());
    check_corpus(&corpus);
}

#[test]
fn an_archive_is_unpacked_once_by_callers_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let (content, cache) = (folder.path().join("content"), folder.path().join("cache"));
    let archive = folder.path().join("corpus.tar.gz");
    write_corpus(&content);
    let packed = Command::new("tar")
        .arg("-czf")
        .arg(&archive)
        .arg("-C")
        .arg(&content)
        .arg(".")
        .status()
        .unwrap();
    assert!(packed.success());

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check_corpus(&Corpus::open_at(&archive, &cache).unwrap()));
        }
    });
    let left: Vec<_> = fs::read_dir(&cache)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        1,
        "nothing but the unpacked corpus is left in the cache: {left:?}"
    );
}

#[test]
fn an_archive_that_is_none_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("corpus.tar.gz");
    fs::write(&archive, "no archive").unwrap();
    let error = Corpus::open_at(&archive, &folder.path().join("cache")).unwrap_err();
    assert!(matches!(error, CorpusError::Unpack { .. }), "{error:?}");
    assert!(error.to_string().contains("corpus.tar.gz"), "{error}");
}

#[test]
fn a_missing_corpus_is_told_from_a_broken_one() {
    let error =
        Corpus::open_at(Path::new("/nonexistent/corpus.tar.gz"), Path::new("/nonexistent")).unwrap_err();
    assert_eq!(error.to_string(), "/nonexistent/corpus.tar.gz is not there");
    assert!(matches!(error, CorpusError::Absent(_)));
}

#[test]
fn every_case_of_the_corpus_is_readable_and_complete() {
    let Some(corpus) = corpus::root_or_skip() else {
        return;
    };
    let cases = corpus.cases().unwrap();
    assert!(cases.len() > 500, "{} cases", cases.len());
    for case in &cases {
        assert!(
            corpus.path(&case.chart).join("Chart.yaml").exists(),
            "{}: no Chart.yaml",
            case.id
        );
        assert!(corpus.path(&case.golden).exists(), "{}: no recording", case.id);
        for values in &case.values {
            assert!(corpus.path(values).exists(), "{}: no {values}", case.id);
        }
    }
}

#[test]
fn every_snippet_has_an_output_or_an_error() {
    let Some(cases) = functions::cases_or_skip() else {
        return;
    };
    assert!(cases.len() > 1000, "{} cases", cases.len());
    for case in &cases {
        assert!(case.output.is_some() != case.error.is_some(), "{}", case.id);
    }
}
