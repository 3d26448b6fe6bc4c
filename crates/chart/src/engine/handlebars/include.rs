//! `include`: the output of another template as a value.

use std::rc::Rc;

use fragile::Fragile;
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonValue, Output, RenderContext, RenderError,
    ScopedJson,
};
use steersman_gotemplate::Failure;

use super::session::{self, SESSION, Session, copy_of, error};
use super::value::Cost;
use super::{block, function};

impl Session<'_, '_> {
    /// The output of a partial, or of a template that the Go templates of the chart define.
    pub(super) fn include<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &RenderContext<'reg, 'rc>,
    ) -> Result<JsonValue, RenderError> {
        let arguments = helper.params();
        let name = match arguments.as_slice() {
            [name] | [name, _] => name.value().as_str(),
            _ => None,
        };
        let Some(name) = name else {
            return Err(error("include takes a name and, if wanted, a value"));
        };
        let data = arguments.get(1);
        // A name that stands in a template was made that of a file when it was parsed.
        let partial = self.with_state(|state| {
            let file = state.partials.find(state.name, name).unwrap_or(name);
            Ok(registry.get_template(file))
        })?;
        let Some(partial) = partial else {
            return self.with_state(|state| {
                let data = function::dot(state, data);
                let output = state.runtime.include(name, &data);
                output.map(|text| text.text().into()).map_err(|failure| {
                    state.fail(Failure {
                        message: format!("error calling include: {}", failure.message),
                        ..failure
                    })
                })
            });
        };
        // A scope of its own: the output is a value, which is not indented as the text around it.
        let mut inner = session::scope();
        if let Some(session) = scope.get_local_helper(SESSION) {
            inner.register_local_helper(SESSION, Box::new(Forward(Fragile::new(session))));
        }
        if let Some(data) = data {
            inner.push_block(block::block_of(data));
        }
        let copy = data.map_or_else(Cost::default, copy_of);
        self.captured(partial, copy.and(copy), registry, context, &mut inner)
            .map(JsonValue::String)
    }
}

/// The helpers of an execution, in another scope of it.
struct Forward<'rc>(Fragile<Rc<dyn HelperDef + Send + Sync + 'rc>>);

impl HelperDef for Forward<'_> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let session = self.0.try_get().map_err(|cause| error(cause.to_string()))?;
        session.call_inner(helper, registry, context, scope)
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        scope: &mut RenderContext<'reg, 'rc>,
        output: &mut dyn Output,
    ) -> HelperResult {
        let session = self.0.try_get().map_err(|cause| error(cause.to_string()))?;
        session.call(helper, registry, context, scope, output)
    }
}
