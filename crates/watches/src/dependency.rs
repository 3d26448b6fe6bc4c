//! What the releases of a watch wait for.

use steersman_expressions::Expression;
use steersman_model::{ApiKind, ObjectId};

use crate::name_template::{NameError, NameTemplate};
use crate::text_template::Subject;

/// An object that has to be ready before a revision is begun (`dependsOn`).
///
/// ```
/// use serde_json::json;
/// use steersman_model::ApiKind;
/// use steersman_watches::{Dependency, NameTemplate, Subject};
///
/// let dependency = Dependency {
///     api: ApiKind::new("zookeeper.pravega.io/v1beta1", "ZookeeperCluster"),
///     name: NameTemplate::parse("{{ .metadata.name }}-zk")?,
///     namespace: None,
///     ready: None,
/// };
/// let subject = Subject::new(&json!({"metadata": {"name": "shop"}}), &Default::default());
/// let reference = dependency.reference(&subject, "red")?;
/// assert_eq!(reference.id().to_string(), "ZookeeperCluster.zookeeper.pravega.io red/shop-zk");
/// # Ok::<(), steersman_watches::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its kind, in the version in which it is read.
    pub api: ApiKind,
    /// Fixed, or made of the resource.
    pub name: NameTemplate,
    /// Its namespace, where that is not the release's.
    pub namespace: Option<NameTemplate>,
    /// What says whether it is ready, of its fields, or of it as `dep` and the resource as `self`; without one its health does.
    pub ready: Option<Expression>,
}

/// An object that is meant by its kind, its namespace and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The kind, in the version in which it is read.
    pub api: ApiKind,
    /// Where it is, if its kind has namespaces.
    pub namespace: String,
    /// The name, which is valid.
    pub name: String,
}

impl Dependency {
    /// Which object is meant for a resource whose release is in `release_namespace`.
    ///
    /// # Errors
    /// Name or namespace can't be made of the resource.
    pub fn reference(&self, subject: &Subject, release_namespace: &str) -> Result<Reference, NameError> {
        Ok(Reference {
            api: self.api.clone(),
            namespace: match &self.namespace {
                Some(namespace) => namespace.of(subject)?,
                None => release_namespace.to_owned(),
            },
            name: self.name.of(subject)?,
        })
    }
}

impl Reference {
    /// The object, if its kind has namespaces.
    pub fn id(&self) -> ObjectId {
        self.within(true)
    }

    /// The object, where its kind has namespaces or has none.
    pub fn within(&self, namespaced: bool) -> ObjectId {
        ObjectId {
            group: self.api.group.clone(),
            kind: self.api.kind.clone(),
            namespace: namespaced.then(|| self.namespace.clone()),
            name: self.name.clone(),
        }
    }
}
