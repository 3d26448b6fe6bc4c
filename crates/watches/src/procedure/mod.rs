//! Procedures: what can be done with a release besides releasing it, such as a backup, a restore, a resize.
//!
//! A procedure is declared beside its chart. Each time that it is carried out there is an object for that, a run, of a kind of the
//! project's own: so who may back up is said by ordinary permissions, and so is who may restore.

mod declared;
pub mod names;
mod overlay;
mod parameter;
mod schedule;
#[cfg(test)]
mod tests;
mod trigger;

use serde_json::{Map, Value as Json};
use steersman_chart::Values;

pub use declared::{Concurrency, Cron, JobStep, Procedure, RunHistory, ScheduleSource, Step, Work};
pub use overlay::Overlay;
pub use parameter::{Parameter, ParameterError, ParameterType};
pub use schedule::{Schedule, ScheduleError, delay};
pub use trigger::{Before, Change, Trigger, value_at};

use crate::text_template::{Subject, TextError, TextTemplate};

/// Values that a step gives a release: a map whose texts may be templates.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::Subject;
/// use steersman_watches::procedure::StepValues;
///
/// let step = json!({"maintenance": true, "members": "{{ .Procedure.to }}", "note": "grown"});
/// let step = StepValues::parse(step.as_object().unwrap())?;
/// let subject = Subject::new(&json!({}), &Default::default()).with("Procedure", &json!({"to": 3}));
/// let values = step.of(&subject)?;
/// assert_eq!(json!(values), json!({"maintenance": true, "members": 3, "note": "grown"}));
/// # Ok::<(), steersman_watches::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepValues(Vec<(String, StepValue)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum StepValue {
    Fixed(Json),
    Text(TextTemplate),
    Map(StepValues),
}

impl StepValues {
    /// Reads the values of a step.
    ///
    /// # Errors
    /// A text in it is no template, though it looks like one.
    pub fn parse(values: &Map<String, Json>) -> Result<Self, TextError> {
        let parse = |(key, value): (&String, &Json)| Ok((key.clone(), StepValue::parse(value)?));
        values.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// The path of each value, such as `["backup", "enabled"]`.
    pub fn paths(&self) -> Vec<Vec<String>> {
        let paths = self.0.iter().flat_map(|(key, value)| {
            let below = match value {
                StepValue::Map(values) if !values.0.is_empty() => values.paths(),
                _ => vec![Vec::new()],
            };
            let with_key = |path: Vec<String>| std::iter::once(key.clone()).chain(path).collect();
            below.into_iter().map(with_key).collect::<Vec<_>>()
        });
        paths.collect()
    }

    /// The values for a resource and a run, which is `.Procedure`. What comes of a template is a whole number, `true` or `false`
    /// where it is written like one, and a text else: who writes a parameter writes neither a list nor a map with it.
    ///
    /// # Errors
    /// A template fails.
    pub fn of(&self, subject: &Subject) -> Result<Values, TextError> {
        let made = |(key, value): &(String, StepValue)| Ok((key.clone(), value.of(subject)?));
        self.0.iter().map(made).collect()
    }
}

impl StepValue {
    fn parse(value: &Json) -> Result<Self, TextError> {
        Ok(match value {
            Json::String(text) if text.contains("{{") => Self::Text(TextTemplate::parse(text)?),
            Json::Object(values) => Self::Map(StepValues::parse(values)?),
            value => Self::Fixed(value.clone()),
        })
    }

    fn of(&self, subject: &Subject) -> Result<Json, TextError> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Map(values) => values.of(subject).map(Json::Object),
            Self::Text(template) => template.of(subject).map(scalar),
        }
    }
}

fn scalar(text: String) -> Json {
    match (text.parse::<i64>(), text.parse::<bool>()) {
        // `+3` and `007` are read as numbers, and are texts.
        (Ok(number), _) if number.to_string() == text => number.into(),
        (_, Ok(value)) => value.into(),
        _ => text.into(),
    }
}
