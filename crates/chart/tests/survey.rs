//! Every kind that Helm renders of a public chart is in the chart's survey.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use steersman_chart::Chart;
use steersman_chart::survey::{ObjectKind, Survey};
use steersman_testkit::corpus::{Case, Corpus, Expectation, root_or_skip};

/// How many places of all charts may be undetermined: as many as were when this was last lowered.
const UNDETERMINED: usize = 257;
/// How many kinds of charts were found by rendering them alone: all of one chart, which patches its objects with a
/// JSON patch of its own.
const RENDERED_ONLY: usize = 8;
/// How many kinds that are rendered for tests may be in surveys: those whose values or JSON patches say what they are for.
const TESTS_KEPT: usize = 6;

type Kind = (String, String);

#[derive(Default)]
struct Score {
    cases: usize,
    kinds: usize,
    undetermined: usize,
    charts: usize,
    given: usize,
    rendered_only: usize,
    tests: usize,
    tests_kept: usize,
    missed: Vec<String>,
    report: Vec<String>,
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are what the test is for")]
fn every_kind_that_helm_rendered_is_found() {
    let Some(corpus) = root_or_skip() else { return };
    let mut charts: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in corpus.cases().expect("the index can be read") {
        charts.entry(case.chart.clone()).or_default().push(case);
    }
    let charts: Vec<(String, Vec<Case>)> = charts.into_iter().collect();
    let (next, score) = (AtomicUsize::new(0), Mutex::new(Score::default()));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((chart, cases)) = charts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    judge(&corpus, chart, cases, &score);
                }
            });
        }
    });
    let score = score.into_inner().expect("no chart panicked");
    println!(
        "{} charts, {} cases, {} kinds: {} missed, {} given by values; {} found by rendering alone; {} undetermined places; {} of {} kinds for tests are counted",
        score.charts,
        score.cases,
        score.kinds,
        score.missed.len(),
        score.given,
        score.rendered_only,
        score.undetermined,
        score.tests_kept,
        score.tests,
    );
    if std::env::var_os("STEERSMAN_SURVEY").is_some() {
        println!("{}", score.report.join("\n"));
    }
    assert!(score.missed.is_empty(), "missed:\n{}", score.missed.join("\n"));
    assert!(score.rendered_only <= RENDERED_ONLY);
    assert!(score.tests_kept <= TESTS_KEPT);
    assert!(
        score.undetermined <= UNDETERMINED,
        "{} places are undetermined, {UNDETERMINED} were",
        score.undetermined
    );
}

fn judge(corpus: &Corpus, path: &str, cases: &[Case], score: &Mutex<Score>) {
    let Ok(chart) = Chart::load(&corpus.path(path)) else {
        return;
    };
    let survey = match Survey::of(&chart) {
        Ok(survey) => survey,
        Err(error) => {
            let mut score = score.lock().expect("no other chart panicked");
            score.report.push(format!("{path}: {error}"));
            if cases.iter().any(|case| case.expect == Expectation::Ok) {
                score.missed.push(format!("{path}: {error}"));
            }
            return;
        }
    };
    let known: BTreeSet<Kind> = survey
        .objects
        .iter()
        .map(|object| (object.api_version.clone(), object.kind.clone()))
        .collect();
    let mut score = score.lock().expect("no other chart panicked");
    for object in &survey.objects {
        // What is found by rendering alone was not found by reading.
        let is_read = object.sources.iter().any(|source| source.place.line > 0);
        if !is_read
            && !object
                .sources
                .iter()
                .any(|source| source.template.contains("/crds/"))
        {
            score.rendered_only += 1;
            score.report.push(format!(
                "{path}: rendered only: {} {}",
                object.api_version, object.kind
            ));
        }
    }
    score.charts += 1;
    score.undetermined += survey.undetermined.len();
    for found in &survey.undetermined {
        score
            .report
            .push(format!("{path}: {}: {}", found.place, found.message));
    }
    let is_reported = |template: &str| {
        let mut places = survey.undetermined.iter().map(|found| &found.place.file);
        places.any(|file| file.as_ref() == template)
    };
    for case in cases.iter().filter(|case| case.expect == Expectation::Ok) {
        score.cases += 1;
        let found = kinds(&corpus.golden(case).expect("the recording can be read"));
        for (template, kind) in found.of_tests.difference(&found.needed) {
            score.tests += 1;
            let of_kind = |object: &&ObjectKind| (&object.api_version, &object.kind) == (&kind.0, &kind.1);
            let sources = survey.objects.iter().find(of_kind).map(|object| &object.sources);
            let mut sources = sources.into_iter().flatten();
            if let Some(source) = sources.find(|source| source.template == *template) {
                score.tests_kept += 1;
                score
                    .report
                    .push(format!("{path}: for tests: {} of {}", kind.1, source.place));
            }
        }
        for (template, kind) in found.needed {
            score.kinds += 1;
            if known.contains(&kind) {
                continue;
            }
            // Objects that are values of the case are of any kind; that the chart takes such ones is in the survey.
            if is_reported(&template) {
                score.given += 1;
            } else {
                score
                    .missed
                    .push(format!("{}: {} {} of {template}", case.id, kind.0, kind.1));
            }
        }
    }
}

/// Whether only `helm test` creates an object.
fn is_test(object: &serde_json::Value) -> bool {
    let events = object.pointer("/metadata/annotations/helm.sh~1hook");
    let events = events.and_then(serde_json::Value::as_str);
    events.is_some_and(|events| events.split(',').all(|event| event.trim().starts_with("test")))
}

/// Templates, and kinds of documents that Helm wrote.
#[derive(Default)]
struct Found {
    needed: BTreeSet<(String, Kind)>,
    /// Those that only `helm test` creates.
    of_tests: BTreeSet<(String, Kind)>,
}

/// The templates and kinds of the documents that Helm wrote; of lists, those of their items.
fn kinds(text: &str) -> Found {
    fn add(template: &str, object: &serde_json::Value, found: &mut Found) {
        let text = |key: &str| {
            object
                .get(key)
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default()
        };
        match object.get("items").and_then(serde_json::Value::as_array) {
            Some(items) if text("kind").ends_with("List") => {
                for item in items {
                    add(template, item, found);
                }
            }
            _ if text("kind").is_empty() => {}
            _ => {
                let kind = (text("apiVersion").to_owned(), text("kind").to_owned());
                let kinds = if is_test(object) {
                    &mut found.of_tests
                } else {
                    &mut found.needed
                };
                kinds.insert((template.to_owned(), kind));
            }
        }
    }
    let mut found = Found::default();
    for document in text.split("\n---") {
        let mut lines = document.lines();
        let template = lines
            .find_map(|line| line.strip_prefix("# Source: "))
            .unwrap_or_default();
        if let Ok(object) = steersman_yaml::to_json(document.trim_start_matches("---")) {
            add(template, &object, &mut found);
        }
    }
    found
}
