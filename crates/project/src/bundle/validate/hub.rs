//! What OperatorHub.io asks for.

use serde_json::Value;

use super::super::value::{list, text};
use super::{Findings, Located};

const CAPABILITIES: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

const CATEGORIES: [&str; 16] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Database",
    "Developer Tools",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "Observability",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
];

const PICTURES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];

pub(super) fn check(located: &Located, findings: &mut Findings) {
    let Located { file, object } = located;
    if text(object, "/spec/provider/name").trim().is_empty() {
        findings.error(file, "spec.provider.name", "is missing");
    }
    for (index, maintainer) in list(object, "/spec/maintainers").iter().enumerate() {
        let field = format!("spec.maintainers[{index}]");
        let email = text(maintainer, "/email");
        if text(maintainer, "/name").is_empty() || email.is_empty() {
            findings.error(file, &field, "needs both `name` and `email`");
        } else if !is_address(email) {
            findings.error(
                file,
                &format!("{field}.email"),
                format!("`{email}` is no address"),
            );
        }
    }
    for (index, link) in list(object, "/spec/links").iter().enumerate() {
        let field = format!("spec.links[{index}]");
        let url = text(link, "/url");
        if text(link, "/name").is_empty() || url.is_empty() {
            findings.error(file, &field, "needs both `name` and `url`");
        } else if !url.contains(':') && !url.starts_with('/') {
            findings.error(file, &format!("{field}.url"), format!("`{url}` is no URL"));
        }
    }
    if text(object, "/spec/version") == "0.0.0" {
        findings.error(file, "spec.version", "must be set");
    }
    check_icon(file, object, findings);
}

fn check_icon(file: &str, object: &Value, findings: &mut Findings) {
    match list(object, "/spec/icon") {
        [] => findings.warn(file, "spec.icon", "is missing"),
        [icon] => {
            let media_type = text(icon, "/mediatype");
            if media_type.is_empty() || text(icon, "/base64data").is_empty() {
                findings.error(file, "spec.icon", "needs both `base64data` and `mediatype`");
            } else if !PICTURES.contains(&media_type) {
                findings.error(
                    file,
                    "spec.icon",
                    format!("`{media_type}` is none of {}", PICTURES.join(", ")),
                );
            }
        }
        _ => findings.error(file, "spec.icon", "there is more than one"),
    }
}

/// Something, one `@`, something.
fn is_address(text: &str) -> bool {
    let address = match (text.rfind('<'), text.strip_suffix('>')) {
        (Some(start), Some(inside)) => &inside[start + 1..],
        _ => text,
    };
    let whole = !address.contains(char::is_whitespace);
    whole
        && address
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty() && !host.contains('@'))
}

pub(super) fn check_capabilities(located: &Located, findings: &mut Findings) {
    let Located { file, object } = located;
    let level = object
        .pointer("/metadata/annotations/capabilities")
        .and_then(Value::as_str);
    if let Some(level) = level.filter(|level| !CAPABILITIES.contains(level)) {
        let message = format!("`{level}` is none of {}", CAPABILITIES.join(", "));
        findings.error(file, "metadata.annotations[capabilities]", message);
    }
}

pub(super) fn check_categories(located: &Located, findings: &mut Findings) {
    let Located { file, object } = located;
    let given = object
        .pointer("/metadata/annotations/categories")
        .and_then(Value::as_str);
    for category in given
        .into_iter()
        .flat_map(|given| given.split(','))
        .map(str::trim)
    {
        if !CATEGORIES.contains(&category) {
            let message = format!("`{category}` is none of {}", CATEGORIES.join(", "));
            findings.error(file, "metadata.annotations[categories]", message);
        }
    }
}
