//! One permission, and why it is needed.

use serde_json::{Value as Json, json};

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `apiGroups`; the core group is the empty text.
    pub api_groups: Vec<String>,
    /// In the plural, with a subresource behind a slash: `deployments/status`.
    pub resources: Vec<String>,
    /// `resourceNames`; none for all.
    pub resource_names: Vec<String>,
    /// Paths such as `/metrics`, which only a `ClusterRole` can grant.
    pub non_resource_urls: Vec<String>,
    /// What may be done: `get`, `patch`, or `*` for everything.
    pub verbs: Vec<String>,
    /// Why, one thing per line.
    pub reasons: Vec<String>,
    /// Which kind of role can hold it.
    pub reach: Reach,
    /// Whether requests need it.
    pub purpose: Purpose,
}

/// When the API server looks whether a user has a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// At requests of these verbs.
    #[default]
    Asked,
    /// At other requests, as those that set an owner or grant something: an audit log does not show its use.
    Held,
}

/// Decides between a `Role` and a `ClusterRole`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Resources in namespaces: a `Role` in each of them, or a `ClusterRole` for all.
    #[default]
    Namespaces,
    /// Resources of the whole cluster: a `ClusterRole`.
    Cluster,
}

/// What two rules must have in common to be one.
pub(super) type Key = (Reach, Purpose, Vec<String>, Vec<String>, Vec<String>, Vec<String>);

impl Rule {
    /// For all objects of these resources, in namespaces, with why it is there.
    pub fn new(group: &str, resources: &[&str], verbs: &[&str], reason: impl Into<String>) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            api_groups: vec![group.to_owned()],
            resources: texts(resources),
            verbs: texts(verbs),
            reasons: vec![reason.into()],
            ..Self::default()
        }
    }

    /// The same for the whole cluster.
    #[must_use]
    pub fn of_cluster(mut self) -> Self {
        self.reach = Reach::Cluster;
        self
    }

    /// The same, needed for what other requests do.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.purpose = Purpose::Held;
        self
    }

    /// As the API server takes it.
    pub fn to_json(&self) -> Json {
        let mut rule = json!({ "verbs": self.verbs });
        for (key, list) in [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            let is_needed = !list.is_empty() || key == "apiGroups" && self.non_resource_urls.is_empty();
            if is_needed {
                rule[key] = json!(list);
            }
        }
        rule
    }

    pub(super) fn key(&self) -> Key {
        (
            self.reach,
            self.purpose,
            self.api_groups.clone(),
            self.verbs.clone(),
            self.resource_names.clone(),
            self.non_resource_urls.clone(),
        )
    }

    pub(super) fn join(&mut self, other: Self) {
        for resource in other.resources {
            if !self.resources.contains(&resource) {
                self.resources.push(resource);
            }
        }
        for reason in other.reasons {
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }
}
