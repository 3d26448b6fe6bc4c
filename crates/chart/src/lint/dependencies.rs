//! The rules for `charts/` and what `Chart.yaml` says of it.

use super::subject::Subject;
use super::{Report, Severity};
use crate::source::Source;

pub(super) fn lint(subject: &Subject, report: &mut Report) {
    let chart = match subject.load(&mut report.notices) {
        Ok(chart) => chart,
        Err(error) => {
            let message = format!("unable to load chart\n\t{error}");
            report.check(Severity::Error, "", Err(message));
            return;
        }
    };
    let source = chart.source();
    report.check(Severity::Error, &subject.path, undeclared(source));
    report.check(Severity::Error, &subject.path, repeated(source));
    report.check(Severity::Warning, &subject.path, missing(source));
}

fn undeclared(source: &Source) -> Result<(), String> {
    let declared = |name: &str| {
        source
            .metadata
            .dependencies
            .iter()
            .any(|known| known.name == name)
    };
    let names = source
        .dependencies
        .iter()
        .map(|chart| chart.metadata.name.as_str());
    let names: Vec<&str> = names.filter(|name| !declared(name)).collect();
    complain("chart metadata is missing these dependencies", &names)
}

fn repeated(source: &Source) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut names = Vec::new();
    for dependency in &source.metadata.dependencies {
        let name = dependency.local_name();
        if seen.contains(&name) {
            names.push(name);
        }
        seen.push(name);
    }
    complain("multiple dependencies with name or alias", &names)
}

fn missing(source: &Source) -> Result<(), String> {
    let is_there = |name: &str| {
        source
            .dependencies
            .iter()
            .any(|chart| chart.metadata.name == name)
    };
    let names = source
        .metadata
        .dependencies
        .iter()
        .map(|declared| declared.name.as_str());
    let names: Vec<&str> = names.filter(|name| !is_there(name)).collect();
    complain("chart directory is missing these dependencies", &names)
}

fn complain(problem: &str, names: &[&str]) -> Result<(), String> {
    if names.is_empty() {
        return Ok(());
    }
    Err(format!("{problem}: {}", names.join(",")))
}
