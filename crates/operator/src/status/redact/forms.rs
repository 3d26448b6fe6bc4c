//! How a secret can be written in a text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use steersman_gotemplate::format::quote;
use steersman_model::one_line;

use super::markup::{in_javascript, in_markup};

/// What Go's `url.PathEscape` and `url.UserPassword` leave as it is, besides letters, digits and `-_.~`.
const OF_PATHS: &str = "$&+=:@";
const OF_USERS: &str = "$&+,;=";
/// The same of Python's `urllib.parse.quote`, which is the filter `urlencode`, too.
const OF_PYTHON: &str = "/";
/// The same of JavaScript's `encodeURIComponent`, and of its `URL` for users and their passwords.
const OF_JAVASCRIPT: &str = "!*'()";
const OF_URL: &str = "!$&'()*+,";
/// How short a part of a secret in base64 may be: shorter ones are found anywhere.
const SHORTEST_PART: usize = 12;
/// So long are the lines of what is in base64.
const LINES: [usize; 2] = [64, 76];
/// A longer text in base64 is not looked for line by line.
const MOST_IN_LINES: usize = 64 * 1024;

/// Calls `found` with the ways to write `secret` that are no longer than `longest`.
pub(super) fn for_each_form(secret: &str, longest: usize, found: &mut dyn FnMut(&str)) {
    let trimmed = secret.trim();
    let variants = if trimmed.len() == secret.len() {
        vec![secret]
    } else {
        vec![secret, trimmed]
    };
    for text in variants {
        let has_blanks = text.contains(|c: char| c.is_whitespace() || c.is_control());
        let mut give = |form: &str| {
            if !form.is_empty() && form.len() <= longest {
                found(form);
            }
            // What is told on one line has been put there before it is masked.
            let line = if has_blanks { one_line(form) } else { String::new() };
            if !line.is_empty() && line.len() <= longest && line != form {
                found(&line);
            }
        };
        give(text);
        // Every other way is at least as long as the text.
        if text.is_empty() || text.len() > longest {
            continue;
        }
        for quoted in quoted(text) {
            give(&quoted);
        }
        for form in in_markup(text) {
            give(&form);
        }
        for form in in_javascript(text) {
            give(&form);
        }
        for form in in_files(text) {
            give(&form);
        }
        for form in in_other_cases(text) {
            give(&form);
        }
        for form in in_base64(text) {
            give(&form);
        }
        let hex = hex(text.as_bytes());
        give(&hex.to_ascii_uppercase());
        give(&hex);
        // A word is in a URL as it is.
        let is_word = text.bytes().all(is_unreserved);
        let all = ["", OF_PATHS, OF_USERS, OF_PYTHON, OF_JAVASCRIPT, OF_URL];
        for unescaped in all.iter().filter(|_| !is_word) {
            let escaped = percent(text, unescaped);
            give(&escaped.replace("%20", "+"));
            let in_lower_case = in_lower_case(&escaped);
            if in_lower_case != escaped {
                give(&in_lower_case);
            }
            give(&escaped);
        }
    }
}

/// No way to write `secret` has more bytes.
pub(super) fn longest_form(secret: &str) -> usize {
    let of_byte = |byte: u8| match byte {
        // As Python has what a shell is given, twice in JSON.
        b'\'' => 24,
        // As `\u001b`, which is JSON, twice in JSON, and as `&quot;` in JSON.
        b'"' | b'\\' | b'<' | b'>' | b'&' | 0..=0x1f | 0x7f..=0xff => 11,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => 3,
        // As `&#x3d;`.
        _ => 6,
    };
    secret.bytes().map(of_byte).sum()
}

/// A text in base64, and what base64 makes of that, as of a password in the configuration of a registry.
fn in_base64(text: &str) -> Vec<String> {
    let once = STANDARD.encode(text);
    let unpadded = once.trim_end_matches('=');
    let mut forms = vec![STANDARD.encode(&once), STANDARD_NO_PAD.encode(unpadded)];
    if once.contains(['+', '/']) {
        let of_urls = once.replace('+', "-").replace('/', "_");
        forms.push(of_urls.trim_end_matches('=').to_owned());
        forms.push(of_urls);
    }
    forms.extend(lines_of(unpadded));
    forms.push(unpadded.to_owned());
    forms.push(once.clone());
    let mut embedded = parts(text);
    // Of what is encoded twice, none is in the alphabet of URLs.
    let standard = embedded.iter().filter(|part| !part.contains(['-', '_']));
    let twice: Vec<String> = standard.flat_map(|part| parts(part)).collect();
    // As in a document that is encoded whole.
    let json = in_html(&in_json(text));
    if json != text {
        embedded.extend(parts(&json));
    }
    let in_urls = embedded.iter().chain([&once]);
    let in_urls = in_urls.filter(|form| form.contains(['+', '/', '=']));
    forms.extend(in_urls.map(|form| percent(form, "")));
    forms.extend(embedded);
    forms.extend(twice);
    forms
}

/// Base64 line by line, as `base64`, `openssl` and PEM break it.
fn lines_of(encoded: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if encoded.len() > MOST_IN_LINES {
        return lines;
    }
    for width in LINES.into_iter().filter(|width| *width < encoded.len()) {
        let mut rest = encoded;
        while !rest.is_empty() {
            let (line, others) = rest.split_at_checked(width).unwrap_or((rest, ""));
            lines.extend((line.len() >= SHORTEST_PART).then(|| line.to_owned()));
            rest = others;
        }
    }
    lines
}

/// What base64 makes of a text between others, as of a password behind a name, without the characters that these decide, too.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for before in 0..=2 {
        let mut bytes = vec![0; before];
        bytes.extend(text.as_bytes());
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let last = bytes.len() * 8 / 6;
        // Six bits each: those of the first byte are in two characters, those of two bytes in three.
        let first = if before == 0 { 0 } else { before + 1 };
        let Some(part) = encoded
            .get(first..last)
            .filter(|part| part.len() >= SHORTEST_PART)
        else {
            continue;
        };
        parts.push(part.to_owned());
        if part.contains(['+', '/']) {
            parts.push(part.replace('+', "-").replace('/', "_"));
        }
    }
    parts
}

/// A text in capitals, and without any.
fn in_other_cases(text: &str) -> Vec<String> {
    let mut cases = Vec::new();
    if text.contains(char::is_lowercase) {
        cases.push(text.to_uppercase());
    }
    if text.contains(char::is_uppercase) {
        cases.push(text.to_lowercase());
    }
    cases
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

/// A text between quotes: Go's, JSON's, YAML's, a shell's and Python's, and what is quoted once more.
fn quoted(text: &str) -> BTreeSet<String> {
    if !text.contains(|c: char| {
        c.is_control() || !c.is_ascii() || matches!(c, '"' | '\'' | '\\' | '<' | '>' | '&')
    }) {
        return BTreeSet::new();
    }
    let go = |text: &str| inner(&quote(text));
    let json = in_json(text);
    let html = in_html(&json);
    let mut quoted = BTreeSet::from([go(&go(text)), go(&json), go(&html), go(text), html]);
    for form in in_single_quotes(text, &json) {
        let once = in_json(&form);
        for once in [ascii(&once), once] {
            quoted.insert(in_json(&once));
            quoted.insert(once);
        }
        quoted.insert(form);
    }
    quoted
}

/// A text as it is, and as YAML, a shell and Python have it between single quotes. A shell may be given JSON, and Python what a
/// shell is given.
fn in_single_quotes(text: &str, json: &str) -> BTreeSet<String> {
    // As Python's `shlex.quote`, which is the filter `quote`.
    let shell = |text: &str| text.replace('\'', "'\"'\"'");
    let escaped = |text: &str| text.replace('\'', r"\'");
    BTreeSet::from([
        text.to_owned(),
        text.replace('\'', "''"),
        escaped(text),
        text.replace('\'', r"'\''"),
        shell(text),
        shell(json),
        shell(&ascii(json)),
        // Double quotes are around it where it has single ones alone.
        python(text),
        escaped(&python(text)),
        escaped(&python(&shell(text))),
    ])
}

/// As Python's `repr` has it, but for the quotes.
fn python(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        let is_shown = character == ' ' || !character.is_control() && !character.is_whitespace();
        match character {
            '\\' => written.push_str(r"\\"),
            '\n' => written.push_str(r"\n"),
            '\r' => written.push_str(r"\r"),
            '\t' => written.push_str(r"\t"),
            _ if is_shown => written.push(character),
            '\0'..='\u{ff}' => {
                let _ = write!(written, "\\x{:02x}", u32::from(character));
            }
            _ => {
                let _ = write!(written, "\\u{:04x}", u32::from(character));
            }
        }
    }
    written
}

/// As bash has it, for `printf %q` and `export -p`, CSV, and the properties of Java.
fn in_files(text: &str) -> Vec<String> {
    let all = [
        in_shell_words(text),
        with_backslashes(text, r#"\"$`"#),
        text.replace('"', "\"\""),
        in_properties(text),
    ];
    all.into_iter().filter(|form| form != text).collect()
}

/// With a backslash before each of these characters.
fn with_backslashes(text: &str, special: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        if special.contains(character) {
            written.push('\\');
        }
        written.push(character);
    }
    written
}

/// As Java's `Properties` stores a value.
fn in_properties(text: &str) -> String {
    let plain = with_backslashes(text, r"\:=#!");
    let plain = plain
        .replace('\t', r"\t")
        .replace('\n', r"\n")
        .replace('\r', r"\r");
    plain
        .replace('\u{c}', r"\f")
        .chars()
        .fold(String::new(), |mut written, character| {
            if matches!(character, ' '..='~') {
                written.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(written, "\\u{unit:04X}");
                }
            }
            written
        })
}

/// As `printf %q` of bash has it, which puts a backslash before what would be read as something else.
fn in_shell_words(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for (place, character) in text.char_indices() {
        let is_special = " \t\n\"'\\|&;()<>!{}*[]?^$`,".contains(character);
        if is_special || (place == 0 && "#~".contains(character)) {
            written.push('\\');
        }
        written.push(character);
    }
    written
}

/// JSON as Go writes it, and so `toJson`.
fn in_html(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn in_json(text: &str) -> String {
    inner(&serde_json::to_string(text).unwrap_or_default())
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

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

fn percent(text: &str, unescaped: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if is_unreserved(byte) || unescaped.contains(character) {
            escaped.push(character);
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// What is escaped for a URL with small letters, as some write it.
fn in_lower_case(escaped: &str) -> String {
    let mut parts = escaped.split('%');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        written.push('%');
        written.push_str(&digits.to_ascii_lowercase());
        written.push_str(rest);
    }
    written
}
