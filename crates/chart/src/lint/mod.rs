//! What is wrong with a chart, or unusual: the rules of `helm lint`.
//!
//! ```text
//! folder or .tgz -> Subject          the files as they lie there, and the chart as far as it loads
//!   chart_file      Chart.yaml       fields, types, unknown fields
//!   values          values.yaml      can be read, fits values.schema.json
//!   templates       templates/       rendered; each document is looked at
//!   dependencies    charts/          against Chart.yaml
//!   crds            crds/            definitions and nothing else
//! ```
//!
//! The rules, their order and their texts are those of Helm's `pkg/chart/v2/lint`.

mod address;
mod chart_file;
mod crds;
mod dependencies;
mod deprecation;
mod document;
mod object_name;
mod strict;
mod subject;
mod templates;
mod values;

use std::fmt;
use std::path::Path;

use steersman_gotemplate::{Limits, World};

use crate::capabilities::KubeVersion;
use crate::notice::Notice;
use crate::values::Values;
use subject::Subject;

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Against a convention, but it will probably work.
    Warning,
    /// It will probably not work.
    Error,
}

/// One thing that a rule has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Where it is: a file or folder of the chart, or the chart's own path.
    pub path: String,
    /// What it is; the text is Helm's.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        };
        write!(f, "[{severity}] {}: {}", self.path, self.message)
    }
}

/// What a chart is linted with.
#[derive(Clone, Copy)]
pub struct LintInput<'a> {
    /// The user's values.
    pub values: &'a Values,
    /// The namespace of the release.
    pub namespace: &'a str,
    /// The version of Kubernetes for capabilities and deprecations; none for Helm's default.
    pub kube_version: Option<&'a KubeVersion>,
    /// Whether `values.schema.json` is left aside.
    pub skip_schema_validation: bool,
    /// Clock and randomness. What its [`tolerates`](World::tolerates) says does not count: nothing that a template
    /// misses ends a rendering here.
    pub world: &'a dyn World,
    /// What the rendering may use.
    pub limits: Limits,
}

impl fmt::Debug for LintInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LintInput")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// What linting a chart has brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What the rules say, in Helm's order.
    pub findings: Vec<Finding>,
    /// What Helm logs meanwhile.
    pub notices: Vec<Notice>,
}

impl Report {
    /// Adds what a rule says, and tells whether it said nothing.
    fn check(&mut self, severity: Severity, path: &str, result: Result<(), impl Into<String>>) -> bool {
        match result {
            Ok(()) => true,
            Err(message) => {
                self.findings.push(Finding {
                    severity,
                    path: path.to_owned(),
                    message: message.into(),
                });
                false
            }
        }
    }
}

/// Until when Kubernetes serves a deprecated kind, and what replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// The minor version of Kubernetes 1 that serves it no longer.
    pub removed: u64,
    /// Whether that has come already.
    pub is_removed: bool,
    /// The kind in its place; may be empty.
    pub replacement: &'static str,
}

/// Whether a version of Kubernetes has deprecated or removed a kind.
pub fn given_up(api_version: &str, kind: &str, kubernetes: &KubeVersion) -> Option<GivenUp> {
    let number = |text: &str| text.trim_end_matches('+').parse().unwrap_or_default();
    let (major, minor) = (number(&kubernetes.major), number(&kubernetes.minor));
    let row = deprecation::Deprecation::find(api_version, kind, major, minor)?;
    Some(GivenUp {
        removed: row.removed(),
        is_removed: (major, minor) >= (1, row.removed()),
        replacement: row.replacement(),
    })
}

/// Lints the chart in a folder or archive.
///
/// ```
/// use steersman_chart::lint::{LintInput, Severity, lint};
/// use steersman_chart::{Limits, Values};
/// # use steersman_chart::{Failure, LookupQuery, Timestamp, Value, World};
/// # struct Nowhere;
/// # impl World for Nowhere {
/// #     fn now(&self) -> Timestamp { Timestamp::default() }
/// #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
/// #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::Nil) }
/// # }
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("Chart.yaml"), "{apiVersion: v2, name: web, version: one}")?;
/// let input = LintInput {
///     values: &Values::new(),
///     namespace: "default",
///     kube_version: None,
///     skip_schema_validation: false,
///     world: &Nowhere,
///     limits: Limits::default(),
/// };
/// let report = lint(folder.path(), &input)?;
/// let error = report.findings.iter().find(|finding| finding.severity == Severity::Error);
/// let error = error.expect("`one` is no version").to_string();
/// assert_eq!(error, "[ERROR] Chart.yaml: version 'one' is not a valid SemVer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// There is no chart: no `Chart.yaml`, or an archive that cannot be read. The text is Helm's.
pub fn lint(path: &Path, input: &LintInput<'_>) -> Result<Report, String> {
    let subject = Subject::open(path)?;
    let mut report = Report::default();
    chart_file::lint(&subject, &mut report);
    values::lint(&subject, input, &mut report);
    templates::lint(&subject, input, &mut report);
    dependencies::lint(&subject, &mut report);
    crds::lint(&subject, &mut report);
    Ok(report)
}
