//! What is wrong with a bundle.
//!
//! The rules are those of `operator-sdk bundle validate`: the format of operator-registry, and the validators of
//! `github.com/operator-framework/api` as far as bundles of chart operators meet them. A few are added for what only fails
//! in a cluster. Texts are our own, and name the file.

mod definitions;
mod finding;
mod format;
mod hub;
mod objects;
mod practices;
mod sample;
mod service_version;

use std::collections::BTreeMap;

use serde_json::Value;

use super::value::text;
pub(super) use finding::Findings;
pub use finding::{Finding, Severity};

/// A set of rules that is applied on demand, as operator-sdk names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optional {
    /// What OperatorHub.io asks for.
    OperatorHub,
    /// That the level of capabilities is one of the known.
    Capabilities,
    /// That the categories are known.
    Categories,
    /// What is advised: requests of resources, descriptions of kinds, names of channels and versions.
    GoodPractices,
}

impl Optional {
    /// In the order in which they are listed to users.
    pub const ALL: [Self; 4] = [
        Self::OperatorHub,
        Self::Capabilities,
        Self::Categories,
        Self::GoodPractices,
    ];

    /// The name by which a set is selected.
    pub fn name(self) -> &'static str {
        match self {
            Self::OperatorHub => "operatorhubv2",
            Self::Capabilities => "capabilities",
            Self::Categories => "categories",
            Self::GoodPractices => "good-practices",
        }
    }

    /// One line for users who choose among the sets.
    pub fn description(self) -> &'static str {
        match self {
            Self::OperatorHub => "what OperatorHub.io asks for: provider, maintainers, links, icon, version",
            Self::Capabilities => "the level of capabilities is one of the five",
            Self::Categories => "the categories are those of OperatorHub.io",
            Self::GoodPractices => {
                "requests of resources, descriptions of kinds, names of channels and versions"
            }
        }
    }
}

/// The suite that every optional set belongs to.
pub const SUITE: &str = "operatorframework";

/// The texts of a bundle's files, by their paths inside of the bundle.
pub type BundleFiles = BTreeMap<String, String>;

/// Finds what is wrong with a bundle, ordered by file.
///
/// ```
/// use steersman_project::bundle::validate::{BundleFiles, validate};
///
/// let files = BundleFiles::from([("metadata/annotations.yaml".to_owned(), "annotations: {}\n".to_owned())]);
/// let findings = validate(&files, &[]);
/// assert!(findings.iter().any(|finding| finding.file == "metadata/annotations.yaml"));
/// ```
pub fn validate(files: &BundleFiles, optional: &[Optional]) -> Vec<Finding> {
    let mut findings = Findings::default();
    let contents = format::read(files, &mut findings);
    if let Some(service_version) = &contents.service_version {
        service_version::check(service_version, &contents.package, &mut findings);
        definitions::check_owned(service_version, &contents, &mut findings);
        objects::check(service_version, &contents, &mut findings);
        sample::check(service_version, &contents, &mut findings);
        for set in optional {
            match set {
                Optional::OperatorHub => hub::check(service_version, &mut findings),
                Optional::Capabilities => hub::check_capabilities(service_version, &mut findings),
                Optional::Categories => hub::check_categories(service_version, &mut findings),
                Optional::GoodPractices => practices::check(service_version, &contents, &mut findings),
            }
        }
    }
    definitions::check(&contents, &mut findings);
    objects::check_size(files, &mut findings);
    findings.into_sorted()
}

/// A file with the object in it.
struct Located {
    file: String,
    object: Value,
}

/// A bundle, read.
#[derive(Default)]
struct Contents {
    /// The name of the package, empty where it is not said.
    package: String,
    /// From `metadata/annotations.yaml`, in its order; none where it does not say.
    channels: Vec<String>,
    service_version: Option<Located>,
    /// The objects beside it.
    objects: Vec<Located>,
}

impl Contents {
    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Located> {
        self.objects
            .iter()
            .filter(move |located| text(&located.object, "/kind") == kind)
    }
}
