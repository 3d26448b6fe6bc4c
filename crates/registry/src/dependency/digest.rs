//! The digest in `Chart.lock`: whether it still belongs to `Chart.yaml`.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use steersman_chart::Dependency;

/// A dependency with its fields in the order in which Helm digests them.
#[derive(Serialize)]
struct Fields<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    repository: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    condition: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    enabled: bool,
    #[serde(rename = "import-values", skip_serializing_if = "<[Value]>::is_empty")]
    import_values: &'a [Value],
    #[serde(skip_serializing_if = "str::is_empty")]
    alias: &'a str,
}

fn fields(dependencies: &[Dependency]) -> Vec<Fields<'_>> {
    let fields = dependencies.iter().map(|dependency| Fields {
        name: &dependency.name,
        version: &dependency.version,
        repository: &dependency.repository,
        condition: &dependency.condition,
        tags: &dependency.tags,
        enabled: dependency.enabled,
        import_values: &dependency.import_values,
        alias: &dependency.alias,
    });
    fields.collect()
}

/// The digest of what is asked for and what was found.
pub(super) fn of(wanted: &[Dependency], locked: &[Dependency]) -> String {
    of_json(&(fields(wanted), fields(locked)))
}

/// The digest of what is asked for, as Helm 2 made it.
pub(super) fn of_helm_2(wanted: &[Dependency]) -> String {
    #[derive(Serialize)]
    struct Requirements<'a> {
        dependencies: Vec<Fields<'a>>,
    }
    of_json(&Requirements {
        dependencies: fields(wanted),
    })
}

fn of_json(value: &impl Serialize) -> String {
    // Go writes these characters as escapes, wherever they are.
    let text = serde_json::to_string(value)
        .unwrap_or_default()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let bytes = Sha256::digest(text.as_bytes());
    bytes
        .iter()
        .fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
