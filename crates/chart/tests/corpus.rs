//! Public charts against what Helm renders for them.

mod support;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use steersman_chart::Limits;
use steersman_chart::template::{TemplateRequest, ValueSources, template};
use steersman_testkit::corpus::{Case, Corpus, Expectation, root_or_skip};
use support::TestWorld;
use support::compare::{Agreement, compare};

/// How many cases must agree: as many as did when this was last raised.
const FLOOR: usize = 771;

#[derive(Default)]
struct Score {
    bytes: usize,
    semantic: usize,
    errors: usize,
    report: Vec<String>,
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure is what the test is for")]
fn charts_agree_with_helm() {
    let Some(corpus) = root_or_skip() else { return };
    let cases = corpus.cases().expect("the index can be read");
    let filter = std::env::var_os("STEERSMAN_CASES").map(|filter| filter.to_string_lossy().into_owned());
    let cases: Vec<&Case> = cases
        .iter()
        .filter(|case| {
            filter
                .as_ref()
                .is_none_or(|filter| case.id.contains(filter.as_str()))
        })
        .collect();
    let (next, score) = (AtomicUsize::new(0), Mutex::new(Score::default()));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = judge(&corpus, case);
                    let mut score = score.lock().expect("no other case panicked");
                    match result {
                        Ok(Some(Agreement::Bytes)) => score.bytes += 1,
                        Ok(Some(_)) => score.semantic += 1,
                        Ok(None) => score.errors += 1,
                        Err(difference) => score.report.push(format!("{}: {difference}", case.id)),
                    }
                }
            });
        }
    });
    let mut score = score.into_inner().expect("no case panicked");
    score.report.sort();
    let agreed = score.bytes + score.semantic + score.errors;
    println!(
        "corpus: {agreed} of {} agree ({} byte-equal, {} semantic, {} errors agree)",
        cases.len(),
        score.bytes,
        score.semantic,
        score.errors
    );
    let mut report = String::new();
    for line in &score.report {
        let _ = writeln!(report, "{line}");
    }
    if std::env::var_os("STEERSMAN_REPORT").is_some() {
        println!("{report}");
    }
    assert!(
        filter.is_some() || agreed >= FLOOR,
        "fewer than {FLOOR} cases agree\n{report}"
    );
}

/// How a case agrees; none where both fail.
fn judge(corpus: &Corpus, case: &Case) -> Result<Option<Agreement>, String> {
    let output = render(corpus, case);
    match (case.expect, output) {
        (Expectation::Error, Err(_)) => Ok(None),
        (Expectation::Error, Ok(_)) => Err("Helm fails, this does not".to_owned()),
        (Expectation::Ok, Err(error)) => Err(format!("fails: {error}")),
        (Expectation::Ok, Ok(output)) => {
            let golden = corpus.golden(case).map_err(|error| error.to_string())?;
            match compare(&golden, &output, &case.volatile) {
                Agreement::Differs(difference) => Err(difference),
                agreement => Ok(Some(agreement)),
            }
        }
    }
}

fn render(corpus: &Corpus, case: &Case) -> Result<String, String> {
    let has = |flag: &str| case.extra_args.iter().any(|argument| argument == flag);
    let request = TemplateRequest {
        release: case.release.clone(),
        namespace: case.namespace.clone(),
        chart: corpus.path(&case.chart),
        values: ValueSources {
            files: case.values.clone(),
            typed: case.set.clone(),
            ..ValueSources::default()
        },
        kube_version: Some(case.kube_version.clone()).filter(|version| !version.is_empty()),
        api_versions: case.api_versions.clone(),
        is_upgrade: case.is_upgrade,
        include_crds: case.include_crds,
        no_hooks: has("--no-hooks"),
        skip_tests: has("--skip-tests"),
        skip_schema_validation: false,
    };
    let read = |file: &str| std::fs::read(corpus.path(file)).map_err(|error| format!("open {file}: {error}"));
    template(&request, &read, &TestWorld::new(), Limits::default())
        .map(|output| output.text())
        .map_err(|error| error.to_string())
}
