//! Objects on their way through a build, and what is remembered of them.

use crate::identity::{Gvk, Id};
use serde_json::{Map, Value};

/// What a generated object does to one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Behavior {
    #[default]
    Create,
    Replace,
    Merge,
}

/// An object, and what it was called before.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resource {
    pub(crate) object: Map<String, Value>,
    previous: Vec<Previous>,
    pub(crate) prefixes: Vec<String>,
    pub(crate) suffixes: Vec<String>,
    pub(crate) behavior: Behavior,
    pub(crate) wants_hash: bool,
}

#[derive(Debug, Clone)]
struct Previous {
    kind: String,
    name: String,
    namespace: String,
}

impl Resource {
    pub(crate) fn new(object: Map<String, Value>) -> Self {
        Self {
            object,
            ..Self::default()
        }
    }

    pub(crate) fn gvk(&self) -> Gvk {
        Gvk::of(&self.object)
    }

    fn metadata(&self, field: &str) -> &str {
        let metadata = self.object.get("metadata");
        metadata
            .and_then(|metadata| metadata.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.metadata("name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata("namespace")
    }

    /// Sets or, where it is empty, removes a field of the metadata.
    pub(crate) fn set_metadata(&mut self, field: &str, value: &str) {
        if let Some(metadata) = self.metadata_mut() {
            if value.is_empty() {
                metadata.remove(field);
            } else {
                metadata.insert(field.to_owned(), Value::String(value.to_owned()));
            }
        }
    }

    pub(crate) fn metadata_mut(&mut self) -> Option<&mut Map<String, Value>> {
        let metadata = self
            .object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        metadata.as_object_mut()
    }

    /// The labels or annotations, as texts.
    pub(crate) fn pairs(&self, field: &str) -> Vec<(String, String)> {
        let Some(Value::Object(pairs)) = self.object.get("metadata").and_then(|it| it.get(field)) else {
            return Vec::new();
        };
        pairs
            .iter()
            .map(|(key, value)| (key.clone(), scalar_text(value).unwrap_or_default()))
            .collect()
    }

    pub(crate) fn current_id(&self) -> Id {
        Id {
            gvk: self.gvk(),
            name: self.name().to_owned(),
            namespace: self.namespace().to_owned(),
        }
    }

    /// What the object was called before each change, from the first on.
    pub(crate) fn previous_ids(&self) -> Vec<Id> {
        let gvk = self.gvk();
        self.previous
            .iter()
            .map(|previous| Id {
                gvk: Gvk {
                    kind: previous.kind.clone(),
                    ..gvk.clone()
                },
                name: previous.name.clone(),
                namespace: previous.namespace.clone(),
            })
            .collect()
    }

    /// What the object was called at first.
    pub(crate) fn original_id(&self) -> Id {
        self.previous_ids()
            .into_iter()
            .next()
            .unwrap_or_else(|| self.current_id())
    }

    /// All that the object is and was called.
    pub(crate) fn all_ids(&self) -> Vec<Id> {
        let mut ids = self.previous_ids();
        ids.push(self.current_id());
        ids
    }

    /// Remembers the name, before it changes.
    pub(crate) fn remember(&mut self) {
        let id = self.current_id();
        self.previous.push(Previous {
            namespace: id.effective_namespace().to_owned(),
            kind: id.gvk.kind,
            name: id.name,
        });
    }

    /// Takes over what is remembered of another object.
    pub(crate) fn take_history_of(&mut self, other: &Resource) {
        self.previous.clone_from(&other.previous);
        self.prefixes.clone_from(&other.prefixes);
        self.suffixes.clone_from(&other.suffixes);
    }

    /// Whether both have been given the same prefixes and suffixes; of two lists the shorter one counts. Where
    /// `or_none`, none at all fits everything.
    pub(crate) fn has_affixes_of(&self, other: &Resource, or_none: bool) -> bool {
        let fits = |left: &[String], right: &[String]| {
            (or_none && (left.is_empty() || right.is_empty())) || have_same_end(left, right)
        };
        fits(&self.prefixes, &other.prefixes) && fits(&self.suffixes, &other.suffixes)
    }
}

fn have_same_end(left: &[String], right: &[String]) -> bool {
    let (short, long) = if left.len() > right.len() {
        (right, left)
    } else {
        (left, right)
    };
    if short.is_empty() {
        return long.is_empty();
    }
    long.ends_with(short)
}

/// A scalar as it is written in YAML, without quotes.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The most objects of a build: what is done to each of them looks at all others.
const MAX_OBJECTS: usize = 5_000;

/// The most values in an object.
const MAX_VALUES: usize = 1_000_000;

/// Refuses an object that patches or replacements have made too large.
pub(crate) fn check_size(value: &Value) -> Result<(), String> {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        if count > MAX_VALUES {
            return Err(format!("an object has more than {MAX_VALUES} values"));
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    Ok(())
}

/// The objects of a build, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resources(pub(crate) Vec<Resource>);

impl Resources {
    /// Adds an object.
    ///
    /// # Errors
    ///
    /// There is one of its kind, name and namespace, or there are too many.
    pub(crate) fn append(&mut self, resource: Resource) -> Result<(), String> {
        if self.0.len() >= MAX_OBJECTS {
            return Err(format!("there are more than {MAX_OBJECTS} objects"));
        }
        let id = resource.current_id();
        if self.0.iter().any(|other| other.current_id().is_same_as(&id)) {
            return Err(format!("{id} is there already"));
        }
        self.0.push(resource);
        Ok(())
    }

    /// Adds a generated object, or lets it do to the object of its name what its behaviour says.
    pub(crate) fn absorb(&mut self, mut resource: Resource) -> Result<(), String> {
        let id = resource.current_id();
        let matches: Vec<usize> = (0..self.0.len())
            .filter(|index| self.0[*index].all_ids().iter().any(|other| other.is_same_as(&id)))
            .collect();
        match (matches.as_slice(), resource.behavior) {
            ([], Behavior::Create) => self.append(resource),
            ([], _) => Err(format!(
                "{id} does not exist: there is nothing to merge with or to replace"
            )),
            ([_], Behavior::Create) => Err(format!(
                "{id} exists: its behavior has to be `merge` or `replace`"
            )),
            ([index], behavior) => {
                let old = &self.0[*index];
                if behavior == Behavior::Merge {
                    merge_field(&mut resource.object, &old.object, "data");
                    merge_field(&mut resource.object, &old.object, "binaryData");
                }
                merge_metadata(&mut resource, old);
                resource.take_history_of(old);
                self.0[*index] = resource;
                Ok(())
            }
            _ => Err(format!("several objects are called {id}")),
        }
    }
}

fn merge_metadata(resource: &mut Resource, old: &Resource) {
    let old_metadata = old.object.get("metadata").and_then(Value::as_object);
    let (name, namespace) = (old.name().to_owned(), old.namespace().to_owned());
    if let (Some(metadata), Some(old)) = (resource.metadata_mut(), old_metadata) {
        merge_field(metadata, old, "labels");
        merge_field(metadata, old, "annotations");
    }
    resource.set_metadata("name", &name);
    resource.set_metadata("namespace", &namespace);
}

/// Adds the pairs of another map that are missing.
fn merge_field(object: &mut Map<String, Value>, old: &Map<String, Value>, field: &str) {
    let Some(Value::Object(old)) = old.get(field) else {
        return;
    };
    let new = object.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(new) = new {
        for (key, value) in old {
            new.entry(key).or_insert_with(|| value.clone());
        }
    }
}
