//! Templates that Go executed, with what came out. See `recorded/README.md`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use steersman_gotemplate::{
    Failure, Function, FunctionTable, List, ListType, LookupQuery, Map, MapType, MissingKey, Options,
    Parameter, Runtime, TemplateSet, Timestamp, Value, World, builtins, format,
};

#[test]
fn templates_do_what_go_does() {
    let values = serde_json::from_str(include_str!("recorded/values.json")).unwrap();
    let data = Value::map([("Values", from_json(&values))]);
    let functions = Arc::new(FunctionTable::new(&[builtins(), FUNCTIONS]));
    let mut differences = Vec::new();
    for line in include_str!("recorded/templates.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let (want, got) = (recorded(&case), run(&case, &data, &functions));
        if want != got {
            let template = &case["template"];
            differences.push(format!("{template}\n  want {want:?}\n  got  {got:?}"));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

fn recorded(case: &serde_json::Value) -> Result<String, String> {
    match case["output"].as_str() {
        Some(output) => Ok(output.to_owned()),
        None => Err(case["error"].as_str().unwrap().to_owned()),
    }
}

fn run(case: &serde_json::Value, data: &Value, functions: &Arc<FunctionTable>) -> Result<String, String> {
    let mut set = TemplateSet::new(Arc::clone(functions));
    let helpers = case["helpers"].as_str().unwrap_or_default();
    let parsed = set
        .parse("helpers", helpers)
        .and_then(|()| set.parse("main", case["template"].as_str().unwrap()));
    parsed.map_err(|error| error.to_string())?;
    let options = Options {
        missing_key: MissingKey::Zero,
        ..Options::default()
    };
    let output = set.execute("main", data, &Nowhere, &options);
    output
        .map(|output| output.to_string())
        .map_err(|error| error.to_string())
}

fn from_json(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Float(number.as_f64().unwrap()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(from_json).collect()),
        Json::Object(entries) => Value::map(
            entries
                .iter()
                .map(|(key, value)| (key.as_str(), from_json(value))),
        ),
    }
}

struct Nowhere;

impl World for Nowhere {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::Nil)
    }
}

type Body = fn(&mut dyn Runtime, &[Value]) -> Result<Value, Failure>;

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    variadic: bool,
    call: Body,
) -> Function {
    let function = Function::pure(name, parameters, call);
    if variadic { function.variadic() } else { function }
}

const FUNCTIONS: &[Function] = &[
    function(
        "include",
        &[Parameter::String, Parameter::Any],
        false,
        |runtime, arguments| Ok(Value::Str(runtime.include(&text(&arguments[0]), &arguments[1])?)),
    ),
    function(
        "tpl",
        &[Parameter::String, Parameter::Any],
        false,
        |runtime, arguments| Ok(Value::Str(runtime.expand(&text(&arguments[0]), &arguments[1])?)),
    ),
    function("list", &[Parameter::Any], true, |_, arguments| {
        Ok(Value::list(arguments.to_vec()))
    }),
    function("dict", &[Parameter::Any], true, |_, arguments| {
        let pairs = arguments.chunks_exact(2);
        let entries = pairs.map(|pair| (format::print_value(&pair[0]), pair[1].clone()));
        Ok(Value::Map(Map::from_entries(MapType::Any, entries)))
    }),
    function("upper", &[Parameter::String], false, |_, arguments| {
        Ok(Value::from(text(&arguments[0]).to_uppercase()))
    }),
    function(
        "default",
        &[Parameter::Any, Parameter::Any],
        true,
        |_, arguments| {
            let given = arguments.get(1).filter(|value| value.is_true());
            Ok(given.unwrap_or(&arguments[0]).clone())
        },
    ),
    function("fail", &[Parameter::String], false, |_, arguments| {
        Err(Failure::new(text(&arguments[0])))
    }),
    function("int64", &[Parameter::Float64], false, |_, arguments| {
        Ok(Value::Int64(float(&arguments[0])))
    }),
    function("int", &[Parameter::Float64], false, |_, arguments| {
        Ok(Value::Int(float(&arguments[0])))
    }),
    function("until", &[Parameter::Int], false, |_, arguments| {
        let Value::Int(count) = arguments[0] else {
            return Err(Failure::new("not an int"));
        };
        Ok(Value::List(List::new(
            ListType::Int,
            (0..count).map(Value::Int).collect(),
        )))
    }),
];

fn text(value: &Value) -> String {
    format::print_value(value).to_string()
}

fn float(value: &Value) -> i64 {
    match value {
        Value::Float(number) => *number as i64,
        _ => 0,
    }
}
