//! The table of functions: complete, of Helm's types, and documented. See `recorded/README.md`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::{Failure, LookupQuery, Timestamp, Value, World, functions};
use steersman_gotemplate::{Effect, Function, Options, TemplateSet};
use support::TestWorld;

/// Names that the engine gives another body than the table of `funcs.go`, with the type of that.
const REPLACED: [(&str, &str); 2] = [
    ("include", "func(string, interface {}) string"),
    ("tpl", "func(string, interface {}) string"),
];

/// The types that Go has for the functions that templates of Helm can call. Helm's come after Go's.
fn recorded() -> BTreeMap<&'static str, &'static str> {
    include_str!("recorded/functions.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(' ').unwrap())
        .chain(REPLACED)
        .collect()
}

/// The type of a function as Go prints it, without the error beside the result.
fn go_type(function: &Function) -> String {
    let last = function.parameters.len().saturating_sub(1);
    let parameters: Vec<String> = function
        .parameters
        .iter()
        .enumerate()
        .map(|(place, parameter)| match parameter.type_name() {
            name if function.variadic && place == last => format!("...{name}"),
            name => name.to_owned(),
        })
        .collect();
    format!(
        "func({}) {}",
        parameters.join(", "),
        function.documentation.result
    )
}

#[test]
fn functions_are_those_of_helm_with_their_types() {
    let recorded = recorded();
    let helm = include_str!("recorded/functions.txt")
        .split_once("# helm\n")
        .unwrap()
        .1;
    assert_eq!(helm.lines().count(), 233);

    let table = functions();
    let ours: BTreeSet<_> = table.iter().map(|function| function.name).collect();
    assert_eq!(ours, recorded.keys().copied().collect());

    for function in table.iter() {
        let (parameters, result) = split_result(recorded[function.name]);
        let result = result
            .replace("interface {}", "any")
            .replace("reflect.Value", "any");
        assert_eq!(
            go_type(function),
            format!("{parameters} {result}"),
            "{}",
            function.name
        );
    }
}

/// Parameters and result of a Go type; an error beside the result is left out.
fn split_result(go_type: &str) -> (&str, &str) {
    let end = go_type.find(") ").unwrap() + 1;
    let (parameters, result) = go_type.split_at(end);
    let result = result.trim();
    let result = result
        .strip_prefix('(')
        .and_then(|result| result.strip_suffix(", error)"))
        .unwrap_or(result);
    (parameters, result)
}

#[test]
fn every_function_is_documented() {
    for function in functions().iter() {
        let name = function.name;
        let documentation = function.documentation;
        assert!(documentation.text.ends_with('.'), "{name}");
        assert_eq!(
            documentation.parameters.split_whitespace().count(),
            function.parameters.len(),
            "{name}"
        );
        // What always fails has nothing to show.
        assert_eq!(
            documentation.example.is_none(),
            ["call", "fail"].contains(&name),
            "{name}"
        );
        if let Some(example) = documentation.example {
            assert!(example.template.contains(name), "{name}");
        }
    }
}

/// The outputs beside the examples were written by Helm.
#[test]
fn examples_give_what_they_say() {
    let chart = Value::map([("Release", Value::map([("Name", Value::from("rel"))]))]);
    for function in functions().iter() {
        let Some(example) = function.documentation.example else {
            continue;
        };
        let world = Witness::new();
        let output = run(example.template, &chart, &world);
        assert_eq!(output, example.output, "{}", function.name);
        // A function that asked the world for something has an effect that says so.
        if world.asked.get() {
            let effects: Vec<Effect> = functions()
                .iter()
                .filter(|function| example.template.contains(function.name))
                .map(|function| function.effect)
                .collect();
            let declared = [Effect::Clock, Effect::Random, Effect::Lookup];
            assert!(
                effects.iter().any(|effect| declared.contains(effect)),
                "{}",
                function.name
            );
        }
    }
}

fn run(template: &str, dot: &Value, world: &dyn World) -> String {
    let mut set = TemplateSet::new(functions());
    set.parse("example", template).unwrap();
    let output = set.execute("example", dot, world, &Options::default());
    output.unwrap().to_string()
}

/// A world that remembers whether anybody asked it.
struct Witness {
    world: TestWorld,
    asked: Cell<bool>,
}

impl Witness {
    fn new() -> Self {
        Self {
            world: TestWorld::new(),
            asked: Cell::new(false),
        }
    }
}

impl World for Witness {
    fn now(&self) -> Timestamp {
        self.asked.set(true);
        self.world.now()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.asked.set(true);
        self.world.fill_random(buffer);
    }

    fn lookup(&self, query: LookupQuery<'_>) -> Result<Value, Failure> {
        self.asked.set(true);
        self.world.lookup(query)
    }
}
