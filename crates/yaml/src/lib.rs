//! YAML as Helm reads and writes it: YAML 1.1, in the reading of goyaml v2 behind sigs.k8s.io/yaml.
//!
//! ```
//! let values = steersman_yaml::to_json("replicas: 0o17\nlog: on\n")?;
//! assert_eq!(values, serde_json::json!({"replicas": 15, "log": true}));
//! # Ok::<(), steersman_yaml::Error>(())
//! ```

mod emitter;
mod error;
mod go_syntax;
mod json;
mod node;
mod number;
mod reader;
mod resolve;

pub use emitter::{Emitter, Style, marshal, natural_order, sort_keys, to_string, to_string_pretty};
pub use error::Error;
pub use node::{Content, Node};
pub use reader::MAX_DEPTH;

/// Reads the first document of a text, as goyaml's `Unmarshal` does; a text without any is a null. What
/// follows the first document is not looked at.
///
/// ```
/// let node = steersman_yaml::parse("image:\n  tag: 1.10\n")?;
/// let tag = node.get("image").and_then(|image| image.get("tag")).expect("it is there");
/// assert_eq!((tag.line, tag.column), (2, 8));
/// assert_eq!(tag.to_json()?, serde_json::json!(1.1));
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
///
/// # Errors
///
/// The text is not YAML, or its content has no meaning: see [`Error`].
pub fn parse(text: &str) -> Result<Node, Error> {
    reader::first_document(text)
}

/// Lets documents take no more than so many bytes of memory while they are read, in the whole process; without that, 64 MiB.
pub fn limit_documents(bytes: usize) {
    reader::limit_documents(bytes);
}

/// [`parse`] of bytes, which may be UTF-8 or, with a byte order mark, UTF-16.
///
/// # Errors
///
/// As [`parse`], and where the bytes are no text.
pub fn parse_bytes(bytes: &[u8]) -> Result<Node, Error> {
    reader::first_document_of_bytes(bytes)
}

/// Reads all documents of a text.
///
/// ```
/// let documents = steersman_yaml::parse_documents("kind: Service\n---\nkind: Deployment\n")?;
/// let kinds = documents.iter().filter_map(|document| document.get("kind")?.as_str());
/// assert_eq!(kinds.collect::<Vec<_>>(), ["Service", "Deployment"]);
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
///
/// # Errors
///
/// As [`parse`], for any of them.
pub fn parse_documents(text: &str) -> Result<Vec<Node>, Error> {
    reader::documents(text, resolve::Words::V2)
}

/// Reads all documents as goyaml v3 types plain words: `yes`, `no`, `on`, `off` and their like are text there, and
/// only `true` and `false` are booleans; a date is the time at its beginning. Kustomize reads resources this way.
///
/// ```
/// let documents = steersman_yaml::parse_documents_v3("answer: yes\n---\nanswer: true\nsince: 2001-01-02\n")?;
/// assert_eq!(documents[0].to_json()?, serde_json::json!({"answer": "yes"}));
/// assert_eq!(documents[1].to_json()?, serde_json::json!({"answer": true, "since": "2001-01-02T00:00:00Z"}));
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
///
/// # Errors
///
/// As [`parse_documents`].
pub fn parse_documents_v3(text: &str) -> Result<Vec<Node>, Error> {
    reader::documents(text, resolve::Words::V3)
}

/// Reads the first document into the value that sigs.k8s.io/yaml's `YAMLToJSON` yields, but with integers and
/// floats told apart.
///
/// # Errors
///
/// As [`parse`] and [`Node::to_json`].
pub fn to_json(text: &str) -> Result<serde_json::Value, Error> {
    parse(text)?.into_json()
}
