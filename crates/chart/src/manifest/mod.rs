//! Rendered text as Kubernetes objects and hooks.

mod hook;
mod sort;

pub use hook::{DeletePolicy, Hook, HookEvent, OutputLogPolicy};
pub use sort::{install_order, uninstall_order};

use crate::chart::CrdFile;

/// What a chart renders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The objects of the release, in the order in which they are installed.
    pub manifests: Vec<Manifest>,
    /// The hooks, in the order in which Helm lists them; those of one event run by weight.
    pub hooks: Vec<Hook>,
    /// The text of `NOTES.txt`; empty without one.
    pub notes: String,
    /// The files in `crds/` of the chart and its enabled subcharts.
    pub crds: Vec<CrdFile>,
}

/// One document that a template rendered.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The template, such as `web/templates/service.yaml`.
    pub source: String,
    /// The document's text.
    pub text: String,
    /// Its `apiVersion`; empty where it has none.
    pub api_version: String,
    /// Its `kind`; empty where it has none.
    pub kind: String,
    /// Its `metadata.name`; empty where it has none.
    pub name: String,
    object: serde_json::Value,
}

impl Manifest {
    /// The document as JSON, with integers as integers; `null` for a document of comments only.
    /// A `List` is not taken apart.
    pub fn object(&self) -> &serde_json::Value {
        &self.object
    }
}
