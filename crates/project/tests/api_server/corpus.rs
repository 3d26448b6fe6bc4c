//! The definition of every chart of the corpus, judged by an API server: it is accepted and structural, and no value is
//! refused or lost that Helm renders the chart with. `check` says the same of the definition, of these values, and of
//! such as are broken.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use steersman_chart::Chart;
use steersman_project::CustomKind;
use steersman_project::check::{self, Verdict, structural_faults};
use steersman_project::definition::{Definition, Options};
use steersman_testkit::cluster::TestCluster;
use steersman_testkit::corpus::{self, Case, Expectation};

use crate::server::Server;
use crate::values;

/// So many definitions are there at a time: each of them costs the server memory and time.
const BATCH: usize = 30;

/// So many requests are under way at a time.
const REQUESTS: usize = 8;

/// A chart, and what it is tried with.
struct Subject {
    chart: String,
    definition: Definition,
    kind: CustomKind,
    /// What the values are, and the values.
    specs: Vec<(String, Value)>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_takes_the_values_of_every_chart() {
    let Some(corpus) = corpus::root_or_skip() else {
        return;
    };
    let Some(cluster) = TestCluster::shared_or_skip("definitions of the corpus") else {
        return;
    };
    let server = Server::new(cluster.client().await.unwrap());
    let mut charts: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in corpus.cases().unwrap() {
        charts.entry(case.chart.clone()).or_default().push(case);
    }
    let mut failures = Vec::new();
    let (mut specs, mut refused) = (0, 0);
    let subjects: Vec<Subject> = (charts.iter().enumerate())
        .filter_map(|(number, (chart, cases))| subject(&corpus, number, chart, cases))
        .collect();
    for batch in subjects.chunks(BATCH) {
        specs += batch.iter().map(|subject| subject.specs.len()).sum::<usize>();
        let judged: Vec<(Vec<String>, usize)> = stream::iter(batch)
            .map(|subject| judge(&server, subject))
            .buffer_unordered(REQUESTS)
            .collect()
            .await;
        for (found, number) in judged {
            failures.extend(found);
            refused += number;
        }
    }
    failures.sort();
    println!(
        "{} charts, {specs} specs, {refused} broken ones refused",
        subjects.len()
    );
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(refused > 200, "{refused}");
}

/// A chart with its values; none where Helm refuses to load it, too.
fn subject(corpus: &corpus::Corpus, number: usize, path: &str, cases: &[Case]) -> Option<Subject> {
    let chart = match Chart::load(&corpus.path(path)) {
        Ok(chart) => chart,
        Err(_) if cases.iter().all(|case| case.expect == Expectation::Error) => return None,
        Err(error) => panic!("{path}: {error}"),
    };
    let kind = CustomKind::new("corpus.example.com", "v1", format!("Chart{number}"));
    let definition = Definition::of(&kind, &chart, &Options::default()).unwrap();
    let mut specs = Vec::new();
    if !cases.iter().any(|case| has_incomplete_defaults(corpus, case)) {
        specs.push((
            "its defaults".to_owned(),
            values::as_in_a_resource(chart.values()),
        ));
    }
    for case in cases.iter().filter(|case| case.expect == Expectation::Ok) {
        specs.push((
            case.id.clone(),
            values::as_in_a_resource(&values::of_case(corpus, case)),
        ));
    }
    specs.sort_by_key(|(_, spec)| spec.to_string());
    specs.dedup_by(|a, b| a.1 == b.1);
    Some(Subject {
        chart: path.to_owned(),
        definition,
        kind,
        specs,
    })
}

/// Whether the chart's own schema refuses its defaults, as they lack what a user has to say.
fn has_incomplete_defaults(corpus: &corpus::Corpus, case: &Case) -> bool {
    case.expect == Expectation::Error
        && case.values.is_empty()
        && case.set.is_empty()
        && corpus
            .golden(case)
            .unwrap()
            .contains("values don't meet the specifications of the schema")
}

/// What the server does not like, with the chart's name before it, and how many broken specs it refuses.
async fn judge(server: &Server, subject: &Subject) -> (Vec<String>, usize) {
    let name = subject.kind.definition_name();
    let (mut failures, mut refused) = (Vec::new(), 0);
    if let Err(message) = server.define(&name, subject.definition.value()).await {
        failures.push(format!("{}: the definition: {message}", subject.chart));
    } else {
        let schema = &subject.definition.value()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let faults = structural_faults(schema);
        failures.extend(
            (faults.iter()).map(|(place, why)| format!("{}: for `check`, {place} {why}", subject.chart)),
        );
        for spec in subject
            .specs
            .iter()
            .take(1)
            .flat_map(|(_, spec)| values::broken(spec))
        {
            let resource = resource(subject, &spec);
            let verdict = check::judge(schema, &resource).unwrap();
            let answer = server.try_create(&subject.kind, &resource).await;
            refused += usize::from(answer.is_err());
            if answer.is_ok() != (verdict == Verdict::default()) {
                failures.push(format!(
                    "{}: for `check`, {verdict:?}, for the server {:?}: {spec}",
                    subject.chart,
                    answer.err()
                ));
            }
        }
        for (title, spec) in &subject.specs {
            let resource = resource(subject, spec);
            let verdict = check::judge(schema, &resource).unwrap();
            if verdict != Verdict::default() {
                failures.push(format!("{}: {title}: for `check`, {verdict:?}", subject.chart));
            }
            match server.try_create(&subject.kind, &resource).await {
                Err(message) => failures.push(format!("{}: {title}: {message}", subject.chart)),
                Ok(answer) => {
                    let lost = values::difference(spec, &answer["spec"], "spec");
                    failures.extend(lost.map(|lost| format!("{}: {title}: lost {lost}", subject.chart)));
                }
            }
        }
    }
    server.forget(&name).await;
    (failures, refused)
}

fn resource(subject: &Subject, spec: &Value) -> Value {
    json!({
        "apiVersion": subject.kind.api_version(),
        "kind": subject.kind.kind,
        "metadata": {"name": "x", "namespace": "default"},
        "spec": spec,
    })
}
