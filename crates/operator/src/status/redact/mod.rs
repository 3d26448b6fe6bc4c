//! Masking the values of Secrets in texts that are shown.

mod compact;
mod forms;
mod learning;
mod markup;
mod masking;
mod secret_key;
mod tail;
mod text_index;

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
pub use compact::{CompactSecrets, MOST_COMPACT_BYTES};
pub use learning::LearningRedactor;
use percent_encoding::percent_decode_str;
use secret_key::is_name_key;
pub use secret_key::is_secret_key;
use serde_json::Value;
use steersman_gotemplate::Value as GoValue;
use steersman_model::{RenderedObject, objects_of_text, split};

/// Shorter values are not masked: they occur in ordinary words.
const SHORTEST: usize = 4;
/// Shorter lines of a text with several are masked only together with the others.
const SHORTEST_LINE: usize = 8;
const MASK: &str = "********";
/// What is looked for in texts is bounded. A Secret has at most a megabyte.
const MOST_SECRETS: usize = 100_000;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Knows what must not be shown of one release.
///
/// ```
/// use serde_json::json;
/// use steersman_model::objects_of_text;
/// use steersman_operator::status::Redactor;
///
/// let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {user: postgres}\n";
/// let objects = objects_of_text("secret.yaml", secret)?;
/// let redactor = Redactor::new(&objects, &json!({"image": "nginx", "adminPassword": "correct horse"}));
/// let error = "nginx: no user postgres with `correct horse` (cG9zdGdyZXM=)";
/// assert_eq!(redactor.mask(error), "nginx: no user ******** with `********` (********)");
/// # Ok::<(), steersman_model::DocumentsError>(())
/// ```
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: BTreeSet<String>,
    /// How many bytes these are.
    size: usize,
    /// Whether there are more than can be looked for, or others that are not known. Nothing is shown then.
    overflown: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.secrets.len())
    }
}

impl Redactor {
    /// Masks the values of the Secrets among `objects`, and user values whose keys say that
    /// they are secret.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a RenderedObject>, values: &Value) -> Self {
        let mut redactor = Self::default();
        for object in objects {
            redactor.add_object(&object.value);
        }
        redactor.add_values(values);
        redactor
    }

    /// Shows nothing, as there are secrets that are not known.
    pub fn of_the_unknown() -> Self {
        Self {
            overflown: true,
            ..Self::default()
        }
    }

    /// Masks the values of an object as well, if it is a Secret.
    pub fn add_object(&mut self, object: &Value) {
        let is = |key: &str, expect: &str| object.get(key).and_then(Value::as_str) == Some(expect);
        if !is("apiVersion", "v1") || !is("kind", "Secret") {
            return;
        }
        if let Some(data) = object.get("data") {
            for_each_scalar(data, &mut |text| self.add_encoded(text));
        }
        if let Some(data) = object.get("stringData") {
            for_each_scalar(data, &mut |text| self.add_text(text));
        }
    }

    /// Masks the values of the Secrets in a manifest as well. In a document that is no YAML and may be a
    /// Secret, all values count.
    pub fn add_manifest(&mut self, manifest: &str) {
        for document in split(manifest) {
            if !document.contains("Secret") {
                continue;
            }
            if let Ok(objects) = objects_of_text("", document) {
                for object in &objects {
                    self.add_object(&object.value);
                }
                continue;
            }
            for line in document.lines() {
                let (key, value) = line.split_once(": ").unwrap_or(("", line));
                if !["apiVersion", "kind", "name", "namespace"].contains(&key.trim()) {
                    self.add(value.trim_matches(is_around));
                }
            }
        }
    }

    /// Masks what is secret by its key, or by its looks, in user values as well.
    pub fn add_values(&mut self, values: &Value) {
        self.collect(values, false);
    }

    /// Masks every text and number in user values as well: for when it is unknown which of them are secret.
    pub fn add_all(&mut self, values: &Value) {
        for_each_scalar(values, &mut |text| self.add_text(text));
    }

    /// Masks the keys of maps in user values as well, but words of letters alone and those that are named elsewhere, without which
    /// nothing could be said.
    pub fn add_keys(&mut self, values: &Value, is_named: &mut dyn FnMut(&str) -> bool) {
        match values {
            Value::Array(items) => items.iter().for_each(|item| self.add_keys(item, is_named)),
            Value::Object(map) => {
                for (key, item) in map {
                    let is_word = key.chars().all(char::is_alphabetic);
                    if !is_word && !is_named(key) {
                        self.add(key);
                        // As in the place of a value.
                        self.add(&key.replace('~', "~0").replace('/', "~1"));
                    }
                    self.add_keys(item, is_named);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The value of a Secret's `data`; it is base64, unless the chart is wrong.
    fn add_encoded(&mut self, encoded: &str) {
        self.add(encoded);
        let Ok(bytes) = STANDARD.decode(encoded.split_whitespace().collect::<String>()) else {
            return;
        };
        match String::from_utf8(bytes) {
            Ok(text) => self.add_text(&text),
            Err(binary) => self.add(&forms::hex(binary.as_bytes())),
        }
    }

    /// A secret text, and what is secret in it by itself: a password in a URL, a value in a
    /// configuration.
    fn add_text(&mut self, text: &str) {
        self.add(text);
        self.add_number(text);
        self.add_password_of_url(text);
        if text.starts_with(['{', '['])
            && let Ok(values) = serde_json::from_str::<Value>(text)
        {
            self.collect(&values, false);
        }
        for line in text.lines() {
            self.add_value_of(line.split_once([':', '=']));
            // As in a connection string: `host=db password=…`, `Server=db;Pwd=…`, `…?user=a&password=…`.
            for part in line.split([' ', ';', '&', '?']) {
                self.add_value_of(part.split_once('='));
            }
        }
    }

    /// The value of an entry whose key says that it is secret.
    fn add_value_of(&mut self, entry: Option<(&str, &str)>) {
        if let Some((key, value)) = entry
            && is_secret_key(key.trim_matches(is_around))
        {
            self.add(value.trim_matches(is_around));
        }
    }

    fn add(&mut self, text: &str) {
        if text.trim().len() >= SHORTEST {
            self.insert(text);
        }
    }

    fn insert(&mut self, text: &str) {
        if self.overflown || self.secrets.contains(text) {
            return;
        }
        self.secrets.insert(text.to_owned());
        self.size += text.len();
        if self.secrets.len() > MOST_SECRETS || self.size > MOST_BYTES {
            *self = Self {
                overflown: true,
                ..Self::default()
            };
        }
    }

    /// Masks what `other` masks as well.
    pub fn extend(&mut self, other: Self) {
        if other.overflown || self.secrets.is_empty() && !self.overflown {
            *self = other;
            return;
        }
        for secret in &other.secrets {
            self.insert(secret);
        }
    }

    /// A text that is a number may be shown as Go writes one.
    fn add_number(&mut self, text: &str) {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        if let Some(number) = number {
            self.add(&go_float(number));
            self.add(&number.to_string());
        }
    }

    /// The passwords of URLs in a text, as they stand there and as programs read them.
    fn add_password_of_url(&mut self, text: &str) {
        for rest in text.split("://").skip(1) {
            let authority = rest.split(['/', '?', '#', ' ', '\n', '"']).next();
            let user = authority.and_then(|authority| authority.rsplit_once('@'));
            if let Some((user, _)) = user
                && let Some((_, password)) = user.split_once(':')
            {
                self.add(password);
                self.add(&percent_decode_str(password).decode_utf8_lossy());
            }
        }
    }

    /// The depth of values is bounded by the API server's own limit for JSON.
    fn collect(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, secret)),
            Value::Object(map) => {
                // As in a list of environment variables.
                let name = map.get("name").and_then(Value::as_str);
                let is_named = name.is_some_and(is_secret_key);
                for (key, item) in map {
                    let own = is_secret_key(key) || is_named && key == "value";
                    self.collect(item, own || secret && !is_name_key(key));
                }
            }
            scalar if secret => for_each_scalar(scalar, &mut |text| self.add_text(text)),
            Value::String(text) if text.contains("PRIVATE KEY-----") => self.add_text(text),
            Value::String(text) => self.add_password_of_url(text),
            _ => {}
        }
    }
}

/// What stands around a value in a configuration.
fn is_around(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '\'' | ',' | ';')
}

/// Texts, and numbers as JSON writes them.
fn for_each_scalar(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Number(number) => found(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| for_each_scalar(item, found)),
        Value::Object(map) => map.values().for_each(|item| for_each_scalar(item, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn go_float(number: f64) -> String {
    let float = GoValue::Float(number);
    steersman_gotemplate::format::print_value(&float)
        .text()
        .into_owned()
}

#[cfg(test)]
mod tests;
