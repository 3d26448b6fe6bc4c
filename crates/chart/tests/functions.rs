//! The snippets of template functions against Helm's recorded results.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use steersman_testkit::functions::{SnippetCase, cases_or_skip};

/// How many snippets must agree: as many as did when this was last raised.
const FLOOR: usize = 4280;

fn agrees(case: &SnippetCase) -> Result<(), String> {
    let result = support::read_values(&serde_json::Value::Object(case.values.clone())).and_then(|values| {
        support::render_snippet(&case.template, case.helpers.as_deref(), &case.files, &values)
    });
    match (&case.output, result) {
        (Some(expected), Ok(output)) if *expected == output => Ok(()),
        (Some(expected), Ok(output)) => Err(format!("expected {expected:?}\n     found {output:?}")),
        (Some(_), Err(error)) => Err(format!("failed: {error}")),
        (None, Err(_)) => Ok(()),
        (None, Ok(output)) => Err(format!("did not fail as Helm does, but gave {output:?}")),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the report is what it is asked for")]
fn snippets_agree_with_helm() {
    let Some(cases) = cases_or_skip() else { return };
    let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
    let mut report = String::new();
    let mut agreed = 0;
    for case in &cases {
        match agrees(case) {
            Ok(()) => agreed += 1,
            Err(difference) => {
                *failures.entry(&case.group).or_default() += 1;
                let _ = writeln!(report, "{}: {}\n     {difference}", case.id, case.template);
            }
        }
    }
    let share = 100.0 * f64::from(agreed) / cases.len() as f64;
    support::figure(&format!(
        "functions: {agreed} of {} agree ({share:.1} %)",
        cases.len()
    ));
    assert!(
        agreed as usize >= FLOOR,
        "fewer than {FLOOR} snippets agree\nby group: {failures:?}\n{report}"
    );
    if std::env::var_os("STEERSMAN_REPORT").is_some() {
        println!("{failures:?}\n{report}");
    }
}
