//! Which key of a spec becomes which variable.

/// How the operator makes variables of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    /// The variable of a key; `None` where keys stay as they are.
    variable_of: Option<fn(&str) -> String>,
}

impl Keys {
    pub(super) fn new(variable_of: Option<fn(&str) -> String>) -> Self {
        Self { variable_of }
    }

    /// The key that becomes a variable: in camel case, or the same where only that comes back. None where nothing does.
    pub(super) fn of(self, variable: &str) -> Option<String> {
        let Some(variable_of) = self.variable_of else {
            return Some(variable.to_owned());
        };
        let comes_back = |key: &String| !key.is_empty() && variable_of(key) == variable;
        [camel_case(variable), variable.to_owned()]
            .into_iter()
            .find(comes_back)
    }
}

/// `memcached_size` is `memcachedSize`. Underscores in front stay: what begins with a capital is another variable.
fn camel_case(variable: &str) -> String {
    let body = variable.trim_start_matches('_');
    let mut key = variable[..variable.len() - body.len()].to_owned();
    for (place, word) in body.split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if place > 0 => {
                key.push(first.to_ascii_uppercase());
                key.push_str(letters.as_str());
            }
            _ => key.push_str(word),
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::{Keys, camel_case};

    /// As much of the operator's rule as these tests need: a capital begins a word, and a word has two letters.
    fn variable_of(key: &str) -> String {
        let mut variable = String::new();
        for (place, letter) in key.char_indices() {
            if letter.is_ascii_uppercase() && place > 1 {
                variable.push('_');
            }
            variable.push(letter.to_ascii_lowercase());
        }
        variable
    }

    #[test]
    fn keys_are_in_camel_case_where_that_comes_back() {
        let keys = Keys::new(Some(variable_of));
        for (variable, expect) in [
            ("size", Some("size")),
            ("memcached_size", Some("memcachedSize")),
            ("_own_size", Some("_ownSize")),
            // `aSize` would be `asize`.
            ("a_size", Some("a_size")),
            ("memcachedSize", None),
            ("URL", None),
            ("", None),
        ] {
            assert_eq!(keys.of(variable).as_deref(), expect, "{variable}");
        }
        assert_eq!(
            Keys::new(None).of("memcachedSize").as_deref(),
            Some("memcachedSize")
        );
    }

    #[test]
    fn camel_case_keeps_what_is_no_word() {
        for (variable, expect) in [
            ("a__b", "aB"),
            ("size_2", "size2"),
            ("app.kubernetes.io/part_of", "app.kubernetes.io/partOf"),
            ("größe_ä", "größeä"),
            ("__", "__"),
        ] {
            assert_eq!(camel_case(variable), expect, "{variable}");
        }
    }
}
