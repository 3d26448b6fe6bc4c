//! The helpers that have blocks. What they mean is what Handlebars says of them.

use handlebars::{
    BlockContext, BlockParams, Context, Handlebars, Helper, HelperResult, JsonTruthy as _, JsonValue, Output,
    PathAndJson, RenderContext,
};

use super::compile::{BODY, CAPTURE};
use super::session::{Session, copy_of, error};
use super::value::Cost;

/// Helpers that may have a block. The last two stand around texts of templates, and no template can name them.
pub(super) const NAMES: &[&str] = &["if", "unless", "each", "with", "raw", BODY, CAPTURE];

/// How many arguments a block takes, if there is one of this name.
pub(super) fn parameters(name: &str) -> Option<usize> {
    match name {
        "if" | "unless" | "each" | "with" => Some(1),
        "raw" => Some(0),
        _ => None,
    }
}

/// Whether a block has a named argument.
pub(super) fn takes(name: &str, key: &str) -> bool {
    matches!((name, key), ("if" | "unless", "includeZero"))
}

/// Renders a block. `arguments` is what its arguments take that are copies.
pub(super) fn call<'reg: 'rc, 'rc>(
    session: &Session<'_, '_>,
    helper: &Helper<'rc>,
    arguments: usize,
    registry: &'reg Handlebars<'reg>,
    context: &'rc Context,
    scope: &mut RenderContext<'reg, 'rc>,
    output: &mut dyn Output,
) -> HelperResult {
    let with_zero = helper
        .hash_get("includeZero")
        .is_some_and(|value| value.value().is_truthy(false));
    let is_true = helper
        .param(0)
        .is_some_and(|value| value.value().is_truthy(with_zero));
    let goes_in = match helper.name() {
        "unless" => !is_true,
        "if" | "each" | "with" => is_true,
        _ => true,
    };
    let branch = if goes_in {
        helper.template()
    } else {
        helper.inverse()
    };
    let Some(branch) = branch else {
        return Ok(());
    };
    let mut body = |scope: &mut RenderContext<'reg, 'rc>, copied: Cost| {
        let held = Cost {
            bytes: arguments,
            steps: 0,
        };
        session.body(branch, held.and(copied), registry, context, scope, output)
    };
    match (helper.name(), helper.param(0)) {
        ("each", Some(items)) if goes_in => each(helper, items, scope, &mut body),
        ("with", Some(value)) if goes_in => {
            let mut block = block_of(value);
            if let Some(parent) = scope.block() {
                block.local_variables_mut().clone_from(parent.local_variables());
            }
            name_value(&mut block, helper, value, value.value(), None)?;
            scope.push_block(block);
            // The copy is `this`, and may have a name, too.
            let copy = copy_of(value);
            body(scope, copy.and(copy))?;
            scope.pop_block();
            Ok(())
        }
        (BODY, _) => {
            // A partial has a copy of its context, and of its arguments before they were put into it.
            let copy = scope
                .block()
                .and_then(BlockContext::base_value)
                .map_or_else(Cost::default, Cost::of);
            body(scope, copy.and(copy))
        }
        (CAPTURE, _) => {
            let text = session.captured(branch, Cost::default(), registry, context, scope)?;
            Ok(output.write(&text)?)
        }
        _ => body(scope, Cost::default()),
    }
}

/// The scope in which a value is `this`: a path where there is one, so that nothing is copied.
pub(super) fn block_of<'rc>(value: &PathAndJson<'rc>) -> BlockContext<'rc> {
    let mut block = BlockContext::new();
    match value.context_path() {
        Some(path) => block.base_path_mut().clone_from(path),
        None => block.set_base_value(value.value().clone()),
    }
    block
}

/// The key of an item, also as part of a path, and the item.
type Entry<'a> = (JsonValue, String, &'a JsonValue);

fn each<'reg: 'rc, 'rc>(
    helper: &Helper<'rc>,
    items: &PathAndJson<'rc>,
    scope: &mut RenderContext<'reg, 'rc>,
    body: &mut dyn FnMut(&mut RenderContext<'reg, 'rc>, Cost) -> HelperResult,
) -> HelperResult {
    // A list can be long: its items are made as they are needed.
    let entries: &mut dyn Iterator<Item = Entry<'_>> = match items.value() {
        JsonValue::Array(list) => &mut list
            .iter()
            .enumerate()
            .map(|(index, item)| (index.into(), index.to_string(), item)),
        JsonValue::Object(map) => &mut map
            .iter()
            .map(|(key, item)| (key.as_str().into(), key.clone(), item)),
        _ => return Err(error("each takes a list or a map")),
    };
    let is_copy = items.context_path().is_none();
    let is_map = items.value().is_object();
    let count = match items.value() {
        JsonValue::Array(list) => list.len(),
        JsonValue::Object(map) => map.len(),
        _ => 0,
    };
    for (index, (key, segment, item)) in entries.enumerate() {
        let mut block = BlockContext::new();
        match items.context_path() {
            Some(path) => {
                block.base_path_mut().clone_from(path);
                block.base_path_mut().push(segment);
            }
            None => block.set_base_value(item.clone()),
        }
        block.set_local_var("first", (index == 0).into());
        block.set_local_var("last", (index + 1 == count).into());
        block.set_local_var("index", index.into());
        if is_map {
            block.set_local_var("key", key.clone());
        }
        name_value(&mut block, helper, items, item, Some(key))?;
        scope.push_block(block);
        let copy = if is_copy { Cost::of(item) } else { Cost::default() };
        body(scope, copy.and(copy))?;
        scope.pop_block();
    }
    Ok(())
}

/// Gives the value of a block, and its key, the names after `as`.
fn name_value<'rc>(
    block: &mut BlockContext<'rc>,
    helper: &Helper<'rc>,
    source: &PathAndJson<'rc>,
    value: &JsonValue,
    key: Option<JsonValue>,
) -> HelperResult {
    let (name, key_name) = match (helper.block_param(), helper.block_param_pair()) {
        (Some(name), _) => (name, None),
        (None, Some((name, key_name))) => (name, Some(key_name)),
        (None, None) => return Ok(()),
    };
    let mut names = BlockParams::new();
    if source.context_path().is_some() {
        names.add_path(name, Vec::new())?;
    } else {
        names.add_value(name, value.clone())?;
    }
    if let (Some(name), Some(key)) = (key_name, key) {
        names.add_value(name, key)?;
    }
    block.set_block_params(names);
    Ok(())
}
