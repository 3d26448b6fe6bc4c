//! The manifests of a project, with their places.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;
use steersman_yaml::{Content, Node};

use super::Finding;

/// Where projects keep definitions, samples and roles: operator-sdk's folders, and shorter ones.
const FOLDERS: [&str; 6] = [
    "config/crd/bases",
    "deploy/crds",
    "config/samples",
    "deploy/samples",
    "config/rbac",
    "deploy/rbac",
];

/// How large a manifest may be.
const MAX_BYTES: u64 = 4 << 20;

/// How many files are read.
const MAX_FILES: usize = 2000;

/// A folder or file cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read `{}`", path.display())]
pub struct ReadError {
    path: PathBuf,
    source: io::Error,
}

/// The manifests in a project's folders.
///
/// ```
/// use steersman_project::check::Manifests;
///
/// let mut manifests = Manifests::default();
/// manifests.add("config/samples/web.yaml", b"kind: Web\nspec: {}\n");
/// manifests.add("config/samples/broken.yaml", b"kind: [\n");
/// assert_eq!(manifests.findings()[0].file, "config/samples/broken.yaml");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    pub(super) documents: Vec<Document>,
    findings: Vec<Finding>,
}

/// An object in a file.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// The file, below the project's folder.
    pub(super) file: String,
    node: Node,
    /// As JSON: aliases and merge keys are resolved.
    pub(super) value: Value,
}

impl Manifests {
    /// Reads the definitions, samples and roles of the project in a folder. What is no YAML is a finding.
    ///
    /// # Errors
    /// A folder or file is there and cannot be read.
    pub fn read(root: &Path) -> Result<Self, ReadError> {
        let mut manifests = Self::default();
        for folder in FOLDERS {
            for name in files(&root.join(folder))? {
                let path = root.join(folder).join(&name);
                let failed = |source| ReadError {
                    path: path.clone(),
                    source,
                };
                let file = format!("{folder}/{name}");
                if fs::metadata(&path).map_err(failed)?.len() > MAX_BYTES {
                    manifests
                        .findings
                        .push(Finding::error(&file, 0, "larger than 4 MiB: it was not read"));
                    continue;
                }
                let text = fs::read(&path).map_err(failed)?;
                manifests.add(&file, &text);
            }
        }
        Ok(manifests)
    }

    /// Takes a file in.
    pub fn add(&mut self, file: &str, content: &[u8]) {
        let documents = match steersman_yaml::parse_documents(&String::from_utf8_lossy(content)) {
            Ok(documents) => documents,
            Err(error) => {
                let message = format!("not valid YAML: {}", error.message());
                self.findings.push(Finding::error(file, error.line(), message));
                return;
            }
        };
        for node in documents {
            let Ok(value) = node.to_json() else { continue };
            if value.is_object() {
                self.documents.push(Document {
                    file: file.to_owned(),
                    node,
                    value,
                });
            }
        }
    }

    /// Files that could not be taken: too large, or not YAML.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

/// The YAML files of a folder, in the order of their names; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<String>, ReadError> {
    let failed = |source| ReadError {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_FILES) {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let is_manifest = [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if is_manifest && !name.starts_with("kustomization.") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

impl Document {
    /// Whether this is an object of a kind.
    pub(super) fn is(&self, api_version: &str, kind: &str) -> bool {
        self.value["apiVersion"] == api_version && self.value["kind"] == kind
    }

    /// The line of the object.
    pub(super) fn line(&self) -> u32 {
        self.node.line
    }

    /// The line of what is at a JSON pointer, or of the nearest thing around it.
    pub(super) fn line_of(&self, pointer: &str) -> u32 {
        let mut line = self.node.line;
        let mut node = &self.node;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let found = match &node.value {
                Content::Mapping(pairs) => pairs
                    .iter()
                    .rev()
                    .find(|(key, _)| key.key_string().is_ok_and(|key| key == token))
                    .map(|(key, value)| (key.line, value)),
                Content::Sequence(items) => token
                    .parse::<usize>()
                    .ok()
                    .and_then(|place| items.get(place))
                    .map(|item| (item.line, item)),
                _ => None,
            };
            let Some((at, inner)) = found else { break };
            line = at;
            node = inner;
        }
        line
    }
}
