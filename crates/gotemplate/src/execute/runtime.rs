//! What functions can reach.

use crate::error::{Error, ErrorKind};
use crate::format;
use crate::function::{Failure, Runtime};
use crate::tree::Template;
use crate::value::{Map, Str, Value, World};

use super::{Execution, Operand};

impl Runtime for Execution<'_> {
    fn world(&self) -> &dyn World {
        self.world
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.budget.reserve(bytes).map_err(Failure::exhausted)
    }

    fn spend(&mut self, steps: u64) -> Result<(), Failure> {
        self.budget
            .spend(steps, self.options.expired)
            .map_err(Failure::exhausted)
    }

    fn changed(&mut self, map: &Map) {
        if self.changed.last().is_some_and(|last| last.is_of(map)) {
            return;
        }
        if self.changed.len() == self.changed.capacity() {
            self.changed.retain(|map| !map.is_gone());
            // Not soon again where most of them are still there.
            self.changed.reserve(self.changed.len() + 64);
        }
        self.changed.push(map.downgrade());
    }

    fn include(&mut self, name: &str, data: &Value) -> Result<Str, Failure> {
        let Some((template, id)) = self.view.find(name.as_bytes()) else {
            let error = Error::not_found(name, &self.set.name().text());
            return Err(Failure::new(error.to_string()));
        };
        if *self.view.included(id) > self.budget.limits().include_depth {
            return Err(Failure::new(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )));
        }
        *self.view.included(id) += 1;
        let result = self.captured(&template, data);
        *self.view.included(id) -= 1;
        result.map_err(|error| self.failure(error, ""))
    }

    fn expand(&mut self, text: &str, data: &Value) -> Result<Str, Failure> {
        if !text.contains("{{") {
            return Ok(text.into());
        }
        let parsed = crate::set::parsed_bytes(text.as_bytes());
        self.reserve(parsed)?;
        self.spend((parsed / 16) as u64)?;
        let set = self.set;
        let quoted = || format::quote(text);
        let templates = set
            .parse_expansion(text)
            .map_err(|error| Failure::new(format!("cannot parse template {}: {error}", quoted())))?;
        let main = templates.iter().find(|template| template.name == *set.name());
        let Some(main) = main.cloned() else {
            return Err(Failure::new("an expansion has no template of its own"));
        };
        if self.budget.expansions >= self.budget.limits().expand_depth {
            return Err(Failure::exhausted(format!(
                "expansions are nested more than {} times",
                self.budget.limits().expand_depth
            )));
        }
        self.budget.expansions += 1;
        self.view.enter(templates);
        let result = self.captured(&main, data);
        self.view.leave();
        self.budget.expansions -= 1;
        result.map_err(|error| {
            let prefix = format!("error during tpl function execution for {}: ", quoted());
            self.failure(error, &prefix)
        })
    }
}

impl Execution<'_> {
    /// The output of a template by itself.
    fn captured(&mut self, template: &Template, data: &Value) -> Result<Str, Error> {
        let start = self.output.len();
        let result = self.run(template, Operand::plain(data.clone()).unboxed());
        let output = self.output.get(start..).unwrap_or_default();
        let result = result.map(|()| match std::str::from_utf8(output) {
            Ok(text) => Str::from(text),
            Err(_) => Str::from_bytes(output.to_vec()),
        });
        self.output.truncate(start);
        result
    }

    /// The failure of a function that executed a template. A spent budget is kept as it is:
    /// it ends the whole execution, and its place is what matters.
    fn failure(&mut self, error: Error, prefix: &str) -> Failure {
        if error.kind() == ErrorKind::Budget {
            let failure = Failure::exhausted(error.message());
            self.exhausted = Some(error);
            return failure;
        }
        Failure::new(format!("{prefix}{error}"))
    }
}
