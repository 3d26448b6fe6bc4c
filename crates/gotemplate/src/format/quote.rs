//! Quoted strings and characters, as Go's `strconv` writes and reads them.

use std::fmt::Write as _;

/// The text in double quotes with Go's escapes: `strconv.Quote`, `%q`.
#[must_use]
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// Like [`quote`], for bytes that need not be UTF-8: what is not, is written as `\x..`.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    quote_with(bytes, '"', Escape::NotPrintable)
}

/// Which characters are written as escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Control characters and others that Go does not print: `%q` keeps an `é`.
    NotPrintable,
    /// Also what is beyond ASCII: `%+q` writes an `é` as `\u00e9`.
    NotAscii,
}

pub(crate) fn quote_with(bytes: &[u8], delimiter: char, escape: Escape) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push(delimiter);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push_escaped(&mut out, character, delimiter, escape);
        }
        for byte in chunk.invalid() {
            push_hex_byte(&mut out, *byte);
        }
    }
    out.push(delimiter);
    out
}

/// The character in single quotes: `strconv.QuoteRune`; U+FFFD for what is no character.
pub(crate) fn quote_character(character: char, escape: Escape) -> String {
    let mut out = String::from("'");
    push_escaped(&mut out, character, '\'', escape);
    out.push('\'');
    out
}

/// The code point as `%#U` writes it.
pub(crate) fn unicode_point(character: char) -> String {
    let mut out = format!("U+{:04X}", u32::from(character));
    if is_printable(character) {
        out.push_str(" '");
        out.push(character);
        out.push('\'');
    }
    out
}

/// Whether the text can be written in back quotes: `strconv.CanBackquote`.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars()
            .all(|c| !matches!(c, '\u{feff}' | '`' | '\u{7f}') && (c >= ' ' || c == '\t'))
    })
}

fn push_escaped(out: &mut String, character: char, delimiter: char, escape: Escape) {
    match character {
        '\\' => out.push_str("\\\\"),
        _ if character == delimiter => {
            out.push('\\');
            out.push(character);
        }
        ' '..='~' => out.push(character),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        '\0'..='\x7f' => push_hex_byte(out, character as u8),
        _ if escape == Escape::NotPrintable && is_printable(character) => out.push(character),
        // Writing to a String does not fail.
        '\u{10000}'.. => _ = write!(out, "\\U{:08x}", u32::from(character)),
        _ => _ = write!(out, "\\u{:04x}", u32::from(character)),
    }
}

fn push_hex_byte(out: &mut String, byte: u8) {
    _ = write!(out, "\\x{byte:02x}");
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols, and the ASCII space.
pub(crate) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    // The standard library escapes exactly the same categories, except that it also escapes
    // a mark with nothing before it to stand on.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().nth(1) == Some(character)
}

/// Why a quoted string cannot be read: Go's `strconv.ErrSyntax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid syntax")]
pub(crate) struct SyntaxError;

/// The bytes that a string literal stands for, in double or back quotes.
pub(crate) fn unquote(literal: &str) -> Result<Vec<u8>, SyntaxError> {
    if let Some(raw) = literal.strip_prefix('`') {
        let raw = raw.strip_suffix('`').ok_or(SyntaxError)?;
        // Go drops carriage returns from raw strings.
        return Ok(raw.bytes().filter(|byte| *byte != b'\r').collect());
    }
    let mut rest = literal
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .ok_or(SyntaxError)?;
    let mut out = Vec::with_capacity(rest.len());
    loop {
        let (plain, tail) = rest.split_at(rest.find(['"', '\\', '\n']).unwrap_or(rest.len()));
        out.extend_from_slice(plain.as_bytes());
        rest = tail;
        if rest.is_empty() {
            break;
        }
        if rest.starts_with(['"', '\n']) {
            return Err(SyntaxError);
        }
        let (unit, tail) = unquote_one(rest, '"')?;
        match unit {
            Unit::Byte(byte) => out.push(byte),
            Unit::Character(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        rest = tail;
    }
    Ok(out)
}

/// The character that a literal in single quotes stands for, and what follows it, which
/// should be the closing quote.
pub(crate) fn unquote_character(literal: &str) -> Result<(u32, &str), SyntaxError> {
    let rest = literal.strip_prefix('\'').ok_or(SyntaxError)?;
    if rest.starts_with('\'') {
        return Err(SyntaxError);
    }
    let (unit, tail) = unquote_one(rest, '\'')?;
    let code = match unit {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Character(character) => u32::from(character),
    };
    Ok((code, tail))
}

enum Unit {
    Byte(u8),
    Character(char),
}

fn unquote_one(text: &str, delimiter: char) -> Result<(Unit, &str), SyntaxError> {
    let mut characters = text.chars();
    let first = characters.next().ok_or(SyntaxError)?;
    if first != '\\' {
        return Ok((Unit::Character(first), characters.as_str()));
    }
    let kind = characters.next().ok_or(SyntaxError)?;
    let rest = characters.as_str();
    let plain = |character| Ok((Unit::Character(character), rest));
    match kind {
        'a' => plain('\x07'),
        'b' => plain('\x08'),
        'f' => plain('\x0c'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\x0b'),
        '\\' => plain('\\'),
        '\'' | '"' if kind == delimiter => plain(kind),
        'x' => {
            let (code, tail) = digits(rest, 2, 16)?;
            Ok((Unit::Byte(code as u8), tail))
        }
        'u' | 'U' => {
            let (code, tail) = digits(rest, if kind == 'u' { 4 } else { 8 }, 16)?;
            let character = char::from_u32(code).ok_or(SyntaxError)?;
            Ok((Unit::Character(character), tail))
        }
        '0'..='7' => {
            let (code, tail) = digits(&text[1..], 3, 8)?;
            let byte = u8::try_from(code).map_err(|_| SyntaxError)?;
            Ok((Unit::Byte(byte), tail))
        }
        _ => Err(SyntaxError),
    }
}

fn digits(text: &str, count: usize, radix: u32) -> Result<(u32, &str), SyntaxError> {
    let (head, tail) = text.split_at_checked(count).ok_or(SyntaxError)?;
    if !head.chars().all(|digit| digit.is_digit(radix)) {
        return Err(SyntaxError);
    }
    let code = u32::from_str_radix(head, radix).map_err(|_| SyntaxError)?;
    Ok((code, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_printable_is_escaped() {
        for (text, want) in [
            ("hi", r#""hi""#),
            ("a\"b\\c'", r#""a\"b\\c'""#),
            ("\x07\n\t\x01\x7f", r#""\a\n\t\x01\x7f""#),
            ("é日☃\u{301}", "\"é日☃\u{301}\""),
            ("\u{a0}\u{200b}\u{feff}", r#""\u00a0\u200b\ufeff""#),
            ("\u{e0001}😀", r#""\U000e0001😀""#),
        ] {
            assert_eq!(quote(text), want);
        }
        assert_eq!(quote_bytes(b"a\xff\xc3"), r#""a\xff\xc3""#);
        assert_eq!(quote_character('\'', Escape::NotPrintable), r"'\''");
        assert_eq!(quote_character('é', Escape::NotAscii), r"'\u00e9'");
    }

    #[test]
    fn literals_are_read_back() {
        for (literal, want) in [
            (
                r#""a\tb\x41\u00e9\101\"""#,
                Ok("a\tbA\u{e9}A\"".as_bytes().to_vec()),
            ),
            (r#""\xff""#, Ok(vec![0xff])),
            ("`a\r\n\\n`", Ok(b"a\n\\n".to_vec())),
            (r#""\q""#, Err(SyntaxError)),
            (r#""\'""#, Err(SyntaxError)),
            (r#""\ud800""#, Err(SyntaxError)),
            (r#""\400""#, Err(SyntaxError)),
            (r#""\x4""#, Err(SyntaxError)),
            (r#""\xé""#, Err(SyntaxError)),
        ] {
            assert_eq!(unquote(literal), want, "{literal}");
        }
        assert_eq!(unquote_character("'a'"), Ok((97, "'")));
        assert_eq!(unquote_character(r"'\''"), Ok((39, "'")));
        assert_eq!(unquote_character("''"), Err(SyntaxError));
    }
}
