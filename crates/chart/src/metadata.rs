//! `Chart.yaml`.

use std::collections::BTreeMap;

/// The contents of `Chart.yaml`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The project's page.
    pub home: String,
    /// Where the sources are.
    pub sources: Vec<String>,
    /// The chart's version.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// Words to find the chart by.
    pub keywords: Vec<String>,
    /// Who keeps the chart.
    pub maintainers: Vec<Maintainer>,
    /// A picture.
    pub icon: String,
    /// `v1` or `v2`.
    pub api_version: String,
    /// Read from `Chart.yaml` but without effect there.
    pub condition: String,
    /// Read from `Chart.yaml` but without effect there.
    pub tags: String,
    /// The version of the application inside.
    pub app_version: String,
    /// Whether the chart is no longer kept.
    pub deprecated: bool,
    /// Anything else.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Which versions of Kubernetes the chart supports.
    pub kube_version: String,
    /// The charts it depends on.
    pub dependencies: Vec<Dependency>,
    /// `application`, `library` or empty.
    pub chart_type: String,
}

/// Someone who keeps a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The address for mail.
    pub email: String,
    /// A page.
    pub url: String,
}

/// A chart that another depends on, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dependency {
    /// The name in the dependency's `Chart.yaml`.
    pub name: String,
    /// A version or a range of them.
    pub version: String,
    /// Where the chart comes from.
    pub repository: String,
    /// Paths of values that turn it on or off, separated by commas.
    pub condition: String,
    /// Names under `tags:` that turn it on or off.
    pub tags: Vec<String>,
    /// As written; rendering decides by condition and tags.
    pub enabled: bool,
    /// Values of the dependency that the parent takes over.
    pub import_values: Vec<serde_json::Value>,
    /// The name under which the parent knows it.
    pub alias: String,
}
