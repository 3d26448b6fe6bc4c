//! Three versions of a file become one.

use std::collections::BTreeSet;

use serde_json::Value;

/// What becomes of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It stays as it is.
    Keep,
    /// It gets this content.
    Take(Vec<u8>),
    /// It goes.
    Remove,
    /// Both sides have changed the same place.
    Conflict {
        /// The new version, if there is one.
        theirs: Option<Vec<u8>>,
        /// Both sides with markers between them, where they are texts.
        marked: Option<String>,
    },
}

/// Merges what was changed from `base` to `theirs` into `ours`; `None` stands for a file that is not there.
pub(super) fn merge(base: Option<&[u8]>, ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Outcome {
    if theirs == base || theirs == ours {
        return Outcome::Keep;
    }
    if ours == base || says_the_same(base, ours) {
        return theirs.map_or(Outcome::Remove, |theirs| Outcome::Take(theirs.to_vec()));
    }
    let text = |content: Option<&[u8]>| {
        content.and_then(|content| std::str::from_utf8(content).ok().map(str::to_owned))
    };
    let marked = match (text(base), text(ours), text(theirs)) {
        (base, Some(ours), Some(theirs)) => match diffy::merge(&base.unwrap_or_default(), &ours, &theirs) {
            Ok(merged) => return Outcome::Take(merged.into_bytes()),
            Err(marked) => Some(marked),
        },
        _ => None,
    };
    Outcome::Conflict {
        theirs: theirs.map(<[u8]>::to_vec),
        marked,
    }
}

/// Whether a program has laid out YAML in another way, as operator-sdk does with `Chart.yaml`, and there is no comment of
/// somebody's own in it.
fn says_the_same(base: Option<&[u8]>, ours: Option<&[u8]>) -> bool {
    let text = |content: Option<&[u8]>| content.and_then(|content| String::from_utf8(content.to_vec()).ok());
    let (Some(base), Some(ours)) = (text(base), text(ours)) else {
        return false;
    };
    let comments = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| line.contains('#'));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let value = |text: &str| steersman_yaml::to_json(text).ok().filter(Value::is_object);
    comments(&ours).is_subset(&comments(&base)) && value(&ours).is_some_and(|ours| value(&base) == Some(ours))
}

#[cfg(test)]
mod tests {
    use super::{Outcome, merge};

    fn merged(base: &str, ours: &str, theirs: &str) -> Outcome {
        let part = |text: &str| (text != "-").then(|| text.as_bytes().to_vec());
        merge(
            part(base).as_deref(),
            part(ours).as_deref(),
            part(theirs).as_deref(),
        )
    }

    fn take(text: &str) -> Outcome {
        Outcome::Take(text.as_bytes().to_vec())
    }

    #[test]
    fn edits_stay_and_changes_come() {
        assert_eq!(merged("a\n", "a\n", "b\n"), take("b\n"));
        assert_eq!(merged("a\n", "mine\n", "a\n"), Outcome::Keep);
        assert_eq!(merged("a\n", "b\n", "b\n"), Outcome::Keep);
        assert_eq!(merged("-", "-", "new\n"), take("new\n"));
        assert_eq!(merged("a\n", "a\n", "-"), Outcome::Remove);
        assert_eq!(merged("a\n", "-", "a\n"), Outcome::Keep);
        assert_eq!(
            merged("1\n2\n3\n4\n5\n", "mine\n2\n3\n4\n5\n", "1\n2\n3\n4\ntheirs\n"),
            take("mine\n2\n3\n4\ntheirs\n")
        );
    }

    #[test]
    fn another_layout_is_no_edit() {
        let base = "# how many\na: 1\nb: {c: 2}\n";
        assert_eq!(merged(base, "b:\n  c: 2\na: 1\n", "a: 2\n"), take("a: 2\n"));
        for ours in [
            "b:\n  c: 3\na: 1\n",
            "b:\n  c: 2 # mine\na: 1\n",
            "# mine\nb:\n  c: 2\na: 1\n",
        ] {
            assert!(
                matches!(merged(base, ours, "a: 2\n"), Outcome::Conflict { .. }),
                "{ours}"
            );
        }
    }

    #[test]
    fn nothing_of_either_side_is_lost() {
        let Outcome::Conflict { theirs, marked } = merged("a\n", "mine\n", "theirs\n") else {
            panic!("a conflict");
        };
        assert_eq!(theirs.unwrap(), b"theirs\n");
        let marked = marked.unwrap();
        assert!(
            marked.contains("mine\n") && marked.contains("theirs\n"),
            "{marked}"
        );
        assert!(matches!(
            merged("a\n", "mine\n", "-"),
            Outcome::Conflict { theirs: None, .. }
        ));
        assert!(matches!(
            merged("a\n", "-", "b\n"),
            Outcome::Conflict { marked: None, .. }
        ));
    }
}
