//! Renders the template given as the first argument, with Sprig's functions.
//!
//! The second argument is JSON for the dot; without it there is none.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use steersman_gotemplate::{
    Failure, FunctionTable, LookupQuery, Options, Str, TemplateSet, Timestamp, Value, World, builtins,
};

/// The machine's clock, and its random numbers.
struct Machine;

impl World for Machine {
    #[expect(clippy::disallowed_methods, reason = "a program hands its clock in somewhere")]
    fn now(&self) -> Timestamp {
        let elapsed = std::time::SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp {
            seconds: elapsed.as_secs() as i64,
            nanoseconds: elapsed.subsec_nanos(),
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        aws_lc_rs::rand::fill(buffer).expect("the machine has random numbers");
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::map::<Str>([]))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let text = arguments.next().ok_or("usage: render TEMPLATE [JSON]")?;
    let data = match arguments.next() {
        Some(json) => steersman_sprig::json::decode(json.as_bytes())?,
        None => Value::Nil,
    };
    let table = FunctionTable::new(&[builtins(), steersman_sprig::functions()]);
    let mut templates = TemplateSet::new(Arc::new(table));
    templates.parse("argument", &text)?;
    let output = templates.execute("argument", &data, &Machine, &Options::default())?;
    writeln!(std::io::stdout(), "{output}")?;
    Ok(())
}
