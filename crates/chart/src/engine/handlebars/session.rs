//! What helpers share while a template is executed.

use std::cell::{Cell, RefCell, RefMut};

use fragile::Fragile;
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonValue, Output, PathAndJson, RenderContext,
    RenderError, RenderErrorReason, Renderable as _, ScopedJson, Template,
};
use steersman_gotemplate::{Failure, Runtime, Value};

use super::names::Partials;
use super::value::{Cost, Objects, text};
use super::{Budget, block, function};

/// The name under which the scope of an execution holds its [`Session`]. No template can name it.
pub(super) const SESSION: &str = "%session";

/// Levels of blocks, partials and includes in each other.
const MAX_DEPTH: u32 = 1000;

/// The bytes of values that are copied or looked at in one step.
pub(super) const BYTES_PER_STEP: usize = 16;

/// A scope of the crate in which nothing is escaped: manifests are no HTML.
pub(super) fn scope<'reg: 'rc, 'rc>() -> RenderContext<'reg, 'rc> {
    let mut scope = RenderContext::new(None);
    scope.set_disable_escape(true);
    scope
}

/// What one execution of a template uses and has used.
pub(super) struct State<'a> {
    pub(super) name: &'a str,
    pub(super) dot: &'a Value,
    pub(super) partials: &'a Partials,
    pub(super) runtime: &'a mut dyn Runtime,
    pub(super) objects: Objects,
    budget: &'a mut Budget,
    depth: u32,
    /// Bytes of the contexts that partials were given, which are copies.
    copied: usize,
    exhausted: bool,
}

impl<'a> State<'a> {
    pub(super) fn new(
        name: &'a str,
        dot: &'a Value,
        partials: &'a Partials,
        runtime: &'a mut dyn Runtime,
        budget: &'a mut Budget,
    ) -> Self {
        Self {
            name,
            dot,
            partials,
            runtime,
            objects: Objects::default(),
            budget,
            depth: 0,
            copied: 0,
            exhausted: false,
        }
    }

    /// Whether a spent budget ended the execution.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// How large a value may be.
    pub(super) fn value_bytes(&self) -> usize {
        self.budget.limits.value_bytes
    }

    /// The error that ends the execution.
    pub(super) fn fail(&mut self, failure: Failure) -> RenderError {
        self.exhausted |= failure.exhausted;
        error(failure.message)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), RenderError> {
        let spent = self.runtime.spend(steps as u64);
        spent.map_err(|failure| self.fail(failure))
    }

    fn write(&mut self, bytes: usize) -> Result<(), RenderError> {
        self.spend(1 + bytes / BYTES_PER_STEP)?;
        self.budget.written = self.budget.written.saturating_add(bytes);
        let limit = self.budget.limits.output_bytes;
        if self.budget.written > limit {
            let message = format!("output is larger than {limit} bytes");
            return Err(self.fail(Failure::exhausted(message)));
        }
        Ok(())
    }

    /// Accounts for the work that it was to find the arguments of a helper. Gives the bytes of those that are
    /// copies.
    fn evaluated(&mut self, helper: &Helper<'_>) -> Result<usize, RenderError> {
        let mut steps = 1;
        let mut copied = Cost::default();
        for argument in helper.params().iter().chain(helper.hash().values()) {
            steps += 1 + argument.context_path().map_or(0, Vec::len);
            steps += argument.relative_path().map_or(0, String::len) / 8;
            copied = copied.and(copy_of(argument));
        }
        self.spend(steps + copied.steps)?;
        Ok(copied.bytes)
    }

    /// Enters a block, partial or include; [`leave`](Self::leave) is due if there is no error.
    fn enter(&mut self, elements: usize, copied: Cost) -> Result<(), RenderError> {
        self.spend(1 + elements + copied.steps)?;
        self.depth += 1;
        self.copied = self.copied.saturating_add(copied.bytes);
        let depth = MAX_DEPTH.min(self.budget.limits.depth);
        if self.depth > depth {
            let message = format!("blocks and partials are nested more than {depth} deep");
            return Err(self.fail(Failure::exhausted(message)));
        }
        let limit = self.value_bytes();
        if self.copied > limit {
            let message = format!("values need more than {limit} bytes");
            return Err(self.fail(Failure::exhausted(message)));
        }
        Ok(())
    }

    fn leave(&mut self, copied: Cost) {
        self.depth = self.depth.saturating_sub(1);
        self.copied = self.copied.saturating_sub(copied.bytes);
    }
}

/// The cost of an argument, if it is a copy and no part of the context or the template.
pub(super) fn copy_of(argument: &PathAndJson<'_>) -> Cost {
    if argument.context_path().is_some() || argument.try_get_constant_value().is_some() {
        return Cost::default();
    }
    Cost::of(argument.value())
}

/// An error with this text.
pub(super) fn error(message: impl Into<String>) -> RenderError {
    RenderErrorReason::Other(message.into()).into()
}

/// The state of an execution, from where helpers find it.
type Shared<'a> = Fragile<RefCell<State<'a>>>;

fn borrow<'s, 'a>(state: &'s Shared<'a>) -> Result<RefMut<'s, State<'a>>, RenderError> {
    let state = state.try_get().map_err(|cause| error(cause.to_string()))?;
    state.try_borrow_mut().map_err(|cause| error(cause.to_string()))
}

/// Each helper of the registry, which all executions share: the execution's own [`Session`] knows
/// what to do.
pub(super) struct Delegate;

impl HelperDef for Delegate {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        match scope.get_local_helper(SESSION) {
            Some(session) => session.call_inner(helper, registry, context, scope),
            None => Err(error("helpers work in an execution only")),
        }
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        match scope.get_local_helper(SESSION) {
            Some(session) => session.call(helper, registry, context, scope, output),
            None => Err(error("helpers work in an execution only")),
        }
    }
}

/// The helpers of one execution.
pub(super) struct Session<'s, 'a>(pub(super) &'s Shared<'a>);

impl Session<'_, '_> {
    /// Renders the body of a block, partial or include.
    pub(super) fn body<'reg: 'rc, 'rc>(
        &self,
        template: &'rc Template,
        copied: Cost,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        borrow(self.0)?.enter(template.elements.len(), copied)?;
        grow(|| template.render(registry, context, scope, output))?;
        borrow(self.0)?.leave(copied);
        Ok(())
    }

    /// The output of a template by itself.
    pub(super) fn captured<'reg: 'rc, 'rc>(
        &self,
        template: &'rc Template,
        copied: Cost,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
    ) -> Result<String, RenderError> {
        let mut output = Bounded::new(self.0);
        self.body(template, copied, registry, context, scope, &mut output)?;
        Ok(output.into_text())
    }

    /// Gives the state to a function that does not execute templates.
    pub(super) fn with_state<T>(
        &self,
        work: impl FnOnce(&mut State<'_>) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        work(&mut *borrow(self.0)?)
    }
}

impl HelperDef for Session<'_, '_> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        self.with_state(|state| state.evaluated(helper))?;
        let value = if helper.name() == "include" {
            grow(|| self.include(helper, registry, context, scope))
        } else {
            self.with_state(|state| grow(|| function::call(state, helper)))
        };
        value.map(ScopedJson::Derived)
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        if helper.is_block() {
            let copied = self.with_state(|state| state.evaluated(helper))?;
            return block::call(self, helper, copied, registry, context, scope, output);
        }
        let text = match self.call_inner(helper, registry, context, scope)? {
            ScopedJson::Derived(value) => self.with_state(|state| Ok(text(value, &state.objects)))?,
            _ => String::new(),
        };
        Text(Cell::new(text)).call(helper, registry, context, scope, output)
    }
}

/// A text to write: the crate indents what helpers give by [`call_inner`](HelperDef::call_inner).
struct Text(Cell<String>);

impl HelperDef for Text {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        _: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        Ok(ScopedJson::Derived(JsonValue::String(self.0.take())))
    }
}

/// Output that is accounted for.
pub(super) struct Bounded<'s, 'a> {
    state: &'s Shared<'a>,
    text: String,
}

impl<'s, 'a> Bounded<'s, 'a> {
    pub(super) fn new(state: &'s Shared<'a>) -> Self {
        let text = String::new();
        Self { state, text }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Output for Bounded<'_, '_> {
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        borrow(self.state)
            .and_then(|mut state| state.write(text.len()))
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        self.text.push_str(text);
        Ok(())
    }
}

/// What one level of recursion may use before it asks again: the crate evaluates the arguments of a
/// helper, which are nested, without asking.
const RED_ZONE: usize = 1 << 20;
const SEGMENT: usize = 4 << 20;

fn grow<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, work)
}
