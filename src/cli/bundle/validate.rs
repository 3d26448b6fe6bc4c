//! `bundle validate`: says what is wrong with a bundle, with the flags and exit codes of `operator-sdk bundle validate`.

use std::io;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::{Value, json};
use steersman_model::Environment;
use steersman_project::bundle::validate::{BundleFiles, Finding, Optional, SUITE, Severity, validate};

use super::super::Failure;
use super::super::report::print_line;
use super::super::style::{Style, Tone, harmless};
use crate::cli::files;

const EXAMPLES: &str = "\
Examples:
  # Is the bundle of this project sound?
  steersman bundle validate bundle

  # As OperatorHub.io looks at it, for a program
  steersman bundle validate bundle --select-optional suite=operatorframework -o json-alpha1

Exit codes:
  0  nothing is wrong, or only what is worth a warning
  1  something is wrong
  2  the bundle can't be read, or the arguments are wrong";

/// What `bundle validate` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The folder of the bundle
    #[arg(value_name = "DIR", default_value = "bundle")]
    folder: PathBuf,
    /// Print a line for each finding, or JSON as operator-sdk does
    #[arg(short, long, value_enum, value_name = "FORM", default_value = "text")]
    output: Form,
    /// Further rules to apply: name=NAME or suite=operatorframework; several with commas. --list-optional lists them
    #[arg(long, value_name = "SELECTOR", value_delimiter = ',')]
    select_optional: Vec<String>,
    /// List the rules that --select-optional can add
    #[arg(long)]
    list_optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// A line for each finding
    Text,
    /// What operator-sdk prints under this name
    #[value(name = "json-alpha1")]
    Json,
}

/// Refuses a bundle in which something is wrong.
pub(super) fn sound(path: &str, files: &BundleFiles) -> Result<(), Failure> {
    let findings = validate(files, &[]);
    let errors: Vec<String> = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| line(finding, Style::default()))
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(
        anyhow!("bundle `{path}` is not sound\n{}", errors.join("\n")),
        Some(format!("`steersman bundle validate {path}` says all of it")),
    ))
}

/// Prints what is wrong.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    if arguments.list_optional {
        return Optional::ALL.iter().try_for_each(|set| {
            print_line(&format!("{:<16}suite={SUITE}  {}", set.name(), set.description()))
        });
    }
    let optional = selected(&arguments.select_optional)?;
    let files = files::read_all(&arguments.folder).map_err(|error| {
        Failure::usage(
            error,
            Some("name the folder that has manifests/ and metadata/".to_owned()),
        )
    })?;
    let findings = validate(&files, &optional);
    let has_errors = findings.iter().any(|finding| finding.severity == Severity::Error);
    match arguments.output {
        Form::Json => print_line(&as_json(&findings, has_errors))?,
        Form::Text => {
            let style = Style::of(&io::stdout(), environment);
            for finding in &findings {
                print_line(&line(finding, style))?;
            }
            if findings.is_empty() {
                print_line(&format!("`{}` is sound", arguments.folder.display()))?;
            }
        }
    }
    if has_errors { Err(Failure::Silent) } else { Ok(()) }
}

/// A finding as a line: what weight, where, what.
pub(super) fn line(finding: &Finding, style: Style) -> String {
    let tone = match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Doubtful,
    };
    let weight = style.paint(tone, finding.severity.name());
    format!("{weight}: {}", harmless(&finding.to_string()))
}

fn as_json(findings: &[Finding], has_errors: bool) -> String {
    let outputs: Vec<Value> = findings
        .iter()
        .map(|finding| json!({"type": finding.severity.name(), "message": finding.to_string()}))
        .collect();
    let outputs = if outputs.is_empty() {
        Value::Null
    } else {
        outputs.into()
    };
    let result = json!({"passed": !has_errors, "outputs": outputs});
    serde_json::to_string_pretty(&result).unwrap_or_default()
}

fn selected(selectors: &[String]) -> Result<Vec<Optional>, Failure> {
    let mut sets = Vec::new();
    for selector in selectors {
        let found: Vec<Optional> = match selector.split_once('=') {
            Some(("suite", SUITE)) => Optional::ALL.to_vec(),
            Some(("name", name)) => Optional::ALL
                .into_iter()
                .filter(|set| set.name() == name)
                .collect(),
            _ => Vec::new(),
        };
        if found.is_empty() {
            let names: Vec<String> = Optional::ALL
                .iter()
                .map(|set| format!("name={}", set.name()))
                .collect();
            return Err(Failure::usage(
                anyhow!("--select-optional: `{selector}` selects nothing"),
                Some(format!("there are suite={SUITE}, {}", names.join(", "))),
            ));
        }
        sets.extend(found);
    }
    sets.sort();
    sets.dedup();
    Ok(sets)
}
