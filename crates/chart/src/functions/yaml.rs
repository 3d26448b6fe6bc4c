//! `toYaml`, `fromYaml`, `fromYamlArray` and their variants.

use steersman_gotemplate::stack::grow;
use steersman_gotemplate::{Encoded, Failure, Map, MapType, Object, Runtime, Str, Value};
use steersman_sprig::date::{Duration, Time};
use steersman_yaml::{Content, Emitter, Error, MAX_DEPTH, Node, Style, sort_keys};

use super::json::mismatch;
use super::{Outcome, argument, bytes, error_map};

/// The most bytes that one value is written as.
const MAX_TEXT: usize = 16 << 20;

/// Why a value has no YAML.
#[derive(Debug)]
pub(crate) enum Unwritable {
    /// It is longer than [`MAX_TEXT`], as that of values that share others many times over.
    TooLarge,
    /// YAML has no form for it.
    Refused(Error),
}

impl Unwritable {
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::TooLarge => Failure::exhausted(format!("YAML is larger than {MAX_TEXT} bytes")),
            Self::Refused(error) => Failure::new(error.to_string()),
        }
    }
}

pub(super) fn to_yaml_text(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    lenient(must_to_yaml(runtime, arguments))
}

pub(super) fn must_to_yaml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    announced(runtime, argument(arguments, 0), Style::V2)
}

pub(super) fn to_yaml_pretty(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    lenient(announced(runtime, argument(arguments, 0), Style::V3Pretty))
}

/// The empty text for what cannot be written.
fn lenient(outcome: Outcome) -> Outcome {
    match outcome {
        Err(failure) if !failure.exhausted => Ok(Value::from("")),
        outcome => outcome,
    }
}

/// The value as YAML, with the memory that it takes announced.
fn announced(runtime: &mut dyn Runtime, value: &Value, style: Style) -> Outcome {
    let text = written(value, style).map_err(Unwritable::into_failure)?;
    runtime.reserve(text.len())?;
    Ok(Value::from(text))
}

/// The value as YAML, without the line break at its end.
pub(crate) fn to_yaml(value: &Value) -> Result<String, Unwritable> {
    written(value, Style::V2)
}

fn written(value: &Value, style: Style) -> Result<String, Unwritable> {
    let mut text = String::new();
    let mut emitter = Emitter::new(&mut text, style);
    write(&mut emitter, value, style)?;
    emitter.finish().map_err(Unwritable::Refused)?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// Writes a value. What is nested too deep is left out, and makes the emitter fail.
fn write(emitter: &mut Emitter<'_>, value: &Value, style: Style) -> Result<(), Unwritable> {
    if emitter.written() > MAX_TEXT {
        return Err(Unwritable::TooLarge);
    }
    match value {
        Value::Invalid | Value::Nil => emitter.null(),
        Value::Bool(value) => emitter.bool(*value),
        Value::Int(number) | Value::Int64(number) => emitter.int(*number),
        Value::Uint64(number) => emitter.uint(*number),
        Value::Byte(number) => emitter.int(i64::from(*number)),
        Value::Float(number) => emitter.float(*number),
        Value::Str(text) => emitter.string(&text.text()),
        Value::Bytes(bytes) if style == Style::V3Pretty => {
            emitter.begin_sequence(bytes.len());
            for byte in &**bytes {
                emitter.int(i64::from(*byte));
            }
            emitter.end_sequence();
        }
        Value::Bytes(bytes) => emitter.string(&super::base64(bytes)),
        Value::List(list) if list.is_nil() && style == Style::V2 => emitter.null(),
        Value::Map(map) if map.is_nil() && style == Style::V2 => emitter.null(),
        Value::List(list) => {
            emitter.begin_sequence(list.len());
            if emitter.depth() <= MAX_DEPTH {
                for item in list.items() {
                    grow(|| write(emitter, item, style))?;
                }
            }
            emitter.end_sequence();
        }
        Value::Map(map) => write_mapping(emitter, map.entries(), style)?,
        Value::Object(object) if style == Style::V3Pretty => write_directly(emitter, object.as_ref())?,
        Value::Object(object) => match object.encoded() {
            Encoded::Plain(plain) => write(emitter, &plain, style)?,
            Encoded::Fields(fields) => write_mapping(emitter, fields, style)?,
        },
    }
    Ok(())
}

/// Writes an object as `toYamlPretty` does, which does not go by way of JSON.
fn write_directly(emitter: &mut Emitter<'_>, object: &dyn Object) -> Result<(), Unwritable> {
    const STYLE: Style = Style::V3Pretty;
    if let Some(time) = object.as_any().downcast_ref::<Time>() {
        emitter.timestamp(&time.format("2006-01-02T15:04:05.999999999Z07:00"));
        return Ok(());
    }
    if let Some(duration) = object.as_any().downcast_ref::<Duration>() {
        emitter.string(&duration.to_string());
        return Ok(());
    }
    if let Some(entries) = object.entries() {
        return write_mapping(emitter, entries, STYLE);
    }
    match object.encoded() {
        Encoded::Plain(plain) => write(emitter, &plain, STYLE),
        Encoded::Fields(_) => {
            let members = object.members().unwrap_or_default();
            let exported = members
                .iter()
                .filter(|(name, _)| name.starts_with(char::is_uppercase));
            emitter.begin_mapping(exported.clone().count());
            for (name, value) in exported {
                emitter.string(&name.to_lowercase());
                grow(|| write(emitter, value, STYLE))?;
            }
            emitter.end_mapping();
            Ok(())
        }
    }
}

fn write_mapping(
    emitter: &mut Emitter<'_>,
    entries: Vec<(Str, Value)>,
    style: Style,
) -> Result<(), Unwritable> {
    emitter.begin_mapping(entries.len());
    if emitter.depth() <= MAX_DEPTH {
        let mut entries: Vec<(String, Value)> = entries
            .into_iter()
            .map(|(key, value)| (key.text().into_owned(), value))
            .collect();
        sort_keys(&mut entries, style, |(key, _)| key);
        for (key, value) in &entries {
            emitter.string(key);
            grow(|| write(emitter, value, style))?;
        }
    }
    emitter.end_mapping();
    Ok(())
}

pub(super) fn from_yaml(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(match read(runtime, bytes(arguments, 0))? {
        Ok(map @ Value::Map(_)) => map,
        Ok(Value::Nil) => Value::map::<&str>([]),
        Ok(other) => error_map(while_decoding(&other, "map[string]interface {}")),
        Err(message) => error_map(message),
    })
}

pub(super) fn from_yaml_array(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(match read(runtime, bytes(arguments, 0))? {
        Ok(list @ Value::List(_)) => list,
        Ok(Value::Nil) => Value::list(Vec::new()),
        Ok(other) => Value::list(vec![while_decoding(&other, "[]interface {}").into()]),
        Err(message) => Value::list(vec![message.into()]),
    })
}

fn while_decoding(found: &Value, wanted: &str) -> String {
    format!(
        "error unmarshaling JSON: while decoding JSON: {}",
        mismatch(found, wanted)
    )
}

/// The value that YAML stands for, or the message about what is wrong with it.
fn read(runtime: &mut dyn Runtime, source: &[u8]) -> Result<Result<Value, String>, Failure> {
    runtime.reserve(steersman_sprig::json::decoded_bytes(source))?;
    let value = steersman_yaml::parse_bytes(source).and_then(to_value);
    Ok(value.map_err(|error| error.converting()))
}

/// The error for a key that cannot be one, which names its value, too.
fn with_value(key: Node, value: Node) -> Option<Error> {
    let (line, column) = (key.line, key.column);
    let value = Content::Mapping(vec![(key, value)]);
    Node { value, line, column }.to_json().err()
}

/// A node as Go's `encoding/json` decodes it: all numbers are floats.
fn to_value(node: Node) -> Result<Value, Error> {
    Ok(match node.value {
        Content::Null => Value::Nil,
        Content::Bool(value) => Value::Bool(value),
        Content::Int(number) => Value::Float(number as f64),
        Content::Uint(number) => Value::Float(number as f64),
        Content::Float(number) if number.is_finite() => Value::Float(number),
        Content::Float(_) => {
            node.to_json()?;
            Value::Nil
        }
        Content::String(text) => Value::from(text),
        Content::Sequence(items) => Value::list(items.into_iter().map(to_value).collect::<Result<_, _>>()?),
        Content::Mapping(pairs) => {
            let map = Map::new(MapType::Any);
            for (key, value) in pairs {
                let key = match key.value {
                    Content::String(text) => text,
                    _ => match key.key_string() {
                        Ok(text) => text,
                        Err(error) => return Err(with_value(key, value).unwrap_or(error)),
                    },
                };
                map.insert(key, to_value(value)?);
            }
            Value::Map(map)
        }
    })
}
