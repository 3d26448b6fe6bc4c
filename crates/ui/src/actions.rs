//! What can be done with a release, and what that changes. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use steersman_operator::release::Stored;
use steersman_watches::Watch;
use steersman_watches::procedure::names::{CONFIRM, PROCEDURE_LABEL, TRIGGER};
use steersman_watches::procedure::{Parameter, ParameterType, Procedure};

/// So long a list in an annotation is read.
const LONGEST_LIST: usize = steersman_watches::controls::LONGEST_LIST;

/// Something that is done with a release when somebody says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Reconcile,
    Pause,
    Resume,
    Approve,
    Skip,
    Retry,
    Run,
    RollBack,
}

/// What an action is about, as its address and its form have it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct Subject {
    /// `REVISION/STAGE`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stage: String,
    /// The name of a procedure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) procedure: String,
    /// The number of a revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
}

impl Action {
    const ALL: [Self; 8] = [
        Self::Reconcile,
        Self::Pause,
        Self::Resume,
        Self::Approve,
        Self::Skip,
        Self::Retry,
        Self::Run,
        Self::RollBack,
    ];

    /// Its name in addresses.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::Skip => "skip",
            Self::Retry => "retry",
            Self::Run => "run",
            Self::RollBack => "roll-back",
        }
    }

    pub(crate) fn parse(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.slug() == slug)
    }

    /// What its button says.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Reconcile => "Reconcile now",
            Self::Pause => "Pause",
            Self::Resume => "Resume",
            Self::Approve => "Approve",
            Self::Skip => "Skip",
            Self::Retry => "Retry",
            Self::Run => "Run",
            Self::RollBack => "Roll back",
        }
    }

    /// What it does, for who is to confirm it.
    pub(crate) fn effect(&self, subject: &Subject) -> String {
        let Subject {
            stage,
            procedure,
            revision,
        } = subject;
        match self {
            Self::Reconcile => "The operator looks at everything again, now, and does what is below.".to_owned(),
            Self::Pause => "The operator leaves the release alone: no upgrade, no correction of drift, no deletion, until it is \
                            resumed."
                .to_owned(),
            Self::Resume => "The operator is on it again, and does what is below.".to_owned(),
            Self::Approve => format!("Stage {stage} may begin."),
            Self::Skip => format!("What comes after stage {stage} goes on although that is not ready."),
            Self::Retry => format!("The objects of stage {stage} are applied once more, with all their time again."),
            Self::Run => format!("A run of procedure {procedure} is made."),
            Self::RollBack => {
                let revision = revision.unwrap_or_default();
                format!("The spec becomes what revision {revision} was made of, as below, and the operator makes another revision of it.")
            }
        }
    }

    /// Whether its annotation is a list that others write to, too.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self, Self::Approve | Self::Skip)
    }

    /// Whether it is for a stage in this state of the status.
    pub(crate) fn is_for_stage(&self, state: &str) -> bool {
        match self {
            Self::Approve => matches!(state, "Pending" | "ApprovalRequired"),
            Self::Skip | Self::Retry => matches!(state, "Progressing" | "Failed"),
            _ => false,
        }
    }

    /// Whether what the operator would do is part of what is confirmed.
    pub(crate) fn has_plan(&self) -> bool {
        matches!(self, Self::Reconcile | Self::Resume)
    }

    /// The annotation that it sets, and to what; `None` for what is done in another way.
    ///
    /// # Errors
    /// It can't be done; why, for people.
    pub(crate) fn annotation(
        &self,
        subject: &Subject,
        annotations: &dyn Fn(&str) -> String,
        now: &str,
    ) -> Result<Option<(&'static str, Value)>, String> {
        let (name, value) = match self {
            Self::Reconcile => ("steersman.dev/reconcile-at", Value::from(now)),
            Self::Pause => ("steersman.dev/pause", Value::from("true")),
            Self::Resume => ("steersman.dev/pause", Value::Null),
            Self::Approve => listed("steersman.dev/approve-stage", subject, annotations)?,
            Self::Skip => listed("steersman.dev/skip-stage", subject, annotations)?,
            Self::Retry => {
                let value = format!("{}/{now}", stage_of(subject)?);
                ("steersman.dev/retry-stage", Value::from(value))
            }
            Self::Run | Self::RollBack => return Ok(None),
        };
        Ok(Some((name, value)))
    }
}

fn stage_of(subject: &Subject) -> Result<&str, String> {
    let is_stage = subject.stage.split_once('/').is_some_and(|(revision, name)| {
        revision.parse::<u32>().is_ok() && !name.is_empty() && !name.contains([',', '/'])
    });
    is_stage
        .then_some(subject.stage.as_str())
        .ok_or_else(|| "there is no such stage".to_owned())
}

/// A stage beside those that were named before, but for those of earlier revisions.
fn listed(
    name: &'static str,
    subject: &Subject,
    annotations: &dyn Fn(&str) -> String,
) -> Result<(&'static str, Value), String> {
    let stage = stage_of(subject)?;
    let before = annotations(name);
    let revision = |stage: &str| {
        stage
            .split('/')
            .next()
            .and_then(|number| number.parse::<u32>().ok())
    };
    let is_kept = |other: &&str| *other != stage && revision(other) >= revision(stage);
    let mut stages: Vec<&str> = before.split(',').map(str::trim).filter(is_kept).collect();
    stages.push(stage);
    let list = stages.join(",");
    if list.len() > LONGEST_LIST {
        return Err(format!(
            "annotation {name} would be longer than {LONGEST_LIST} bytes, which are not read"
        ));
    }
    Ok((name, list.into()))
}

/// A run of a procedure as it is made: its name follows from `random`. Whoever confirms that it is made has confirmed the run.
pub(crate) fn run_object(
    procedure: &Procedure,
    (api_version, owner): (&str, &Value),
    parameters: &Map<String, Value>,
    random: &str,
) -> Value {
    let resource = &owner["name"];
    let base: String = resource.as_str().unwrap_or_default().chars().take(200).collect();
    let mut annotations = json!({ (TRIGGER): "command" });
    if procedure.confirm {
        annotations[CONFIRM] = "true".into();
    }
    let mut spec = parameters.clone();
    spec.insert("resource".to_owned(), resource.clone());
    json!({
        "apiVersion": api_version,
        "kind": procedure.run_kind,
        "metadata": {
            "name": format!("{base}-{}-{random}", procedure.name),
            "labels": { (PROCEDURE_LABEL): procedure.name },
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": spec,
    })
}

/// The parameters of a run as a form has them: `p.NAME`, where nothing is what was not filled in.
///
/// # Errors
/// One can't be read, or may not be that.
pub(crate) fn parameters_of(
    procedure: &Procedure,
    form: &[(String, String)],
) -> Result<Map<String, Value>, String> {
    let mut given = Map::new();
    for parameter in &procedure.parameters {
        let field = format!("p.{}", parameter.name);
        let text = form
            .iter()
            .find(|(name, _)| *name == field)
            .map(|(_, text)| text.as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            continue;
        };
        let value = match parameter.r#type {
            ParameterType::String => Some(Value::from(text)),
            _ => serde_json::from_str::<Value>(text).ok(),
        };
        let value = value
            .filter(|value| parameter.r#type.admits(value))
            .ok_or_else(|| {
                format!(
                    "parameter `{}` is not {}",
                    parameter.name,
                    parameter.r#type.in_words()
                )
            })?;
        given.insert(parameter.name.clone(), value);
    }
    Parameter::read(&procedure.parameters, &given).map_err(|error| error.to_string())?;
    Ok(given)
}

/// The spec that a revision was made of, as far as that is known: its values without what the entry, and steps of procedures, have
/// put there. `spec` is what the resource says now, which stays there.
pub(crate) fn spec_of(stored: &Stored, watch: &Watch, spec: &Map<String, Value>) -> Map<String, Value> {
    let mut wanted = stored.record.config.clone().unwrap_or_default();
    let overlay = stored.snapshot.overlay.values();
    let then = stored.snapshot.overridden.as_ref();
    for above in then.into_iter().chain([&watch.values.above(), overlay]) {
        put_back(&mut wanted, above, Some(spec));
    }
    drop_same(&mut wanted, &watch.values.below(), spec);
    wanted
}

/// Has `values` say of each path of `over` what `spec` says.
fn put_back(values: &mut Map<String, Value>, over: &Map<String, Value>, spec: Option<&Map<String, Value>>) {
    for (key, above) in over {
        let said = spec.and_then(|spec| spec.get(key));
        match (above, values.get_mut(key)) {
            (Value::Object(above), Some(Value::Object(inner))) if !above.is_empty() => {
                put_back(inner, above, said.and_then(Value::as_object));
                if inner.is_empty() {
                    values.remove(key);
                }
            }
            _ => match said {
                Some(said) => _ = values.insert(key.clone(), said.clone()),
                None => _ = values.remove(key),
            },
        }
    }
}

/// Takes out what files of the entry say, and the resource does not.
fn drop_same(values: &mut Map<String, Value>, below: &Map<String, Value>, spec: &Map<String, Value>) {
    for (key, file) in below {
        match (file, values.get_mut(key), spec.get(key)) {
            (Value::Object(file), Some(Value::Object(inner)), said) => {
                let empty = Map::new();
                drop_same(inner, file, said.and_then(Value::as_object).unwrap_or(&empty));
                if inner.is_empty() && said.is_none() {
                    values.remove(key);
                }
            }
            (file, Some(value), None) if value == file => _ = values.remove(key),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn stages_are_named_beside_others_of_their_revision() {
        let of = |stage: &str| Subject {
            stage: stage.to_owned(),
            ..Subject::default()
        };
        let before = |_: &str| "6/old, 7/first,7/second".to_owned();
        let set = Action::Approve
            .annotation(&of("7/second"), &before, "now")
            .unwrap();
        assert_eq!(
            set,
            Some(("steersman.dev/approve-stage", json!("7/first,7/second")))
        );
        let set = Action::Approve
            .annotation(&of("6/other"), &before, "now")
            .unwrap();
        let all = "6/old,7/first,7/second,6/other";
        assert_eq!(set, Some(("steersman.dev/approve-stage", json!(all))));
        let set = Action::Retry.annotation(&of("7/a"), &before, "now").unwrap();
        assert_eq!(set, Some(("steersman.dev/retry-stage", json!("7/a/now"))));
        for wrong in ["", "a/b", "7", "7/", "7/a,8/b", "7/a/b"] {
            assert!(
                Action::Skip.annotation(&of(wrong), &before, "now").is_err(),
                "{wrong}"
            );
        }
        let set = Action::Resume
            .annotation(&Subject::default(), &before, "now")
            .unwrap();
        assert_eq!(set, Some(("steersman.dev/pause", Value::Null)));
    }

    #[test]
    fn what_others_have_put_over_a_spec_is_no_part_of_it() {
        let mut wanted = map(
            json!({"size": 1, "image": {"tag": "2", "pull": "Never"}, "mode": "down", "file": 1, "both": 2}),
        );
        let spec = map(json!({"size": 3, "mode": "normal", "both": 2}));
        put_back(
            &mut wanted,
            &map(json!({"image": {"pull": "Never"}, "mode": "down"})),
            Some(&spec),
        );
        drop_same(&mut wanted, &map(json!({"file": 1, "both": 2})), &spec);
        assert_eq!(
            Value::Object(wanted),
            json!({"size": 1, "image": {"tag": "2"}, "mode": "normal", "both": 2})
        );
    }
}
