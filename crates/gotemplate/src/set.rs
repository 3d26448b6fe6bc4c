//! Sets of templates that can call each other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::execute::Execution;
use crate::function::FunctionTable;
use crate::limits::Options;
use crate::tree::Template;
use crate::value::{Str, Value};
use crate::world::World;

/// Templates that can call each other by name, with the functions that they call.
///
/// Filled by [`parse`](Self::parse), executed any number of times, by any number of threads.
/// Clones share what was parsed.
#[derive(Clone)]
pub struct TemplateSet(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    name: Str,
    functions: Arc<FunctionTable>,
    templates: BTreeMap<Str, Arc<Template>>,
}

impl TemplateSet {
    /// A set without templates, named `gotpl` as in Helm.
    #[must_use]
    pub fn new(functions: Arc<FunctionTable>) -> Self {
        Self(Arc::new(Inner {
            name: Str::from("gotpl"),
            functions,
            templates: BTreeMap::new(),
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
    pub(crate) fn parse_expansion(&self, text: &str) -> Result<Vec<Arc<Template>>, Error> {
        crate::parse::parse(&self.0.name.text(), text, &self.0.functions)
    }

    /// Whether there is a template of this name.
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

    /// The output of the template `name` with `data` as its dot.
    ///
    /// Templates that belong to one rendering share one [`Execution`] instead, so that they
    /// share its budget.
    ///
    /// # Errors
    /// There is no such template, it fails, or a limit of `options` is reached.
    pub fn execute(
        &self,
        name: &str,
        data: &Value,
        world: &dyn World,
        options: &Options<'_>,
    ) -> Result<Str, Error> {
        Execution::new(self, world, options).execute(name, data)
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
