//! How a secret can be written in a text.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use steersman_gotemplate::format::quote;
use steersman_model::one_line;

/// What Go's `url.PathEscape` and `url.UserPassword` leave as it is, besides letters, digits and `-_.~`.
const OF_PATHS: &str = "$&+=:@";
const OF_USERS: &str = "$&+,;=";
/// The same of Python's `urllib.parse.quote`, which is the filter `urlencode`, too.
const OF_PYTHON: &str = "/";
/// How short a part of a secret in base64 may be: shorter ones are found anywhere.
const SHORTEST_PART: usize = 12;

/// Calls `found` with the ways to write `secret` that are no longer than `longest`.
pub(super) fn for_each_form(secret: &str, longest: usize, found: &mut dyn FnMut(&str)) {
    let trimmed = secret.trim();
    let variants = if trimmed.len() == secret.len() {
        vec![secret]
    } else {
        vec![secret, trimmed]
    };
    for text in variants {
        let mut give = |form: &str| {
            if !form.is_empty() && form.len() <= longest {
                found(form);
            }
        };
        give(text);
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            give(&one_line(text));
        }
        // Every other way is at least as long as the text.
        if text.is_empty() || text.len() > longest {
            continue;
        }
        for quoted in quoted(text) {
            give(&quoted);
            give(&one_line(&quoted));
        }
        for padded in [STANDARD_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(text)] {
            for padding in ["==", "=", ""] {
                give(&format!("{padded}{padding}"));
            }
        }
        for part in parts(text) {
            give(&part);
        }
        let hex = hex(text.as_bytes());
        give(&hex.to_ascii_uppercase());
        give(&hex);
        for unescaped in ["", OF_PATHS, OF_USERS, OF_PYTHON] {
            let escaped = percent(text, unescaped);
            give(&escaped.replace("%20", "+"));
            give(&escaped);
        }
    }
}

/// What base64 makes of a text behind another one, as a password behind a name, without the characters that both decide.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for before in 1..=2 {
        let mut bytes = vec![0; before];
        bytes.extend(text.as_bytes());
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let last = bytes.len() * 8 / 6;
        // Six bits each: those of the first byte are in two characters, those of two bytes in three.
        let part = &encoded[before + 1..last];
        if part.len() >= SHORTEST_PART {
            parts.push(part.to_owned());
            parts.push(part.replace('+', "-").replace('/', "_"));
        }
    }
    parts
}

/// The lines of a text that has several.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.trim().contains('\n').then(|| text.lines());
    lines.into_iter().flatten().map(str::trim)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A text between quotes: Go's, JSON's, YAML's, and what is quoted once more.
fn quoted(text: &str) -> Vec<String> {
    if !text.contains(|c: char| {
        c.is_control() || !c.is_ascii() || matches!(c, '"' | '\'' | '\\' | '<' | '>' | '&')
    }) {
        return Vec::new();
    }
    let go = |text: &str| inner(&quote(text));
    let json = inner(&serde_json::to_string(text).unwrap_or_default());
    let html = json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    let ascii = ascii(&json);
    let twice = inner(&serde_json::to_string(&ascii).unwrap_or_default());
    vec![
        twice,
        ascii,
        text.replace('\'', "''"),
        text.replace('\'', "\\'"),
        // As a shell has it between single ones.
        text.replace('\'', r"'\''"),
        text.replace('\'', "'\"'\"'"),
        go(&go(text)),
        go(&json),
        go(&html),
        go(text),
        html,
        json,
    ]
}

/// JSON as Python writes it: of other letters there are only the numbers.
fn ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

fn inner(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(quoted).to_owned()
}

fn percent(text: &str, unescaped: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-_.~".contains(character) || unescaped.contains(character) {
            escaped.push(character);
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
