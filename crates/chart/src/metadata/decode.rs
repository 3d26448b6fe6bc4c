//! YAML into structs, with the conversions and messages of `sigs.k8s.io/yaml` and
//! `encoding/json`.

use std::collections::BTreeMap;

use steersman_yaml::{Content, Node};

/// The first document of `content`; none where that is empty or null.
pub(crate) fn document(content: &[u8]) -> Result<Option<Node>, String> {
    let node = steersman_yaml::parse_bytes(content).map_err(|error| error.converting())?;
    Ok(Some(node).filter(|node| !matches!(node.value, Content::Null)))
}

/// Reads `node` into `target`, a struct of this name.
pub(crate) fn decode<T: Decode>(target: &mut T, node: &Node, name: &str) -> Result<(), String> {
    // Go makes JSON of the whole document first, which can fail for other reasons.
    target.decode(node, name).map_err(|message| match node.to_json() {
        Ok(_) => while_decoding(message),
        Err(error) => error.converting(),
    })
}

/// Adds what `sigs.k8s.io/yaml` puts before a message of `encoding/json`.
fn while_decoding(message: String) -> String {
    if message.starts_with("json: ") {
        format!("error unmarshaling JSON: while decoding JSON: {message}")
    } else {
        message
    }
}

/// A type that YAML can be read into. Null leaves the value as it is.
pub(crate) trait Decode: Default {
    /// Go's name of the type, for messages.
    const GO_TYPE: &'static str;
    /// The message for a null among the items of a list, where Helm refuses that.
    const NULL: Option<&'static str> = None;

    /// Reads `node`, which is at `path`, such as `Metadata.name`.
    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String>;
}

/// A mapping whose keys are the fields of a struct.
///
/// Fields are read in the order of their keys: Go reads JSON with sorted keys, and reports the first mistake.
pub(crate) struct Object<'a> {
    pairs: Vec<(String, &'a Node)>,
    /// The name of the struct, and the keys that lead to it.
    path: String,
}

impl<'a> Object<'a> {
    /// The mapping `node`; none for null.
    pub(crate) fn new(node: &'a Node, path: &str, go_type: &str) -> Result<Option<Self>, String> {
        match &node.value {
            Content::Null => Ok(None),
            Content::Mapping(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| Ok((key.key_string().map_err(|error| error.converting())?, value)))
                    .collect::<Result<_, String>>()?;
                // Messages name the innermost struct, with all the keys. Some have no name of their own.
                let name = match go_type.rsplit('.').next() {
                    Some(name) if !go_type.starts_with("struct") => name,
                    _ => "",
                };
                let keys = path.split_once('.').map_or("", |(_, keys)| keys);
                let path = if keys.is_empty() {
                    name.to_owned()
                } else {
                    format!("{name}.{keys}")
                };
                Ok(Some(Self { pairs, path }))
            }
            _ => Err(mismatch(node, path, go_type)),
        }
    }

    /// Reads the value of `key` into `target`, if there is one. As in Go, a key in other case
    /// stands in for it.
    pub(crate) fn field<T: Decode>(&mut self, key: &str, target: &mut T) -> Result<(), String> {
        let exact = self.pairs.iter().rfind(|(name, _)| name == key);
        let found = exact.or_else(|| {
            self.pairs
                .iter()
                .rfind(|(name, _)| name.eq_ignore_ascii_case(key))
        });
        match found {
            Some((_, node)) => target.decode(node, &format!("{}.{key}", self.path)),
            None => Ok(()),
        }
    }
}

fn mismatch(node: &Node, path: &str, go_type: &str) -> String {
    let found = match &node.value {
        Content::Null => "null",
        Content::Bool(_) => "bool",
        Content::Int(_) | Content::Uint(_) | Content::Float(_) => "number",
        Content::String(_) => "string",
        Content::Sequence(_) => "array",
        Content::Mapping(_) => "object",
    };
    if path.contains('.') {
        format!("json: cannot unmarshal {found} into Go struct field {path} of type {go_type}")
    } else {
        format!("json: cannot unmarshal {found} into Go value of type {go_type}")
    }
}

impl Decode for String {
    const GO_TYPE: &'static str = "string";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match &node.value {
            Content::Null => {}
            Content::String(text) => self.clone_from(text),
            Content::Uint(number) => *self = number.to_string(),
            Content::Bool(_) | Content::Int(_) | Content::Float(_) => {
                *self = node.key_string().map_err(|error| error.converting())?;
            }
            Content::Sequence(_) | Content::Mapping(_) => return Err(mismatch(node, path, Self::GO_TYPE)),
        }
        Ok(())
    }
}

impl Decode for bool {
    const GO_TYPE: &'static str = "bool";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match &node.value {
            Content::Null => {}
            Content::Bool(value) => *self = *value,
            _ => return Err(mismatch(node, path, Self::GO_TYPE)),
        }
        Ok(())
    }
}

impl<T: Decode> Decode for Vec<T> {
    const GO_TYPE: &'static str = "[]";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match &node.value {
            Content::Null => self.clear(),
            Content::Sequence(items) => {
                self.clear();
                for item in items {
                    if let (Content::Null, Some(message)) = (&item.value, T::NULL) {
                        return Err(format!("validation: {message}"));
                    }
                    let mut value = T::default();
                    value.decode(item, path)?;
                    self.push(value);
                }
            }
            _ => {
                return Err(mismatch(
                    node,
                    path,
                    &format!("[]{}{}", if T::NULL.is_some() { "*" } else { "" }, T::GO_TYPE),
                ));
            }
        }
        Ok(())
    }
}

impl Decode for Option<BTreeMap<String, String>> {
    const GO_TYPE: &'static str = "map[string]string";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match &node.value {
            Content::Null => *self = None,
            Content::Mapping(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| Ok((key.key_string().map_err(|error| error.converting())?, value)))
                    .collect::<Result<BTreeMap<_, _>, String>>()?;
                let map = self.get_or_insert_default();
                for (key, value) in pairs {
                    let mut text = String::new();
                    text.decode(value, path)?;
                    map.insert(key, text);
                }
            }
            _ => return Err(mismatch(node, path, Self::GO_TYPE)),
        }
        Ok(())
    }
}

impl Decode for serde_json::Value {
    const GO_TYPE: &'static str = "interface {}";

    fn decode(&mut self, node: &Node, _path: &str) -> Result<(), String> {
        *self = node.to_json().map_err(|error| error.converting())?;
        Ok(())
    }
}
