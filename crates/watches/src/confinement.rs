//! What the releases of a watch may have, and look up.
//!
//! The author of a custom resource decides values, and charts make names, namespaces and whole templates of values. A
//! confinement says what of that is carried out.

use std::collections::BTreeSet;

use steersman_model::ObjectId;

use crate::names::{is_dns_subdomain, is_kind};

/// What the releases of a watch may have, and look up (`confine`).
///
/// ```
/// use steersman_model::ObjectId;
/// use steersman_watches::{Confinement, OutOfBounds};
///
/// let confinement = Confinement::default();
/// let id = |namespace: Option<&str>| ObjectId {
///     group: String::new(),
///     kind: "ConfigMap".to_owned(),
///     namespace: namespace.map(str::to_owned),
///     name: "web".to_owned(),
/// };
/// assert!(confinement.admit(&id(Some("shop")), "shop").is_ok());
/// assert!(confinement.admit(&id(Some("kube-system")), "shop").is_err());
/// assert_eq!(confinement.admit(&id(None), "shop"), Err(OutOfBounds::ClusterScoped));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Where their objects may be.
    pub namespaces: BTreeSet<AllowedNamespace>,
    /// Whether they may have objects of the whole cluster.
    pub cluster_scoped: bool,
    /// The only kinds of their objects; `None` for any.
    pub allowed_kinds: Option<Vec<KindPattern>>,
    /// Kinds that they may not have although these are allowed.
    pub denied_kinds: Vec<KindPattern>,
    /// What their templates may look up.
    pub lookup: LookupScope,
}

impl Default for Confinement {
    /// The namespace of the release, and nothing else.
    fn default() -> Self {
        Self {
            namespaces: BTreeSet::from([AllowedNamespace::Release]),
            cluster_scoped: false,
            allowed_kinds: None,
            denied_kinds: Vec::new(),
            lookup: LookupScope::default(),
        }
    }
}

/// Where objects may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowedNamespace {
    /// Beside the release, whose namespace is that of its resource where it has one.
    Release,
    /// In this one, whose name is not `release`.
    Named(String),
}

/// What templates may look up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupScope {
    /// Objects in the namespace of the release.
    #[default]
    Release,
    /// Nothing: a template that looks something up fails.
    None,
    /// Whatever the operator, or the watch's ServiceAccount, may read.
    All,
}

/// Kinds by name: `ConfigMap`, `Deployment.apps` or `*.cert-manager.io`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPattern {
    /// `None` for each of the group.
    kind: Option<String>,
    group: Option<String>,
}

/// By which rule of a watch something is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfBounds {
    /// It is in another namespace.
    #[error("`confine.namespaces` of the watch has {allowed}")]
    Namespace {
        /// Those that it may be in, in words.
        allowed: String,
    },
    /// It is of the whole cluster.
    #[error("`confine.clusterScoped` of the watch is not true")]
    ClusterScoped,
    /// Nothing tells whether it is of the whole cluster.
    #[error(
        "nobody serves its kind, which may be of the whole cluster, and `confine.clusterScoped` of the watch is not true"
    )]
    UnknownScope,
    /// Its kind is not among those that are allowed.
    #[error("`confine.kinds.allow` of the watch has no `{kind}`")]
    NotAllowed {
        /// As it would stand there.
        kind: String,
    },
    /// Its kind is denied.
    #[error("`confine.kinds.deny` of the watch has `{pattern}`")]
    Denied {
        /// As it stands there.
        pattern: String,
    },
    /// A template looks something up.
    #[error("`confine.lookup` of the watch is `none`")]
    NoLookup,
    /// A template looks up something that is not in the release's namespace.
    #[error("`confine.lookup` of the watch is `release`, which is namespace {namespace} alone")]
    LookupElsewhere {
        /// The release's.
        namespace: String,
    },
}

impl Confinement {
    /// Whether a release in `release_namespace` may have this object.
    ///
    /// # Errors
    /// By which rule it may not.
    pub fn admit(&self, id: &ObjectId, release_namespace: &str) -> Result<(), OutOfBounds> {
        match &id.namespace {
            Some(namespace) => self.admit_namespace(namespace, release_namespace)?,
            None if self.cluster_scoped => {}
            None => return Err(OutOfBounds::ClusterScoped),
        }
        self.admit_kind(&id.group, &id.kind)
    }

    fn admit_namespace(&self, namespace: &str, release_namespace: &str) -> Result<(), OutOfBounds> {
        let is_it = |allowed: &AllowedNamespace| allowed.name(release_namespace) == namespace;
        if self.namespaces.iter().any(is_it) {
            return Ok(());
        }
        let names: Vec<&str> = self
            .namespaces
            .iter()
            .map(|allowed| allowed.name(release_namespace))
            .collect();
        let allowed = match names.as_slice() {
            [] => "no namespace".to_owned(),
            [name] => format!("namespace {name} alone"),
            names => format!("namespaces {} alone", names.join(", ")),
        };
        Err(OutOfBounds::Namespace { allowed })
    }

    /// Whether releases may have objects of this kind, wherever these are.
    ///
    /// # Errors
    /// By which rule they may not.
    pub fn admit_kind(&self, group: &str, kind: &str) -> Result<(), OutOfBounds> {
        // A kind without a group is as narrow as it can be where it allows, and as wide where it denies.
        if let Some(allowed) = &self.allowed_kinds
            && !allowed.iter().any(|pattern| pattern.matches(group, kind, ""))
        {
            let kind = KindPattern::of(group, kind).to_string();
            return Err(OutOfBounds::NotAllowed { kind });
        }
        let denied = self.denied_kinds.iter();
        match denied
            .into_iter()
            .find(|pattern| pattern.matches(group, kind, group))
        {
            Some(pattern) => Err(OutOfBounds::Denied {
                pattern: pattern.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Whether templates may look up anything at all.
    ///
    /// # Errors
    /// They may not.
    pub fn admit_lookup(&self) -> Result<(), OutOfBounds> {
        match self.lookup {
            LookupScope::None => Err(OutOfBounds::NoLookup),
            LookupScope::Release | LookupScope::All => Ok(()),
        }
    }

    /// Whether templates of a release in `release_namespace` may look up what is in `namespace`; `None` is all
    /// namespaces, or the scope of the cluster.
    ///
    /// # Errors
    /// By which rule they may not.
    pub fn admit_lookup_in(
        &self,
        namespace: Option<&str>,
        release_namespace: &str,
    ) -> Result<(), OutOfBounds> {
        self.admit_lookup()?;
        if self.lookup == LookupScope::All || namespace == Some(release_namespace) {
            return Ok(());
        }
        Err(OutOfBounds::LookupElsewhere {
            namespace: release_namespace.to_owned(),
        })
    }
}

impl AllowedNamespace {
    fn name<'a>(&'a self, release_namespace: &'a str) -> &'a str {
        match self {
            Self::Release => release_namespace,
            Self::Named(name) => name,
        }
    }
}

impl KindPattern {
    /// The one that matches this kind alone.
    fn of(group: &str, kind: &str) -> Self {
        Self {
            kind: Some(kind.to_owned()),
            group: Some(group.to_owned()).filter(|group| !group.is_empty()),
        }
    }

    /// Reads `KIND`, `KIND.GROUP` or `*.GROUP`.
    ///
    /// # Errors
    /// It is none of them; the text says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, group) = match text.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (text, None),
        };
        let shown = text.escape_debug();
        let expected =
            || format!("`{shown}` is none of `KIND`, `KIND.GROUP`, `*.GROUP`, such as `Deployment.apps`");
        let is_one = kind == "*" && group.is_some() || is_kind(kind);
        if !is_one || group.is_some_and(|group| !is_dns_subdomain(group)) {
            return Err(expected());
        }
        // kubectl takes a version between kind and group.
        if group
            .and_then(|group| group.split('.').next())
            .is_some_and(is_version)
        {
            return Err(format!("`{shown}` names a version; a rule is for all of them"));
        }
        Ok(Self {
            kind: Some(kind.to_owned()).filter(|kind| kind != "*"),
            group: group.map(str::to_owned),
        })
    }

    /// Whether it is the kind of this group; without a group of its own, of `unnamed`.
    fn matches(&self, group: &str, kind: &str, unnamed: &str) -> bool {
        self.group.as_deref().unwrap_or(unnamed) == group
            && self.kind.as_deref().is_none_or(|own| own == kind)
    }
}

impl std::fmt::Display for KindPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.as_deref().unwrap_or("*"))?;
        match &self.group {
            Some(group) => write!(f, ".{group}"),
            None => Ok(()),
        }
    }
}

/// Whether a text is a version of an API: `v1`, `v2beta1`.
fn is_version(text: &str) -> bool {
    let Some(number) = text.strip_prefix('v') else {
        return false;
    };
    let stage = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = stage.len() < number.len();
    is_numbered && (stage.is_empty() || stage.starts_with("alpha") || stage.starts_with("beta"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(group: &str, kind: &str, namespace: Option<&str>) -> ObjectId {
        ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "web".to_owned(),
        }
    }

    fn patterns(texts: &[&str]) -> Vec<KindPattern> {
        texts
            .iter()
            .map(|text| KindPattern::parse(text).unwrap())
            .collect()
    }

    fn said(confinement: &Confinement, id: &ObjectId) -> String {
        match confinement.admit(id, "a") {
            Ok(()) => "admitted".to_owned(),
            Err(rule) => rule.to_string(),
        }
    }

    #[test]
    fn objects_are_where_they_may_be() {
        let mut confinement = Confinement::default();
        let in_b = id("", "ConfigMap", Some("b"));
        assert_eq!(
            said(&confinement, &in_b),
            "`confine.namespaces` of the watch has namespace a alone"
        );
        confinement
            .namespaces
            .insert(AllowedNamespace::Named("b".to_owned()));
        assert_eq!(said(&confinement, &in_b), "admitted");
        assert_eq!(
            said(&confinement, &id("", "ConfigMap", Some("c"))),
            "`confine.namespaces` of the watch has namespaces a, b alone"
        );
        let node = id("", "Node", None);
        assert_eq!(
            said(&confinement, &node),
            "`confine.clusterScoped` of the watch is not true"
        );
        confinement.cluster_scoped = true;
        assert_eq!(said(&confinement, &node), "admitted");
    }

    #[test]
    fn a_kind_without_a_group_allows_the_core_and_denies_any() {
        let allowing = Confinement {
            allowed_kinds: Some(patterns(&["Service", "Deployment.apps", "*.batch"])),
            ..Confinement::default()
        };
        for (group, kind, expected) in [
            ("", "Service", "admitted"),
            ("apps", "Deployment", "admitted"),
            ("batch", "Job", "admitted"),
            (
                "serving.knative.dev",
                "Service",
                "`confine.kinds.allow` of the watch has no `Service.serving.knative.dev`",
            ),
            ("", "Secret", "`confine.kinds.allow` of the watch has no `Secret`"),
        ] {
            assert_eq!(said(&allowing, &id(group, kind, Some("a"))), expected);
        }
        let denying = Confinement {
            denied_kinds: patterns(&["Service", "*.batch"]),
            ..Confinement::default()
        };
        for (group, kind, expected) in [
            ("", "Service", "`confine.kinds.deny` of the watch has `Service`"),
            (
                "serving.knative.dev",
                "Service",
                "`confine.kinds.deny` of the watch has `Service`",
            ),
            ("batch", "Job", "`confine.kinds.deny` of the watch has `*.batch`"),
            ("", "Secret", "admitted"),
        ] {
            assert_eq!(said(&denying, &id(group, kind, Some("a"))), expected);
        }
    }

    #[test]
    fn lookups_stay_in_the_namespace_of_the_release_or_are_none() {
        let with = |lookup, namespace| {
            let confinement = Confinement {
                lookup,
                ..Confinement::default()
            };
            confinement.admit_lookup_in(namespace, "a").is_ok()
        };
        for (lookup, allowed) in [
            (LookupScope::Release, [true, false, false]),
            (LookupScope::None, [false, false, false]),
            (LookupScope::All, [true, true, true]),
        ] {
            let found = [Some("a"), Some("b"), None].map(|namespace| with(lookup, namespace));
            assert_eq!(found, allowed, "{lookup:?}");
        }
    }

    #[test]
    fn patterns_of_kinds_are_checked() {
        for text in ["*", "", "my kind", "Deployment.Apps", ".apps", "Deployment."] {
            let error = KindPattern::parse(text).unwrap_err();
            assert!(error.contains("is none of `KIND`"), "{error}");
        }
        for text in ["Deployment.v1.apps", "Job.v2beta1.batch"] {
            let error = KindPattern::parse(text).unwrap_err();
            assert!(error.contains("names a version"), "{error}");
        }
        assert!(KindPattern::parse("*.vault.example.com").is_ok());
    }
}
