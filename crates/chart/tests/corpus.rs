//! Public charts against what Helm renders for them.

mod support;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use steersman_chart::Limits;
use steersman_chart::template::{TemplateRequest, ValueSources, template};
use steersman_testkit::corpus::{Case, Corpus, Expectation, root_or_skip};
use support::compare::{Agreement, compare};
use support::{TestWorld, figure};

/// How many cases must agree: as many as did when this was last raised.
const FLOOR: usize = 771;

/// How many error messages must be the same, and how many in their first line. Two whole texts cannot be: Helm's
/// depends on the network, or on the order in which it happens to walk a map.
const ERROR_TEXTS: usize = 144;
const ERROR_FIRST_LINES: usize = 146;

#[derive(Default)]
struct Score {
    error_texts: usize,
    error_first_lines: usize,
    bytes: usize,
    semantic: usize,
    errors: usize,
    report: Vec<String>,
}

#[test]
#[expect(clippy::print_stdout, reason = "the report is what it is asked for")]
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
                        Ok(Match::Output(Agreement::Bytes)) => score.bytes += 1,
                        Ok(Match::Output(_)) => score.semantic += 1,
                        Ok(Match::Error {
                            same_text,
                            same_first_line,
                        }) => {
                            score.errors += 1;
                            score.error_texts += usize::from(same_text);
                            score.error_first_lines += usize::from(same_first_line);
                        }
                        Err(difference) => score.report.push(format!("{}: {difference}", case.id)),
                    }
                }
            });
        }
    });
    let mut score = score.into_inner().expect("no case panicked");
    score.report.sort();
    let agreed = score.bytes + score.semantic + score.errors;
    figure(&format!(
        "corpus: {agreed} of {} agree ({} byte-equal, {} semantic, {} errors agree)",
        cases.len(),
        score.bytes,
        score.semantic,
        score.errors
    ));
    figure(&format!(
        "corpus: {} of {} errors have Helm's first line, {} its whole text",
        score.error_first_lines, score.errors, score.error_texts
    ));
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
    assert!(
        filter.is_some() || score.error_texts >= ERROR_TEXTS,
        "{} error messages are the same",
        score.error_texts
    );
    assert!(
        filter.is_some() || score.error_first_lines >= ERROR_FIRST_LINES,
        "{} error messages have the same first line",
        score.error_first_lines
    );
}

/// How a case agrees.
enum Match {
    /// Both render it.
    Output(Agreement),
    /// Both fail.
    Error { same_text: bool, same_first_line: bool },
}

fn judge(corpus: &Corpus, case: &Case) -> Result<Match, String> {
    let output = render(corpus, case);
    match (case.expect, output) {
        (Expectation::Error, Err(error)) => {
            let golden = corpus.golden(case).map_err(|error| error.to_string())?;
            let golden = error_text(&golden);
            Ok(Match::Error {
                same_text: golden == error.trim(),
                same_first_line: golden.lines().next() == error.trim().lines().next(),
            })
        }
        (Expectation::Error, Ok(_)) => Err("Helm fails, this does not".to_owned()),
        (Expectation::Ok, Err(error)) => Err(format!("fails: {error}")),
        (Expectation::Ok, Ok(output)) => {
            let golden = corpus.golden(case).map_err(|error| error.to_string())?;
            match compare(&golden, &output, &case.volatile) {
                Agreement::Differs(difference) => Err(difference),
                Agreement::Semantic if case.volatile.is_empty() => {
                    Err("nothing in it is random, and its bytes differ".to_owned())
                }
                agreement => Ok(Match::Output(agreement)),
            }
        }
    }
}

/// What Helm wrote to standard error, without its log and its advice.
fn error_text(golden: &str) -> String {
    let lines: Vec<&str> = golden
        .lines()
        .filter(|line| !line.starts_with("level="))
        .collect();
    let text = lines.join("\n");
    let text = text.trim().strip_prefix("Error: ").unwrap_or(&text);
    text.trim_end_matches("Use --debug flag to render out invalid YAML")
        .trim()
        .to_owned()
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
