//! The names of a definition.

use crate::CustomKind;

/// Short names and names that Kubernetes itself has.
const TAKEN: [&str; 34] = [
    "all",
    "cj",
    "cm",
    "crd",
    "crds",
    "cronjob",
    "cs",
    "csr",
    "daemonset",
    "deploy",
    "ds",
    "ep",
    "ev",
    "hpa",
    "ing",
    "job",
    "limits",
    "netpol",
    "no",
    "node",
    "ns",
    "pc",
    "pdb",
    "po",
    "pod",
    "pv",
    "pvc",
    "quota",
    "rc",
    "rs",
    "sa",
    "sc",
    "sts",
    "svc",
];

/// How long a name may be that is part of a host name.
const MAX_LABEL: usize = 63;

/// A name that Kubernetes does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The group is empty or no DNS name.
    #[error("the group {0:?} is not a DNS name of lower-case letters, digits, hyphens and dots")]
    Group(String),
    /// The version is no DNS label.
    #[error("the version {0:?} is not a DNS label such as v1alpha1")]
    Version(String),
    /// The kind is no DNS label in capital and small letters.
    #[error("the kind {0:?} is not a word of letters, digits and hyphens that begins with a letter")]
    Kind(String),
    /// The plural is no DNS label.
    #[error("the plural {0:?} is not a word of lower-case letters, digits and hyphens")]
    Plural(String),
    /// The category by which runs of a procedure are found is no DNS label.
    #[error(
        "the category {0:?} of the runs of a procedure is longer than 63 characters: give the procedure a shorter name"
    )]
    Category(String),
    /// Plural and group are too long together.
    #[error("the name {0:?} of the definition is longer than 253 characters")]
    TooLong(String),
}

/// Checks what the API server would check.
pub(super) fn check(kind: &CustomKind) -> Result<(), DefinitionError> {
    let is_group = kind.group.contains('.') && kind.group.split('.').all(is_label);
    if !is_group {
        return Err(DefinitionError::Group(kind.group.clone()));
    }
    if !is_label(&kind.version) || !kind.version.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(DefinitionError::Version(kind.version.clone()));
    }
    let is_kind = kind.kind.len() <= MAX_LABEL
        && kind.kind.starts_with(|c: char| c.is_ascii_alphabetic())
        && is_label(&kind.kind.to_lowercase());
    if !is_kind {
        return Err(DefinitionError::Kind(kind.kind.clone()));
    }
    if !is_label(&kind.plural) || !kind.plural.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err(DefinitionError::Plural(kind.plural.clone()));
    }
    let name = kind.definition_name();
    if name.len() > 253 {
        return Err(DefinitionError::TooLong(name));
    }
    Ok(())
}

/// Checks what kinds of runs are found by.
pub(super) fn check_category(category: &str) -> Result<(), DefinitionError> {
    if is_label(category) {
        return Ok(());
    }
    Err(DefinitionError::Category(category.to_owned()))
}

fn is_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= MAX_LABEL
        && text.chars().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether only Kubernetes' own definitions may be in a group, unless they say that they are none.
pub(super) fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|own| group == *own || group.ends_with(&format!(".{own}")))
}

/// A shorter name for a kind of several words: `vsite` for `VisitorsSite`.
pub(super) fn short_name(kind: &CustomKind) -> Option<String> {
    let words = words(&kind.kind);
    let (last, others) = words.split_last().filter(|(_, others)| !others.is_empty())?;
    let initials: String = others.iter().filter_map(|word| word.chars().next()).collect();
    let name = format!("{initials}{last}").to_lowercase();
    let is_taken = TAKEN.contains(&name.as_str()) || name == kind.plural || name == kind.singular();
    (!is_taken).then_some(name)
}

/// The words of a name in camel case: a capital begins one after a small letter, and before one.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    for (place, &letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let after = letters.get(place + 1);
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || after.is_some_and(|after| after.is_lowercase()));
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> CustomKind {
        CustomKind::new("example.com", "v1", name)
    }

    #[test]
    fn a_kind_of_several_words_has_a_short_name() {
        for (name, expect) in [
            ("VisitorsSite", Some("vsite")),
            ("KubePrometheusStack", Some("kpstack")),
            ("RedisHA", Some("rha")),
            ("MySQLCluster", Some("mscluster")),
            ("Memcached", None),
            ("PD", None),
        ] {
            assert_eq!(short_name(&kind(name)).as_deref(), expect, "{name}");
        }
    }

    #[test]
    fn names_are_those_that_the_api_server_takes() {
        assert_eq!(check(&kind("Web")), Ok(()));
        assert_eq!(check(&kind("1b")), Err(DefinitionError::Kind("1b".to_owned())));
        let other = |change: fn(&mut CustomKind)| {
            let mut kind = kind("Web");
            change(&mut kind);
            check(&kind).unwrap_err().to_string()
        };
        assert_eq!(
            other(|kind| kind.group = "example".to_owned()),
            "the group \"example\" is not a DNS name of lower-case letters, digits, hyphens and dots"
        );
        assert!(other(|kind| kind.version = "1".to_owned()).contains("version"));
        assert!(other(|kind| kind.plural = "Webs".to_owned()).contains("plural"));
        assert!(other(|kind| kind.group = vec!["a".repeat(60); 5].join(".")).contains("longer"));
    }
}
