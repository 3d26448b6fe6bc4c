//! Whether a schema is structural: an API server takes no definition with another one.
//!
//! The rules are those of [structural schemas][], as `kube-apiserver` reads them.
//!
//! [structural schemas]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema

use serde_json::{Map, Value, json};

/// How deep schemas are looked into; YAML is bounded before.
const MAX_DEPTH: usize = 200;

const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords of JSON Schema that no definition can have.
const UNSUPPORTED: [&str; 7] = [
    "$ref",
    "$schema",
    "id",
    "additionalItems",
    "definitions",
    "dependencies",
    "patternProperties",
];

/// Keywords that say what a value is, and not what is valid; they can't depend on a condition.
const GENERIC: [&str; 12] = [
    "type",
    "default",
    "title",
    "description",
    "nullable",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// What keeps an `openAPIV3Schema` from being structural: JSON pointers into it, and why. None where it is structural.
///
/// ```
/// use serde_json::json;
/// use steersman_project::check::structural_faults;
///
/// let schema = json!({"type": "object", "properties": {"spec": {"properties": {}}}});
/// let faults = structural_faults(&schema);
/// assert_eq!(faults[0].0, "/properties/spec/type");
/// ```
pub fn structural_faults(schema: &Value) -> Vec<(String, String)> {
    let mut faults = Faults(Vec::new());
    let Some(root) = schema.as_object() else {
        faults.add("", "must be a schema");
        return faults.0;
    };
    faults.schema(root, "", Level::Root, 0);
    faults.undeclared(root, Some(root), "", 0);
    faults.0.sort();
    faults.0.dedup();
    faults.0
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

struct Faults(Vec<(String, String)>);

impl Faults {
    fn add(&mut self, place: impl Into<String>, why: impl Into<String>) {
        self.0.push((place.into(), why.into()));
    }

    /// A schema that says what a value is.
    fn schema(&mut self, schema: &Map<String, Value>, place: &str, level: Level, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        self.unsupported(schema, place);
        self.types(schema, place, level);
        self.names(schema, place, level);
        if let Some(items) = schema.get("items").and_then(Value::as_object) {
            self.schema(items, &format!("{place}/items"), Level::Item, depth + 1);
        }
        for (key, property) in properties(schema) {
            self.schema(property, &below(place, key), Level::Field, depth + 1);
        }
        if let Some(each) = schema.get("additionalProperties") {
            let place = format!("{place}/additionalProperties");
            if level == Level::Root {
                self.add(&place, "must not be used at the root");
            }
            if properties(schema).next().is_some() && *each != Value::Bool(true) {
                self.add(&place, "must not be used beside properties");
            }
            if let Some(each) = each.as_object() {
                self.schema(each, &place, Level::Field, depth + 1);
            }
        }
        self.conditions(schema, place, true, depth);
    }

    /// What no schema may have, wherever it stands.
    fn unsupported(&mut self, schema: &Map<String, Value>, place: &str) {
        for keyword in UNSUPPORTED
            .iter()
            .filter(|keyword| schema.contains_key(**keyword))
        {
            self.add(format!("{place}/{keyword}"), "is not supported");
        }
        if is_set(schema, "uniqueItems") {
            self.add(format!("{place}/uniqueItems"), "must not be true");
        }
        if schema.get("items").is_some_and(Value::is_array) {
            self.add(format!("{place}/items"), "must be one schema");
        }
    }

    fn types(&mut self, schema: &Map<String, Value>, place: &str, level: Level) {
        let known = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let (any, any_scalar) = (
            keeps_unknown(schema),
            is_set(schema, "x-kubernetes-int-or-string"),
        );
        let is_resource = is_set(schema, "x-kubernetes-embedded-resource");
        let type_place = format!("{place}/type");
        if schema.get("type").is_some_and(|name| !name.is_string()) {
            self.add(&type_place, "must be one type; null is said by nullable");
        } else if is_resource && known != "object" || level == Level::Root && !matches!(known, "" | "object")
        {
            self.add(&type_place, "must be object");
        } else if known.is_empty() && !any && !any_scalar {
            self.add(&type_place, "must be given");
        }
        if known == "array" && !schema.contains_key("items") {
            self.add(format!("{place}/items"), "must be given");
        }
        if any_scalar && (any || is_resource) {
            self.add(
                format!("{place}/x-kubernetes-int-or-string"),
                "goes with no structure",
            );
        }
        if is_resource && !any && properties(schema).next().is_none() {
            self.add(format!("{place}/properties"), "must be given");
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            self.add(
                format!("{place}/x-kubernetes-preserve-unknown-fields"),
                "must be true or not be there",
            );
        }
    }

    /// The fields that every resource has.
    fn names(&mut self, schema: &Map<String, Value>, place: &str, level: Level) {
        if level != Level::Root && !is_set(schema, "x-kubernetes-embedded-resource") {
            return;
        }
        for (key, property) in properties(schema) {
            let (place, expect) = match key.as_str() {
                "apiVersion" | "kind" => (below(place, key), "string"),
                "metadata" => (below(place, key), "object"),
                _ => continue,
            };
            if property.get("type").and_then(Value::as_str) != Some(expect) {
                self.add(format!("{place}/type"), format!("must be {expect}"));
            }
            let is_known = |name: &String| matches!(name.as_str(), "type" | "default" | "properties");
            let names = ["name", "generateName"];
            let is_more = !property.keys().all(is_known)
                || properties(property).any(|(name, _)| !names.contains(&name.as_str()));
            if level == Level::Root && key == "metadata" && is_more {
                self.add(place, "can say something about name and generateName alone");
            }
        }
    }

    /// Checks what stands below `allOf`, `anyOf`, `oneOf` and `not`.
    fn conditions(&mut self, schema: &Map<String, Value>, place: &str, is_structure: bool, depth: usize) {
        let number_or_text = json!([{"type": "integer"}, {"type": "string"}]);
        for junctor in JUNCTORS {
            let branches = schema.get(junctor).and_then(Value::as_array);
            // The way in which a number or a text was said before there was a word for it.
            if junctor == "anyOf" && is_structure && schema.get(junctor) == Some(&number_or_text) {
                continue;
            }
            for (index, branch) in branches.into_iter().flatten().enumerate() {
                let Some(branch) = branch.as_object() else {
                    continue;
                };
                let is_first = junctor == "allOf" && index == 0 && is_structure;
                let is_old_way = is_first && branch.get("anyOf") == Some(&number_or_text);
                self.condition(
                    branch,
                    &format!("{place}/{junctor}/{index}"),
                    is_old_way,
                    depth + 1,
                );
            }
        }
        if let Some(not) = schema.get("not").and_then(Value::as_object) {
            self.condition(not, &format!("{place}/not"), false, depth + 1);
        }
    }

    /// A schema that says what is valid.
    fn condition(&mut self, schema: &Map<String, Value>, place: &str, is_old_way: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        self.unsupported(schema, place);
        for keyword in GENERIC {
            let is_said = schema
                .get(keyword)
                .is_some_and(|value| *value != Value::Bool(false));
            if is_said || keyword == "additionalProperties" && schema.contains_key(keyword) {
                self.add(
                    format!("{place}/{keyword}"),
                    "must be said outside of the condition",
                );
            }
        }
        if schema.get("x-kubernetes-validations").is_some() {
            self.add(
                format!("{place}/x-kubernetes-validations"),
                "must be said outside of the condition",
            );
        }
        if let Some(items) = schema.get("items").and_then(Value::as_object) {
            self.condition(items, &format!("{place}/items"), false, depth + 1);
        }
        for (key, property) in properties(schema) {
            let place = below(place, key);
            if key == "metadata" {
                self.add(&place, "must not be in a condition");
            }
            self.condition(property, &place, false, depth + 1);
        }
        self.conditions(schema, place, is_old_way, depth);
    }

    /// What conditions at the root are about has to be declared outside of them.
    fn undeclared(
        &mut self,
        condition: &Map<String, Value>,
        declared: Option<&Map<String, Value>>,
        place: &str,
        depth: usize,
    ) {
        let branches = JUNCTORS.iter().flat_map(|junctor| {
            let branches = condition.get(*junctor).and_then(Value::as_array);
            let branches = branches.into_iter().flatten().enumerate();
            branches.map(move |(index, branch)| (format!("/{junctor}/{index}"), branch))
        });
        let not = condition.get("not").map(|not| ("/not".to_owned(), not));
        for (step, branch) in branches.chain(not) {
            if let Some(branch) = branch.as_object() {
                self.undeclared_in(branch, declared, &format!("{place}{step}"), depth + 1);
            }
        }
    }

    fn undeclared_in(
        &mut self,
        condition: &Map<String, Value>,
        declared: Option<&Map<String, Value>>,
        place: &str,
        depth: usize,
    ) {
        if depth > MAX_DEPTH {
            return;
        }
        let Some(declared) = declared else {
            self.add(place, "must be declared outside of the condition, too");
            return;
        };
        self.undeclared(condition, Some(declared), place, depth);
        if let Some(items) = condition.get("items").and_then(Value::as_object) {
            let declared = declared.get("items").and_then(Value::as_object);
            self.undeclared_in(items, declared, &format!("{place}/items"), depth + 1);
        }
        for (key, property) in properties(condition) {
            let declared = declared.get("properties").and_then(|all| all.get(key));
            let declared = declared.and_then(Value::as_object);
            self.undeclared_in(property, declared, &below(place, key), depth + 1);
        }
    }
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Map<String, Value>)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(key, property)| Some((key, property.as_object()?)))
}

fn below(place: &str, key: &str) -> String {
    format!("{place}/properties/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn is_set(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

fn keeps_unknown(schema: &Map<String, Value>) -> bool {
    is_set(schema, "x-kubernetes-preserve-unknown-fields")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::structural_faults;

    // Whether a server agrees is for tests/api_server/schemas.rs to say.
    #[test]
    fn faults_are_told_with_their_places() {
        let schema = json!({
            "type": "object",
            "properties": {"spec": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "a/b": {"description": "anything"},
                    "c": {"anyOf": [{"type": "string"}], "x-kubernetes-preserve-unknown-fields": true},
                },
            }},
        });
        let faults = structural_faults(&schema);
        let faults: Vec<String> = faults
            .iter()
            .map(|(place, why)| format!("{place} {why}"))
            .collect();
        assert_eq!(
            faults,
            [
                "/properties/spec/additionalProperties must not be used beside properties",
                "/properties/spec/properties/a~1b/type must be given",
                "/properties/spec/properties/c/anyOf/0/type must be said outside of the condition",
            ]
        );
    }
}
