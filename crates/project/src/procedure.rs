//! Procedures: what can be done with releases besides releasing them, as far as definitions and permissions depend on it.

use serde_json::{Map, Value, json};

use crate::CustomKind;

/// How long the text of a parameter may be; the operator counts bytes, and refuses what is longer.
const MAX_TEXT: u64 = 4096;
/// How long the name of a resource may be.
const MAX_NAME: u64 = 253;
/// What resources of a definition may be called (RFC 1123): a request for anything else asks for another path.
const NAMES: &str = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";

/// Something that can be done with the releases of an entry; each time there is an object for that, a run.
///
/// ```
/// use serde_json::json;
/// use steersman_project::{CustomKind, Procedure};
///
/// let backup = Procedure {
///     name: "backup".to_owned(),
///     runs: CustomKind::new("example.com", "v1", "WebBackup"),
///     parameters: Vec::new(),
///     makes_jobs: true,
/// };
/// assert_eq!(backup.category(&CustomKind::new("example.com", "v1", "Web")), "webs-backup");
/// assert_eq!(backup.sample("museum")["spec"], json!({"resource": "museum"}));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// By which people ask for it, such as `backup`.
    pub name: String,
    /// The kind of its runs: where resources of the entry's kind are in namespaces, its runs are beside them.
    pub runs: CustomKind,
    /// What a run may say, besides whom it is for.
    pub parameters: Vec<Parameter>,
    /// Whether one of its steps is a Job, whose pods are looked at where it fails.
    pub makes_jobs: bool,
}

/// A field of the spec of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// None of the fields that each run has.
    pub name: String,
    /// `string`, `integer`, `number` or `boolean`, as schemas say it.
    pub type_name: &'static str,
    /// Whether a run can't do without it.
    pub required: bool,
    /// What it is where a run does not say it.
    pub default: Option<Value>,
    /// For people.
    pub description: Option<String>,
    /// The only values that it may have; none where each of its type will do.
    pub allowed: Vec<Value>,
}

impl Procedure {
    /// What `kubectl get` lists the runs of all procedures by.
    pub const CATEGORY: &'static str = "procedures";

    /// What lists its runs alone, and what their kind is found by: the plural of the entry's kind, and its name.
    pub fn category(&self, of: &CustomKind) -> String {
        format!("{}-{}", of.plural, self.name)
    }

    /// A run of it for a resource, that says no more than it has to.
    pub fn sample(&self, resource: &str) -> Value {
        let needed = self.parameters.iter().filter(|parameter| parameter.is_needed());
        self.run(resource, needed)
    }

    /// A run that says all that one may say.
    pub(crate) fn whole_run(&self) -> Value {
        let mut run = self.run("resource", self.parameters.iter());
        run["status"] =
            json!({"phase": "Succeeded", "result": {"any": "thing"}, "record": {"of": "the operator"}});
        run
    }

    fn run<'a>(&self, resource: &str, parameters: impl Iterator<Item = &'a Parameter>) -> Value {
        let mut spec = Map::from_iter([("resource".to_owned(), resource.into())]);
        spec.extend(parameters.map(|parameter| (parameter.name.clone(), parameter.example())));
        json!({
            "apiVersion": self.runs.api_version(),
            "kind": self.runs.kind,
            "metadata": {"name": format!("{}-sample", self.runs.singular())},
            "spec": spec,
        })
    }

    /// The schema of the spec of its runs. A run is for one resource and does not change.
    pub(crate) fn spec(&self, whose: &str) -> Value {
        let resource = json!({
            "description": format!("Name of the resource{whose} that the procedure is carried out for"),
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NAME,
            "pattern": NAMES,
        });
        let mut properties = Map::from_iter([("resource".to_owned(), resource)]);
        let mut required = vec!["resource"];
        for parameter in &self.parameters {
            properties.insert(parameter.name.clone(), parameter.schema());
            if parameter.is_needed() {
                required.push(&parameter.name);
            }
        }
        json!({
            "description": format!("What the procedure {} is carried out for, and how", self.name),
            "type": "object",
            "required": required,
            "properties": properties,
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "a run does not change: make another one"},
            ],
        })
    }
}

impl Parameter {
    /// Whether a run has to say it, as nothing else does.
    fn is_needed(&self) -> bool {
        self.required && self.default.is_none()
    }

    fn example(&self) -> Value {
        let known = self.default.as_ref().or(self.allowed.first());
        known.cloned().unwrap_or_else(|| match self.type_name {
            "integer" | "number" => 0.into(),
            "boolean" => false.into(),
            _ => self.name.as_str().into(),
        })
    }

    fn schema(&self) -> Value {
        let mut schema = json!({"type": self.type_name});
        if self.type_name == "string" {
            schema["maxLength"] = MAX_TEXT.into();
        }
        if let Some(description) = &self.description {
            schema["description"] = description.as_str().into();
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        if !self.allowed.is_empty() {
            schema["enum"] = self.allowed.clone().into();
        }
        schema
    }
}
