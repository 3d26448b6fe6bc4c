//! What others say of an object.

use serde_json::Value;

use crate::status::Redactor;

/// The longest message of one object, in characters: it is one of a list, of which people want to see all.
const MAX_SHOWN: usize = 300;
/// How much of a message is kept, in bytes. Its secrets are found before it is cut to what is shown.
const MAX_KEPT: usize = 4096;

/// Reason and message of a condition, as others have written them.
pub(super) fn of_condition(condition: &Value) -> String {
    let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or_default();
    kept(match (text("reason"), text("message")) {
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    })
}

/// As much of a message as is kept until it is shown.
pub(super) fn kept(mut words: String) -> String {
    words.truncate(words.floor_char_boundary(MAX_KEPT));
    words
}

/// The words of objects as they are shown: without secrets, on one line, and not too long.
///
/// Where `redactor` is none, nobody knows the secrets of the release, and none of the words is shown.
pub fn shown_words(words: &[&str], redactor: Option<&Redactor>) -> Vec<String> {
    let Some(redactor) = redactor else {
        let unknown = "its message is not shown: the release has more secrets than are remembered";
        return words.iter().map(|_| unknown.to_owned()).collect();
    };
    let masked = redactor.mask_all(words).into_iter().zip(words);
    let shown = masked.map(|(masked, words)| {
        // A character has at most four bytes.
        let is_cut = words.len() + 4 > MAX_KEPT;
        if is_cut && redactor.may_reach(MAX_SHOWN * 4, MAX_KEPT) {
            return "its message is not shown: it is long, and may end within a secret".to_owned();
        }
        let harmless = masked.chars().map(|c| if c.is_control() { ' ' } else { c });
        harmless.take(MAX_SHOWN).collect()
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor(password: &str) -> Redactor {
        Redactor::new([], &json!({ "password": password }))
    }

    #[test]
    fn words_are_cut_after_their_secrets_are_masked() {
        let redactor = redactor("canary-that-is-cut");
        for before in 270..310 {
            let words = kept(format!("{} canary-that-is-cut", "x".repeat(before)));
            let shown = shown_words(&[words.as_str()], Some(&redactor)).concat();
            assert!(!shown.contains("can") && shown.chars().count() <= 300, "{shown}");
        }
    }

    #[test]
    fn words_that_may_end_within_a_secret_are_not_shown() {
        let key = format!("canary{}", "0123456789abcdef".repeat(100));
        let words = kept(format!("{} {}", "x".repeat(100), key.repeat(4)));
        let shown = shown_words(&[words.as_str(), "a short one"], Some(&redactor(&key)));
        assert_eq!(
            shown,
            [
                "its message is not shown: it is long, and may end within a secret",
                "a short one"
            ]
        );
    }

    #[test]
    fn nothing_is_shown_while_nobody_knows_the_secrets() {
        let shown = shown_words(&["canary"], None).concat();
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn what_is_shown_is_on_one_line() {
        assert_eq!(
            shown_words(&["a\nb\u{1b}[31m"], Some(&redactor("x"))),
            ["a b [31m"]
        );
    }
}
