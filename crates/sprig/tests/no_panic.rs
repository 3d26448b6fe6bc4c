//! Every function withstands arguments of the right types and odd values.

use std::cell::Cell;

use steersman_gotemplate::{
    Failure, Function, ListType, LookupQuery, Map, MapType, Parameter, Runtime, Str, Timestamp, Value, World,
};
use steersman_sprig::date::{Duration, Time, Zone};

struct Bounded {
    world: Numbers,
    reserved: usize,
    steps: u64,
}

struct Numbers(Cell<u64>);

impl Numbers {
    /// The next of a fixed sequence that looks random (xorshift).
    fn next(&self) -> u64 {
        let mut number = self.0.get();
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        self.0.set(number);
        number
    }

    fn below(&self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

impl World for Numbers {
    fn now(&self) -> Timestamp {
        Timestamp {
            seconds: 1_600_000_000,
            nanoseconds: 1,
        }
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill_with(|| self.next() as u8);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::Nil)
    }
}

impl Runtime for Bounded {
    fn world(&self) -> &dyn World {
        &self.world
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Failure> {
        self.reserved = self.reserved.saturating_add(bytes);
        if self.reserved > 1 << 20 {
            return Err(Failure::exhausted("no more memory"));
        }
        Ok(())
    }

    fn spend(&mut self, steps: u64) -> Result<(), Failure> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > 150_000 {
            return Err(Failure::exhausted("no more steps"));
        }
        Ok(())
    }

    fn include(&mut self, _: &str, _: &Value) -> Result<Str, Failure> {
        Err(Failure::new("no templates"))
    }

    fn expand(&mut self, _: &str, _: &Value) -> Result<Str, Failure> {
        Err(Failure::new("no templates"))
    }
}

const INTEGERS: [i64; 12] = [0, 1, -1, 2, 3, -3, 7, 100, -100, i64::MAX, i64::MIN, 1 << 40];
const FLOATS: [f64; 9] = [
    0.0,
    1.5,
    -1.5,
    1e300,
    -1e300,
    5e-324,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];
const PIECES: [&str; 44] = [
    "",
    "a",
    "B",
    "é",
    "日",
    "ǆ",
    "İ",
    " ",
    "\n",
    "_",
    "-",
    ".",
    "/",
    ":",
    "1",
    "0x",
    "9223372036854775808",
    "%",
    "%4",
    "{",
    "}",
    "[",
    "]",
    "(",
    "(?",
    "\\",
    "*",
    "{2}",
    "|",
    "=",
    ">=",
    "^",
    "~",
    "v",
    "x",
    "+",
    "2006",
    "Jan",
    "Z07:00",
    "UTC",
    "GMT+3",
    "h",
    "\"",
    "e400",
];

fn text(numbers: &Numbers) -> Str {
    let mut bytes = Vec::new();
    for _ in 0..numbers.below(6) {
        bytes.extend_from_slice(PIECES[numbers.below(PIECES.len())].as_bytes());
    }
    if numbers.below(12) == 0 {
        bytes.push(0xc3);
    }
    Str::from_bytes(bytes)
}

fn map(numbers: &Numbers, depth: usize) -> Map {
    let entries = (0..numbers.below(4)).map(|_| (text(numbers), any(numbers, depth + 1)));
    Map::from_entries(MapType::Any, entries.collect::<Vec<_>>())
}

fn list(numbers: &Numbers, depth: usize) -> Value {
    let items = (0..numbers.below(4)).map(|_| any(numbers, depth + 1)).collect();
    Value::list(items)
}

fn any(numbers: &Numbers, depth: usize) -> Value {
    match numbers.below(if depth < 3 { 14 } else { 9 }) {
        0 => Value::Nil,
        1 => (numbers.below(2) == 0).into(),
        2 => Value::Int(INTEGERS[numbers.below(INTEGERS.len())]),
        3 => Value::Int64(INTEGERS[numbers.below(INTEGERS.len())]),
        4 => Value::Uint64(numbers.next()),
        5 => Value::Float(FLOATS[numbers.below(FLOATS.len())]),
        6 => Value::Bytes(text(numbers).as_bytes().into()),
        7 => time(numbers),
        9 | 10 => list(numbers, depth),
        11 | 12 => map(numbers, depth).into(),
        13 => steersman_gotemplate::List::nil(ListType::Any).into(),
        _ => text(numbers).into(),
    }
}

fn time(numbers: &Numbers) -> Value {
    let seconds = INTEGERS[numbers.below(INTEGERS.len())];
    let zone = Zone::named("Europe/Berlin").unwrap_or(Zone::Utc);
    Value::object(Time::new(seconds, 999_999_999, zone))
}

fn argument(numbers: &Numbers, parameter: Parameter) -> Value {
    match parameter {
        Parameter::Any | Parameter::Reflect => any(numbers, 0),
        Parameter::Bool => (numbers.below(2) == 0).into(),
        Parameter::Int => Value::Int(INTEGERS[numbers.below(INTEGERS.len())]),
        Parameter::Int64 => Value::Int64(INTEGERS[numbers.below(INTEGERS.len())]),
        Parameter::Uint32 => Value::Uint64(u64::from(INTEGERS[numbers.below(INTEGERS.len())] as u32)),
        Parameter::Float64 => Value::Float(FLOATS[numbers.below(FLOATS.len())]),
        Parameter::String => text(numbers).into(),
        Parameter::Map if numbers.below(8) == 0 => Value::Nil,
        Parameter::Map => map(numbers, 0).into(),
        Parameter::List => list(numbers, 0),
        Parameter::Strings => Value::strings([text(numbers)]),
        Parameter::Named("time.Time") => time(numbers),
        Parameter::NamedInt64(_) => Value::object(Duration {
            nanoseconds: INTEGERS[numbers.below(INTEGERS.len())],
        }),
        Parameter::Named(_) => Value::Nil,
    }
}

fn arguments(numbers: &Numbers, function: &Function) -> Vec<Value> {
    let mut parameters = function.parameters.to_vec();
    if function.variadic
        && let Some(last) = parameters.pop()
    {
        parameters.extend(std::iter::repeat_n(last, numbers.below(4)));
    }
    parameters
        .into_iter()
        .map(|parameter| argument(numbers, parameter))
        .collect()
}

#[test]
fn odd_arguments_give_a_value_or_a_failure() {
    for function in steersman_sprig::functions() {
        let mut runtime = Bounded {
            world: Numbers(Cell::new(0x2545_f491_4f6c_dd1d)),
            reserved: 0,
            steps: 0,
        };
        for _ in 0..400 {
            runtime.reserved = 0;
            runtime.steps = 0;
            let arguments = arguments(&runtime.world, function);
            if let Ok(value) = (function.call)(&mut runtime, &arguments) {
                let _ = steersman_gotemplate::format::print_value(&value);
            }
        }
    }
}

#[test]
fn methods_of_times_withstand_odd_times() {
    let numbers = Numbers(Cell::new(7));
    for _ in 0..300 {
        for object in [
            time(&numbers),
            Value::object(Duration {
                nanoseconds: INTEGERS[numbers.below(12)],
            }),
        ] {
            let Value::Object(object) = object else { continue };
            for name in [
                "Format",
                "Add",
                "AddDate",
                "Sub",
                "Round",
                "Truncate",
                "Year",
                "YearDay",
                "Weekday",
                "UnixNano",
                "UnixMilli",
                "Abs",
                "Hours",
                "String",
                "IsDST",
                "Location",
                "Month",
            ] {
                let Some(signature) = object.method(name) else {
                    continue;
                };
                let arguments: Vec<_> = signature
                    .parameters
                    .iter()
                    .map(|parameter| argument(&numbers, *parameter))
                    .collect();
                if let Ok(value) = object.call(name, &arguments) {
                    let _ = steersman_gotemplate::format::print_value(&value);
                }
            }
        }
    }
}
