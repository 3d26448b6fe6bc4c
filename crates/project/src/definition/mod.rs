//! The `CustomResourceDefinition` of a kind whose spec is the values of a chart.
//!
//! ```text
//! values.schema.json --read--\
//! values.yaml ------infer----- combine with subcharts, defaults --> Node --write--> structural schema --fit--> Definition
//! comments ---comments-------/
//! ```
//!
//! What the chart would take is never refused or lost: a schema counts as far as a structural schema can say the same,
//! and what follows from defaults alone is a type where others would be a mistake, and a description. Maps keep keys that
//! nobody mentions, but where the chart's own schema forbids them.

mod combine;
mod comments;
mod fit;
mod infer;
mod meet;
mod names;
mod node;
mod notice;
mod read;
mod status;
#[cfg(test)]
mod tests;
mod varied;
mod write;

use serde_json::{Value, json};
use steersman_chart::{Chart, Values};

pub use names::DefinitionError;
pub(crate) use node::plain_value;
pub use notice::Notice;

use crate::{CustomKind, Scope};

/// What `kubectl get` lists all kinds of Steersman's operators by.
const CATEGORY: &str = "steersman";

/// The `CustomResourceDefinition` of a kind.
///
/// ```
/// use steersman_chart::Chart;
/// use steersman_project::{CustomKind, definition::{Definition, Options}};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("values.yaml", b"# How many pods run.\nreplicas: 2\n"),
/// ])?;
/// let definition = Definition::of(&CustomKind::new("example.com", "v1", "Web"), &chart, &Options::default())?;
/// let replicas = &definition.schema()["properties"]["spec"]["properties"]["replicas"];
/// assert_eq!(replicas["description"], "How many pods run. (default: 2)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    value: Value,
    notices: Vec<Notice>,
}

/// What the user can decide; by default no value is written into resources, and none is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Whether the chart's defaults become defaults of the definition, which the API server writes into each resource
    /// when it is created: they stay as they are when the chart's change.
    pub defaults: bool,
    /// Values that the operator sets anyway, such as a watch's `overrideValues`: a resource need not have them.
    pub given: Values,
}

impl Definition {
    /// The definition of `kind`, whose spec is the values of `chart`.
    ///
    /// The same input gives the same definition. It is structural, and at most about 250 kB of JSON.
    ///
    /// # Errors
    /// Kubernetes would not accept the kind's names.
    pub fn of(kind: &CustomKind, chart: &Chart, options: &Options) -> Result<Self, DefinitionError> {
        names::check(kind)?;
        let mut notices = notice::Notices::new();
        let mut node = combine::values_of(chart, &options.given, &mut notices);
        node.description = Some(format!(
            "Values of the chart {}. Whatever is left out takes the chart's default",
            chart.name()
        ));
        node.default = None;
        let mut spec = write::write(&node, options.defaults, &mut notices);
        let around = fit::size(&whole(kind, chart, &json!({})));
        fit::fit(&mut spec, around, &mut notices);
        Ok(Self {
            value: whole(kind, chart, &spec),
            notices: notices.finish(),
        })
    }

    /// The definition as the API server takes it.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The definition as YAML for people, keys in alphabetical order.
    pub fn to_yaml(&self) -> String {
        crate::yaml::to_yaml(&self.value)
    }

    /// What the chart says of its values and the definition can't, in the order of the places.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The schema of the whole resource.
    pub fn schema(&self) -> &Value {
        &self.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    }
}

/// Takes short names away that several kinds of one operator would have.
pub fn distinguish(definitions: &mut [Definition]) {
    let names: Vec<Option<Value>> = definitions
        .iter()
        .map(|definition| definition.value.pointer("/spec/names/shortNames/0").cloned())
        .collect();
    for (definition, name) in definitions.iter_mut().zip(&names) {
        let has_others = name.is_some() && names.iter().filter(|other| *other == name).count() > 1;
        if has_others && let Some(Value::Object(all)) = definition.value.pointer_mut("/spec/names") {
            all.remove("shortNames");
        }
    }
}

fn whole(kind: &CustomKind, chart: &Chart, spec: &Value) -> Value {
    let mut metadata = json!({"name": kind.definition_name()});
    if names::is_protected(&kind.group) {
        metadata["annotations"] =
            json!({"api-approved.kubernetes.io": "unapproved, follows from a Helm chart"});
    }
    let mut definition_names = json!({
        "categories": [CATEGORY],
        "kind": kind.kind,
        "listKind": kind.list_kind(),
        "plural": kind.plural,
        "singular": kind.singular(),
    });
    if let Some(name) = names::short_name(kind) {
        definition_names["shortNames"] = json!([name]);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": definition_names,
            "scope": match kind.scope {
                Scope::Namespaced => "Namespaced",
                Scope::Cluster => "Cluster",
            },
            "versions": [{
                "name": kind.version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": resource(kind, chart, spec)},
            }],
        },
    })
}

fn resource(kind: &CustomKind, chart: &Chart, spec: &Value) -> Value {
    let about = match chart.metadata().description.trim() {
        "" => format!("{} is a release of the chart {}", kind.kind, chart.name()),
        text => text.to_owned(),
    };
    let is_spec_required = spec.get("required").is_some();
    let mut schema = json!({
        "description": about,
        "type": "object",
        "properties": {
            "apiVersion": {"description": "Version of the API that the resource is written in", "type": "string"},
            "kind": {"description": "Kind of the resource", "type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status::status(),
        },
    });
    if is_spec_required {
        schema["required"] = json!(["spec"]);
    }
    schema
}

/// What `kubectl get` shows.
fn columns() -> Value {
    let of_ready = |field: &str| format!(".status.conditions[?(@.type==\"Ready\")].{field}");
    json!([
        {"name": "Ready", "type": "string", "jsonPath": of_ready("status")},
        {"name": "Reason", "type": "string", "jsonPath": of_ready("reason")},
        {"name": "Revision", "type": "integer", "jsonPath": ".status.revision"},
        {"name": "Chart", "type": "string", "jsonPath": ".status.chart.version", "priority": 1},
        {"name": "App", "type": "string", "jsonPath": ".status.chart.appVersion", "priority": 1},
        {"name": "Message", "type": "string", "jsonPath": of_ready("message"), "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}
