//! Executes a template that is given as an argument, with a little data to try things on.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example shows something"
)]

use std::process::ExitCode;
use std::sync::Arc;

use steersman_gotemplate::{
    Failure, FunctionTable, LookupQuery, Options, TemplateSet, Timestamp, Value, World, builtins,
};

/// Nothing is known outside, and it is always 1970.
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

fn main() -> ExitCode {
    let text = std::env::args().nth(1);
    let text =
        text.unwrap_or_else(|| "{{ range $i, $name := .names }}{{ $i }}: {{ $name }}\n{{ end }}".into());
    let data = Value::map([
        ("names", Value::strings(["spring", "summer"])),
        ("size", Value::Float(1_000_000.0)),
    ]);
    let mut set = TemplateSet::new(Arc::new(FunctionTable::new(&[builtins()])));
    let output = set
        .parse("argument", &text)
        .and_then(|()| set.execute("argument", &data, &Nowhere, &Options::default()));
    match output {
        Ok(output) => {
            println!("{output}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
