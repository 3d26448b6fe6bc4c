//! Values on the command line: `--set` and its siblings.
//!
//! The grammar, its limits and its messages are those of Helm's `pkg/strvals`.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use super::{Values, make_numbers_float};

/// The largest index of a list.
const MAX_INDEX: usize = 65_536;
/// How many names a key may have.
const MAX_NAMES: usize = 30;
/// How many lists may be in each other. Helm has no such limit; nobody has values like that.
const MAX_DEPTH: usize = 200;

/// Reads the file that `--set-file` names.
pub type FileReader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Sets what `text` (`a.b=1,c={x,y},d[0].e=z`) says in `values`: numbers, booleans and `null`
/// are taken as such (`--set`).
///
/// ```
/// use steersman_chart::{Values, values::set::{set, set_string}};
///
/// let mut values = Values::new();
/// set(&mut values, r"ports={80,443},node.labels.kubernetes\.io/os=linux")?;
/// set_string(&mut values, "revision=42")?;
/// assert_eq!(values["ports"], serde_json::json!([80, 443]));
/// assert_eq!(values["node"]["labels"]["kubernetes.io/os"], "linux");
/// assert_eq!(values["revision"], "42");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The text breaks the grammar; the message is Helm's.
pub fn set(values: &mut Values, text: &str) -> Result<(), String> {
    Parser::new(text, Mode::Typed).run(values)
}

/// Like [`set`], but every value is text (`--set-string`).
///
/// # Errors
/// As [`set`].
pub fn set_string(values: &mut Values, text: &str) -> Result<(), String> {
    Parser::new(text, Mode::Text).run(values)
}

/// Like [`set`], but every value names a file whose text is taken (`--set-file`).
///
/// # Errors
/// As [`set`], or a file cannot be read.
pub fn set_file(values: &mut Values, text: &str, read: &FileReader<'_>) -> Result<(), String> {
    Parser::new(text, Mode::File(read)).run(values)
}

/// Like [`set`], but every value is JSON, or the whole text is one object (`--set-json`).
///
/// # Errors
/// As [`set`], or a value is not JSON.
pub fn set_json(values: &mut Values, text: &str) -> Result<(), String> {
    let trimmed = text.trim();
    if trimmed.starts_with('{') {
        let mut object: Value = serde_json::from_str(trimmed).map_err(|error| error.to_string())?;
        make_numbers_float(&mut object);
        if let Value::Object(object) = object {
            super::overlay(values, object);
        }
        return Ok(());
    }
    Parser::new(text, Mode::Json).run(values)
}

/// Sets one key to all that comes after its `=`, as it is (`--set-literal`).
///
/// # Errors
/// As [`set`].
pub fn set_literal(values: &mut Values, text: &str) -> Result<(), String> {
    Parser::new(text, Mode::Literal).run(values)
}

/// How many places of lists a text of a stranger may leave empty, in all.
const MOST_EMPTY: usize = 1024;

/// How [`set_bounded`] reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Numbers, booleans and `null` are taken as such.
    Typed,
    /// Every value is text.
    Text,
    /// All that comes after the first `=` is one text.
    Literal,
}

/// Sets what `text` says as the function that `reading` names, where a stranger has written it.
///
/// ```
/// use steersman_chart::{Values, values::set::{Reading, set_bounded}};
///
/// let mut values = Values::new();
/// set_bounded(&mut values, "ports[1]=80", Reading::Typed)?;
/// assert_eq!(values["ports"], serde_json::json!([null, 80]));
/// assert!(set_bounded(&mut values, "ports[60000]=80", Reading::Typed).is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Guarantees
/// The values take memory in proportion to the text, and some kilobytes more.
///
/// # Errors
/// As [`set`], or the text leaves more than 1024 places of lists empty.
pub fn set_bounded(values: &mut Values, text: &str, reading: Reading) -> Result<(), String> {
    let mode = match reading {
        Reading::Typed => Mode::Typed,
        Reading::Text => Mode::Text,
        Reading::Literal => Mode::Literal,
    };
    let mut parser = Parser::new(text, mode);
    parser.empty_left = MOST_EMPTY;
    parser.run(values)
}

#[derive(Clone, Copy)]
enum Mode<'a> {
    Typed,
    Text,
    File(&'a FileReader<'a>),
    Json,
    Literal,
}

/// Where a part of the text ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// More may follow.
    More,
    /// The text is at its end.
    End,
}

/// What stopped the reading of characters.
type Stop = Option<char>;

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    mode: Mode<'a>,
    /// How many places of lists may be left empty yet.
    empty_left: usize,
    /// How many lists are in each other where the parser is.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, mode: Mode<'a>) -> Self {
        Self {
            rest: text.chars().peekable(),
            mode,
            empty_left: usize::MAX,
            depth: 0,
        }
    }

    fn run(mut self, values: &mut Values) -> Result<(), String> {
        while self.key(values, 0)? == Step::More {}
        Ok(())
    }

    /// Reads one key with its value into `values`.
    fn key(&mut self, values: &mut Values, names: usize) -> Result<Step, String> {
        let stops: &[char] = match self.mode {
            Mode::Literal => &['=', '[', '.'],
            _ => &['=', '[', ',', '.'],
        };
        let (key, stop) = self.until(stops);
        match stop {
            None if key.is_empty() => Ok(Step::End),
            None => Err(format!("key {key:?} has no value")),
            Some('[') => {
                let Some(index) = self.index()? else {
                    return Ok(Step::End);
                };
                let mut list = match values.get_mut(&key) {
                    None => Vec::new(),
                    Some(Value::Array(list)) => std::mem::take(list),
                    Some(other) => return Err(not_a(other, "[]interface {}")),
                };
                let result = self.item(&mut list, index, names);
                put(values, key, Value::Array(list));
                result
            }
            Some('=') => {
                let value = self.value()?;
                let end = if value.is_some() { Step::More } else { Step::End };
                put(values, key, value.unwrap_or_else(|| Value::String(String::new())));
                Ok(end)
            }
            Some(',') => {
                let message = format!("key {key:?} has no value (cannot end with ,)");
                put(values, key, Value::String(String::new()));
                Err(message)
            }
            Some(_) => {
                if names + 1 > MAX_NAMES {
                    return Err(format!(
                        "value name nested level is greater than maximum supported nested level of {MAX_NAMES}"
                    ));
                }
                let (mut inner, existed) = match values.get_mut(&key) {
                    None => (Values::new(), false),
                    Some(Value::Object(inner)) => (std::mem::take(inner), true),
                    Some(other) => return Err(not_a(other, "map[string]interface {}")),
                };
                let result = self.key(&mut inner, names + 1);
                if result == Ok(Step::More) && inner.is_empty() {
                    return Err(format!("key map {key:?} has no value"));
                }
                if existed || !inner.is_empty() {
                    put(values, key, Value::Object(inner));
                }
                result
            }
        }
    }

    /// Reads what follows `[index]` into `list`.
    fn item(&mut self, list: &mut Vec<Value>, index: usize, names: usize) -> Result<Step, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} lists are in each other"));
        }
        self.depth += 1;
        let step = self.in_item(list, index, names);
        self.depth -= 1;
        step
    }

    fn in_item(&mut self, list: &mut Vec<Value>, index: usize, names: usize) -> Result<Step, String> {
        let (unexpected, stop) = self.until(&['[', '.', '=']);
        if !unexpected.is_empty() {
            return Err(format!("unexpected data at end of array index: {unexpected:?}"));
        }
        match stop {
            None => Ok(Step::End),
            Some('=') => {
                let value = self.value()?.unwrap_or_else(|| Value::String(String::new()));
                self.set_index(list, index, value)?;
                Ok(Step::More)
            }
            Some('[') => {
                let Some(next) = self.index()? else {
                    return Ok(Step::End);
                };
                let mut inner = match list.get_mut(index) {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(inner)) => std::mem::take(inner),
                    Some(other) => return Err(not_a(other, "[]interface {}")),
                };
                let end = self.item(&mut inner, next, names)?;
                self.set_index(list, index, Value::Array(inner))?;
                Ok(end)
            }
            Some(_) => {
                let (mut inner, existed) = match list.get_mut(index) {
                    None => (Values::new(), false),
                    Some(Value::Object(inner)) => (std::mem::take(inner), true),
                    Some(_) => (Values::new(), true),
                };
                let end = self.key(&mut inner, names)?;
                if existed || end == Step::More {
                    self.set_index(list, index, Value::Object(inner))?;
                }
                Ok(end)
            }
        }
    }

    /// The number between brackets, of which the opening one is read; none where the text ends
    /// before the other, which Helm lets pass.
    fn index(&mut self) -> Result<Option<usize>, String> {
        let (text, stop) = self.until(&[']']);
        if stop.is_none() {
            return Ok(None);
        }
        let index: i64 = text
            .parse()
            .map_err(|_| format!("error parsing index: strconv.Atoi: parsing {text:?}: invalid syntax"))?;
        match usize::try_from(index) {
            Ok(index) => Ok(Some(index)),
            Err(_) => Err(format!("negative {index} index not allowed")),
        }
    }

    /// The value after `=`; none at the end of the text.
    fn value(&mut self) -> Result<Option<Value>, String> {
        match self.mode {
            Mode::Json => return self.json().map(Some),
            Mode::Literal => return Ok(Some(Value::String(self.rest.by_ref().collect()))),
            _ => {}
        }
        match self.rest.peek() {
            None => Ok(None),
            Some('{') => {
                self.rest.next();
                self.list().map(Some)
            }
            Some(_) => {
                let (text, _) = self.until(&[',']);
                self.scalar(text).map(Some)
            }
        }
    }

    fn list(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            let (text, stop) = self.until(&[',', '}']);
            if stop.is_none() {
                return Err("list must terminate with '}'".to_owned());
            }
            items.push(self.scalar(text)?);
            if stop == Some('}') {
                self.rest.next_if_eq(&',');
                return Ok(Value::Array(items));
            }
        }
    }

    fn scalar(&self, text: String) -> Result<Value, String> {
        Ok(match self.mode {
            Mode::Typed => typed(text),
            Mode::File(read) => Value::String(read(&text)?),
            _ => Value::String(text),
        })
    }

    fn json(&mut self) -> Result<Value, String> {
        if self.blank() {
            return Ok(Value::Null);
        }
        let text: String = self.rest.clone().collect();
        let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let mut value = match stream.next() {
            Some(value) => value.map_err(|error| error.to_string())?,
            None => Value::Null,
        };
        make_numbers_float(&mut value);
        let read = text.get(..stream.byte_offset()).unwrap_or_default();
        for _ in read.chars() {
            self.rest.next();
        }
        self.blank();
        Ok(value)
    }

    /// Skips white space and a comma; whether nothing but them comes before the next comma.
    fn blank(&mut self) -> bool {
        loop {
            match self.rest.peek() {
                None => return true,
                Some(',') => {
                    self.rest.next();
                    return true;
                }
                Some(character) if character.is_whitespace() => {
                    self.rest.next();
                }
                Some(_) => return false,
            }
        }
    }

    fn set_index(&mut self, list: &mut Vec<Value>, index: usize, value: Value) -> Result<(), String> {
        if index > MAX_INDEX {
            return Err(format!(
                "index of {index} is greater than maximum supported index of {MAX_INDEX}"
            ));
        }
        if let Some(place) = list.get_mut(index) {
            *place = value;
            return Ok(());
        }
        let left = self.empty_left.checked_sub(index - list.len());
        self.empty_left = left.ok_or_else(|| "too many places of lists are left empty".to_owned())?;
        list.resize(index, Value::Null);
        list.push(value);
        Ok(())
    }

    /// Reads up to one of `stops`, which is read too. A backslash takes the next character as it
    /// is.
    fn until(&mut self, stops: &[char]) -> (String, Stop) {
        let mut text = String::new();
        while let Some(character) = self.rest.next() {
            if stops.contains(&character) {
                return (text, Some(character));
            }
            if character == '\\' && !matches!(self.mode, Mode::Literal) {
                match self.rest.next() {
                    Some(next) => text.push(next),
                    None => break,
                }
            } else {
                text.push(character);
            }
        }
        (text, None)
    }
}

fn put(values: &mut Values, key: String, value: Value) {
    if !key.is_empty() {
        values.insert(key, value);
    }
}

fn typed(text: String) -> Value {
    match text.to_ascii_lowercase().as_str() {
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        "null" => return Value::Null,
        "0" => return Value::from(0_i64),
        _ => {}
    }
    if !text.starts_with('0')
        && let Ok(number) = text.parse::<i64>()
    {
        return Value::from(number);
    }
    Value::String(text)
}

fn not_a(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Setter = fn(&mut Values, &str) -> Result<(), String>;

    fn check(setter: Setter, text: &str, expect: Result<&str, &str>) {
        let mut values = Values::new();
        let result = setter(&mut values, text).map(|()| Value::Object(values).to_string());
        assert_eq!(result.as_deref().map_err(String::as_str), expect, "{text}");
    }

    #[test]
    fn values_are_typed_by_how_they_look() {
        check(
            set,
            "a=1,b=true,c=null,d=0,e=012,f=x",
            Ok(r#"{"a":1,"b":true,"c":null,"d":0,"e":"012","f":"x"}"#),
        );
        check(set_string, "a=1,b=true", Ok(r#"{"a":"1","b":"true"}"#));
    }

    #[test]
    fn keys_make_maps_and_lists() {
        check(set, "a.b.c=x,a.b.d=y", Ok(r#"{"a":{"b":{"c":"x","d":"y"}}}"#));
        check(set, "a[1].b=x,a[0]=y", Ok(r#"{"a":["y",{"b":"x"}]}"#));
        check(set, "a={x,1},b={}", Ok(r#"{"a":["x",1],"b":[""]}"#));
        check(set, "a[0][1]=x", Ok(r#"{"a":[[null,"x"]]}"#));
        check(set, "a[", Ok("{}"));
    }

    #[test]
    fn lists_that_are_too_deep_are_refused() {
        let message = Err("more than 200 lists are in each other");
        check(set, &format!("a{}=x", "[0]".repeat(100_000)), message);
        check(set_literal, &format!("{}a=x", "a[0].".repeat(100_000)), message);
        let mut values = Values::new();
        set(&mut values, &format!("a{}=x", "[0]".repeat(200))).unwrap();
    }

    #[test]
    fn a_text_of_a_stranger_leaves_few_places_empty() {
        let bounded: Setter = |values, text| set_bounded(values, text, Reading::Typed);
        check(bounded, "a[2]=x,a[1]=y", Ok(r#"{"a":[null,"y","x"]}"#));
        let message = Err("too many places of lists are left empty");
        check(bounded, "a[60000]=x", message);
        let many: Vec<String> = (0..300).map(|number| format!("a{number}[9]=x")).collect();
        check(bounded, &many.join(","), message);
        let mut values = Values::new();
        set(&mut values, "a[60000]=x").unwrap();
    }

    #[test]
    fn escapes_take_characters_as_they_are() {
        check(set, r"a\.b=x\,y", Ok(r#"{"a.b":"x,y"}"#));
        check(set_literal, r"a.b=x\,y={", Ok(r#"{"a":{"b":"x\\,y={"}}"#));
    }

    #[test]
    fn json_values_are_taken_whole() {
        check(
            set_json,
            r#"a={"b":[1,2]},c="x""#,
            Ok(r#"{"a":{"b":[1.0,2.0]},"c":"x"}"#),
        );
        check(set_json, r#"{"a":{"b":1}}"#, Ok(r#"{"a":{"b":1.0}}"#));
        check(set_json, "a=,b=1", Ok(r#"{"a":null,"b":1.0}"#));
    }

    #[test]
    fn what_breaks_the_grammar_is_named() {
        check(set, "a", Err(r#"key "a" has no value"#));
        check(set, "a,b=1", Err(r#"key "a" has no value (cannot end with ,)"#));
        check(set, "a={x", Err("list must terminate with '}'"));
        check(set, "a[-1]=x", Err("negative -1 index not allowed"));
        check(
            set,
            "a[65537]=x",
            Err("index of 65537 is greater than maximum supported index of 65536"),
        );
        check(
            set,
            "a=x,a.b=y",
            Err(
                "unable to parse key: interface conversion: interface {} is string, not map[string]interface {}",
            ),
        );
    }

    #[test]
    fn names_have_a_limit() {
        let text = format!("{}=x", vec!["a"; 40].join("."));
        check(
            set,
            &text,
            Err("value name nested level is greater than maximum supported nested level of 30"),
        );
    }
}
