//! How objects of a kind are judged, in the words of Flux' `healthCheckExprs`.

use steersman_expressions::{EvaluationError, Expression, Variables};

/// Expressions that say whether an object of a kind does what it is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The group of the kind, in whatever version; empty for that of Pods.
    pub group: String,
    /// As manifests write it, such as `ZookeeperCluster`.
    pub kind: String,
    /// Holds when it does.
    pub current: Expression,
    /// Holds while it is on the way.
    pub in_progress: Option<Expression>,
    /// Holds when it does not go on by itself.
    pub failed: Option<Expression>,
}

/// What a check makes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// `current` holds, and none of the others.
    Current,
    /// This expression decides that it is on the way: `inProgress` holds, or `current` does not.
    InProgress(&'static str),
    /// `failed` holds, and not `inProgress`.
    Failed,
    /// An expression has no result, so that nothing is known.
    NoResult {
        /// The field that has it, such as `current`.
        field: &'static str,
        /// Why, without a value of the object.
        error: EvaluationError,
    },
}

impl HealthCheck {
    /// Whether objects of this group and kind are judged by it, in whatever version.
    pub fn is_for(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether one of its expressions looks at this variable.
    pub fn names(&self, variable: &str) -> bool {
        self.in_order().any(|(_, expression)| expression.names(variable))
    }

    /// What it makes of an object whose fields are the variables: `inProgress` is asked first, then `failed`, then `current`,
    /// and the first one that holds decides.
    ///
    /// ```
    /// use serde_json::json;
    /// use steersman_expressions::{Expression, Variables};
    /// use steersman_watches::{CheckVerdict, HealthCheck};
    ///
    /// let check = HealthCheck {
    ///     group: "zookeeper.pravega.io".to_owned(),
    ///     kind: "ZookeeperCluster".to_owned(),
    ///     current: Expression::parse("status.readyReplicas == spec.replicas")?,
    ///     in_progress: None,
    ///     failed: Some(Expression::parse("has(status.error)")?),
    /// };
    /// let verdict = |object| check.verdict(&Variables::of_fields(&object));
    /// let object = |status| json!({"spec": {"replicas": 3}, "status": status});
    /// assert_eq!(verdict(object(json!({"readyReplicas": 3}))), CheckVerdict::Current);
    /// assert_eq!(verdict(object(json!({"readyReplicas": 2}))), CheckVerdict::InProgress("current"));
    /// assert_eq!(verdict(object(json!({"error": "no quorum"}))), CheckVerdict::Failed);
    /// // Without a status nothing is known.
    /// let CheckVerdict::NoResult { field, error } = verdict(json!({"spec": {}})) else { panic!() };
    /// assert_eq!((field, error.to_string().as_str()), ("failed", "there is no `status`"));
    /// # Ok::<(), steersman_expressions::ParseError>(())
    /// ```
    pub fn verdict(&self, variables: &Variables<'_>) -> CheckVerdict {
        for (field, expression) in self.in_order() {
            match expression.holds(variables) {
                Ok(true) => {
                    return match field {
                        "inProgress" => CheckVerdict::InProgress(field),
                        "failed" => CheckVerdict::Failed,
                        _ => CheckVerdict::Current,
                    };
                }
                Ok(false) => {}
                Err(error) => return CheckVerdict::NoResult { field, error },
            }
        }
        CheckVerdict::InProgress("current")
    }

    /// The expressions by their fields, as they are asked.
    fn in_order(&self) -> impl Iterator<Item = (&'static str, &Expression)> {
        let all = [
            ("inProgress", self.in_progress.as_ref()),
            ("failed", self.failed.as_ref()),
            ("current", Some(&self.current)),
        ];
        all.into_iter()
            .filter_map(|(field, expression)| Some((field, expression?)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verdict(object: &Value) -> CheckVerdict {
        let parsed = |source| Expression::parse(source).unwrap();
        let check = HealthCheck {
            group: String::new(),
            kind: "Widget".to_owned(),
            current: parsed("current"),
            in_progress: Some(parsed("inProgress")),
            failed: Some(parsed("failed")),
        };
        check.verdict(&Variables::of_fields(object))
    }

    #[test]
    fn the_first_expression_that_holds_decides() {
        let object = |in_progress: bool, failed: bool, current: bool| json!({"inProgress": in_progress, "failed": failed, "current": current});
        for (object, expect) in [
            (object(true, true, true), CheckVerdict::InProgress("inProgress")),
            (object(false, true, true), CheckVerdict::Failed),
            (object(false, false, true), CheckVerdict::Current),
            (object(false, false, false), CheckVerdict::InProgress("current")),
        ] {
            assert_eq!(verdict(&object), expect, "{object}");
        }
    }

    #[test]
    fn what_has_no_result_decides_nothing_behind_it() {
        let missing = |field| CheckVerdict::NoResult {
            field,
            error: EvaluationError::Missing(field.to_owned()),
        };
        assert_eq!(
            verdict(&json!({"failed": true, "current": true})),
            missing("inProgress")
        );
        assert_eq!(
            verdict(&json!({"inProgress": false, "current": true})),
            missing("failed")
        );
        assert_eq!(
            verdict(&json!({"inProgress": true})),
            CheckVerdict::InProgress("inProgress")
        );
        assert_eq!(
            verdict(&json!({"inProgress": "yes"})),
            CheckVerdict::NoResult {
                field: "inProgress",
                error: EvaluationError::NotBool("string"),
            }
        );
    }
}
