//! Generated values are written as Helm writes them.
//!
//! `recorded/generated.jsonl` holds what Helm 4.3.1 makes of the values of [`Sequence`], one text a line. It is made by
//! a program that renders templates with Helm's own engine, one JSON object a line in and out:
//!
//! ```text
//! cargo test -p steersman-chart --test generated -- --ignored --nocapture print_the_snippets | grep '^{' > in.jsonl
//! TZ=UTC oracle < in.jsonl | jq -c "del(.id)" > crates/chart/tests/recorded/generated.jsonl
//! ```

use std::io::Write as _;

use serde_json::{Map, Value, json};

mod support;

/// How many values are compared.
const COUNT: usize = 400;

/// All the forms that a value is written in.
const TEMPLATE: &str = "{{ .Values.v | toYaml }}\n=\n{{ .Values.v | toYamlPretty }}\n=\n{{ .Values.v | toJson }}\n=\n\
    {{ dict \"v\" .Values.v | toYaml | fromYaml | toRawJson }}";

/// A generator of the same values in every run (xorshift).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn text(&mut self) -> String {
        let length = match self.below(10) {
            0 => 0,
            9 => 40,
            length => length.min(5),
        };
        (0..length).map(|_| self.pick(PIECES)).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 3 { 7 } else { 11 }) {
            0 => Value::Null,
            1 => Value::from(self.below(2) == 0),
            2 => Value::from(self.pick(NUMBERS)),
            3 => Value::from(self.below(2_000_000)),
            4..=6 => Value::from(self.text()),
            7 | 8 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => {
                let pairs = (0..self.below(5)).map(|_| (self.text(), self.value(depth + 1)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

const NUMBERS: &[f64] = &[
    0.0,
    1.0,
    -1.0,
    0.5,
    -2.25,
    0.1,
    1e-7,
    123_456.0,
    1e6,
    1_234_567.0,
    1e15,
    1e20,
    1e21,
    1.5e300,
    5e-324,
    -1e-5,
    3.0e-6,
];

const PIECES: &[&str] = &[
    "a",
    "b",
    "word ",
    "longer words follow here ",
    "yes",
    "No",
    "on",
    "null",
    "~",
    "true",
    "0",
    "1",
    "9",
    "0x1f",
    "0o7",
    "1e3",
    "1_000",
    "-",
    "- ",
    "+",
    ".",
    "...",
    "---",
    "_",
    ":",
    ": ",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\n  ",
    "\t",
    "#",
    " #",
    "\"",
    "'",
    "\\",
    "&",
    "*",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "{",
    "}",
    "[",
    "]",
    ",",
    "?",
    "? ",
    "=",
    "<",
    "<<",
    "é",
    "日本",
    "😀",
    "\r",
    "\u{a0}",
    "\u{feff}",
    "\u{1b}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "2001-01-01",
    "12:30",
    "1.5",
    "/",
    "$",
    "{{",
    "<b>",
];

fn values() -> impl Iterator<Item = Value> {
    let mut sequence = Sequence(0x9e37_79b9_7f4a_7c15);
    (0..COUNT).map(move |_| json!({"v": sequence.value(0)}))
}

#[test]
fn generated_values_are_written_as_helm_writes_them() {
    let recorded = include_str!("recorded/generated.jsonl");
    assert_eq!(recorded.lines().count(), COUNT);
    for (number, (values, expect)) in values().zip(recorded.lines()).enumerate() {
        let expect: Value = serde_json::from_str(expect).unwrap();
        let found = support::read_values(&values)
            .and_then(|values| support::render_snippet(TEMPLATE, None, [], &values));
        match found {
            Ok(found) => assert_eq!(json!({"output": found}), expect, "value {number}: {values}"),
            // Some texts are no JSON that is YAML, too.
            Err(error) => {
                let expect = expect["error"].as_str().unwrap_or_default();
                assert!(
                    !expect.is_empty() && error.ends_with(expect),
                    "value {number}: {values}: {error}"
                );
            }
        }
    }
}

#[test]
#[ignore = "prints what Helm is asked when the recording is made"]
fn print_the_snippets() {
    for (number, values) in values().enumerate() {
        let line = json!({"id": number.to_string(), "template": TEMPLATE, "values": values});
        writeln!(std::io::stdout(), "{line}").unwrap();
    }
}
