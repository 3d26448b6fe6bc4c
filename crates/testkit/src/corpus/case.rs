//! One line of the corpus' index.

use serde::{Deserialize, Serialize};

/// One input of `helm template` and what came of it.
///
/// It stands for `helm template RELEASE CHART --namespace NS [--values F]... [--set S]... --kube-version V
/// [--api-versions A]... [--is-upgrade] [--include-crds] [EXTRA_ARGS]`, run in [`super::Corpus::root`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Name of the case, usable as a file name.
    pub id: String,
    /// The chart's folder, relative to the root.
    pub chart: String,
    /// Name of the release.
    pub release: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Values files, relative to the root, later ones win.
    pub values: Vec<String>,
    /// Arguments of `--set`.
    pub set: Vec<String>,
    /// Argument of `--kube-version`.
    pub kube_version: String,
    /// Arguments of `--api-versions`.
    pub api_versions: Vec<String>,
    /// `helm template --is-upgrade`: rendered as an upgrade of an earlier revision.
    pub is_upgrade: bool,
    /// `helm template --include-crds`: the files of `crds/` are part of the output.
    pub include_crds: bool,
    /// Any other arguments.
    pub extra_args: Vec<String>,
    /// Whether Helm renders it.
    pub expect: Expectation,
    /// The recorded file, relative to the root; read it with [`super::Corpus::golden`].
    pub golden: String,
    /// Places whose value differs from run to run.
    pub volatile: Vec<Volatile>,
    /// Fastest wall time of `helm template`, in seconds on two shared cores.
    #[serde(default)]
    pub helm_seconds: f64,
}

/// What Helm does with a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    /// It renders; the golden file has the output.
    Ok,
    /// Fails on it, and so must every renderer.
    Error,
}

/// A place whose value differs from run to run: a random password, a time, a checksum of either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volatile {
    /// Which one of the recorded output.
    pub doc: VolatileDocument,
    /// JSON pointer into the document.
    pub pointer: String,
}

/// A document of the recorded output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolatileDocument {
    /// Its position among the documents that are not empty, from 0.
    pub index: usize,
    /// `apiVersion` of the object.
    pub api_version: String,
    /// `kind` of the object.
    pub kind: String,
    /// `metadata.namespace` of the object, where it has one.
    pub namespace: Option<String>,
    /// `metadata.name` of the object.
    pub name: String,
}
