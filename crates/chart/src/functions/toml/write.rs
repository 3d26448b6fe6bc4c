//! Values as TOML, in the layout of `github.com/BurntSushi/toml`.

use std::fmt::Write as _;

use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Encoded, Str, Value, format};
use steersman_sprig::date::{Duration, Time};

use super::read::{LOCAL_DATE, LOCAL_DATE_TIME, LOCAL_TIME};

/// How deep values may be nested.
const MAX_DEPTH: usize = 1000;

/// The most bytes that one value is written as.
const MAX_TEXT: usize = 16 << 20;

/// Why a value has no TOML.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// A nil at the top: there is no document for it.
    #[error("reflect: call of reflect.Value.Type on zero Value")]
    Nothing,
    /// A list contains nothing.
    #[error("toml: cannot encode array with nil element")]
    NothingInList,
    /// A list of tables has no name.
    #[error("toml: top-level values must be Go maps or structs")]
    NoKey,
    /// Values are nested too deep.
    #[error("toml: values are nested too deep")]
    TooDeep,
    /// The text is longer than [`MAX_TEXT`].
    #[error("TOML is larger than {MAX_TEXT} bytes")]
    TooLarge,
}

/// A whole document, in the layout that Helm's `toToml` gives it.
pub(super) fn toml(value: &Value) -> Result<String, WriteError> {
    if value.is_nil() {
        return Err(WriteError::Nothing);
    }
    let mut writer = Writer { text: String::new() };
    writer.entry(&[], value)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
}

/// What TOML knows of a value before it is written.
enum Shape {
    Plain,
    Table(Vec<(Str, Value)>),
    Tables(Vec<Value>),
}

impl Writer {
    /// Writes a value with its key, whose last name is the value's own.
    fn entry(&mut self, key: &[&str], value: &Value) -> Result<(), WriteError> {
        if key.len() > MAX_DEPTH {
            return Err(WriteError::TooDeep);
        }
        self.check_size()?;
        match shape(value)? {
            Shape::Plain => self.key_value(key, value),
            Shape::Table(entries) => {
                if key.len() == 1 {
                    self.line();
                }
                if !key.is_empty() {
                    let _ = writeln!(self.text, "{}[{}]", indentation(key), path(key));
                }
                self.table(key, &entries)
            }
            Shape::Tables(tables) => {
                if key.is_empty() {
                    return Err(WriteError::NoKey);
                }
                for table in &tables {
                    self.line();
                    let _ = writeln!(self.text, "{}[[{}]]", indentation(key), path(key));
                    self.table(key, &fields(table).unwrap_or_default())?;
                }
                Ok(())
            }
        }
    }

    fn check_size(&self) -> Result<(), WriteError> {
        if self.text.len() > MAX_TEXT {
            return Err(WriteError::TooLarge);
        }
        Ok(())
    }

    /// The plain entries of a table, then the tables in it.
    fn table(&mut self, key: &[&str], entries: &[(Str, Value)]) -> Result<(), WriteError> {
        for wants_table in [false, true] {
            for (name, value) in entries {
                if is_nothing(value) || is_table_like(value)? != wants_table {
                    continue;
                }
                let name = name.text();
                let key: Vec<&str> = key.iter().copied().chain([&*name]).collect();
                grow(|| self.entry(&key, value))?;
            }
        }
        Ok(())
    }

    fn key_value(&mut self, key: &[&str], value: &Value) -> Result<(), WriteError> {
        let Some(name) = key.last() else {
            return self.element(value, 0);
        };
        let _ = write!(self.text, "{}{} = ", indentation(key), quoted_if_needed(name));
        self.element(value, key.len())?;
        self.text.push('\n');
        Ok(())
    }

    fn element(&mut self, value: &Value, depth: usize) -> Result<(), WriteError> {
        if depth > MAX_DEPTH {
            return Err(WriteError::TooDeep);
        }
        self.check_size()?;
        match value {
            Value::Invalid | Value::Nil => return Err(WriteError::NothingInList),
            Value::Bool(value) => self.push(value),
            Value::Int(number) | Value::Int64(number) => self.push(number),
            Value::Uint64(number) => self.push(number),
            Value::Byte(number) => self.push(number),
            Value::Float(number) => self.push(float(*number)),
            Value::Str(text) => self.push(quoted(&text.text())),
            Value::Bytes(bytes) => {
                let items: Vec<Value> = bytes.iter().map(|byte| Value::Byte(*byte)).collect();
                self.list(&items, depth)?;
            }
            Value::List(list) => grow(|| self.list(list.items(), depth))?,
            Value::Map(map) => grow(|| self.inline_table(&map.entries(), depth))?,
            Value::Object(object) => {
                if let Some(time) = object.as_any().downcast_ref::<Time>() {
                    self.push(time.format(layout(time)));
                } else if let Some(duration) = object.as_any().downcast_ref::<Duration>() {
                    self.push(quoted(&duration.to_string()));
                } else if let Some(items) = object.items() {
                    self.list(&items, depth)?;
                } else if let Encoded::Plain(plain) = object.encoded() {
                    self.element(&plain, depth + 1)?;
                } else {
                    self.inline_table(&fields(value).unwrap_or_default(), depth)?;
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Result<(), WriteError> {
        self.text.push('[');
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.element(item, depth + 1)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn inline_table(&mut self, entries: &[(Str, Value)], depth: usize) -> Result<(), WriteError> {
        self.text.push('{');
        let mut is_first = true;
        for wants_table in [false, true] {
            for (name, value) in entries {
                if is_nothing(value) || is_table_like(value)? != wants_table {
                    continue;
                }
                if !is_first {
                    self.text.push_str(", ");
                }
                is_first = false;
                let _ = write!(self.text, "{} = ", quoted_if_needed(&name.text()));
                self.element(value, depth + 1)?;
            }
        }
        self.text.push('}');
        Ok(())
    }

    fn push(&mut self, shown: impl std::fmt::Display) {
        let _ = write!(self.text, "{shown}");
    }

    /// An empty line between what was written and what comes.
    fn line(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

/// Whether this is Go's nil of any kind.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        other => other.is_nil(),
    }
}

fn shape(value: &Value) -> Result<Shape, WriteError> {
    if let Some(entries) = fields(value) {
        return Ok(Shape::Table(entries));
    }
    match value {
        Value::List(list) if is_table_list(list.items())? => Ok(Shape::Tables(list.items().to_vec())),
        _ => Ok(Shape::Plain),
    }
}

fn is_table_like(value: &Value) -> Result<bool, WriteError> {
    Ok(match value {
        Value::Map(_) => true,
        Value::List(list) => is_table_list(list.items())?,
        other => fields(other).is_some(),
    })
}

fn is_table_list(items: &[Value]) -> Result<bool, WriteError> {
    if items.iter().any(is_nothing) {
        return Err(WriteError::NothingInList);
    }
    Ok(!items.is_empty() && items.iter().all(|item| fields(item).is_some()))
}

/// The entries of what is a table in TOML.
fn fields(value: &Value) -> Option<Vec<(Str, Value)>> {
    match value {
        Value::Map(map) => Some(map.entries()),
        Value::Object(object) => match object.entries() {
            Some(entries) => Some(entries),
            None if object.as_any().is::<Time>() || object.integer().is_some() => None,
            None => match object.encoded() {
                Encoded::Fields(_) => Some(exported(object.members()?)),
                Encoded::Plain(_) => None,
            },
        },
        _ => None,
    }
}

/// How a time is written: without the parts that it did not have where it was read.
fn layout(time: &Time) -> &'static str {
    match time.zone().name() {
        LOCAL_DATE_TIME => "2006-01-02T15:04:05.999999999",
        LOCAL_DATE => "2006-01-02",
        LOCAL_TIME => "15:04:05.999999999",
        _ => "2006-01-02T15:04:05.999999999Z07:00",
    }
}

/// The fields of a struct that other packages see.
fn exported(members: Vec<(&'static str, Value)>) -> Vec<(Str, Value)> {
    members
        .into_iter()
        .filter(|(name, _)| name.starts_with(char::is_uppercase))
        .map(|(name, value)| (name.into(), value))
        .collect()
}

fn indentation(key: &[&str]) -> String {
    "  ".repeat(key.len().saturating_sub(1))
}

fn path(key: &[&str]) -> String {
    let names: Vec<String> = key.iter().map(|name| quoted_if_needed(name)).collect();
    names.join(".")
}

pub(super) fn quoted_if_needed(name: &str) -> String {
    let is_bare = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            '\0'..' ' | '\u{7f}' => {
                let _ = write!(quoted, "\\u{:04x}", character as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let mut text = format::float(number, b'g', None);
    if !text.contains(['e', '.']) {
        text.push_str(".0");
    }
    text
}
