//! The namespaces that are watched.

use std::collections::BTreeSet;

/// The namespaces whose custom resources are reconciled (`WATCH_NAMESPACE`).
///
/// ```
/// use steersman_operator::namespaces::Namespaces;
///
/// let two = Namespaces::parse(Some("shop, blog"))?;
/// assert!(two.includes(Some("shop")) && !two.includes(Some("kube-system")));
/// assert!(!two.includes(None), "cluster-scoped resources are for operators of all namespaces");
/// assert_eq!(Namespaces::parse(None)?, Namespaces::All);
/// assert!(Namespaces::parse(Some("Shop")).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and cluster-scoped custom resources.
    All,
    /// These, of which there is at least one.
    Listed(BTreeSet<String>),
}

impl Namespaces {
    /// Reads `WATCH_NAMESPACE`: a list with commas, spaces around names ignored. Nothing means all namespaces.
    ///
    /// # Errors
    /// The list has only commas, or a name that no namespace can have; the text says which.
    pub fn parse(list: Option<&str>) -> Result<Self, String> {
        let list = list.map(str::trim).unwrap_or_default();
        if list.is_empty() {
            return Ok(Self::All);
        }
        let names: BTreeSet<String> = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Err(format!(
                "`{list}` names no namespace; leave it empty to watch all namespaces"
            ));
        }
        match names.iter().find(|name| !is_dns_label(name)) {
            Some(name) => Err(format!(
                "`{}` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)",
                name.escape_debug()
            )),
            None => Ok(Self::Listed(names)),
        }
    }

    /// The names of the list; none where all namespaces are meant.
    pub fn names(&self) -> BTreeSet<String> {
        match self {
            Self::All => BTreeSet::new(),
            Self::Listed(names) => names.clone(),
        }
    }

    /// Whether custom resources of this namespace are meant; `None` is the scope of the cluster.
    pub fn includes(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Listed(names) => namespace.is_some_and(|namespace| names.contains(namespace)),
        }
    }
}

/// Whether a text can be the name of a namespace (RFC 1123).
fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::Namespaces;

    fn check_namespaces(list: Option<&str>, expect: &Expect) {
        expect.assert_eq(&match Namespaces::parse(list) {
            Ok(namespaces) => format!("{namespaces:?}"),
            Err(message) => message,
        });
    }

    #[test]
    fn watch_namespace_is_a_list_with_commas() {
        check_namespaces(None, &expect!["All"]);
        check_namespaces(Some(""), &expect!["All"]);
        check_namespaces(Some("  "), &expect!["All"]);
        check_namespaces(Some("a"), &expect![[r#"Listed({"a"})"#]]);
        check_namespaces(Some(" b , a,a,"), &expect![[r#"Listed({"a", "b"})"#]]);
        check_namespaces(
            Some(","),
            &expect!["`,` names no namespace; leave it empty to watch all namespaces"],
        );
        check_namespaces(
            Some("a,B"),
            &expect!["`B` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)"],
        );
        check_namespaces(
            Some("a\nb"),
            &expect![[
                r"`a\nb` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)"
            ]],
        );
    }

    #[test]
    fn listed_namespaces_leave_the_cluster_scope_out() {
        let listed = Namespaces::parse(Some("a")).unwrap();
        assert!(listed.includes(Some("a")) && !listed.includes(Some("b")) && !listed.includes(None));
        assert!(Namespaces::All.includes(None));
    }
}
