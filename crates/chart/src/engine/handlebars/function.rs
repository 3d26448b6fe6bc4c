//! The functions of Go templates as helpers.

use std::sync::LazyLock;

use handlebars::{Helper, JsonValue, PathAndJson, RenderError};
use steersman_gotemplate::{Failure, Function, Parameter, Runtime, Value};

use super::compile::PRINT;
use super::session::State;
use super::value::{Cost, ToJson, from_json};
use crate::functions;

/// Functions of Go templates that make no sense here: there are no function values.
const LEFT_OUT: &[&str] = &["call"];

/// Methods of `.Files` and `.Capabilities`, which expressions here cannot call.
const METHODS: &[Method] = &[
    Method::new("filesGet", "Files", "Get"),
    Method::new("filesGlob", "Files", "Glob"),
    Method::new("filesLines", "Files", "Lines"),
    Method::new("filesAsConfig", "Files", "AsConfig"),
    Method::new("filesAsSecrets", "Files", "AsSecrets"),
    Method::new("apiVersionsHas", "APIVersions", "Has"),
];

struct Method {
    helper: &'static str,
    object: &'static str,
    name: &'static str,
}

impl Method {
    const fn new(helper: &'static str, object: &'static str, name: &'static str) -> Self {
        Self { helper, object, name }
    }
}

/// The names of all helpers without a block.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    static FUNCTIONS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let table = functions::table();
        let functions = table.iter().map(|function| function.name);
        functions.filter(|name| !LEFT_OUT.contains(name)).collect()
    });
    let methods = METHODS.iter().map(|method| method.helper);
    FUNCTIONS
        .iter()
        .copied()
        .chain(methods)
        .chain(["gte", "lte", PRINT])
}

/// Whether there is a helper of this name without a block.
pub(super) fn is_known(name: &str) -> bool {
    name != PRINT && names().any(|known| known == name)
}

/// Whether the name alone calls a helper: it takes no arguments. Others are values of that name.
pub(super) fn is_bare(name: &str) -> bool {
    !LEFT_OUT.contains(&name) && find(name).is_some_and(|function| function.parameters.is_empty())
}

fn find(name: &str) -> Option<Function> {
    let name = match name {
        "gte" => "ge",
        "lte" => "le",
        name => name,
    };
    let table = functions::table();
    table.id(name).and_then(|id| table.get(id)).copied()
}

/// Calls the method or function that a helper stands for; a failure fails the template in the words of Go's.
pub(super) fn call(state: &mut State<'_>, helper: &Helper<'_>) -> Result<JsonValue, RenderError> {
    let name = helper.name();
    let arguments = helper.params();
    if let (PRINT, [value]) = (name, arguments.as_slice()) {
        return Ok(value.value().clone());
    }
    if let ("lookup", [holder, key]) = (name, arguments.as_slice()) {
        return Ok(element(holder.value(), key.value()));
    }
    let outcome = looked_at(state, arguments).and_then(|()| {
        match METHODS.iter().find(|method| method.helper == name) {
            Some(method) => call_method(state, method, arguments),
            None => call_function(state, name, arguments),
        }
    });
    outcome.map_err(|failure| {
        state.fail(Failure {
            message: format!("error calling {name}: {}", failure.message),
            ..failure
        })
    })
}

/// Accounts for the arguments of a function, which are copied for it and looked at.
fn looked_at(state: &mut State<'_>, arguments: &[PathAndJson<'_>]) -> Result<(), Failure> {
    let limit = state.value_bytes();
    let mut cost = Cost::default();
    for argument in arguments {
        cost = cost.and(Cost::of(argument.value()));
        if cost.bytes > limit {
            return Err(Failure::exhausted(format!("values need more than {limit} bytes")));
        }
    }
    state.runtime.spend(cost.steps as u64)
}

fn call_function(
    state: &mut State<'_>,
    name: &str,
    arguments: &[PathAndJson<'_>],
) -> Result<JsonValue, Failure> {
    let Some(function) = find(name) else {
        return Err(Failure::new("there is no such function"));
    };
    let mut values: Vec<Value> = arguments
        .iter()
        .map(|argument| from_json(argument.value(), &state.objects))
        .collect();
    if name == "tpl" {
        let data = dot(state, arguments.get(1));
        values.truncate(1);
        values.push(data);
    }
    if let "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "gte" | "lte" = name {
        as_floats_if_one_is(&mut values);
    }
    let values = converted(values, name, function.parameters, function.variadic)?;
    let value = (function.call)(state.runtime, &values)?;
    given(state, &value)
}

/// Calls a method of an object of the dot. The methods of files that `Glob` finds take its pattern.
fn call_method(
    state: &mut State<'_>,
    method: &Method,
    arguments: &[PathAndJson<'_>],
) -> Result<JsonValue, Failure> {
    let field = |value: &Value, name: &str| match value {
        Value::Map(map) => map.get(name.as_bytes()),
        Value::Object(object) => object.field(name),
        _ => None,
    };
    let mut object = match method.object {
        "APIVersions" => field(state.dot, "Capabilities").and_then(|value| field(&value, "APIVersions")),
        name => field(state.dot, name),
    };
    let mut values: Vec<Value> = arguments
        .iter()
        .map(|argument| from_json(argument.value(), &state.objects))
        .collect();
    if let ("AsConfig" | "AsSecrets", Some(files)) = (method.name, &object) {
        object = Some(invoke(
            state.runtime,
            files,
            "Glob",
            method.helper,
            std::mem::take(&mut values),
        )?);
    }
    let value = invoke(
        state.runtime,
        &object.unwrap_or_default(),
        method.name,
        method.helper,
        values,
    )?;
    given(state, &value)
}

fn invoke(
    runtime: &mut dyn Runtime,
    object: &Value,
    method: &str,
    name: &str,
    arguments: Vec<Value>,
) -> Result<Value, Failure> {
    let Value::Object(object) = object else {
        return Err(Failure::new("the dot has no such object"));
    };
    let Some(signature) = object.method(method) else {
        return Err(Failure::new("there is no such method"));
    };
    let arguments = converted(arguments, name, signature.parameters, signature.variadic)?;
    runtime.spend(object.steps(method, &arguments))?;
    object.call(method, &arguments)
}

/// The result of a function, within bounds.
fn given(state: &mut State<'_>, value: &Value) -> Result<JsonValue, Failure> {
    let limit = state.value_bytes();
    let mut conversion = ToJson {
        runtime: state.runtime,
        objects: Some(&mut state.objects),
        limit,
        bytes: 0,
    };
    let json = conversion.convert(value)?;
    let bytes = conversion.bytes;
    state.runtime.reserve(bytes)?;
    Ok(json)
}

/// The dot for a Go template: that of this one, unless it is given another value.
pub(super) fn dot(state: &State<'_>, argument: Option<&PathAndJson<'_>>) -> Value {
    match argument {
        Some(value) if value.context_path().is_none_or(|path| !path.is_empty()) => {
            from_json(value.value(), &state.objects)
        }
        _ => state.dot.clone(),
    }
}

fn element(holder: &JsonValue, key: &JsonValue) -> JsonValue {
    let found = match holder {
        JsonValue::Array(items) => key.as_u64().and_then(|index| items.get(index as usize)),
        JsonValue::Object(entries) => key.as_str().and_then(|key| entries.get(key)),
        _ => None,
    };
    found.cloned().unwrap_or_default()
}

/// Go does not compare numbers of different types; here whole numbers have another type than
/// others without anybody's doing.
fn as_floats_if_one_is(values: &mut [Value]) {
    if values.iter().any(|value| matches!(value, Value::Float(_))) {
        for value in values {
            if let Value::Int64(number) = value {
                *value = Value::Float(*number as f64);
            }
        }
    }
}

/// The arguments as the parameters want them. Numbers become those of the parameter's type, as
/// constants do in Go.
fn converted(
    values: Vec<Value>,
    name: &str,
    parameters: &[Parameter],
    variadic: bool,
) -> Result<Vec<Value>, Failure> {
    let (given, wanted) = (values.len(), parameters.len());
    if variadic && given + 1 < wanted {
        let wanted = wanted - 1;
        return Err(Failure::new(format!(
            "wrong number of args for {name}: want at least {wanted} got {given}"
        )));
    }
    if !variadic && given != wanted {
        return Err(Failure::new(format!(
            "wrong number of args for {name}: want {wanted} got {given}"
        )));
    }
    let last = parameters.last().copied().unwrap_or(Parameter::Any);
    let parameters = parameters.iter().copied().chain(std::iter::repeat(last));
    values
        .into_iter()
        .zip(parameters)
        .map(|(value, parameter)| argument(value, parameter))
        .collect()
}

fn argument(value: Value, parameter: Parameter) -> Result<Value, Failure> {
    let texts = |items: &[Value]| items.iter().all(|item| matches!(item, Value::Str(_)));
    Ok(match (parameter, value) {
        (Parameter::Any | Parameter::Reflect, value)
        | (Parameter::Bool, value @ Value::Bool(_))
        | (Parameter::Int64, value @ Value::Int64(_))
        | (Parameter::Float64, value @ Value::Float(_))
        | (Parameter::String, value @ Value::Str(_))
        | (Parameter::Map, value @ (Value::Map(_) | Value::Nil))
        | (Parameter::List, value @ (Value::List(_) | Value::Nil))
        | (Parameter::Strings, value @ Value::Nil) => value,
        (Parameter::Int, Value::Int64(number)) => Value::Int(number),
        (Parameter::Float64, Value::Int64(number)) => Value::Float(number as f64),
        (Parameter::Strings, Value::List(list)) if texts(list.items()) => {
            Value::strings(list.items().iter().filter_map(|item| match item {
                Value::Str(text) => Some(text.clone()),
                _ => None,
            }))
        }
        (Parameter::Named(name), value)
            if value.type_name() == name || value.type_name().strip_prefix('*') == Some(name) =>
        {
            value
        }
        (parameter, value) => {
            return Err(Failure::new(format!(
                "wrong type for value; expected {}; got {}",
                parameter.type_name(),
                value.type_name()
            )));
        }
    })
}
