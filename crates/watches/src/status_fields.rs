//! Fields that an entry adds to the status of its resources, and what of them is shown and scaled.

use serde_json::Value;
use steersman_expressions::EvaluationError;

use crate::procedure::ParameterType;
use crate::release_view::{ReadsOfKinds, ReleaseExpression, ReleaseView};

/// Fields of a status that are the operator's own, or are kept for it.
///
/// ```
/// assert!(steersman_watches::RESERVED_STATUS.contains(&"conditions"));
/// ```
pub const RESERVED_STATUS: &[&str] = &[
    "chart",
    "conditions",
    "deployedRelease",
    "drift",
    "dryRun",
    "health",
    "history",
    "inventory",
    "lastDeployed",
    "lastHandledReconcileAt",
    "lastHandledTest",
    "observedGeneration",
    "overlay",
    "procedures",
    "release",
    "revision",
    "stages",
    "steersman",
];

/// What an entry adds to the status of its resources.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::procedure::ParameterType;
/// use steersman_watches::{ReleaseExpression, ReleaseFacts, ReleaseView, StatusField, StatusFields};
///
/// let size = StatusField {
///     name: "size".to_owned(),
///     r#type: ParameterType::Integer,
///     value: ReleaseExpression::parse("resource.spec.size")?,
///     description: None,
/// };
/// let fields = StatusFields { fields: vec![size], columns: Vec::new() };
/// let release = ReleaseFacts { name: "a", namespace: "b", revision: None };
/// let told = |spec| fields.project(&ReleaseView::new(json!({"spec": spec}), release)).remove(0).1;
/// assert_eq!(told(json!({"size": 3})), Ok(Some(json!(3))));
/// // What is not there is no field, and what is of another type is an error.
/// assert_eq!(told(json!({})), Ok(None));
/// assert_eq!(told(json!({"size": "x"})).unwrap_err().to_string(), "it gives string, not integer");
/// # Ok::<(), steersman_watches::ReleaseExpressionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusFields {
    /// In the order of the file.
    pub fields: Vec<StatusField>,
    /// Those that `kubectl get` shows, in the order of the file.
    pub columns: Vec<StatusColumn>,
}

/// One of them: a name that has a value of some type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusField {
    /// Its name in the status, which is none of the operator's own.
    pub name: String,
    /// A value of another one is left out.
    pub r#type: ParameterType,
    /// Says it of each release.
    pub value: ReleaseExpression,
    /// For people.
    pub description: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusColumn {
    /// Its head.
    pub name: String,
    /// Which of the fields it shows.
    pub field: String,
    /// Above 0 it is shown with `-o wide` alone.
    pub priority: i32,
}

/// What `kubectl scale` changes and sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The path below the spec, without a dot at the start.
    pub spec: String,
    /// The field of the status with the number that there is.
    pub status: String,
    /// The field of the status with a selector of the pods.
    pub selector: Option<String>,
}

/// Why a field of the status is left out. It has no value in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The expression has no result.
    #[error(transparent)]
    NoResult(EvaluationError),
    /// The result is something else than the field is declared to be.
    #[error("it gives {found}, not {expected}")]
    Type {
        /// In the words of JSON.
        found: &'static str,
        /// As the field is declared.
        expected: &'static str,
    },
}

impl StatusFields {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// What they look at in objects, by their kinds.
    pub fn note_reads(&self, reads: &mut ReadsOfKinds) {
        for field in &self.fields {
            field.value.note_reads(reads);
        }
    }

    /// What each field has; nothing where it looks at what is not there.
    pub fn project(&self, view: &ReleaseView) -> Vec<(&StatusField, Result<Option<Value>, FieldError>)> {
        let fields = self.fields.iter();
        fields.map(|field| (field, field.project(view))).collect()
    }
}

impl StatusField {
    fn project(&self, view: &ReleaseView) -> Result<Option<Value>, FieldError> {
        match self.value.value(view) {
            Ok(Value::Null) => Ok(None),
            Ok(value) => typed(value, self.r#type).map(Some),
            Err(error) if error.is_absence() => Ok(None),
            Err(error) => Err(FieldError::NoResult(error)),
        }
    }
}

/// The value as one of this type. A number without a fraction is whole, however it was reckoned.
fn typed(value: Value, expected: ParameterType) -> Result<Value, FieldError> {
    let is_right = match expected {
        ParameterType::String => value.is_string(),
        ParameterType::Integer => value.is_i64(),
        ParameterType::Number => value.is_number(),
        ParameterType::Boolean => value.is_boolean(),
    };
    if is_right {
        return Ok(value);
    }
    let whole = value
        .as_f64()
        .filter(|number| number.fract() == 0.0 && number.abs() < 2_f64.powi(53));
    if let (ParameterType::Integer, Some(whole)) = (expected, whole) {
        return Ok(Value::from(whole as i64));
    }
    Err(FieldError::Type {
        found: match value {
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "list",
            Value::Object(_) => "map",
            Value::Null => "nothing",
        },
        expected: expected.as_str(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::release_view::ReleaseFacts;

    fn check(expected: ParameterType, source: &str, expect: &str) {
        let field = StatusField {
            name: "a".to_owned(),
            r#type: expected,
            value: ReleaseExpression::parse(source).unwrap(),
            description: None,
        };
        let release = ReleaseFacts {
            name: "shop",
            namespace: "red",
            revision: None,
        };
        let view = ReleaseView::new(
            json!({"spec": {"n": 2, "half": 0.5, "two": 2.0, "null": null}}),
            release,
        );
        let told = match field.project(&view) {
            Ok(value) => value.map_or("-".to_owned(), |value| value.to_string()),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expect, "{source}");
    }

    #[test]
    fn a_field_is_of_its_type_or_left_out() {
        use ParameterType::{Boolean, Integer, Number, String};
        check(String, "release.name + '.' + release.namespace", "\"shop.red\"");
        check(String, "resource.spec.n", "it gives number, not string");
        check(String, "string(resource.spec.n)", "\"2\"");
        check(Integer, "resource.spec.n", "2");
        check(Integer, "resource.spec.two", "2");
        check(Integer, "resource.spec.half", "it gives number, not integer");
        check(Integer, "release.name", "it gives string, not integer");
        check(Number, "resource.spec.half", "0.5");
        check(Boolean, "resource.spec.n == 2", "true");
        check(Boolean, "resource.spec", "it gives map, not boolean");
        check(Boolean, "[1]", "it gives list, not boolean");
    }

    #[test]
    fn what_is_not_there_is_no_field_and_what_is_wrong_is_told() {
        use ParameterType::Integer;
        check(Integer, "resource.spec.missing", "-");
        check(Integer, "resource.spec['null']", "-");
        check(Integer, "[1][3]", "-");
        check(Integer, "object('v1', 'Pod', 'a').status.n", "-");
        check(Integer, "optionalObject('v1', 'Pod', 'a').?status.?n", "-");
        check(
            Integer,
            "optionalObject('v1', 'Pod', 'a').?status.?n.orValue(0)",
            "0",
        );
        check(Integer, "resource.spec.n / 0", "a number is divided by zero");
        check(
            Integer,
            "resource.spec.n + 'a'",
            "`+` can't be done with int and string",
        );
    }
}
