//! Objects from texts of several YAML documents: stored manifests and files of definitions.

use serde_json::Value;

use crate::{DocumentError, RenderedObject, in_words, weight_of};

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
    /// Together they take too much memory.
    #[error("{origin}: the objects up to here take {} of memory, and have {}", in_words(*taken), in_words(*allowed))]
    TooLarge {
        /// The template or file.
        origin: String,
        /// So many bytes.
        taken: usize,
        /// No more bytes than these.
        allowed: usize,
    },
}

/// The objects of a release's stored manifest, in its order.
///
/// # Errors
/// A document is not an object.
pub fn objects_of_manifest(manifest: &str) -> Result<Vec<RenderedObject>, DocumentsError> {
    objects_within(manifest, usize::MAX)
}

/// [`objects_of_manifest`], of which all together take no more than `allowed` bytes of memory.
///
/// # Errors
/// As there, and where they take more.
pub fn objects_within(manifest: &str, allowed: usize) -> Result<Vec<RenderedObject>, DocumentsError> {
    let mut objects = Vec::new();
    let mut taken = 0_usize;
    for document in split(manifest) {
        let source = source_of(document);
        let document = parse(source, document)?;
        taken = taken.saturating_add(weight_of(&document));
        if taken > allowed {
            return Err(too_large(source, taken, allowed));
        }
        objects.extend(RenderedObject::from_document(source, &document)?);
    }
    Ok(objects)
}

/// Whether the objects of a manifest take no more than `allowed` bytes of memory; nothing of it is kept. What is not YAML
/// takes nothing, as nothing can be made of it.
///
/// # Errors
/// They take more.
pub fn check_weight(manifest: &str, allowed: usize) -> Result<(), DocumentsError> {
    if most_weight(manifest) <= allowed {
        return Ok(());
    }
    let mut taken = 0_usize;
    for document in split(manifest) {
        let source = source_of(document);
        taken = taken.saturating_add(parse(source, document).map_or(0, |value| weight_of(&value)));
        if taken > allowed {
            return Err(too_large(source, taken, allowed));
        }
    }
    Ok(())
}

/// No less than what the objects of a text take, without reading it: each value that is not text needs a character that
/// says so. What aliases stand for can't be known.
fn most_weight(text: &str) -> usize {
    const IN_MAP: usize = 800;
    const IN_LIST: usize = 256;
    let mut most = text.len();
    for byte in text.bytes() {
        most = most.saturating_add(match byte {
            b':' | b'?' => IN_MAP,
            b',' | b'-' | b'[' | b'{' | b'\n' => IN_LIST,
            b'*' | b'&' => return usize::MAX,
            _ => 0,
        });
    }
    most
}

/// The objects of a file that names no templates.
///
/// # Errors
/// A document is not an object.
pub fn objects_of_text(source: &str, text: &str) -> Result<Vec<RenderedObject>, DocumentsError> {
    objects_of(source, text, |_| {})
}

/// The same, where an object that says no name has this one.
///
/// # Errors
/// A document is not an object.
pub fn objects_of_text_or_called(
    source: &str,
    text: &str,
    name: &str,
) -> Result<Vec<RenderedObject>, DocumentsError> {
    objects_of(source, text, |document| {
        let Value::Object(fields) = document else {
            return;
        };
        let metadata = fields.entry("metadata").or_insert(Value::Null);
        if metadata.is_null() {
            *metadata = Value::Object(serde_json::Map::new());
        }
        if let Value::Object(metadata) = metadata {
            let said = metadata.entry("name").or_insert(Value::Null);
            if said.is_null() {
                *said = name.into();
            }
        }
    })
}

fn objects_of(
    source: &str,
    text: &str,
    complete: impl Fn(&mut Value),
) -> Result<Vec<RenderedObject>, DocumentsError> {
    let mut objects = Vec::new();
    for document in split(text) {
        let mut document = parse(source, document)?;
        complete(&mut document);
        objects.extend(RenderedObject::from_document(source, &document)?);
    }
    Ok(objects)
}

/// The template that a document of a manifest comes from.
fn source_of(document: &str) -> &str {
    let named = document.lines().find_map(|line| line.strip_prefix("# Source: "));
    named.unwrap_or("the stored manifest").trim()
}

fn too_large(source: &str, taken: usize, allowed: usize) -> DocumentsError {
    DocumentsError::TooLarge {
        origin: source.to_owned(),
        taken,
        allowed,
    }
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

    #[test]
    fn objects_take_no_more_than_they_may() {
        let zeros = "0,".repeat(1000);
        let one = |name: &str| {
            format!(
                "---\n# Source: web/templates/{name}.yaml\n\
                 {{apiVersion: v1, kind: A, metadata: {{name: {name}}}, data: [{zeros}]}}\n"
            )
        };
        let manifest = one("a") + &one("b");
        assert!(check_weight(&manifest, 300_000).is_ok() && check_weight(&manifest, 100_000).is_err());
        let objects = objects_of_manifest(&manifest).unwrap();
        let weight: usize = objects.iter().map(|object| weight_of(&object.value)).sum();
        assert!(most_weight(&manifest) >= weight);
        assert_eq!(objects_within(&manifest, 300_000).unwrap().len(), 2);
        let error = objects_within(&manifest, 100_000).unwrap_err().to_string();
        assert!(
            error.starts_with("web/templates/b.yaml: the objects up to here take 1")
                && error.ends_with("and have 98 KiB"),
            "{error}"
        );
    }
}
