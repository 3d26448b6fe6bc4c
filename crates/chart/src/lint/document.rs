//! One object of a rendered file, as far as rules look at it.

use std::collections::BTreeMap;

use steersman_yaml::Node;

use crate::metadata::{Decode, Object as Fields, decode, document};
use crate::values;

/// What the rules read of an object.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    metadata: ObjectMetadata,
}

#[derive(Debug, Default)]
struct ObjectMetadata {
    namespace: String,
    name: String,
}

impl Object {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }
}

/// The objects of a text of several documents, none for an empty one, up to the first that cannot be read.
pub(super) fn objects(text: &[u8]) -> Vec<Result<Option<Object>, String>> {
    let documents = match values::documents(text) {
        Ok(documents) => documents,
        Err(error) => {
            let error = error.trim_start_matches("error reading yaml document: ");
            return vec![Err(unreadable(error))];
        }
    };
    let mut objects = Vec::new();
    for document in documents {
        let object = read(document).map_err(|error| unreadable(&error));
        let is_broken = object.is_err();
        objects.push(object);
        if is_broken {
            break;
        }
    }
    objects
}

fn read(text: &[u8]) -> Result<Option<Object>, String> {
    let Some(node) = document(text)? else {
        return Ok(None);
    };
    let mut object = Object::default();
    decode(&mut object, &node, "k8sYamlStruct")?;
    // What has no form in JSON cannot be decoded either.
    node.to_json().map_err(|error| error.converting())?;
    Ok(Some(object))
}

pub(super) fn unreadable(error: &str) -> String {
    format!("unable to parse YAML: {error}")
}

impl Decode for Object {
    const GO_TYPE: &'static str = "rules.k8sYamlStruct";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Fields::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("apiVersion", &mut self.api_version)?;
        object.field("Kind", &mut self.kind)?;
        object.field("Metadata", &mut self.metadata)
    }
}

impl Decode for ObjectMetadata {
    const GO_TYPE: &'static str = "rules.k8sYamlMetadata";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Fields::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("Name", &mut self.name)?;
        object.field("Namespace", &mut self.namespace)
    }
}

/// The items of a `List`, as far as their annotations go.
#[derive(Debug, Default)]
pub(super) struct Items(Vec<Item>);

#[derive(Debug, Default)]
struct Item(ItemMetadata);

#[derive(Debug, Default)]
struct ItemMetadata(Option<BTreeMap<String, String>>);

impl Items {
    /// Reads the first document of a text.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let mut items = Self::default();
        if let Some(node) = document(text)? {
            decode(&mut items, &node, "List")?;
        }
        Ok(items)
    }

    /// Whether any has it, with whatever value.
    pub(super) fn have(&self, annotation: &str) -> bool {
        self.0.iter().any(|Item(ItemMetadata(annotations))| {
            annotations
                .as_ref()
                .is_some_and(|annotations| annotations.contains_key(annotation))
        })
    }
}

impl Decode for Items {
    const GO_TYPE: &'static str =
        "struct { Items []struct { Metadata struct { Annotations map[string]string } } }";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match Fields::new(node, path, Self::GO_TYPE)? {
            Some(mut object) => object.field("Items", &mut self.0),
            None => Ok(()),
        }
    }
}

impl Decode for Item {
    const GO_TYPE: &'static str = "struct { Metadata struct { Annotations map[string]string } }";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match Fields::new(node, path, Self::GO_TYPE)? {
            Some(mut object) => object.field("Metadata", &mut self.0),
            None => Ok(()),
        }
    }
}

impl Decode for ItemMetadata {
    const GO_TYPE: &'static str = "struct { Annotations map[string]string }";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        match Fields::new(node, path, Self::GO_TYPE)? {
            Some(mut object) => object.field("Annotations", &mut self.0),
            None => Ok(()),
        }
    }
}
