//! A run as its object says it.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};
use steersman_model::is_part_of_a_path;
use steersman_watches::procedure::names::{BEGUN, CANCEL, CONFIRM, RUN_FINALIZER, SCHEDULED_AT};
use steersman_watches::procedure::{Change, Parameter, ParameterError, Procedure};

use super::report::Phase;
use super::state::Claim;
use crate::coordination::{Holder, Key};

/// So long an ID of a request may be.
pub(super) const LONGEST_REQUEST: usize = 256;

/// So long a name may be (RFC 1123).
const LONGEST_NAME: usize = 253;

/// An object of the kind of a procedure's runs.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) object: DynamicObject,
    pub(super) uid: String,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// The name of the resource that it is for.
    pub(super) resource: String,
}

impl Run {
    /// `None` where the server has left something out that each object has.
    pub(super) fn new(object: DynamicObject) -> Option<Self> {
        let metadata = &object.metadata;
        let resource = object.data.pointer("/spec/resource").and_then(Value::as_str);
        Some(Self {
            uid: metadata.uid.clone()?,
            name: metadata.name.clone()?,
            namespace: metadata.namespace.clone(),
            resource: resource.unwrap_or_default().to_owned(),
            object,
        })
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.object.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }

    fn says(&self, annotation: &str) -> bool {
        self.annotation(annotation) == Some("true")
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.says(CONFIRM)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.says(CANCEL) || self.is_deleting()
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn has_finalizer(&self) -> bool {
        let mut held = self.object.metadata.finalizers.iter().flatten();
        held.any(|name| name == RUN_FINALIZER)
    }

    /// Whether it says that it was begun; anybody may have it say so.
    pub(super) fn has_mark(&self) -> bool {
        self.annotation(BEGUN).is_some()
    }

    /// What it says of itself. `is_begun` is whether it has the mark of one that was begun. That has the finalizer until its end.
    pub(super) fn claim(&self, is_begun: bool) -> Claim {
        let phase = self.object.data.pointer("/status/phase").and_then(Value::as_str);
        let has_ended = phase.and_then(Phase::parse).is_some_and(Phase::is_end);
        match (is_begun, self.has_finalizer(), has_ended) {
            (true, true, _) => Claim::Begun,
            (true, false, false) => Claim::Over,
            (_, _, true) => Claim::Ended,
            (false, _, false) => Claim::New,
        }
    }

    /// Whether all that it says is for which resource it is, but for defaults, which the API server puts there.
    pub(super) fn is_plain(&self, procedure: &Procedure) -> bool {
        let default = |name: &str| {
            let mut all = procedure.parameters.iter();
            all.find(|parameter| parameter.name == name)?.default.as_ref()
        };
        let spec = self.object.data.get("spec").and_then(Value::as_object);
        spec.is_some_and(|spec| {
            let mut all = spec.iter();
            all.all(|(key, value)| key == "resource" || default(key) == Some(value))
        })
    }

    /// Whether there may be a resource of that name: a request for any other one asks for another path.
    pub(super) fn names_a_resource(&self) -> bool {
        let name = &self.resource;
        !name.is_empty() && name.len() <= LONGEST_NAME && is_part_of_a_path(name)
    }

    /// By which its resource is known.
    pub(super) fn key(&self) -> Key {
        (self.namespace.clone(), self.resource.clone())
    }

    /// As others are told of it that wait for it.
    pub(super) fn holder(&self, procedure: &Procedure, resource: Option<&str>) -> Holder {
        Holder {
            resource: resource.map(str::to_owned),
            run: format!("{} {}", procedure.run_kind, self.name),
            named: (procedure.name.clone(), self.name.clone()),
            is_exclusive: procedure.exclusive,
        }
    }

    /// When the server has made it.
    pub(super) fn created(&self) -> Timestamp {
        let created = self.object.metadata.creation_timestamp.as_ref();
        created.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
    }

    pub(super) fn generation(&self) -> Option<i64> {
        self.object.metadata.generation
    }

    pub(super) fn status(&self) -> Value {
        self.object.data.get("status").cloned().unwrap_or_default()
    }

    /// For which time it was made, where a schedule has made it.
    pub(super) fn scheduled_at(&self) -> Option<Timestamp> {
        self.annotation(SCHEDULED_AT)?.parse().ok()
    }

    /// What it says of what is to be done.
    ///
    /// # Errors
    /// A parameter can't be taken.
    pub(super) fn parameters(&self, procedure: &Procedure) -> Result<Map<String, Value>, ParameterError> {
        let spec = self.object.data.get("spec").and_then(Value::as_object);
        let mut given = spec.cloned().unwrap_or_default();
        given.remove("resource");
        Parameter::read(&procedure.parameters, &given)
    }

    /// `.Procedure` of its templates, at this try of a step.
    pub(super) fn seen_by_templates(
        &self,
        procedure: &Procedure,
        (parameters, change): (&Map<String, Value>, Option<&Change>),
        (step, attempt): (&str, u32),
    ) -> Value {
        let mut seen = json!({
            "name": procedure.name,
            "id": self.uid,
            "run": self.name,
            "parameters": parameters,
            "step": step,
            "attempt": attempt,
        });
        if let (Some(Change { from, to }), Value::Object(seen)) = (change, &mut seen) {
            seen.insert("from".to_owned(), from.clone());
            seen.insert("to".to_owned(), to.clone());
        }
        seen
    }
}
