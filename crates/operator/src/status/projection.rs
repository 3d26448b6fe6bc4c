//! Fields that the status of a resource has beside what is reported, such as those that its watch adds.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{Condition, ConditionChange, ConditionType, Reason, merge, text};
use super::next_status::remove;
use super::report_conditions::limited;

/// What these fields have.
///
/// ```
/// use jiff::Timestamp;
/// use serde_json::json;
/// use steersman_operator::status::Projection;
///
/// let projection = Projection {
///     fields: vec![("members".to_owned(), Some(3.into())), ("endpoint".to_owned(), None)],
///     untold: vec!["`endpoint`: it gives int, not string".to_owned()],
/// };
/// let mut status = json!({"endpoint": "db:1", "revision": 1});
/// projection.put_into(&mut status, Timestamp::UNIX_EPOCH);
/// // What is gone is null: that takes it away from what is there.
/// assert_eq!((&status["members"], &status["endpoint"], &status["revision"]), (&json!(3), &json!(null), &json!(1)));
/// assert_eq!(status["conditions"][0]["type"], "FieldsIncomplete");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// By their names; `None` where there is nothing to say.
    pub fields: Vec<(String, Option<Value>)>,
    /// Which can't be told, and why, for people; secrets masked.
    pub untold: Vec<String>,
}

impl Projection {
    /// Has a status say this. A condition says what can't be told, as long as there is something of that.
    pub fn put_into(&self, status: &mut Value, now: Timestamp) {
        if !status.is_object() {
            *status = Value::Object(serde_json::Map::new());
        }
        let Some(fields) = status.as_object_mut() else {
            return;
        };
        for (name, value) in &self.fields {
            match value {
                Some(value) => _ = fields.insert(name.clone(), value.clone()),
                None => _ = remove(fields, name),
            }
        }
        let conditions = fields.get("conditions").and_then(Value::as_array);
        let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
        let kind = ConditionType::FieldsIncomplete;
        let next: Vec<Value> = if self.untold.is_empty() {
            let others = conditions
                .iter()
                .filter(|condition| text(condition, "type") != kind.as_str());
            others.cloned().collect()
        } else {
            let message = limited(&self.untold.join("; "));
            let said = Condition::holds(kind, Reason::NoResult, message);
            let changes = ConditionType::ALL.map(|other| {
                if other == kind {
                    ConditionChange::Set(said.clone())
                } else {
                    ConditionChange::Keep(other)
                }
            });
            merge(conditions, &changes, None, now)
        };
        if next != conditions {
            fields.insert("conditions".to_owned(), next.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_not_be_told_is_said_as_long_as_that_is_so() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        let mut status = json!({"conditions": [ready]});
        let told = Projection::default();
        told.put_into(&mut status, at(0));
        assert_eq!(
            status,
            json!({"conditions": [ready]}),
            "nothing changes where nothing is to be said"
        );
        let untold = |why: &str| Projection {
            fields: Vec::new(),
            untold: vec![why.to_owned()],
        };
        untold("one").put_into(&mut status, at(0));
        untold("two").put_into(&mut status, at(60));
        let incomplete = json!({"type": "FieldsIncomplete", "status": "True", "reason": "NoResult", "message": "two",
            "lastTransitionTime": "1970-01-01T00:00:00Z"});
        assert_eq!(status["conditions"], json!([ready, incomplete]));
        told.put_into(&mut status, at(90));
        assert_eq!(status, json!({"conditions": [ready]}));
    }

    #[test]
    fn a_field_that_was_never_there_is_not_taken_away() {
        let mut status = json!({"a": 1});
        let projection = Projection {
            fields: vec![("a".to_owned(), None), ("b".to_owned(), None)],
            untold: Vec::new(),
        };
        projection.put_into(&mut status, Timestamp::UNIX_EPOCH);
        assert_eq!(status, json!({"a": null}));
    }
}
