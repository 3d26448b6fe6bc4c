//! The rules for `templates/`: they are rendered, and each document is looked at.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::Path;

use steersman_gotemplate::format::sprintf;
use steersman_gotemplate::{Complaint, Failure, LookupQuery, Map, MapType, Timestamp, Value, World};

use super::deprecation::Deprecation;
use super::document::{self, Items, Object};
use super::subject::{Entry, Subject};
use super::{LintInput, Report, Severity, object_name};
use crate::capabilities::{Capabilities, KubeVersion};
use crate::chart::Chart;
use crate::engine;
use crate::error::RenderErrorKind;
use crate::input::RenderInput;
use crate::notice::Notice;
use crate::release::{Operation, ReleaseInfo};

/// What messages about all templates together are filed under.
const FOLDER: &str = "templates/";

pub(super) fn lint(subject: &Subject, input: &LintInput<'_>, report: &mut Report) {
    let exists = match subject.entry("templates") {
        Entry::Missing => Err("directory does not exist"),
        Entry::File | Entry::Folder => Ok(()),
    };
    if !report.check(Severity::Warning, FOLDER, exists) {
        return;
    }
    let is_folder = match subject.entry("templates") {
        Entry::Folder => Ok(()),
        _ => Err("not a directory"),
    };
    if !report.check(Severity::Error, FOLDER, is_folder) {
        return;
    }
    let chart = match subject.load(&mut report.notices) {
        Ok(chart) => chart,
        Err(error) => {
            report.check(Severity::Error, FOLDER, Err(error));
            return;
        }
    };
    let mut capabilities = Capabilities::default();
    if let Some(version) = input.kube_version {
        capabilities.kube_version = version.clone();
    }
    let release = ReleaseInfo {
        name: "test-release".to_owned(),
        namespace: input.namespace.to_owned(),
        revision: 0,
        operation: Operation::None,
    };
    let world = Lenient {
        world: input.world,
        notices: RefCell::default(),
    };
    let files = chart.lint_files(
        &RenderInput {
            release: &release,
            values: input.values,
            capabilities: &capabilities,
            world: &world,
            limits: input.limits,
            expired: None,
            skip_schema_validation: input.skip_schema_validation,
            subchart_notes: false,
        },
        &mut report.notices,
    );
    report.notices.extend(world.notices.into_inner());
    match files {
        Ok(files) => {
            let text = |name: &str| {
                files
                    .get(&format!("{}/{name}", chart.name()))
                    .map_or("", String::as_str)
            };
            let kube_version = &capabilities.kube_version;
            lint_files(&chart, text, kube_version, report);
        }
        // Values that do not fit together are passed over here, as Helm does.
        Err(error) if error.kind() == RenderErrorKind::Values => {}
        Err(error) => {
            report.check(Severity::Error, FOLDER, Err(error.to_string()));
        }
    }
}

/// Looks at what the chart's own templates gave.
fn lint_files<'a>(
    chart: &Chart,
    text: impl Fn(&str) -> &'a str,
    kube_version: &KubeVersion,
    report: &mut Report,
) {
    for template in &chart.source().templates {
        let name = template.name.as_str();
        report.check(Severity::Error, name, check_extension(name));
        let text = text(name);
        if !is_manifest(name) || text.trim().is_empty() {
            continue;
        }
        report.check(Severity::Warning, name, check_indent(text));
        for object in document::objects(text.as_bytes()) {
            let object = match object {
                Ok(Some(object)) => object,
                Ok(None) => continue,
                Err(error) => {
                    report.check(Severity::Error, name, Err(error));
                    return;
                }
            };
            report.check(
                Severity::Warning,
                name,
                object_name::check(&object.kind, object.name()),
            );
            report.check(Severity::Warning, name, check_deprecation(&object, kube_version));
            report.check(Severity::Error, name, check_selector(&object, text));
            report.check(Severity::Error, name, check_list(&object, text));
        }
    }
}

fn extension(name: &str) -> &str {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.rfind('.').map_or("", |place| &base[place..])
}

fn check_extension(name: &str) -> Result<(), String> {
    let extension = extension(name);
    // Helm knows nothing of Handlebars.
    if [".yaml", ".yml", ".tpl", ".txt", ".hbs"].contains(&extension) {
        return Ok(());
    }
    Err(format!(
        "file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
    ))
}

fn is_manifest(name: &str) -> bool {
    let endings = ["yaml", "yml", "hbs"];
    let is_one = |ending: &OsStr| endings.iter().any(|known| ending.eq_ignore_ascii_case(known));
    Path::new(name).extension().is_some_and(is_one) && !engine::is_notes(name)
}

fn check_indent(text: &str) -> Result<(), String> {
    match text.lines().find(|line| !line.trim().is_empty()) {
        Some(line) if line.starts_with([' ', '\t']) => Err(format!(
            "document starts with an illegal indent: {}, which may cause parsing problems",
            sprintf(b"%q", &[Value::string(line)])
        )),
        _ => Ok(()),
    }
}

fn check_deprecation(object: &Object, version: &KubeVersion) -> Result<(), String> {
    let number = |text: &str| text.parse().unwrap_or_default();
    let (major, minor) = (number(&version.major), number(&version.minor));
    match Deprecation::find(&object.api_version, &object.kind, major, minor) {
        Some(deprecation) => Err(deprecation.message()),
        None => Ok(()),
    }
}

fn check_selector(object: &Object, text: &str) -> Result<(), String> {
    let kind = object.kind.as_str();
    let needs_one = ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"].contains(&kind);
    if !needs_one || text.contains("matchLabels") || text.contains("matchExpressions") {
        return Ok(());
    }
    Err(format!(
        "a {kind} must contain matchLabels or matchExpressions, and {} does not",
        sprintf(b"%q", &[Value::string(object.name())])
    ))
}

fn check_list(object: &Object, text: &str) -> Result<(), String> {
    if object.kind != "List" {
        return Ok(());
    }
    let items = Items::read(text.as_bytes()).map_err(|error| document::unreadable(&error))?;
    if items.have("helm.sh/resource-policy") {
        return Err("annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned());
    }
    Ok(())
}

/// A world in which no template fails of its own accord, and nothing is looked up.
struct Lenient<'a> {
    world: &'a dyn World,
    notices: RefCell<Vec<Notice>>,
}

impl World for Lenient<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.world.fill_random(buffer);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::Map(Map::new(MapType::Any)))
    }

    fn tolerates(&self, complaint: Complaint<'_>) -> bool {
        let notice = match complaint {
            Complaint::Fail(message) => Notice::info("funcMap fail").with("message", message),
            Complaint::MissingValue(message) => {
                Notice::warning("missing required value").with("message", message)
            }
            Complaint::EmptyText(message) => {
                Notice::warning("missing required values").with("message", message)
            }
        };
        self.notices.borrow_mut().push(notice);
        true
    }
}
