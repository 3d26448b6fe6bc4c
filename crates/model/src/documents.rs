//! Objects from texts of several YAML documents: stored manifests and files of definitions.

use serde_json::Value;

use crate::{DocumentError, RenderedObject};

/// A text that does not hold objects.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// A document is not YAML. The cause is left out: it may quote a Secret.
    #[error("{origin}: a document is not valid YAML")]
    Yaml {
        /// The template or file.
        origin: String,
    },
    /// A document is no object.
    #[error(transparent)]
    Document(#[from] DocumentError),
}

/// The objects of a release's stored manifest, in its order.
///
/// # Errors
/// A document is not an object.
pub fn objects_of_manifest(manifest: &str) -> Result<Vec<RenderedObject>, DocumentsError> {
    let mut objects = Vec::new();
    for document in split(manifest) {
        let source = document
            .lines()
            .find_map(|line| line.strip_prefix("# Source: "))
            .unwrap_or("the stored manifest")
            .trim();
        objects.extend(RenderedObject::from_document(source, &parse(source, document)?)?);
    }
    Ok(objects)
}

/// The objects of a file that names no templates.
///
/// # Errors
/// A document is not an object.
pub fn objects_of_text(source: &str, text: &str) -> Result<Vec<RenderedObject>, DocumentsError> {
    let mut objects = Vec::new();
    for document in split(text) {
        objects.extend(RenderedObject::from_document(source, &parse(source, document)?)?);
    }
    Ok(objects)
}

fn parse(source: &str, document: &str) -> Result<Value, DocumentsError> {
    steersman_yaml::parse(document)
        .and_then(steersman_yaml::Node::into_json)
        .map_err(|_| DocumentsError::Yaml {
            origin: source.to_owned(),
        })
}

/// Splits where a line begins with `---`, as Helm does.
///
/// ```
/// let text = "a: 1\n---\nb: |\n  --- is text here\n---\n";
/// assert_eq!(steersman_model::split(text), ["a: 1\n", "\nb: |\n  --- is text here\n"]);
/// ```
pub fn split(text: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("---") {
            documents.extend(text.get(start..at));
            start = at + line.len() - rest.len();
        }
        at += line.len();
    }
    documents.extend(text.get(start..));
    documents.retain(|document| !document.trim().is_empty());
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_manifest_is_taken_apart_as_it_was_put_together() {
        let manifest = "---\n# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n\
                        ---\n# Source: web/templates/b.yaml\n# only a comment\n\
                        --- # trailing\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  x: |\n    --- no\n";
        let objects = objects_of_manifest(manifest).unwrap();
        let names: Vec<_> = objects
            .iter()
            .map(|object| (object.source.as_str(), object.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [("web/templates/a.yaml", "a"), ("the stored manifest", "b")]
        );
        assert_eq!(objects[1].value["data"]["x"], "--- no\n");
    }
}
