//! What expressions say of a release: over its resource, the release itself and its live objects.
//!
//! This is the environment of `status.fields`, and of whatever else of an entry looks at a release. It is pure: who has a release
//! makes a [`ReleaseView`] of what is known of it, and a [`ReleaseExpression`] says the same of the same view.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use steersman_expressions::{EvaluationError, Expression, Objects, ParseError, Reads, Variables, Wanted};
use steersman_model::{ObjectId, Revision};

use crate::names::{is_dns_subdomain, is_kind, is_version};

/// What stands for the resource, and for the facts of its release.
const VARIABLES: &[&str] = &["resource", "release"];
/// What of the metadata of a resource is told. Others change with each status that is written, or say who wrote what.
const METADATA: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "labels",
    "name",
    "namespace",
    "uid",
];
/// The largest part of an object that expressions look at, in bytes of its JSON.
pub const MAX_LOOKED_AT: usize = 64 << 10;

/// What of the objects of each kind, by group and kind, expressions look at.
pub type ReadsOfKinds = BTreeMap<(String, String), Reads>;

/// An expression over a release: `resource`, `release`, and `object(apiVersion, kind, name)` for its live objects.
///
/// ```
/// use serde_json::json;
/// use steersman_model::{ObjectId, Revision};
/// use steersman_watches::{ReleaseExpression, ReleaseFacts, ReleaseView};
///
/// let resource = json!({"metadata": {"name": "shop"}, "spec": {"size": 3}});
/// let release = ReleaseFacts { name: "shop", namespace: "red", revision: Some(Revision(2)) };
/// let set = ObjectId { group: "apps".into(), kind: "StatefulSet".into(), namespace: Some("red".into()), name: "shop-db".into() };
/// let view = ReleaseView::new(resource, release).with_object(set, Ok(json!({"status": {"readyReplicas": 3}})));
///
/// let set = "object('apps/v1', 'StatefulSet', release.name + '-db')";
/// let ready = ReleaseExpression::parse(&format!("{set}.status.readyReplicas == resource.spec.size"))?;
/// assert_eq!(ready.bool(&view), Ok(true));
/// assert_eq!(ReleaseExpression::parse("release.revision")?.value(&view), Ok(json!(2)));
///
/// // What is not there, yet or any more, has no result.
/// let gone = ReleaseExpression::parse("object('v1', 'Service', 'shop').spec.clusterIP")?;
/// assert!(gone.value(&view).unwrap_err().is_absence());
/// # Ok::<(), steersman_watches::ReleaseExpressionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseExpression(Expression);

/// Why a text is no [`ReleaseExpression`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseExpressionError {
    /// The text is not CEL, or calls a function in a way that it has not.
    #[error("no expression: {0}")]
    Parse(ParseError),
    /// It names something that is not there.
    #[error("there is no variable `{}`: there are `resource`, `release` and `object(…)`", .0.escape_debug())]
    Variable(String),
    /// It would look at Secrets.
    #[error("no expression looks at Secrets")]
    Secret,
    /// What it would look up is of no kind that there can be.
    #[error("`{}`, `{}` is no kind such as `apps/v1`, `StatefulSet`", .api_version.escape_debug(), .kind.escape_debug())]
    Kind {
        /// The first argument.
        api_version: String,
        /// The second argument.
        kind: String,
    },
}

/// What an expression can say of the release itself.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseFacts<'a> {
    /// As `helm list` shows it.
    pub name: &'a str,
    /// Where its objects are that do not say it themselves.
    pub namespace: &'a str,
    /// The deployed revision; none before the first.
    pub revision: Option<Revision>,
}

/// What is known of a release: all that a [`ReleaseExpression`] looks at.
#[derive(Clone, Debug)]
pub struct ReleaseView {
    resource: Value,
    release: Value,
    namespace: String,
    objects: BTreeMap<ObjectId, Result<Value, EvaluationError>>,
}

impl ReleaseExpression {
    /// Reads an expression.
    ///
    /// # Errors
    /// It is none, names another variable, or looks at Secrets.
    pub fn parse(source: &str) -> Result<Self, ReleaseExpressionError> {
        let expression = Expression::parse_with_objects(source).map_err(ReleaseExpressionError::Parse)?;
        if let Some(name) = expression.names_other_than(VARIABLES) {
            return Err(ReleaseExpressionError::Variable(name.to_owned()));
        }
        for looked in expression.looked_up() {
            let (group, version) = parts(&looked.api_version);
            let is_grouped = looked.api_version.contains('/');
            if !is_version(version) || (is_grouped && !is_dns_subdomain(group)) || !is_kind(&looked.kind) {
                return Err(ReleaseExpressionError::Kind {
                    api_version: looked.api_version.clone(),
                    kind: looked.kind.clone(),
                });
            }
            if is_secret(group, &looked.kind) {
                return Err(ReleaseExpressionError::Secret);
            }
        }
        Ok(Self(expression))
    }

    /// The text.
    pub fn source(&self) -> &str {
        self.0.source()
    }

    /// Whether it looks at no object.
    pub fn is_of_resource_alone(&self) -> bool {
        self.0.looked_up().next().is_none()
    }

    /// Adds what it looks at in objects, by their kinds. The version does not count.
    pub fn note_reads(&self, reads: &mut ReadsOfKinds) {
        for looked in self.0.looked_up() {
            let kind = (parts(&looked.api_version).0.to_owned(), looked.kind.clone());
            reads.entry(kind).or_default().add(&looked.path);
        }
    }

    /// Whether what it says is so.
    ///
    /// # Errors
    /// It looks at what is not there ([`EvaluationError::is_absence`]), or can't be evaluated. No value is told.
    pub fn bool(&self, view: &ReleaseView) -> Result<bool, EvaluationError> {
        self.0.holds(&view.variables())
    }

    /// What it gives; null for an optional without a value.
    ///
    /// # Errors
    /// As [`ReleaseExpression::bool`].
    pub fn value(&self, view: &ReleaseView) -> Result<Value, EvaluationError> {
        self.0.evaluate(&view.variables())
    }
}

impl ReleaseView {
    /// What is known of a release without its objects. Of the resource its apiVersion, kind, metadata and spec are told.
    pub fn new(mut resource: Value, release: ReleaseFacts<'_>) -> Self {
        let mut told = Map::new();
        for field in ["apiVersion", "kind", "metadata", "spec"] {
            if let Some(value) = resource.get_mut(field) {
                told.insert(field.to_owned(), value.take());
            }
        }
        if let Some(Value::Object(metadata)) = told.get_mut("metadata") {
            metadata.retain(|field, _| METADATA.contains(&field.as_str()));
        }
        let revision = release.revision.map(|revision| revision.0);
        let mut of_release = json!({"name": release.name, "namespace": release.namespace});
        if let Some(revision) = revision {
            of_release["revision"] = revision.into();
        }
        Self {
            resource: Value::Object(told),
            release: of_release,
            namespace: release.namespace.to_owned(),
            objects: BTreeMap::new(),
        }
    }

    /// The same with a live object of the release, or why that can't be looked at. The caller knows that it is the release's own.
    #[must_use]
    pub fn with_object(mut self, id: ObjectId, object: Result<Value, EvaluationError>) -> Self {
        self.objects.insert(id, object);
        self
    }

    fn variables(&self) -> Variables<'_> {
        let variables = Variables::default().with("resource", &self.resource);
        variables.with("release", &self.release).with_objects(self)
    }
}

impl Objects for ReleaseView {
    /// Without a namespace that is the one of the release, or none for kinds that are in none.
    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<&Value>, EvaluationError> {
        let (group, _) = parts(wanted.api_version);
        if is_secret(group, wanted.kind) {
            return Ok(None);
        }
        let id = |namespace: Option<&str>| ObjectId {
            group: group.to_owned(),
            kind: wanted.kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: wanted.name.to_owned(),
        };
        let found = if let Some(namespace) = wanted.namespace {
            self.objects.get(&id(Some(namespace)))
        } else {
            let own = self.objects.get(&id(Some(&self.namespace)));
            own.or_else(|| self.objects.get(&id(None)))
        };
        found
            .map(|object| object.as_ref().map_err(Clone::clone))
            .transpose()
    }
}

/// Whether objects of a kind are what no expression looks at.
fn is_secret(group: &str, kind: &str) -> bool {
    group.is_empty() && kind.eq_ignore_ascii_case("Secret")
}

/// The group and the version.
fn parts(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, namespace: Option<&str>, name: &str) -> ObjectId {
        ObjectId {
            group: String::new(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    fn view() -> ReleaseView {
        let metadata = json!({"name": "shop", "uid": "u", "resourceVersion": "7", "generation": 2, "labels": {"a": "b"}});
        let resource = json!({"apiVersion": "a.com/v1", "kind": "Web", "metadata": metadata, "spec": {"size": 3}, "status": {"x": 1}});
        let release = ReleaseFacts {
            name: "shop",
            namespace: "red",
            revision: None,
        };
        ReleaseView::new(resource, release)
            .with_object(
                id("ConfigMap", Some("red"), "a"),
                Ok(json!({"data": {"of": "red"}})),
            )
            .with_object(
                id("ConfigMap", Some("blue"), "a"),
                Ok(json!({"data": {"of": "blue"}})),
            )
            .with_object(id("Node", None, "a"), Ok(json!({"data": {"of": "all"}})))
            .with_object(
                id("ConfigMap", Some("red"), "huge"),
                Err(EvaluationError::TooLarge(9)),
            )
            .with_object(
                id("Secret", Some("red"), "a"),
                Ok(json!({"data": {"of": "secret"}})),
            )
    }

    fn told(source: &str) -> String {
        let expression = ReleaseExpression::parse(source).unwrap();
        match expression.value(&view()) {
            Ok(value) => value.to_string(),
            Err(error) => format!("{error} {}", error.is_absence()),
        }
    }

    #[test]
    fn objects_are_those_of_the_release_by_name_and_namespace() {
        for (source, expect) in [
            ("object('v1', 'ConfigMap', 'a').data.of", "\"red\""),
            ("object('v1', 'ConfigMap', 'a', 'blue').data.of", "\"blue\""),
            ("object('v1', 'Node', 'a').data.of", "\"all\""),
            (
                "object('v1', 'ConfigMap', 'b').data.of",
                "there is no such ConfigMap true",
            ),
            (
                "object('v1', 'ConfigMap', 'a', 'green').data.of",
                "there is no such ConfigMap true",
            ),
            (
                "object('apps/v1', 'ConfigMap', 'a').data.of",
                "there is no such ConfigMap true",
            ),
            (
                "object('v1', 'ConfigMap', 'huge').data",
                "what it looks at has more than 9 bytes false",
            ),
            (
                "optionalObject('v1', 'ConfigMap', 'b').?data.?of.orValue('-')",
                "\"-\"",
            ),
            (
                "optionalObject('v1', 'ConfigMap', 'a').?data.?of.orValue('-')",
                "\"red\"",
            ),
            ("optionalObject('v1', 'ConfigMap', 'b').?data", "null"),
            (
                "object('v1', 'ConfigMap', 1).data",
                "`object` can't be done with int false",
            ),
        ] {
            assert_eq!(told(source), expect, "{source}");
        }
    }

    #[test]
    fn of_the_resource_nothing_is_told_that_a_status_changes() {
        assert_eq!(told("resource.spec.size + 1"), "4");
        assert_eq!(told("resource.kind + resource.metadata.labels.a"), "\"Webb\"");
        for field in ["status", "metadata.resourceVersion", "metadata.generation"] {
            let last = field.rsplit('.').next().unwrap();
            assert_eq!(
                told(&format!("resource.{field}")),
                format!("there is no `{last}` true")
            );
        }
        assert_eq!(told("release.revision"), "there is no `revision` true");
    }

    #[test]
    fn what_can_not_be_looked_at_is_refused_when_it_is_read() {
        for (source, expect) in [
            (
                "object('v1', 'Secret', 'a').data",
                "no expression looks at Secrets",
            ),
            (
                "optionalObject('v1', 'secret', 'a').hasValue()",
                "no expression looks at Secrets",
            ),
            (
                "object('v1', resource.kind, 'a')",
                "no expression: the apiVersion and the kind of `object` have to be texts, written out",
            ),
            (
                "object('v1', 'Pod')",
                "no expression: `object` takes an apiVersion, a kind and a name, and a namespace where that is another",
            ),
            (
                "object('Pod', 'v1', 'a')",
                "`Pod`, `v1` is no kind such as `apps/v1`, `StatefulSet`",
            ),
            (
                "self.spec",
                "there is no variable `self`: there are `resource`, `release` and `object(…)`",
            ),
            ("release.name ==", "no expression: "),
        ] {
            let error = ReleaseExpression::parse(source).unwrap_err().to_string();
            assert!(error.starts_with(expect), "{source}: {error}");
        }
        // Nobody can make a view that has one, either.
        let secret =
            ReleaseExpression(Expression::parse_with_objects("object('v1', 'Secret', 'a')").unwrap());
        assert_eq!(
            secret.value(&view()),
            Err(EvaluationError::NoObject("Secret".to_owned()))
        );
    }
}
