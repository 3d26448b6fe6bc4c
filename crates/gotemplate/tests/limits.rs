//! Templates that are hostile, or just wrong, end with an error.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::Cell;
use std::sync::Arc;

use steersman_gotemplate::{
    Effect, ErrorKind, Execution, Failure, Function, FunctionTable, Limits, LookupQuery, Options, Parameter,
    Runtime, TemplateSet, Timestamp, Value, World, builtins, format,
};

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

const fn calling(
    name: &'static str,
    parameters: &'static [Parameter],
    call: fn(&mut dyn Runtime, &[Value]) -> Result<Value, Failure>,
) -> Function {
    Function::new(name, parameters, Effect::Template, call)
}

const FUNCTIONS: &[Function] = &[
    calling(
        "include",
        &[Parameter::String, Parameter::Any],
        |runtime, arguments| {
            let name = format::print_value(&arguments[0]).to_string();
            Ok(Value::Str(runtime.include(&name, &arguments[1])?))
        },
    ),
    calling(
        "tpl",
        &[Parameter::String, Parameter::Any],
        |runtime, arguments| {
            let text = format::print_value(&arguments[0]).to_string();
            Ok(Value::Str(runtime.expand(&text, &arguments[1])?))
        },
    ),
    calling("wrap", &[Parameter::Any], |_, arguments| {
        Ok(Value::list(vec![arguments[0].clone()]))
    }),
    calling("reserve", &[Parameter::Int], |runtime, arguments| {
        let Value::Int(bytes) = arguments[0] else {
            return Err(Failure::new("not an int"));
        };
        runtime.reserve(bytes as usize).map(|()| Value::Nil)
    }),
];

fn set(text: &str) -> TemplateSet {
    let mut set = TemplateSet::new(Arc::new(FunctionTable::new(&[builtins(), FUNCTIONS])));
    set.parse("main", text).unwrap();
    set
}

/// Executes `text` under the default limits, and checks how its only or innermost error ends.
fn check(text: &str, data: &Value, kind: ErrorKind, want: &str) {
    let error = set(text)
        .execute("main", data, &Nowhere, &Options::default())
        .unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    assert!(message.ends_with(want), "{message}");
}

#[test]
fn a_template_that_includes_itself_ends() {
    check(
        r#"{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#,
        &Value::Nil,
        ErrorKind::Execution,
        "rendering template has a nested reference name: a: unable to execute template",
    );
}

#[test]
fn a_template_that_calls_itself_ends() {
    check(
        r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#,
        &Value::Nil,
        ErrorKind::Budget,
        "exceeded maximum template depth (5000)",
    );
}

#[test]
fn a_text_that_expands_itself_ends() {
    check(
        "{{ tpl .t . }}",
        &Value::map([("t", Value::from("{{ tpl .t . }}"))]),
        ErrorKind::Budget,
        "expansions are nested more than 200 times",
    );
}

#[test]
fn endless_loops_end() {
    let want = "rendering takes more than 1000 steps";
    let options = Options {
        limits: Limits {
            steps: 1000,
            ..Limits::default()
        },
        ..Options::default()
    };
    for text in [
        "{{ range 1000000000 }}{{ end }}",
        "{{ range 100000 }}{{ range 100000 }}x{{ end }}{{ end }}",
    ] {
        let error = set(text)
            .execute("main", &Value::Nil, &Nowhere, &options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Budget);
        assert_eq!(error.message(), want);
    }
}

#[test]
fn executions_end_when_their_time_is_up() {
    let looks = Cell::new(0);
    let expired = || {
        looks.set(looks.get() + 1);
        looks.get() > 3
    };
    let options = Options {
        expired: Some(&expired),
        ..Options::default()
    };
    let text = "{{ range 1000000000 }}{{ end }}";
    let error = set(text)
        .execute("main", &Value::Nil, &Nowhere, &options)
        .unwrap_err();
    assert_eq!(error.message(), "rendering takes too long");
    assert_eq!(looks.get(), 4);
}

#[test]
fn output_and_values_are_bounded() {
    let options = Options {
        limits: Limits {
            output_bytes: 1000,
            value_bytes: 1000,
            ..Limits::default()
        },
        ..Options::default()
    };
    for (text, want) in [
        ("{{ range 2000 }}x{{ end }}", "output is larger than 1000 bytes"),
        (
            "{{ range 2000 }}{{ . }}{{ end }}",
            "output is larger than 1000 bytes",
        ),
        (
            "{{ reserve 600 }}{{ reserve 600 }}",
            "error calling reserve: values need more than 1000 bytes",
        ),
        (
            r#"{{ printf "%2000d" 1 }}"#,
            "error calling printf: values need more than 1000 bytes",
        ),
    ] {
        let error = set(text)
            .execute("main", &Value::Nil, &Nowhere, &options)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Budget);
        assert_eq!(error.message(), want);
    }
}

#[test]
fn templates_of_one_execution_share_its_budget() {
    let set = set("{{ range 100 }}x{{ end }}");
    let options = Options {
        limits: Limits {
            output_bytes: 150,
            ..Limits::default()
        },
        ..Options::default()
    };
    let mut execution = Execution::new(&set, &Nowhere, &options);
    assert_eq!(execution.execute("main", &Value::Nil).unwrap().len(), 100);
    assert!(execution.execute("main", &Value::Nil).is_err());
}

#[test]
fn a_value_that_contains_itself_is_not_printed() {
    let data = Value::map([("a", Value::Int(1))]);
    let Value::Map(map) = &data else {
        unreachable!("it was just made")
    };
    map.insert("self", Value::list(vec![data.clone(), data.clone()]));
    check("{{ . }}", &data, ErrorKind::Budget, "value is too large to print");
    check(
        r#"{{ printf "%v" . }}"#,
        &data,
        ErrorKind::Budget,
        "error calling printf: value is too large to print",
    );
    data.dismantle();
}

#[test]
fn values_nested_deeply_are_freed() {
    let text = "{{ $x := 1 }}{{ range 200000 }}{{ $x = wrap $x }}{{ end }}done";
    let output = set(text)
        .execute("main", &Value::Nil, &Nowhere, &Options::default())
        .unwrap();
    assert_eq!(output, "done");
}

#[test]
fn parentheses_and_blocks_nest_as_deeply_as_go_allows() {
    let nested = |depth: usize| format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    let output = set(&nested(9000)).execute("main", &Value::Nil, &Nowhere, &Options::default());
    assert_eq!(output.unwrap(), "1");
    let mut set = set("");
    let error = set.parse("deep", &nested(10_001)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "template: deep:1: max expression depth exceeded"
    );

    let blocks = |depth: usize| format!("{}x{}", "{{ if 1 }}".repeat(depth), "{{ end }}".repeat(depth));
    set.parse("blocks", &blocks(9000)).unwrap();
    let output = set.execute("blocks", &Value::Nil, &Nowhere, &Options::default());
    assert_eq!(output.unwrap(), "x");
    let error = set.parse("deep", &blocks(10_001)).unwrap_err();
    assert_eq!(error.to_string(), "template: deep:1: max nesting depth exceeded");
}

#[test]
fn an_execution_can_go_on_after_a_failure() {
    let set = set(r#"{{ define "bad" }}x{{ .a.b.c }}{{ end }}good{{ if . }}{{ include "bad" . }}{{ end }}"#);
    let mut execution = Execution::new(&set, &Nowhere, &Options::default());
    let error = execution
        .execute("main", &Value::map([("a", Value::map([("b", Value::Nil)]))]))
        .unwrap_err();
    assert_eq!(error.source_name(), "main");
    assert_eq!(error.template_name(), Some("main"));
    assert_eq!((error.line(), error.column()), (Some(1), Some(57)));
    assert_eq!(error.context(), Some(r#"include "bad" ."#));
    assert_eq!(execution.execute("main", &Value::Nil).unwrap(), "good");
}
