//! What the query of a request says that changes how it is handled.

use super::path::{decoded, encoded};

/// The name in queries of who makes a change, by which the server notes whose each field is.
const FIELD_MANAGER: &str = "fieldManager";

/// A query, as it was sent and as the API server reads it.
#[derive(Clone, Debug)]
pub(super) struct Query {
    text: String,
    pub(super) is_watch: bool,
    pub(super) is_dry_run: bool,
    pub(super) has_field_manager: bool,
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        let pairs = || text.split('&').filter_map(pair);
        // Of a name that is there twice, the server takes the first value.
        let first = |wanted: &str| pairs().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let is_true = |value: String| value != "0" && !value.eq_ignore_ascii_case("false");
        Self {
            is_watch: first("watch").is_some_and(is_true),
            is_dry_run: first("dryRun").is_some_and(|value| !value.is_empty()),
            has_field_manager: first(FIELD_MANAGER).is_some_and(|value| !value.is_empty()),
            text: text.to_owned(),
        }
    }

    /// The query with this field manager before all else, so that an empty one does not count.
    pub(super) fn with_field_manager(&self, manager: Option<&str>) -> String {
        match manager {
            None => self.text.clone(),
            Some(manager) if self.text.is_empty() => format!("{FIELD_MANAGER}={}", encoded(manager)),
            Some(manager) => format!("{FIELD_MANAGER}={}&{}", encoded(manager), self.text),
        }
    }
}

/// Name and value; `None` for what the server leaves out, too.
fn pair(text: &str) -> Option<(String, String)> {
    if text.is_empty() || text.contains(';') {
        return None;
    }
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let plain = |text: &str| decoded(&text.replace('+', " "));
    Some((plain(name)?, plain(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dry_runs_are_told() {
        for (text, expect) in [
            ("dryRun=All", true),
            ("dry%52un=All", true),
            ("dryRun=", false),
            ("", false),
        ] {
            assert_eq!(Query::new(text).is_dry_run, expect, "{text}");
        }
    }

    #[test]
    fn a_manager_is_written_so_that_it_is_one_value() {
        let query = Query::new("").with_field_manager(Some("a b&c"));
        assert_eq!(query, "fieldManager=a%20b%26c");
        assert!(Query::new(&query).has_field_manager);
    }
}
