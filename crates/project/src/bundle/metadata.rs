//! What describes a bundle: `metadata/annotations.yaml`, and `bundle.Dockerfile` with the same as labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::validate::BundleFiles;

/// What a bundle says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataRequest {
    /// The name of the package.
    pub package: String,
    /// Names of channels, separated by commas.
    pub channels: String,
    /// The channel that is taken by default.
    pub default_channel: Option<String>,
    /// What wrote the bundle, such as `steersman-v1.0.0`.
    pub builder: String,
    /// The layout of the project, such as `helm.sdk.operatorframework.io/v1`.
    pub layout: String,
    /// Whether the bundle has a configuration for scorecard.
    pub has_scorecard: bool,
    /// The folder of the bundle, seen from where the image is built.
    pub folder: String,
}

impl MetadataRequest {
    /// Labels that say what the bundle is.
    fn core(&self) -> Vec<(&'static str, &str)> {
        let mut labels = vec![
            ("bundle.mediatype.v1", "registry+v1"),
            ("bundle.manifests.v1", "manifests/"),
            ("bundle.metadata.v1", "metadata/"),
            ("bundle.package.v1", self.package.as_str()),
            ("bundle.channels.v1", self.channels.as_str()),
        ];
        if let Some(channel) = &self.default_channel {
            labels.push(("bundle.channel.default.v1", channel));
        }
        labels.extend([
            ("metrics.builder", self.builder.as_str()),
            ("metrics.mediatype.v1", "metrics+v1"),
            ("metrics.project_layout", self.layout.as_str()),
        ]);
        labels
    }
}

const TESTING: [(&str, &str); 2] = [
    ("test.mediatype.v1", "scorecard+v1"),
    ("test.config.v1", "tests/scorecard/"),
];

const PREFIX: &str = "operators.operatorframework.io";

/// The labels of a bundle's image: the annotations of its metadata, as `bundle.Dockerfile` has them.
pub fn image_labels(files: &BundleFiles) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for (_, text) in files.iter().filter(|(path, _)| path.starts_with("metadata/")) {
        let Ok(document) = steersman_yaml::to_json(text) else {
            continue;
        };
        let annotations = document.get("annotations").and_then(Value::as_object);
        for (key, value) in annotations.into_iter().flatten() {
            if let Some(value) = value.as_str() {
                labels.insert(key.clone(), value.to_owned());
            }
        }
    }
    labels
}

/// Whether a file of a bundle's folder, by its path there, is one that `bundle.Dockerfile` copies.
pub fn is_in_image(path: &str) -> bool {
    ["manifests/", "metadata/", "tests/scorecard/"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// The text of `metadata/annotations.yaml`.
pub fn annotations(request: &MetadataRequest) -> String {
    let line = |(key, value): (&str, &str)| {
        let value = super::to_yaml(&Value::from(value));
        format!("  {PREFIX}.{key}: {}\n", value.trim_end())
    };
    let mut text = "annotations:\n  # Core bundle annotations.\n".to_owned();
    text.extend(request.core().into_iter().map(line));
    if request.has_scorecard {
        text.push_str("\n  # Annotations for testing.\n");
        text.extend(TESTING.into_iter().map(line));
    }
    text
}

/// The text of `bundle.Dockerfile`.
pub fn dockerfile(request: &MetadataRequest) -> String {
    let line = |(key, value): (&str, &str)| format!("LABEL {PREFIX}.{key}={value}\n");
    let mut text = "FROM scratch\n\n# Core bundle labels.\n".to_owned();
    text.extend(request.core().into_iter().map(line));
    if request.has_scorecard {
        text.push_str("\n# Labels for testing.\n");
        text.extend(TESTING.into_iter().map(line));
    }
    text.push_str("\n# Copy files to locations specified by labels.\n");
    let folder = &request.folder;
    let _ = writeln!(text, "COPY {folder}/manifests /manifests/");
    let _ = writeln!(text, "COPY {folder}/metadata /metadata/");
    if request.has_scorecard {
        let _ = writeln!(text, "COPY {folder}/tests/scorecard /tests/scorecard/");
    }
    text
}
