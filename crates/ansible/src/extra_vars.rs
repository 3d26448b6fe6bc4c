//! The variables of a run, out of the resource that it is for.

use serde_json::{Map, Value, json};

use crate::snake_case;

/// What a watch says about the variables of its runs.
///
/// ```
/// use serde_json::{Map, json};
/// use steersman_ansible::ExtraVars;
///
/// let resource = json!({
///     "metadata": {"name": "site", "namespace": "web"},
///     "spec": {"replicaCount": 3},
/// });
/// let settings = ExtraVars::new("cache.example.com", "Memcached");
/// let vars = settings.of(&resource);
/// assert_eq!(vars["replica_count"], 3);
/// assert_eq!(vars["ansible_operator_meta"], json!({"name": "site", "namespace": "web"}));
/// assert_eq!(vars["_cache_example_com_memcached_spec"], json!({"replicaCount": 3}));
/// ```
#[derive(Clone, Debug)]
pub struct ExtraVars {
    /// The API group of the watch; empty for core kinds.
    pub group: String,
    /// The kind of the watch.
    pub kind: String,
    /// `snakeCaseParameters`: whether fields of the spec are renamed, nested ones, too.
    pub snake_case: bool,
    /// `markUnsafe`: whether texts of the resource are kept from being templates.
    pub mark_unsafe: bool,
    /// `vars` of the watch.
    pub vars: Map<String, Value>,
    /// `vars` of the finalizer, in a run of it.
    pub finalizer_vars: Map<String, Value>,
}

impl ExtraVars {
    /// The defaults of watches.yaml for a kind.
    pub fn new(group: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            snake_case: true,
            mark_unsafe: false,
            vars: Map::new(),
            finalizer_vars: Map::new(),
        }
    }

    /// The variables for a resource.
    ///
    /// Of two with one name the latter counts: the fields of the spec, `ansible_operator_meta`, the whole resource as
    /// `_GROUP_KIND`, its spec as `_GROUP_KIND_spec`, the `vars` of the watch, those of the finalizer. A spec that is no
    /// object counts as an empty one. Where renaming gives two fields one name, the field counts that had it before.
    pub fn of(&self, resource: &Value) -> Map<String, Value> {
        let spec = resource.get("spec").and_then(Value::as_object);
        let spec = spec.cloned().unwrap_or_default();
        let mut whole = resource.clone();
        if let Some(fields) = whole.as_object_mut() {
            fields.insert("spec".to_owned(), Value::Object(spec.clone()));
        }

        let mut vars = if self.snake_case {
            renamed(&spec)
        } else {
            spec.clone()
        };
        for value in vars.values_mut() {
            *value = self.marked(value.take());
        }
        let of_metadata = |field: &str| resource.pointer(&format!("/metadata/{field}"));
        let text = |field: &str| of_metadata(field).and_then(Value::as_str).unwrap_or_default();
        vars.insert(
            "ansible_operator_meta".to_owned(),
            json!({"name": text("name"), "namespace": text("namespace")}),
        );
        let key = self.key();
        vars.insert(format!("{key}_spec"), self.marked(Value::Object(spec)));
        vars.insert(key, self.marked(whole));
        for (name, value) in self.vars.iter().chain(&self.finalizer_vars) {
            vars.insert(name.clone(), value.clone());
        }
        vars
    }

    /// `_GROUP_KIND`, with no character that a name of a variable can't have.
    fn key(&self) -> String {
        format!("_{}_{}", self.group, self.kind.to_lowercase()).replace(['.', '-'], "_")
    }

    fn marked(&self, value: Value) -> Value {
        if self.mark_unsafe {
            unsafe_texts(value)
        } else {
            value
        }
    }
}

fn renamed(fields: &Map<String, Value>) -> Map<String, Value> {
    let (kept, changed): (Vec<_>, Vec<_>) = fields
        .iter()
        .map(|(name, value)| (name, snake_case(name), value))
        .partition(|(name, snake, _)| *name == snake);
    changed
        .into_iter()
        .chain(kept)
        .map(|(_, snake, value)| (snake, renamed_in(value)))
        .collect()
}

fn renamed_in(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(renamed(fields)),
        Value::Array(items) => items.iter().map(renamed_in).collect(),
        other => other.clone(),
    }
}

/// Texts as Ansible's JSON has those that are no templates.
fn unsafe_texts(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, unsafe_texts(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(unsafe_texts).collect(),
        Value::String(text) => json!({"__ansible_unsafe": text}),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::ExtraVars;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn check(settings: &ExtraVars, resource: &Value, expected: Value) {
        assert_eq!(Value::Object(settings.of(resource)), expected);
    }

    #[test]
    fn fields_are_renamed_at_every_depth_and_the_resource_is_not() {
        let resource = json!({
            "metadata": {"name": "a", "namespace": "b"},
            "spec": {"podIPs": [{"hostPort": 1}], "matchLabels": {"app.kubernetes.io/partOf": "x", "": 2}},
        });
        check(
            &ExtraVars::new("cert-manager.example.com", "MyKind"),
            &resource,
            json!({
                "pod_ips": [{"host_port": 1}],
                "match_labels": {"app.kubernetes.io/part_of": "x", "": 2},
                "ansible_operator_meta": {"name": "a", "namespace": "b"},
                "_cert_manager_example_com_mykind": resource,
                "_cert_manager_example_com_mykind_spec": resource["spec"],
            }),
        );
    }

    #[test]
    fn fields_keep_their_names_where_the_watch_says_so() {
        let mut settings = ExtraVars::new("example.com", "Web");
        settings.snake_case = false;
        let vars = settings.of(&json!({"spec": {"podIPs": {"aB": 1}}}));
        assert_eq!(vars["podIPs"], json!({"aB": 1}));
        assert_eq!(
            vars["ansible_operator_meta"],
            json!({"name": "", "namespace": ""})
        );
    }

    #[test]
    fn what_comes_later_wins() {
        let mut settings = ExtraVars::new("", "Web");
        settings.vars = object(json!({"both": "watch", "size": "watch", "ansible_operator_meta": 1}));
        settings.finalizer_vars = object(json!({"both": "finalizer"}));
        let resource = json!({
            "metadata": {"name": "a"},
            "spec": {"size": "spec", "both": "spec", "__web": "spec", "__web_spec": "spec"},
        });
        let vars = settings.of(&resource);
        assert_eq!(vars["both"], "finalizer");
        assert_eq!(vars["size"], "watch");
        assert_eq!(vars["ansible_operator_meta"], 1);
        assert_eq!(
            (&vars["__web"], &vars["__web_spec"]),
            (&resource, &resource["spec"])
        );
    }

    #[test]
    fn of_two_fields_with_one_name_that_counts_which_had_it() {
        for spec in [
            json!({"foo_bar": 1, "fooBar": 2}),
            json!({"fooBar": 2, "foo_bar": 1}),
        ] {
            let vars = ExtraVars::new("", "Web").of(&json!({ "spec": spec }));
            assert_eq!(vars["foo_bar"], 1);
        }
    }

    #[test]
    fn a_resource_without_a_spec_has_an_empty_one() {
        for resource in [
            json!({"data": {"aB": "c"}}),
            json!({"data": {"aB": "c"}, "spec": "text"}),
        ] {
            let vars = ExtraVars::new("", "ConfigMap").of(&resource);
            assert_eq!(vars["__configmap"], json!({"data": {"aB": "c"}, "spec": {}}));
            assert_eq!(vars["__configmap_spec"], json!({}));
        }
    }

    #[test]
    fn texts_of_the_resource_are_marked_and_those_of_the_watch_are_not() {
        let mut settings = ExtraVars::new("", "Web");
        settings.mark_unsafe = true;
        settings.vars = object(json!({"own": "{{ text }}"}));
        let marked = |text: &str| json!({"__ansible_unsafe": text});
        check(
            &settings,
            &json!({"metadata": {"name": "n"}, "spec": {"a": ["{{ b }}", 1, null, {"c": ""}]}}),
            json!({
                "a": [marked("{{ b }}"), 1, null, {"c": marked("")}],
                "ansible_operator_meta": {"name": "n", "namespace": ""},
                "__web": {
                    "metadata": {"name": marked("n")},
                    "spec": {"a": [marked("{{ b }}"), 1, null, {"c": marked("")}]},
                },
                "__web_spec": {"a": [marked("{{ b }}"), 1, null, {"c": marked("")}]},
                "own": "{{ text }}",
            }),
        );
    }
}
