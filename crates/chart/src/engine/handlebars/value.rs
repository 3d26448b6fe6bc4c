//! Values of templates as JSON, which the crate works on, and back.

use serde_json::{Map as JsonMap, Number, Value as Json};
use steersman_gotemplate::format::print_value;
use steersman_gotemplate::{Encoded, Failure, Map, MapType, Runtime, Str, Value};

use super::session::BYTES_PER_STEP;

/// How deeply values may be nested in each other.
const MAX_DEPTH: usize = 500;

/// The key that marks the JSON of an object. No value that comes from outside keeps it.
const MARK: &str = "\0object";

/// Objects that functions have given: times, certificates, versions. Their JSON carries a number
/// by which they are found again when they are given to another function.
#[derive(Default)]
pub(super) struct Objects(Vec<Value>);

impl Objects {
    fn get(&self, json: &JsonMap<String, Json>) -> Option<&Value> {
        let index = json.get(MARK)?.as_u64()?;
        self.0.get(index as usize)
    }
}

/// A conversion to JSON within bounds: values of Go templates can share and contain each other.
pub(super) struct ToJson<'a> {
    pub(super) runtime: &'a mut dyn Runtime,
    /// Where objects are kept; without, they are shown as what they encode to.
    pub(super) objects: Option<&'a mut Objects>,
    /// How many bytes the JSON may take.
    pub(super) limit: usize,
    pub(super) bytes: usize,
}

impl ToJson<'_> {
    pub(super) fn convert(&mut self, value: &Value) -> Result<Json, Failure> {
        self.value(value, 0)
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<Json, Failure> {
        self.account(0)?;
        if depth > MAX_DEPTH {
            return Err(Failure::exhausted(format!(
                "values are nested more than {MAX_DEPTH} deep"
            )));
        }
        Ok(match value {
            Value::Invalid | Value::Nil => Json::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(number) | Value::Int64(number) => (*number).into(),
            Value::Uint64(number) => (*number).into(),
            Value::Byte(number) => (*number).into(),
            Value::Float(number) => float(*number),
            Value::Str(text) => self.text(text)?,
            Value::Bytes(bytes) => {
                self.account(bytes.len())?;
                String::from_utf8_lossy(bytes).into()
            }
            Value::List(list) => self.list(list.items(), depth)?,
            Value::Map(map) => self.map(map.entries(), depth)?,
            Value::Object(object) => {
                if let Some(entries) = object.entries() {
                    return self.map(entries, depth);
                }
                if let Some(items) = object.items() {
                    return self.list(&items, depth);
                }
                let mut json = match object.encoded() {
                    Encoded::Fields(fields) => self.map(fields, depth)?,
                    Encoded::Plain(_) if self.objects.is_some() => Json::Object(JsonMap::new()),
                    Encoded::Plain(plain) => self.value(&plain, depth + 1)?,
                };
                if let (Some(objects), Some(fields)) = (self.objects.as_deref_mut(), json.as_object_mut()) {
                    fields.insert(MARK.to_owned(), objects.0.len().into());
                    objects.0.push(value.clone());
                }
                json
            }
        })
    }

    fn text(&mut self, text: &Str) -> Result<Json, Failure> {
        self.account(text.as_bytes().len())?;
        Ok(text.text().into())
    }

    fn list<'v>(
        &mut self,
        items: impl IntoIterator<Item = &'v Value>,
        depth: usize,
    ) -> Result<Json, Failure> {
        let items = items.into_iter().map(|item| self.value(item, depth + 1));
        items.collect::<Result<Vec<Json>, Failure>>().map(Json::Array)
    }

    fn map(&mut self, entries: Vec<(Str, Value)>, depth: usize) -> Result<Json, Failure> {
        self.take(room(entries.len()))?;
        let mut json = JsonMap::new();
        for (key, value) in entries {
            self.account(key.as_bytes().len())?;
            let key = key.text();
            if key != MARK {
                json.insert(key.into_owned(), self.value(&value, depth + 1)?);
            }
        }
        Ok(Json::Object(json))
    }

    /// Accounts for one value, with the bytes of its text.
    fn account(&mut self, bytes: usize) -> Result<(), Failure> {
        self.take(NODE + bytes)?;
        self.runtime.spend(1 + (bytes / BYTES_PER_STEP) as u64)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limit {
            return Err(Failure::exhausted(format!(
                "values need more than {} bytes",
                self.limit
            )));
        }
        Ok(())
    }
}

/// What a value takes up besides its text.
const NODE: usize = 48;

/// What a map takes up for so many entries: it has room for more.
const ENTRIES: usize = 6;
const ROOM: usize = 640;

/// What a map of this size takes up besides its keys and values.
fn room(entries: usize) -> usize {
    entries.div_ceil(ENTRIES) * ROOM
}

/// A whole number is one, whatever type it had.
fn float(number: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return (number as i64).into();
    }
    Number::from_f64(number).map_or_else(|| Json::from(number.to_string()), Json::from)
}

/// About what a copy of a value costs.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) bytes: usize,
    pub(super) steps: usize,
}

impl Cost {
    pub(super) fn of(json: &Json) -> Self {
        let alone = |bytes| Self {
            bytes: NODE + bytes,
            steps: 1 + bytes / BYTES_PER_STEP,
        };
        match json {
            Json::String(text) => alone(text.len()),
            Json::Array(items) => items.iter().map(Self::of).fold(alone(0), Self::and),
            Json::Object(entries) => {
                let keys = entries.keys().map(String::len).sum();
                let cost = entries.values().map(Self::of).fold(alone(keys), Self::and);
                Self {
                    bytes: cost.bytes.saturating_add(room(entries.len())),
                    ..cost
                }
            }
            _ => alone(0),
        }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            steps: self.steps.saturating_add(other.steps),
        }
    }
}

/// JSON as functions see it.
pub(super) fn from_json(json: &Json, objects: &Objects) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::Float(number.as_f64().unwrap_or_default()), Value::Int64),
        Json::String(text) => Value::string(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(|item| from_json(item, objects)).collect()),
        Json::Object(entries) => match objects.get(entries) {
            Some(object) => object.clone(),
            None => Value::Map(Map::from_entries(
                MapType::Any,
                entries
                    .iter()
                    .map(|(key, value)| (key.as_str(), from_json(value, objects))),
            )),
        },
    }
}

/// JSON as it is printed: a list or map as JSON, which is YAML.
pub(super) fn text(json: Json, objects: &Objects) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text,
        Json::Object(entries) => match objects.get(&entries) {
            Some(object) => print_value(object).text().into_owned(),
            _ => Json::Object(entries).to_string(),
        },
        other => other.to_string(),
    }
}
