//! Override values: first the environment, then a template, as helm-operator evaluates them.

use std::collections::BTreeSet;
use std::sync::Arc;

use steersman_gotemplate::{
    Effect, Failure, Function, FunctionTable, LookupQuery, Options, Parameter, Runtime, TemplateSet,
    Timestamp, Value, World, builtins,
};
use steersman_model::Environment;

use crate::world::SystemWorld;

/// A text with its variables replaced, and the names of those that are not set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) unset: BTreeSet<String>,
}

/// Replaces `$NAME` and `${NAME}` as Go's `os.ExpandEnv` does: an unset variable by nothing, `${` without an end
/// and `${}` by nothing, a `$` before anything else by itself.
pub(super) fn expand_environment(text: &str, environment: &Environment) -> Expanded {
    let mut unset = BTreeSet::new();
    let text = expand(text, environment, |name, _| {
        unset.insert(name.to_owned());
        ""
    });
    Expanded { text, unset }
}

/// The same, but that a variable that is not set stays as it is written.
pub(super) fn expand_known(text: &str, environment: &Environment) -> String {
    expand(text, environment, |_, written| written)
}

/// Replaces variables; `unset` says what stands in the place of one that is not set, from its name and how it is written.
fn expand<'t>(
    text: &'t str,
    environment: &'t Environment,
    mut unset: impl FnMut(&str, &'t str) -> &'t str,
) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('$') {
        let (before, from) = rest.split_at(start);
        expanded.push_str(before);
        let after = from.get(1..).unwrap_or_default();
        let (name, width) = variable_name(after);
        match (name, width) {
            ("", 0) => expanded.push('$'),
            ("", _) => {}
            (name, _) => {
                let written = from.get(..=width).unwrap_or_default();
                expanded.push_str(environment.get(name).unwrap_or_else(|| unset(name, written)));
            }
        }
        rest = after.get(width..).unwrap_or_default();
    }
    expanded.push_str(rest);
    expanded
}

/// The variable named at the start of a text that follows a `$`, and how many bytes of the text name it.
fn variable_name(text: &str) -> (&str, usize) {
    if let Some(braced) = text.strip_prefix('{') {
        if braced.starts_with(is_special) && braced.get(1..2) == Some("}") {
            return (braced.get(..1).unwrap_or_default(), 3);
        }
        return match braced.split_once('}') {
            Some((name, _)) => (name, name.len() + 2),
            None => ("", 1),
        };
    }
    if text.starts_with(is_special) {
        return (text.get(..1).unwrap_or_default(), 1);
    }
    let end = text
        .find(|c: char| !(c == '_' || c.is_ascii_alphanumeric()))
        .unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), end)
}

/// The one-character names of a shell.
fn is_special(character: char) -> bool {
    matches!(character, '*' | '#' | '$' | '@' | '!' | '?' | '-' | '0'..='9')
}

/// Executes override values as templates with Sprig's functions and no data.
pub(super) struct Templates<'a> {
    functions: Arc<FunctionTable>,
    world: OverrideWorld<'a>,
}

impl<'a> Templates<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        let functions =
            FunctionTable::new(&[builtins(), steersman_sprig::functions(), ENVIRONMENT_FUNCTIONS]);
        Self {
            functions: Arc::new(functions),
            world: OverrideWorld { environment },
        }
    }

    /// Whether a text may ask the environment: the names of the functions for that contain `env`.
    pub(super) fn ask_environment(text: &str) -> bool {
        text.contains("{{") && text.contains("env")
    }

    /// What a text renders to.
    ///
    /// # Errors
    /// It is not a template, or it fails; the message is Go's.
    pub(super) fn render(&self, name: &str, text: &str) -> Result<String, String> {
        if !text.contains("{{") {
            return Ok(text.to_owned());
        }
        let mut templates = TemplateSet::new(Arc::clone(&self.functions));
        templates.parse(name, text).map_err(|error| error.to_string())?;
        let output = templates.execute(name, &Value::Nil, &self.world, &Options::default());
        output
            .map(|text| text.to_string())
            .map_err(|error| error.to_string())
    }
}

/// The two functions of Sprig that charts do not have and override values do.
const ENVIRONMENT_FUNCTIONS: &[Function] = &[
    Function::new(
        "env",
        &[Parameter::String],
        Effect::Lookup,
        |runtime, arguments| ask_environment(runtime, VARIABLE, arguments),
    )
    .signature("name", "string")
    .documentation("The value of an environment variable, or the empty text."),
    Function::new(
        "expandenv",
        &[Parameter::String],
        Effect::Lookup,
        |runtime, arguments| ask_environment(runtime, EXPANSION, arguments),
    )
    .signature("text", "string")
    .documentation("The text with its environment variables replaced."),
];

const VARIABLE: &str = "EnvironmentVariable";
const EXPANSION: &str = "EnvironmentExpansion";

fn ask_environment(runtime: &mut dyn Runtime, kind: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let Some(Value::Str(text)) = arguments.first() else {
        return Ok(Value::string(""));
    };
    let (api_version, namespace) = ("", "");
    runtime.world().lookup(LookupQuery {
        api_version,
        kind,
        namespace,
        name: &text.to_string(),
    })
}

/// The world of an override value: the machine's, where what can be looked up is the environment.
struct OverrideWorld<'a> {
    environment: &'a Environment,
}

impl World for OverrideWorld<'_> {
    fn now(&self) -> Timestamp {
        SystemWorld.now()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        SystemWorld.fill_random(buffer);
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        match query.kind {
            VARIABLE => Ok(Value::string(
                self.environment.get(query.name).unwrap_or_default(),
            )),
            EXPANSION => Ok(Value::string(
                expand_environment(query.name, self.environment).text,
            )),
            _ => SystemWorld.lookup(query),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use steersman_model::Environment;

    use super::expand_environment;

    fn check(text: &str, expect: &Expect) {
        let variables = [
            ("HOME", "/opt/helm"),
            ("A_1", "x"),
            ("EMPTY", ""),
            ("1", "one"),
            ("a b", "odd"),
        ];
        let environment: Environment = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let expanded = expand_environment(text, &environment);
        expect.assert_eq(&format!("{} {:?}", expanded.text, expanded.unset));
    }

    #[test]
    fn variables_are_replaced_as_go_replaces_them() {
        check("no variable", &expect!["no variable {}"]);
        check("$HOME/x", &expect!["/opt/helm/x {}"]);
        check("${HOME}x${A_1}$A_1.", &expect!["/opt/helmxxx. {}"]);
        check("[$EMPTY]", &expect!["[] {}"]);
        check("$12", &expect!["one2 {}"]);
        check("${1}", &expect!["one {}"]);
        check("${a b}", &expect!["odd {}"]);
        check("$UNSET-${ALSO}", &expect![[r#"- {"ALSO", "UNSET"}"#]]);
    }

    #[test]
    fn a_dollar_without_a_name_is_treated_as_go_treats_it() {
        check("$", &expect!["$ {}"]);
        check("a$", &expect!["a$ {}"]);
        check("$.x", &expect!["$.x {}"]);
        check("${}x", &expect!["x {}"]);
        check("${x", &expect!["x {}"]);
        check("$ü", &expect!["$ü {}"]);
        check("$$", &expect![[r#" {"$"}"#]]);
    }
}
