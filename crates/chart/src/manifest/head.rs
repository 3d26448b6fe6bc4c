//! The part of a document that decides where it goes.

use std::collections::BTreeMap;

use steersman_yaml::Node;

use crate::metadata::{Decode, Object};

/// What Helm reads of every document, and fails if it cannot.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) api_version: String,
    pub(super) kind: String,
    metadata: HeadMetadata,
}

#[derive(Debug, Default)]
struct HeadMetadata {
    name: String,
    annotations: Option<BTreeMap<String, String>>,
}

impl Head {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

impl Decode for Head {
    const GO_TYPE: &'static str = "util.SimpleHead";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("apiVersion", &mut self.api_version)?;
        object.field("kind", &mut self.kind)?;
        object.field("metadata", &mut self.metadata)
    }
}

impl Decode for HeadMetadata {
    const GO_TYPE: &'static str = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("annotations", &mut self.annotations)?;
        object.field("name", &mut self.name)
    }
}
