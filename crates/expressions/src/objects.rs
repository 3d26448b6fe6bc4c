//! Live objects that an expression looks up: `object(apiVersion, kind, name)`.
//!
//! Which kinds that can be is known when an expression is read, and so is what of their objects it looks at: who keeps objects
//! keeps no more than that ([`Reads`]).

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::{Map, Value};

use crate::error::EvaluationError;
use crate::node::{Literal, Node};

/// Where an expression finds objects.
pub trait Objects: Debug {
    /// The object that is meant; `None` where there is none.
    ///
    /// # Errors
    /// It is there, and can't be looked at.
    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<&Value>, EvaluationError>;
}

/// An object that an expression looks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Such as `apps/v1`.
    pub api_version: &'a str,
    /// Such as `StatefulSet`.
    pub kind: &'a str,
    /// `None` where the expression names none.
    pub namespace: Option<&'a str>,
    /// As the expression has made it.
    pub name: &'a str,
}

/// What an expression looks at in objects of a kind, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// As the expression has it.
    pub api_version: String,
    /// As the expression has it.
    pub kind: String,
    /// The fields that lead there; none where that is all of the object.
    pub path: Vec<String>,
}

/// What is looked at in an object.
///
/// ```
/// use serde_json::json;
/// use steersman_expressions::{Expression, Reads};
///
/// let expression = Expression::parse_with_objects("object('v1', 'Service', 'web').spec.ports[0].port")?;
/// let mut reads = Reads::default();
/// for looked in expression.looked_up() {
///     reads.add(&looked.path);
/// }
/// let service = json!({"spec": {"ports": [{"port": 80}], "type": "ClusterIP"}, "status": {}});
/// assert_eq!(reads.of(&service), json!({"spec": {"ports": [{"port": 80}]}}));
/// # Ok::<(), steersman_expressions::ParseError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    is_whole: bool,
    fields: BTreeMap<String, Reads>,
}

impl Reads {
    /// What lies at this path is looked at, too.
    pub fn add(&mut self, path: &[String]) {
        match path.split_first() {
            None => self.is_whole = true,
            Some((field, rest)) => self.fields.entry(field.clone()).or_default().add(rest),
        }
    }

    /// Whether anything in the field of this name at the top is looked at.
    pub fn has(&self, field: &str) -> bool {
        self.is_whole || self.fields.contains_key(field)
    }

    /// What of an object is looked at. An expression gives the same of that as of the object.
    pub fn of(&self, value: &Value) -> Value {
        let Value::Object(fields) = value else {
            return value.clone();
        };
        if self.is_whole {
            return value.clone();
        }
        let kept = self.fields.iter().filter_map(|(name, reads)| {
            let value = fields.get(name)?;
            Some((name.clone(), reads.of(value)))
        });
        Value::Object(kept.collect::<Map<_, _>>())
    }
}

impl Node {
    /// Adds what is looked at in objects. `path` leads from this node to what is looked at of it, its last field first.
    pub(crate) fn note_looked_up(&self, path: &mut Vec<String>, looked: &mut Vec<Looked>) {
        match self {
            Self::Select(of, field) | Self::Has(of, field) | Self::OptionalSelect(of, field) => {
                of.note_deeper(field, path, looked);
            }
            Self::Index(both) | Self::OptionalIndex(both) => {
                let [of, index] = both.as_ref();
                index.note_looked_up(&mut Vec::new(), looked);
                match index {
                    Self::Literal(Literal::Text(field)) => of.note_deeper(field, path, looked),
                    // A place of a list: all of that.
                    _ => of.note_looked_up(&mut Vec::new(), looked),
                }
            }
            Self::Object(call) => {
                looked.push(Looked {
                    api_version: call.api_version.clone(),
                    kind: call.kind.clone(),
                    path: path.iter().rev().cloned().collect(),
                });
                for part in std::iter::once(&call.name).chain(&call.namespace) {
                    part.note_looked_up(&mut Vec::new(), looked);
                }
            }
            other => other.for_each_part(&mut |part| part.note_looked_up(&mut Vec::new(), looked)),
        }
    }

    fn note_deeper(&self, field: &str, path: &mut Vec<String>, looked: &mut Vec<Looked>) {
        path.push(field.to_owned());
        self.note_looked_up(path, looked);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Expression, Reads};

    fn paths(source: &str) -> Vec<String> {
        let expression = Expression::parse_with_objects(source).unwrap();
        let looked = expression.looked_up();
        looked
            .map(|looked| format!("{}:{}", looked.kind, looked.path.join(".")))
            .collect()
    }

    #[test]
    fn what_is_looked_at_is_known_before() {
        for (source, expect) in [
            (
                "object('apps/v1', 'StatefulSet', 'db').status.readyReplicas",
                "StatefulSet:status.readyReplicas",
            ),
            (
                "object('v1', 'Service', 'a').?status.?loadBalancer.ingress[0].ip",
                "Service:status.loadBalancer.ingress",
            ),
            ("object('v1', 'ConfigMap', 'a').data['a.b']", "ConfigMap:data.a.b"),
            (
                "has(object('v1', 'Pod', 'a').status.podIP) ? 1 : 2",
                "Pod:status.podIP",
            ),
            (
                "object('v1', 'Pod', 'a').status.conditions.exists(c, c.type == 'Ready')",
                "Pod:status.conditions",
            ),
            ("optionalObject('v1', 'Pod', 'a').hasValue()", "Pod:"),
            (
                "optionalObject('v1', 'Pod', 'a').?status.?phase.orValue('')",
                "Pod:status.phase",
            ),
            (
                "optionalObject('v1', 'Pod', 'a').optMap(p, p.status.phase)",
                "Pod:",
            ),
            (
                "['a', 'b'].map(n, object('v1', 'Pod', n).status.podIP)",
                "Pod:status.podIP",
            ),
            (
                "object('v1', 'Pod', object('v1', 'ConfigMap', 'a').data.pod).metadata.name",
                "Pod:metadata.name ConfigMap:data.pod",
            ),
            ("{'a': [object('v1', 'Pod', 'a').kind]}.a.size()", "Pod:kind"),
        ] {
            assert_eq!(paths(source).join(" "), expect, "{source}");
        }
    }

    #[test]
    fn what_is_kept_has_what_is_looked_at() {
        let mut reads = Reads::default();
        for path in [
            vec!["status", "ready"],
            vec!["metadata", "labels"],
            vec!["status", "list", "x"],
        ] {
            reads.add(&path.iter().map(|&field| field.to_owned()).collect::<Vec<_>>());
        }
        assert!(reads.has("status") && !reads.has("spec"));
        let object = json!({"metadata": {"labels": {"a": "b"}, "name": "n"}, "spec": {"x": 1}, "status": {"ready": 1, "more": 2, "list": [{"x": 1, "y": 2}]}});
        assert_eq!(
            reads.of(&object),
            json!({"metadata": {"labels": {"a": "b"}}, "status": {"ready": 1, "list": [{"x": 1, "y": 2}]}})
        );
        assert_eq!(reads.of(&json!({"status": null})), json!({"status": null}));
        reads.add(&[]);
        assert_eq!(reads.of(&object), object);
    }
}
