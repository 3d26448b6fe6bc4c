//! Evaluation of parsed templates.

use std::fmt;

use crate::error::Error;
use crate::limits::Options;
use crate::set::TemplateSet;
use crate::value::{Str, Value};
use crate::world::World;

/// Executions of templates of one set that share a budget: one rendering.
pub struct Execution<'a> {
    set: TemplateSet,
    world: &'a dyn World,
    options: Options<'a>,
}

impl<'a> Execution<'a> {
    /// Executions of the templates of `set`.
    #[must_use]
    pub fn new(set: &TemplateSet, world: &'a dyn World, options: &Options<'a>) -> Self {
        Self {
            set: set.clone(),
            world,
            options: *options,
        }
    }

    /// The output of the template `name` with `data` as its dot.
    ///
    /// # Errors
    /// There is no such template, it fails, or a limit is reached.
    pub fn execute(&mut self, name: &str, data: &Value) -> Result<Str, Error> {
        let _ = (self.world, data);
        match self.set.get(name.as_bytes()) {
            Some(template) => Ok(Str::from(template.tree.text.as_str())),
            None => Err(Error::not_found(name, &self.set.name().text())),
        }
    }
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("set", &self.set)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
