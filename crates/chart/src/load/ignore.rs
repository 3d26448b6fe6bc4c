//! `.helmignore`.

use super::wildcard;
use crate::error::LoadError;

/// The rules of one file, in order.
pub(super) struct Rules(Vec<Rule>);

struct Rule {
    pattern: String,
    /// Where the pattern is looked for.
    place: Place,
    negated: bool,
    directories_only: bool,
}

enum Place {
    /// The whole path: the pattern has a slash.
    Path,
    /// The last element of the path.
    Name,
}

impl Rules {
    /// Reads the rules in `text` and adds Helm's own: no hidden files among the templates.
    pub(super) fn parse(text: &str) -> Result<Self, LoadError> {
        let mut rules = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for line in text.lines().chain(["templates/.?*"]) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.contains("**") {
                return Err(LoadError::invalid("double-star (**) syntax is not supported"));
            }
            if wildcard::matches(line, "abc").is_none() {
                return Err(LoadError::invalid("syntax error in pattern"));
            }
            rules.push(Rule::parse(line));
        }
        Ok(Self(rules))
    }

    /// Whether the file or directory at `path`, relative to the chart, is left out.
    ///
    /// The first rule that has something to say decides; a negated one leaves out everything that
    /// it does not match.
    pub(super) fn ignores(&self, path: &str, is_directory: bool) -> bool {
        for rule in &self.0 {
            if rule.negated {
                if (rule.directories_only && !is_directory) || !rule.matches(path) {
                    return true;
                }
            } else if (!rule.directories_only || is_directory) && rule.matches(path) {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn parse(line: &str) -> Self {
        let (negated, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (directories_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let (place, pattern) = match line.strip_prefix('/') {
            Some(rest) => (Place::Path, rest),
            None if line.contains('/') => (Place::Path, line),
            None => (Place::Name, line),
        };
        Self {
            pattern: pattern.to_owned(),
            place,
            negated,
            directories_only,
        }
    }

    fn matches(&self, path: &str) -> bool {
        let subject = match self.place {
            Place::Path => path,
            Place::Name => path.rsplit('/').next().unwrap_or(path),
        };
        wildcard::matches(&self.pattern, subject).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &str, path: &str, is_directory: bool, expect: bool) {
        let rules = Rules::parse(rules).unwrap();
        assert_eq!(rules.ignores(path, is_directory), expect, "{path}");
    }

    #[test]
    fn patterns_without_slash_look_at_names_only() {
        check("*.md\n", "docs/a.md", false, true);
        check("/a.md\n", "docs/a.md", false, false);
        check("docs/*.md\n", "docs/a.md", false, true);
    }

    #[test]
    fn a_trailing_slash_asks_for_a_directory() {
        check("ci/\n", "ci", true, true);
        check("ci/\n", "ci", false, false);
    }

    #[test]
    fn hidden_templates_are_always_left_out() {
        check("", "templates/.swp", false, true);
        check("", ".hidden", false, false);
    }

    #[test]
    fn a_negated_rule_leaves_out_what_it_does_not_match() {
        check("!keep.md\n", "other.md", false, true);
        check("!keep.md\n", "keep.md", false, false);
    }
}
