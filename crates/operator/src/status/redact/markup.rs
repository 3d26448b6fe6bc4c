//! A secret in HTML, XML and `JavaScript`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How a text is written in HTML and XML: by Go's templates, its `encoding/xml`, Python and most others; and what Go's JSON makes
/// of that.
pub(super) fn in_markup(text: &str) -> BTreeSet<String> {
    let mut written = in_markup_by_names(text);
    written.extend(numbered(text, |c| format!("&#x{:x};", u32::from(c))));
    written.extend(numbered(text, |c| format!("&#{};", u32::from(c))));
    written
}

fn in_markup_by_names(text: &str) -> BTreeSet<String> {
    if !text.contains(['&', '<', '>', '"', '\'', '\t', '\n', '\r']) {
        return BTreeSet::new();
    }
    let brackets = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let go = brackets.replace('"', "&#34;").replace('\'', "&#39;");
    let blanks = |text: &str, [tab, newline, carriage]: [&str; 3]| {
        text.replace('\t', tab)
            .replace('\n', newline)
            .replace('\r', carriage)
    };
    let hexadecimal = ["&#x9;", "&#xA;", "&#xD;"];
    let decimal = ["&#9;", "&#10;", "&#13;"];
    let named = brackets.replace('"', "&quot;");
    let mut written = BTreeSet::from([
        blanks(&go, hexadecimal),
        blanks(&named, decimal),
        go,
        named.replace('\'', "&apos;"),
        named.replace('\'', "&#x27;"),
        named.replace('\'', "&#39;"),
        // Between tags quotes may stay.
        named,
        brackets,
    ]);
    let in_json = written.iter().map(|form| form.replace('&', "\\u0026"));
    let in_json: Vec<String> = in_json.collect();
    written.extend(in_json);
    written
}

/// What is neither a letter nor a digit by its number, as encoders write it that know no better; `None` where there is none.
fn numbered(text: &str, written_as: impl Fn(char) -> String) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    if text.chars().all(is_plain) {
        return None;
    }
    let written = text
        .chars()
        .map(|c| if is_plain(c) { c.to_string() } else { written_as(c) });
    Some(written.collect())
}

/// How a text is written in `JavaScript`: by Go's templates, and by the encoder of OWASP.
pub(super) fn in_javascript(text: &str) -> Vec<String> {
    let by_numbers = numbered(text, |c| match u32::from(c) {
        number @ ..=0xff => format!("\\x{number:02x}"),
        number => format!("\\u{number:04x}"),
    });
    by_go(text).into_iter().chain(by_numbers).collect()
}

fn by_go(text: &str) -> Option<String> {
    let is_special = |c: char| c != ' ' && (c.is_control() || c.is_whitespace()) || r#"\'"<>&="#.contains(c);
    if !text.contains(is_special) {
        return None;
    }
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        let is_shown = character == ' ' || !character.is_control() && !character.is_whitespace();
        match character {
            '\\' | '\'' | '"' => written.extend(['\\', character]),
            '\u{7f}' => written.push(character),
            '<' | '>' | '&' | '=' => {
                let _ = write!(written, "\\u{:04X}", u32::from(character));
            }
            _ if is_shown => written.push(character),
            _ => {
                let _ = write!(written, "\\u{:04X}", u32::from(character));
            }
        }
    }
    Some(written)
}
