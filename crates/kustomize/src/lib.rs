//! Kustomize's build: a folder with a `kustomization.yaml`, and what it names, to the objects that
//! `kubectl kustomize` prints, byte for byte.
//!
//! Nothing is downloaded, no program is run, and of files only those are read that a kustomization names in its own
//! folder or below; folders may lie anywhere in the project. A field that is not supported is refused by its name.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("kustomization.yaml"), "resources: [map.yaml]\nnamePrefix: my-\n")?;
//! std::fs::write(folder.path().join("map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n")?;
//! let objects = steersman_kustomize::build(folder.path())?;
//! assert_eq!(
//!     steersman_kustomize::to_yaml(&objects)?,
//!     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: my-map\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod defaults;
mod edit;
mod error;
mod field;
mod files;
mod generate;
mod identity;
mod kustomization;
mod merge;
mod merge_schema;
mod names;
mod object_patch;
mod order;
mod patch;
mod references;
mod replacement;
mod resource;
mod selector;
mod transform;

pub use edit::{EditError, set_image};
pub use error::Error;
pub use object_patch::{ObjectPatch, PatchError};

use serde_json::Value;
use std::path::Path;
use steersman_yaml::Style;

/// Builds a folder: its objects in the order of `kubectl kustomize`.
///
/// # Errors
///
/// A file cannot be read, is not what it has to be, or asks for what is not supported. [`Error::hint`] says what to do.
pub fn build(folder: &Path) -> Result<Vec<Value>, Error> {
    build::build(Path::new("/"), folder)
}

/// [`build()`] of a folder of a project: nothing outside of the project is read.
///
/// # Errors
///
/// As [`build()`], and where a folder lies outside of the project.
pub fn build_within(project: &Path, folder: &Path) -> Result<Vec<Value>, Error> {
    build::build(project, folder)
}

/// Objects as `kubectl kustomize` writes them: keys in order, documents with `---` between them.
///
/// ```
/// let objects = [serde_json::json!({"kind": "A"}), serde_json::json!({"kind": "B"})];
/// assert_eq!(steersman_kustomize::to_yaml(&objects)?, "kind: A\n---\nkind: B\n");
/// # Ok::<(), steersman_kustomize::Error>(())
/// ```
///
/// # Errors
///
/// Go could not write a value: a text with control characters, for example.
pub fn to_yaml(objects: &[Value]) -> Result<String, Error> {
    let mut text = String::new();
    for object in objects {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&steersman_yaml::marshal(object, Style::V2).map_err(Error::Write)?);
    }
    Ok(text)
}
