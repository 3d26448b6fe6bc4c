//! `overrideValues`: texts in which variables and templates are evaluated once, when the file is loaded.

use std::collections::BTreeMap;

use steersman_chart::Values;
use steersman_yaml::{Content, Node};

use super::entry::Loader;
use super::expand::{Templates, expand_environment};
use super::fields::{Fields, join, scalar_text};
use crate::values::{ValuesError, apply_override};

/// An override value, evaluated.
pub(super) struct OverrideValue {
    pub(super) text: String,
    /// Whether variables or `env` of a template are part of it, so that it may be secret.
    pub(super) from_environment: bool,
}

impl Loader<'_> {
    pub(super) fn override_values(&mut self, fields: &Fields<'_>) -> BTreeMap<String, OverrideValue> {
        let path = fields.key("overrideValues");
        let Some((_, node)) = fields.get("overrideValues") else {
            return BTreeMap::new();
        };
        let Content::Mapping(pairs) = &node.value else {
            self.findings.expected("a map of texts", node, &path);
            return BTreeMap::new();
        };
        let mut values = BTreeMap::new();
        for (key, value) in pairs {
            match key.key_string() {
                Ok(name) => values.extend(
                    self.override_value(&name, value, &path)
                        .map(|value| (name, value)),
                ),
                Err(error) => self.findings.problem(key, &path, error.message()),
            }
        }
        values
    }

    fn override_value(&mut self, name: &str, node: &Node, path: &str) -> Option<OverrideValue> {
        let path = join(path, name.escape_debug());
        let text = match (&node.value, scalar_text(node)) {
            (Content::Null, _) => String::new(),
            (_, Some(text)) => text,
            (_, None) => {
                self.findings.expected("a text", node, &path);
                return None;
            }
        };
        let expanded = expand_environment(&text, self.environment);
        for variable in &expanded.unset {
            let message = format!(
                "the environment variable `{}` is not set; nothing stands in its place",
                variable.escape_debug()
            );
            self.findings.notice(node, &path, message);
        }
        let value = match self.templates.render(name, &expanded.text) {
            Ok(value) => value,
            Err(error) => {
                self.findings
                    .problem(node, &path, format_args!("cannot be evaluated: {error}"));
                return None;
            }
        };
        if let Err(ValuesError::Override { reason, .. }) = apply_override(&mut Values::new(), name, &value) {
            self.findings
                .problem(node, &path, format_args!("cannot be set: {reason}"));
            return None;
        }
        Some(OverrideValue {
            from_environment: expanded.text != text || Templates::ask_environment(&text),
            text: value,
        })
    }
}
