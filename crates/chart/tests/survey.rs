//! Every kind that Helm renders of a public chart is in the chart's survey, and so is what its roles allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use steersman_chart::Chart;
use steersman_chart::survey::{ObjectKind, Place, PolicyRule, Survey};
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
    grants: usize,
    grants_given: usize,
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
        "{} charts, {} cases, {} kinds, {} permissions of roles: {} missed, {} and {} given by values; {} found by rendering alone; {} undetermined places; {} of {} kinds for tests are counted",
        score.charts,
        score.cases,
        score.kinds,
        score.grants,
        score.missed.len(),
        score.given,
        score.grants_given,
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
        let objects = objects(&corpus.golden(case).expect("the recording can be read"));
        judge_roles(&survey, &objects, &case.id, &mut score);
        let found = kinds(&objects);
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

/// What the roles that Helm rendered allow has to be in the survey; where it could not tell all of a role, it says so.
fn judge_roles(survey: &Survey, objects: &[(String, Value)], case: &str, score: &mut Score) {
    for (template, object) in objects {
        let is_of_template = |place: &Place| place.file.as_ref() == template;
        let is_reported = survey
            .undetermined
            .iter()
            .any(|found| is_of_template(&found.place));
        let is_incomplete = survey.roles.iter().any(|role| role.is_incomplete);
        for grant in grants(object) {
            score.grants += 1;
            let mut rules = survey.roles.iter().flat_map(|role| &role.rules);
            if rules.any(|rule| covers(rule, &grant)) {
                continue;
            }
            if is_reported || is_incomplete {
                score.grants_given += 1;
            } else {
                score.missed.push(format!("{case}: {grant:?} of {template}"));
            }
        }
    }
}

/// Whether only `helm test` creates an object.
fn is_test(object: &Value) -> bool {
    let events = object.pointer("/metadata/annotations/helm.sh~1hook");
    let events = events.and_then(Value::as_str);
    events.is_some_and(|events| events.split(',').all(|event| event.trim().starts_with("test")))
}

/// Templates, and kinds of documents that Helm wrote.
#[derive(Default)]
struct Found {
    needed: BTreeSet<(String, Kind)>,
    /// Those that only `helm test` creates.
    of_tests: BTreeSet<(String, Kind)>,
}

/// The kinds of objects, with their templates.
fn kinds(objects: &[(String, Value)]) -> Found {
    let mut found = Found::default();
    for (template, object) in objects {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("kind").is_empty() {
            continue;
        }
        let kind = (text("apiVersion").to_owned(), text("kind").to_owned());
        let kinds = if is_test(object) {
            &mut found.of_tests
        } else {
            &mut found.needed
        };
        kinds.insert((template.clone(), kind));
    }
    found
}

/// The objects that Helm wrote, with their templates; of lists, their items.
fn objects(text: &str) -> Vec<(String, Value)> {
    fn add(template: &str, object: Value, found: &mut Vec<(String, Value)>) {
        let is_list = object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match object.get("items").and_then(Value::as_array) {
            Some(items) if is_list => {
                for item in items {
                    add(template, item.clone(), found);
                }
            }
            _ => found.push((template.to_owned(), object)),
        }
    }
    let mut found = Vec::new();
    for document in text.split("\n---") {
        let mut lines = document.lines();
        let template = lines
            .find_map(|line| line.strip_prefix("# Source: "))
            .unwrap_or_default();
        if let Ok(object) = steersman_yaml::to_json(document.trim_start_matches("---")) {
            add(template, object, &mut found);
        }
    }
    found
}

/// What a role allows: group or none for a path, resource or path, verb.
type Grant = (Option<String>, String, String);

/// What the role that an object is allows; of other objects nothing.
fn grants(object: &Value) -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    if !matches!(object["kind"].as_str(), Some("Role" | "ClusterRole")) || is_test(object) {
        return grants;
    }
    let list = |rule: &Value, key: &str| -> Vec<String> {
        let values = rule[key].as_array().into_iter().flatten();
        values
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    };
    for rule in object["rules"].as_array().into_iter().flatten() {
        for verb in list(rule, "verbs") {
            for path in list(rule, "nonResourceURLs") {
                grants.insert((None, path, verb.clone()));
            }
            for group in list(rule, "apiGroups") {
                for resource in list(rule, "resources") {
                    grants.insert((Some(group.clone()), resource, verb.clone()));
                }
            }
        }
    }
    grants
}

/// Whether a rule of the survey has all of it.
fn covers(rule: &PolicyRule, (group, resource, verb): &Grant) -> bool {
    let has = |list: &[String], value: &String| list.contains(value) || list.iter().any(|one| one == "*");
    let has_resource = match group {
        Some(group) => has(&rule.api_groups, group) && has(&rule.resources, resource),
        None => has(&rule.non_resource_urls, resource),
    };
    has_resource && has(&rule.verbs, verb)
}
