//! The variables of a run, out of the resource that it is for.

use serde_json::{Map, Value, json};

use crate::snake_case;

/// What Ansible's reader of JSON puts something else in the place of: a text that is no template, and a text that is encrypted.
const UNSAFE: &str = "__ansible_unsafe";
const MARKS: [&str; 2] = [UNSAFE, "__ansible_vault"];

/// How the names begin of what Ansible itself asks variables for: how it reaches a host, as whom, with which shell and interpreter.
const OF_ANSIBLE: [&str; 2] = ["ansible_", "delegated_vars"];
/// The same for whole names: which host that is, and where its inventory. Other special variables have no such effect or are
/// set again by Ansible.
const OF_INVENTORY: [&str; 3] = ["inventory_hostname", "inventory_dir", "inventory_file"];

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
/// let vars = settings.of(&resource)?;
/// assert_eq!(vars["replica_count"], 3);
/// assert_eq!(vars["ansible_operator_meta"], json!({"name": "site", "namespace": "web"}));
/// assert_eq!(vars["_cache_example_com_memcached_spec"], json!({"replicaCount": 3}));
/// # Ok::<(), steersman_ansible::VarsError>(())
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

/// Why a resource has no variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarsError {
    /// With `markUnsafe` a key of the resource would undo the marks.
    #[error(
        "failed to mark the texts of the resource: `{path}` means something else to Ansible than a field"
    )]
    Key {
        /// Where it is, such as `spec.a.__ansible_vault`.
        path: String,
    },
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
    /// object counts as an empty one. Where renaming gives two fields one name, the field counts that had it before. Fields
    /// that are [withheld](Self::withheld) are no variables of their own, but in the spec and in the whole resource.
    ///
    /// # Errors
    /// [`VarsError::Key`]: the resource has a key that Ansible's reader of JSON takes for a mark, and its texts are to be marked.
    pub fn of(&self, resource: &Value) -> Result<Map<String, Value>, VarsError> {
        if self.mark_unsafe
            && let Some(path) = self.path_of_mark(resource)
        {
            return Err(VarsError::Key { path });
        }
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
        vars.retain(|name, _| !is_of_ansible(name));
        for value in vars.values_mut() {
            *value = self.marked(value.take());
        }
        let of_metadata = |field: &str| resource.pointer(&format!("/metadata/{field}"));
        let text = |field: &str| of_metadata(field).and_then(Value::as_str).unwrap_or_default();
        vars.insert(
            "ansible_operator_meta".to_owned(),
            json!({"name": self.named(text("name")), "namespace": self.named(text("namespace"))}),
        );
        let key = self.key();
        vars.insert(format!("{key}_spec"), self.marked(Value::Object(spec)));
        vars.insert(key, self.marked(whole));
        for (name, value) in self.vars.iter().chain(&self.finalizer_vars) {
            vars.insert(name.clone(), value.clone());
        }
        Ok(vars)
    }

    /// The fields of the spec that are no variables, as they would tell Ansible how to run: whoever writes a resource says what
    /// is to be made, and not by which connection, user or interpreter. `vars` of the watch may pass one on.
    pub fn withheld(&self, resource: &Value) -> Vec<String> {
        let spec = resource.get("spec").and_then(Value::as_object);
        let names = spec.into_iter().flat_map(|spec| spec.keys());
        let withheld = names.filter(|name| {
            if self.snake_case {
                is_of_ansible(&snake_case(name))
            } else {
                is_of_ansible(name)
            }
        });
        withheld.cloned().collect()
    }

    /// Where the first key is that is one of [`MARKS`], or becomes one.
    fn path_of_mark(&self, value: &Value) -> Option<String> {
        match value {
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                let is_mark = |name: &str| MARKS.contains(&name);
                if is_mark(name) || self.snake_case && is_mark(&snake_case(name)) {
                    return Some(name.clone());
                }
                Some(format!("{name}.{}", self.path_of_mark(value)?))
            }),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| Some(format!("{index}.{}", self.path_of_mark(item)?))),
            _ => None,
        }
    }

    /// `_GROUP_KIND`, with no character that a name of a variable can't have.
    fn key(&self) -> String {
        format!("_{}_{}", self.group, self.kind.to_lowercase()).replace(['.', '-'], "_")
    }

    /// A name. Those of most kinds can be no template; of some, as of roles of RBAC, they can.
    fn named(&self, name: &str) -> Value {
        let is_plain = name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-._:".contains(character));
        if is_plain {
            Value::String(name.to_owned())
        } else {
            self.marked(Value::String(name.to_owned()))
        }
    }

    fn marked(&self, value: Value) -> Value {
        if self.mark_unsafe {
            unsafe_texts(value)
        } else {
            value
        }
    }
}

/// Whether a variable of this name changes what Ansible does.
fn is_of_ansible(name: &str) -> bool {
    let lower = name.trim_start_matches('_').to_ascii_lowercase();
    OF_ANSIBLE.iter().any(|start| lower.starts_with(start)) || OF_INVENTORY.contains(&lower.as_str())
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
        Value::String(text) => json!({ UNSAFE: text }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{ExtraVars, VarsError};

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn of(settings: &ExtraVars, resource: &Value) -> Map<String, Value> {
        settings.of(resource).expect("no key is a mark")
    }

    fn check(settings: &ExtraVars, resource: &Value, expected: Value) {
        assert_eq!(Value::Object(of(settings, resource)), expected);
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
        let vars = of(&settings, &json!({"spec": {"podIPs": {"aB": 1}}}));
        assert_eq!(vars["podIPs"], json!({"aB": 1}));
        assert_eq!(
            vars["ansible_operator_meta"],
            json!({"name": "", "namespace": ""})
        );
    }

    #[test]
    fn a_name_that_could_be_a_template_is_marked() {
        let mut settings = ExtraVars::new("rbac.authorization.k8s.io", "ClusterRole");
        settings.mark_unsafe = true;
        let name = "x{{ lookup('pipe', 'id') }}";
        let vars = of(&settings, &json!({"metadata": {"name": name}}));
        let expected = json!({"name": {"__ansible_unsafe": name}, "namespace": ""});
        assert_eq!(vars["ansible_operator_meta"], expected);
        let vars = of(&settings, &json!({"metadata": {"name": "system:node"}}));
        assert_eq!(vars["ansible_operator_meta"]["name"], "system:node");
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
        let vars = of(&settings, &resource);
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
            let vars = of(&ExtraVars::new("", "Web"), &json!({ "spec": spec }));
            assert_eq!(vars["foo_bar"], 1);
        }
    }

    #[test]
    fn a_resource_without_a_spec_has_an_empty_one() {
        for resource in [
            json!({"data": {"aB": "c"}}),
            json!({"data": {"aB": "c"}, "spec": "text"}),
        ] {
            let vars = of(&ExtraVars::new("", "ConfigMap"), &resource);
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

    #[test]
    fn fields_that_would_tell_ansible_how_to_run_are_no_variables() {
        let mut settings = ExtraVars::new("", "Web");
        let hostile = [
            "ansibleShellExecutable",
            "AnsibleConnection",
            "ansible_user",
            "ANSIBLE_HOST",
            "-ansible-facts",
            "ansible-become",
            "__ansible_unsafe",
            "ansibleOperatorMeta",
            "inventoryHostname",
            "inventory_dir",
            "delegated_vars['ansible_host']",
        ];
        let mut spec: Map<String, Value> = hostile
            .map(|name| (name.to_owned(), json!("x")))
            .into_iter()
            .collect();
        spec.insert("ansible".to_owned(), json!({"ansibleUser": "nested"}));
        spec.insert("inventory".to_owned(), json!(1));
        let resource = json!({ "spec": spec });
        let vars = of(&settings, &resource);
        let names: Vec<&str> = vars.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "__web",
                "__web_spec",
                "ansible",
                "ansible_operator_meta",
                "inventory"
            ]
        );
        assert_eq!(
            vars["ansible_operator_meta"],
            json!({"name": "", "namespace": ""})
        );
        assert_eq!(vars["ansible"], json!({"ansible_user": "nested"}));
        assert_eq!(vars["__web_spec"], resource["spec"]);
        let mut withheld = settings.withheld(&resource);
        let mut expected: Vec<String> = hostile.map(str::to_owned).into();
        withheld.sort();
        expected.sort();
        assert_eq!(withheld, expected);

        settings.snake_case = false;
        settings.vars = object(json!({"ansible_user": "{{ __web_spec.ansible_user }}"}));
        let vars = of(
            &settings,
            &json!({"spec": {"ansibleUser": 1, "ansible_user": 2, "ansible_port": 3}}),
        );
        assert_eq!(
            (&vars["ansibleUser"], &vars["ansible_user"]),
            (&json!(1), &settings.vars["ansible_user"])
        );
        assert!(!vars.contains_key("ansible_port"));
    }

    #[test]
    fn a_resource_that_would_undo_its_marks_has_no_variables() {
        let mut settings = ExtraVars::new("", "Web");
        settings.mark_unsafe = true;
        let error = |settings: &ExtraVars, resource: &Value| match settings.of(resource) {
            Err(VarsError::Key { path }) => path,
            Ok(vars) => panic!("{vars:?}"),
        };
        for (field, path) in [
            (
                json!({"__ansible_vault": {"x": {"__ansible_vault": "a"}}}),
                "spec.x.__ansible_vault",
            ),
            (
                json!([{"a": 1}, {"__ansible_unsafe": "{{ a }}"}]),
                "spec.x.1.__ansible_unsafe",
            ),
            (json!({"y": {"__ansibleVault": 5}}), "spec.x.y.__ansibleVault"),
        ] {
            let resource = json!({"spec": {"a": "b", "x": field}});
            assert_eq!(error(&settings, &resource), path);
        }
        settings.snake_case = false;
        let renamed = json!({"spec": {"--ansible-vault": {}}});
        assert!(settings.of(&renamed).is_ok());
        settings.snake_case = true;
        assert_eq!(error(&settings, &renamed), "spec.--ansible-vault");
        // Elsewhere it may be what the role's vault is for.
        settings.mark_unsafe = false;
        let encrypted = json!({"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256"});
        assert_eq!(of(&settings, &json!({"spec": {"x": encrypted}}))["x"], encrypted);
    }
}
