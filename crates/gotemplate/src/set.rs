//! Sets of templates that can call each other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::function::FunctionTable;
use crate::tree::Template;
use crate::value::Str;

/// Templates that can call each other by name, with the functions that they call.
///
/// Filled by [`parse`](Self::parse), [executed](Self::execute) any number of times, by any number of threads.
/// Clones share what was parsed.
///
/// ```
/// use std::sync::Arc;
/// use steersman_gotemplate::{FunctionTable, TemplateSet};
///
/// let mut set = TemplateSet::new(Arc::new(FunctionTable::default()));
/// set.parse("web", r#"{{ define "port" }}80{{ end }}port: {{ template "port" }}"#)?;
/// let names: Vec<String> = set.names().map(ToString::to_string).collect();
/// assert_eq!(names, ["port", "web"]);
///
/// let error = set.parse("broken", "port: {{ env }}").unwrap_err();
/// assert_eq!(error.to_string(), r#"template: broken:1: function "env" not defined"#);
/// assert!(!set.contains("broken"));
/// # Ok::<(), steersman_gotemplate::Error>(())
/// ```
#[derive(Clone)]
pub struct TemplateSet(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    name: Str,
    functions: Arc<FunctionTable>,
    templates: BTreeMap<Str, Arc<Template>>,
    /// Parsed expansions. They depend on the functions alone, so all that grew out of one
    /// set share them.
    expansions: Arc<Mutex<Expansions>>,
}

/// About how many bytes a text takes when it is parsed: itself, and nodes for each action in it.
#[must_use]
pub fn parsed_bytes(text: &[u8]) -> usize {
    /// An action has nodes for itself, its pipeline, its command and what that consists of.
    const BYTES_PER_ACTION: usize = 192;
    const BYTES_PER_WORD: usize = 32;
    let mut bytes = text.len();
    let mut inside = false;
    for pair in text.windows(2) {
        match pair {
            b"{{" => {
                bytes = bytes.saturating_add(BYTES_PER_ACTION);
                inside = true;
            }
            b"}}" => inside = false,
            [b' ' | b'.' | b'(' | b'|', _] if inside => bytes = bytes.saturating_add(BYTES_PER_WORD),
            _ => {}
        }
    }
    bytes
}

/// Texts that were expanded, parsed. The same few values are expanded again and again.
#[derive(Debug, Default)]
struct Expansions {
    parsed: BTreeMap<Box<str>, Arc<[Arc<Template>]>>,
    bytes: usize,
}

impl Expansions {
    /// How much text is kept.
    const BYTES: usize = 1 << 20;

    fn keep(&mut self, text: &str, templates: &Arc<[Arc<Template>]>) {
        if text.len() > Self::BYTES / 16 {
            return;
        }
        self.bytes += text.len();
        if self.bytes > Self::BYTES {
            self.parsed.clear();
            self.bytes = text.len();
        }
        self.parsed.insert(text.into(), Arc::clone(templates));
    }
}

impl TemplateSet {
    /// A set without templates, named `gotpl` as in Helm.
    #[must_use]
    pub fn new(functions: Arc<FunctionTable>) -> Self {
        Self(Arc::new(Inner {
            name: Str::from("gotpl"),
            functions,
            templates: BTreeMap::new(),
            expansions: Arc::default(),
        }))
    }

    /// The name of the set, which is also that of texts expanded at run time.
    #[must_use]
    pub fn name(&self) -> &Str {
        &self.0.name
    }

    /// The functions that templates of this set can call.
    #[must_use]
    pub fn functions(&self) -> &FunctionTable {
        &self.0.functions
    }

    /// Adds the template `name`, and those that `text` defines.
    ///
    /// A template that exists already is replaced, except by an empty one: a definition of
    /// nothing but white space and comments does not replace another.
    ///
    /// # Errors
    /// The text is not a template, calls a function that does not exist, or defines a
    /// template twice. The set is unchanged then.
    pub fn parse(&mut self, name: &str, text: &str) -> Result<(), Error> {
        self.parse_bytes(name, text.as_bytes())
    }

    /// [`parse`](Self::parse) for a text that need not be UTF-8: what is outside of actions is output as it is.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_bytes(&mut self, name: &str, text: &[u8]) -> Result<(), Error> {
        let parsed = crate::parse::parse(name, text, &self.0.functions)?;
        let inner = Arc::make_mut(&mut self.0);
        for template in parsed {
            let replaces = !template.is_empty() || !inner.templates.contains_key(&template.name);
            if replaces {
                inner.templates.insert(template.name.clone(), template);
            }
        }
        Ok(())
    }

    /// The templates of a text that is expanded while this set is executed; one of them has
    /// the name of the set.
    pub(crate) fn parse_expansion(&self, text: &str) -> Result<Arc<[Arc<Template>]>, Error> {
        let expansions = || self.0.expansions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(templates) = expansions().parsed.get(text) {
            return Ok(Arc::clone(templates));
        }
        let templates = crate::parse::parse(&self.0.name.text(), text.as_bytes(), &self.0.functions)?.into();
        expansions().keep(text, &templates);
        Ok(templates)
    }

    /// Whether it was parsed, or is defined in another text of the set.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name.as_bytes()).is_some()
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        self.0.templates.keys()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Arc<Template>> {
        self.0.templates.get(name)
    }
}

impl fmt::Debug for TemplateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateSet")
            .field("name", &self.0.name)
            .field("templates", &self.0.templates.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> TemplateSet {
        TemplateSet::new(Arc::new(FunctionTable::new(&[])))
    }

    #[test]
    fn sets_are_shared_by_threads() {
        fn check<T: Send + Sync>(_: &T) {}
        check(&set());
    }

    #[test]
    fn a_later_definition_replaces_an_earlier_one_unless_it_is_empty() {
        let mut set = set();
        set.parse("a", "first").unwrap();
        set.parse("b", r#"{{ define "a" }} {{/* nothing */}} {{ end }}"#)
            .unwrap();
        assert_eq!(set.get(b"a").unwrap().tree.text, "first");
        set.parse("c", r#"{{ define "a" }}second{{ end }}"#).unwrap();
        assert_eq!(set.get(b"a").unwrap().tree.name, "c");
        assert_eq!(set.names().count(), 3);
    }

    #[test]
    fn a_text_that_does_not_parse_changes_nothing() {
        let mut set = set();
        let error = set
            .parse("a", r#"{{ define "b" }}x{{ end }}{{ nope }}"#)
            .unwrap_err();
        assert_eq!(error.to_string(), r#"template: a:1: function "nope" not defined"#);
        assert_eq!((error.line(), error.column()), (Some(1), None));
        assert!(!set.contains("b"));
    }

    #[test]
    fn clones_do_not_see_what_is_added_later() {
        let mut set = set();
        let before = set.clone();
        set.parse("a", "x").unwrap();
        assert!(!before.contains("a"));
    }

    #[test]
    fn expansions_are_parsed_once() {
        let set = set();
        let first = set.parse_expansion("{{ . }}").unwrap();
        assert!(Arc::ptr_eq(&first, &set.parse_expansion("{{ . }}").unwrap()));
    }
}
