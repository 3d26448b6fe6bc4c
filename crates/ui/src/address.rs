//! Where the pages of a resource are.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use steersman_cluster::discovery::Resource;
use steersman_model::{ApiKind, ObjectId, is_part_of_a_path};

/// What stands for itself in a path.
const IN_PATHS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// So long a name may be (RFC 1123).
const LONGEST_NAME: usize = 253;

/// A kind of resources.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) api: ApiKind,
    /// How its objects are addressed.
    pub(crate) resource: Resource,
    /// Such as `shops.example.com`.
    pub(crate) name: String,
}

/// The names in the address of a resource: of its kind, its namespace, or `-` where it has none, and its own.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An object of a release, as an address has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct ObjectQuery {
    #[serde(default)]
    pub(crate) group: String,
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) name: String,
}

/// A container of a pod of a release, as an address has it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct LogQuery {
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) pod: String,
    #[serde(default)]
    pub(crate) container: String,
    /// Of the one before, where the container was started anew.
    #[serde(default)]
    pub(crate) former: bool,
}

impl Place {
    /// Of a resource of this kind.
    pub(crate) fn of(kind: &Kind, namespace: &str, name: &str) -> Self {
        let namespace = if namespace.is_empty() { "-" } else { namespace };
        Self {
            kind: kind.name.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether these can be names of the cluster: a request for any other one asks for another path.
    pub(crate) fn is_of_names(&self) -> bool {
        let is_name = |name: &str| !name.is_empty() && name.len() <= LONGEST_NAME && is_part_of_a_path(name);
        is_name(&self.namespace) && is_name(&self.name)
    }

    /// The namespace; `None` where there is none.
    pub(crate) fn namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|namespace| *namespace != "-")
    }

    /// Where its page is.
    pub(crate) fn address(&self) -> String {
        let words = [&self.kind, &self.namespace, &self.name];
        let [kind, namespace, name] = words.map(|word| utf8_percent_encode(word, &IN_PATHS));
        format!("/releases/{kind}/{namespace}/{name}")
    }

    /// Where a page below that is, with what it is asked for.
    pub(crate) fn below(&self, page: &str, query: &impl Serialize) -> String {
        let query = serde_urlencoded::to_string(query).unwrap_or_default();
        format!("{}/{page}?{query}", self.address())
    }
}

impl ObjectQuery {
    pub(crate) fn of(id: &ObjectId) -> Self {
        Self {
            group: id.group.clone(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone().unwrap_or_default(),
            name: id.name.clone(),
        }
    }

    pub(crate) fn is_for(&self, id: &ObjectId) -> bool {
        *self == Self::of(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_names_stay_within_their_places() {
        let place = Place {
            kind: "shops.example.com".to_owned(),
            namespace: "-".to_owned(),
            name: "a/../b?c".to_owned(),
        };
        assert_eq!(place.address(), "/releases/shops.example.com/-/a%2F..%2Fb%3Fc");
        assert_eq!(place.namespace(), None);
        let query = LogQuery {
            pod: "a&b".to_owned(),
            ..LogQuery::default()
        };
        let address = place.below("logs", &query);
        assert!(
            address.ends_with("/logs?namespace=&pod=a%26b&container=&former=false"),
            "{address}"
        );
    }
}
