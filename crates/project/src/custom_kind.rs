//! What a custom resource is called.

/// A kind of custom resources, with the names that its `CustomResourceDefinition` gives it.
///
/// ```
/// use steersman_project::CustomKind;
///
/// let kind = CustomKind::new("cache.example.com", "v1alpha1", "Memcached");
/// assert_eq!(kind.definition_name(), "memcacheds.cache.example.com");
/// assert_eq!(kind.api_version(), "cache.example.com/v1alpha1");
///
/// let sheep = CustomKind { plural: "sheep".to_owned(), ..CustomKind::new("farm.example.com", "v1", "Sheep") };
/// assert_eq!(sheep.irregular_plural(), Some("sheep"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomKind {
    /// The API group, such as `cache.example.com`.
    pub group: String,
    /// The version that is served and stored, such as `v1alpha1`.
    pub version: String,
    /// In camel case, such as `Memcached`.
    pub kind: String,
    /// The resource in paths, such as `memcacheds`.
    pub plural: String,
    /// Whether a resource is in a namespace.
    pub scope: Scope,
}

/// Whether resources of a kind are in namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Scope {
    /// Each resource is in a namespace.
    #[default]
    Namespaced,
    /// Resources are of the whole cluster.
    Cluster,
}

impl CustomKind {
    /// A namespaced kind whose plural follows from its name.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        let kind = kind.into();
        Self {
            group: group.into(),
            version: version.into(),
            plural: plural(&kind.to_lowercase()),
            kind,
            scope: Scope::Namespaced,
        }
    }

    /// The kind in small letters: the singular name of the resource.
    pub fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    /// The plural, where it is another one than that which [`new`](Self::new) makes of the kind.
    pub fn irregular_plural(&self) -> Option<&str> {
        Some(self.plural.as_str()).filter(|own| *own != plural(&self.singular()))
    }

    /// What a list of such resources is called.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// The name of the `CustomResourceDefinition`: `PLURAL.GROUP`.
    pub fn definition_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// `GROUP/VERSION`, or the version alone in the group without a name.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// The plural of a word in small letters, by the rules of English for regular nouns.
fn plural(word: &str) -> String {
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if ends_with(&["s", "x", "z", "ch", "sh"]) {
        return format!("{word}es");
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::CustomKind;

    #[test]
    fn names_follow_from_the_kind() {
        let kind = CustomKind::new("cache.example.com", "v1alpha1", "Memcached");
        assert_eq!(kind.plural, "memcacheds");
        assert_eq!(kind.singular(), "memcached");
        assert_eq!(kind.list_kind(), "MemcachedList");
        assert_eq!(kind.definition_name(), "memcacheds.cache.example.com");
        assert_eq!(kind.api_version(), "cache.example.com/v1alpha1");
    }

    #[test]
    fn plurals_are_regular() {
        for (kind, expect) in [
            ("Redis", "redises"),
            ("Proxy", "proxies"),
            ("Gateway", "gateways"),
            ("Mesh", "meshes"),
            ("Nginx", "nginxes"),
        ] {
            assert_eq!(CustomKind::new("g", "v1", kind).plural, expect, "{kind}");
        }
    }
}
