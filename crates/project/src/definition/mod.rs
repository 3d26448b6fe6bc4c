//! The `CustomResourceDefinition` of a kind whose spec is the values of a chart, or variables of a role, and that of the runs of a
//! procedure (`run`).
//!
//! ```text
//! values.schema.json --read--\
//! values.yaml ------infer----- combine with subcharts, defaults --> Node --write--> structural schema --fit--> Definition
//! comments ---comments-------/                                  /
//!                               argument_specs, defaults --role-
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
mod role;
mod run;
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
pub use role::{RoleOptions, sample_of_role};

use crate::{AddedStatus, CustomKind, Role, ScalePaths, Scope};
use node::Node;
use notice::Notices;

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
    /// Whether procedures are carried out for resources, whose status then says of each what has become of it last.
    pub has_procedures: bool,
    /// What is added to the status of resources.
    pub status: AddedStatus,
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
        let mut notices = Notices::new();
        let mut node = combine::values_of(chart, &options.given, &mut notices);
        node.description = Some(format!(
            "Values of the chart {}. Whatever is left out takes the chart's default",
            chart.name()
        ));
        let about = match chart.metadata().description.trim() {
            "" => format!("{} is a release of the chart {}", kind.kind, chart.name()),
            text => text.to_owned(),
        };
        let frame = Frame {
            about,
            source: "a Helm chart",
            categories: vec![CATEGORY.to_owned()],
            status: status::status(options.has_procedures, &options.status),
            columns: columns(&options.status),
            scale: options.status.scale.clone(),
        };
        let mut definition = Self::framed(kind, &frame, node, options.defaults, notices);
        if let Some(scale) = &options.status.scale {
            let default = scale.number_in(&options.given);
            let default = default.or_else(|| scale.number_in(chart.values()));
            scale.describe(&mut definition.schema_mut()["properties"]["spec"], default);
        }
        Ok(definition)
    }

    /// The definition of `kind`, whose spec is variables of `roles`; without any of them it is whatever somebody writes.
    ///
    /// # Errors
    /// Kubernetes would not accept the kind's names.
    pub fn of_roles(
        kind: &CustomKind,
        roles: &[Role],
        options: &RoleOptions,
    ) -> Result<Self, DefinitionError> {
        names::check(kind)?;
        let mut notices = Notices::new();
        let role::Known { mut node, about } = role::variables_of(roles, options, &mut notices);
        let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
        let names = names.join(" and ");
        let (whose, maker) = if names.is_empty() {
            ("Variables of what is run".to_owned(), "Ansible".to_owned())
        } else {
            (
                format!("Variables of the role {names}. Whatever is left out takes the role's default"),
                format!("the role {names}"),
            )
        };
        node.description = Some(whose);
        let is_managed = options.manages_status;
        let frame = Frame {
            about: about.unwrap_or_else(|| format!("{} is made by {maker}", kind.kind)),
            source: "a role of Ansible",
            categories: vec![CATEGORY.to_owned()],
            status: if is_managed {
                status::of_runs()
            } else {
                status::unmanaged()
            },
            columns: if is_managed { run_columns() } else { json!([age()]) },
            scale: None,
        };
        Ok(Self::framed(kind, &frame, node, options.defaults, notices))
    }

    /// The definition around a spec.
    fn framed(
        kind: &CustomKind,
        frame: &Frame,
        mut node: Node,
        defaults: bool,
        mut notices: Notices,
    ) -> Self {
        node.default = None;
        let mut spec = write::write(&node, defaults, &mut notices);
        let around = fit::size(&whole(kind, frame, &json!({})));
        fit::fit(&mut spec, around, &mut notices);
        Self {
            value: whole(kind, frame, &spec),
            notices: notices.finish(),
        }
    }

    /// The definition as the API server takes it.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The definition as YAML for people, keys in alphabetical order.
    pub fn to_yaml(&self) -> String {
        crate::yaml::to_yaml(&self.value)
    }

    /// What the chart or role says of its values and the definition can't, in the order of the places.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn schema_mut(&mut self) -> &mut Value {
        &mut self.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
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

/// What stands around the schema of a spec.
struct Frame {
    /// What a resource of the kind is.
    about: String,
    /// What the definition follows from.
    source: &'static str,
    /// What lists its resources with those of other kinds.
    categories: Vec<String>,
    status: Value,
    /// What `kubectl get` shows.
    columns: Value,
    /// What `kubectl scale` changes.
    scale: Option<ScalePaths>,
}

fn whole(kind: &CustomKind, frame: &Frame, spec: &Value) -> Value {
    let mut metadata = json!({"name": kind.definition_name()});
    if names::is_protected(&kind.group) {
        let approval = format!("unapproved, follows from {}", frame.source);
        metadata["annotations"] = json!({"api-approved.kubernetes.io": approval});
    }
    let mut definition_names = json!({
        "categories": frame.categories,
        "kind": kind.kind,
        "listKind": kind.list_kind(),
        "plural": kind.plural,
        "singular": kind.singular(),
    });
    if let Some(name) = names::short_name(kind) {
        definition_names["shortNames"] = json!([name]);
    }
    let mut subresources = json!({"status": {}});
    if let Some(scale) = &frame.scale {
        subresources["scale"] = scale.subresource();
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
                "subresources": subresources,
                "additionalPrinterColumns": frame.columns,
                "schema": {"openAPIV3Schema": resource(frame, spec)},
            }],
        },
    })
}

fn resource(frame: &Frame, spec: &Value) -> Value {
    let is_spec_required = spec.get("required").is_some();
    let mut schema = json!({
        "description": frame.about,
        "type": "object",
        "properties": {
            "apiVersion": {"description": "Version of the API that the resource is written in", "type": "string"},
            "kind": {"description": "Kind of the resource", "type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": frame.status,
        },
    });
    if is_spec_required {
        schema["required"] = json!(["spec"]);
    }
    schema
}

/// What `kubectl get` shows of a release: what the entry adds is behind what is shown of all.
fn columns(added: &AddedStatus) -> Value {
    let mut columns = vec![
        of_ready("Ready", "status"),
        of_ready("Reason", "reason"),
        json!({"name": "Revision", "type": "integer", "jsonPath": ".status.revision"}),
    ];
    columns.extend(added.columns());
    columns.extend([
        json!({"name": "Chart", "type": "string", "jsonPath": ".status.chart.version", "priority": 1}),
        json!({"name": "App", "type": "string", "jsonPath": ".status.chart.appVersion", "priority": 1}),
        message(),
        age(),
    ]);
    columns.into()
}

/// What it shows of what a role makes.
fn run_columns() -> Value {
    json!([
        of_ready("Ready", "status"),
        of_ready("Reason", "reason"),
        message(),
        age()
    ])
}

fn of_ready(name: &str, field: &str) -> Value {
    let path = format!(".status.conditions[?(@.type==\"Ready\")].{field}");
    json!({"name": name, "type": "string", "jsonPath": path})
}

fn message() -> Value {
    let mut column = of_ready("Message", "message");
    column["priority"] = 1.into();
    column
}

fn age() -> Value {
    json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
}
