//! The rules for `Chart.yaml`.

use steersman_sprig::semver::{Constraint, Version};
use steersman_yaml::{Content, Node};

use super::address::{is_mail_address, is_request_url, is_url};
use super::subject::{Entry, Subject};
use super::{Report, Severity, strict};
use crate::metadata::{self, Metadata};

const FILE: &str = "Chart.yaml";

/// `Chart.yaml` as it is read without the checks of loading.
struct ChartFile {
    metadata: Metadata,
    /// Whether a maintainer is null, which loading refuses.
    has_empty_maintainer: bool,
    node: Node,
}

pub(super) fn lint(subject: &Subject, report: &mut Report) {
    if subject.entry(FILE) == Entry::Folder {
        report.check(Severity::Error, FILE, Err("should be a file, not a directory"));
    }
    let content = subject.read(FILE);
    let file = match content.and_then(|content| ChartFile::read(&content)) {
        Ok(file) => file,
        Err(error) => {
            report.check(
                Severity::Error,
                FILE,
                Err(format!("unable to parse YAML\n\t{error}")),
            );
            return;
        }
    };
    let is_strict = strict::check(&file.node)
        .map_err(|error| format!("failed to strictly parse chart metadata file\n\t{error}"));
    report.check(Severity::Warning, FILE, is_strict);
    let metadata = &file.metadata;
    for result in [
        check_name(metadata),
        check_api_version(metadata),
        check_is_text(&file.node, "version"),
        check_version(metadata),
        check_is_text(&file.node, "appVersion"),
        check_maintainers(&file),
        check_sources(metadata),
    ] {
        report.check(Severity::Error, FILE, result);
    }
    let has_icon = if metadata.icon.is_empty() {
        Err("icon is recommended")
    } else {
        Ok(())
    };
    report.check(Severity::Info, FILE, has_icon);
    for result in [
        check_icon(metadata),
        check_type(metadata),
        check_dependencies(metadata),
    ] {
        report.check(Severity::Error, FILE, result);
    }
    report.check(Severity::Warning, FILE, check_strict_version(metadata));
}

impl ChartFile {
    fn read(content: &[u8]) -> Result<Self, String> {
        let mut node = steersman_yaml::parse_bytes(content).map_err(|error| error.converting())?;
        node.to_json().map_err(|error| error.converting())?;
        let whole = node.clone();
        let has_empty_maintainer = metadata::remove_nulls(&mut node, "maintainers");
        metadata::remove_nulls(&mut node, "dependencies");
        let mut metadata = Metadata::default();
        metadata::read_node_into(&mut metadata, &node)?;
        Ok(Self {
            metadata,
            has_empty_maintainer,
            node: whole,
        })
    }
}

fn check_name(metadata: &Metadata) -> Result<(), String> {
    let name = metadata.name.as_str();
    if name.is_empty() {
        return Err("name is required".to_owned());
    }
    if name.contains('/') && !name.trim_matches('/').is_empty() {
        return Err(format!("chart name {name:?} is invalid"));
    }
    Ok(())
}

fn check_api_version(metadata: &Metadata) -> Result<(), String> {
    let wanted = "The value must be either \"v1\" or \"v2\"";
    match metadata.api_version.as_str() {
        "v1" | "v2" => Ok(()),
        "" => Err(format!("apiVersion is required. {wanted}")),
        other => Err(format!("apiVersion '{other}' is not valid. {wanted}")),
    }
}

/// Whether a value is a text, and not a number that looks like one.
fn check_is_text(node: &Node, key: &str) -> Result<(), String> {
    let Some(value) = node.get(key) else { return Ok(()) };
    let found = match &value.value {
        Content::String(_) => return Ok(()),
        Content::Null => "<nil>",
        Content::Bool(_) => "bool",
        Content::Int(_) | Content::Uint(_) | Content::Float(_) => "float64",
        Content::Sequence(_) => "[]interface {}",
        Content::Mapping(_) => "map[string]interface {}",
    };
    Err(format!("{key} should be of type string but it's of type {found}"))
}

fn check_version(metadata: &Metadata) -> Result<(), String> {
    let text = metadata.version.as_str();
    if text.is_empty() {
        return Err("version is required".to_owned());
    }
    let Ok(version) = Version::parse(text) else {
        return Err(format!("version '{text}' is not a valid SemVer"));
    };
    let is_above_nothing = Constraint::parse(">0.0.0-0").is_ok_and(|above| above.check(&version));
    if is_above_nothing {
        return Ok(());
    }
    Err(format!(
        "version \"{version}\" is less than or equal to \"0.0.0-0\""
    ))
}

fn check_strict_version(metadata: &Metadata) -> Result<(), String> {
    let text = metadata.version.as_str();
    if is_strict_version(text) {
        return Ok(());
    }
    Err(format!("version '{text}' is not a valid SemVerV2"))
}

/// Whether a version has all three numbers and no `v` before them.
fn is_strict_version(text: &str) -> bool {
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').count() == 3
        && text.starts_with(|first: char| first.is_ascii_digit())
        && Version::parse(text).is_ok()
}

fn check_maintainers(file: &ChartFile) -> Result<(), String> {
    if file.has_empty_maintainer {
        return Err("a maintainer entry is empty".to_owned());
    }
    for maintainer in &file.metadata.maintainers {
        let name = &maintainer.name;
        if name.is_empty() {
            return Err("each maintainer requires a name".to_owned());
        }
        if !maintainer.email.is_empty() && !is_mail_address(&maintainer.email) {
            return Err(format!(
                "invalid email '{}' for maintainer '{name}'",
                maintainer.email
            ));
        }
        if !maintainer.url.is_empty() && !is_url(&maintainer.url) {
            return Err(format!(
                "invalid url '{}' for maintainer '{name}'",
                maintainer.url
            ));
        }
    }
    Ok(())
}

fn check_sources(metadata: &Metadata) -> Result<(), String> {
    match metadata.sources.iter().find(|source| !is_request_url(source)) {
        Some(source) => Err(format!("invalid source URL '{source}'")),
        None => Ok(()),
    }
}

fn check_icon(metadata: &Metadata) -> Result<(), String> {
    if metadata.icon.is_empty() || is_request_url(&metadata.icon) {
        return Ok(());
    }
    Err(format!("invalid icon URL '{}'", metadata.icon))
}

fn check_type(metadata: &Metadata) -> Result<(), String> {
    if metadata.chart_type.is_empty() || metadata.api_version == "v2" {
        return Ok(());
    }
    Err(format!(
        "chart type is not valid in apiVersion '{}'. It is valid in apiVersion 'v2'",
        metadata.api_version
    ))
}

fn check_dependencies(metadata: &Metadata) -> Result<(), String> {
    if metadata.dependencies.is_empty() || metadata.api_version == "v2" {
        return Ok(());
    }
    Err(format!(
        "dependencies are not valid in the Chart file with apiVersion '{}'. They are valid in apiVersion 'v2'",
        metadata.api_version
    ))
}
