//! From bytes to characters: encodings, and the characters that YAML does not allow.

use crate::Error;
use std::borrow::Cow;

/// How much goyaml reads at a time. A forbidden character is noticed when the piece that holds it is read, so
/// an error well before it comes first, and a document well before it is read undisturbed.
const PIECE: usize = 512;

/// A decoded text.
#[derive(Debug)]
pub(super) struct Input<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) fault: Option<Fault>,
}

/// The first place at which goyaml's reader gives up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    position: usize,
    problem: &'static str,
}

impl Fault {
    /// The error, if the scanner, which looked at the text up to `position`, has come across this place.
    pub(super) fn seen_from(self, position: usize) -> Option<Error> {
        // The scanner asks for up to four characters ahead.
        let piece = self.position / PIECE * PIECE;
        (piece == 0 || position + 4 > piece).then(|| Error::content(self.problem, 0))
    }
}

impl<'a> Input<'a> {
    pub(super) fn of_text(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            text: Cow::Borrowed(text),
            fault: forbidden(text),
        }
    }

    /// UTF-16 is known by its byte order mark; everything else is UTF-8.
    pub(super) fn of_bytes(bytes: &'a [u8]) -> Self {
        match bytes {
            [0xff, 0xfe, rest @ ..] => Self::of_utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => Self::of_utf16(rest, u16::from_be_bytes),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => Self::of_text(text),
                Err(error) => Self::of_broken_utf8(bytes, error.valid_up_to()),
            },
        }
    }

    fn of_broken_utf8(bytes: &'a [u8], valid_up_to: usize) -> Self {
        let (valid, broken) = bytes.split_at(valid_up_to);
        let text = String::from_utf8_lossy(valid).into_owned();
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let fault = forbidden(&text).unwrap_or_else(|| Fault {
            position: valid_up_to,
            problem: utf8_problem(broken),
        });
        Self {
            text: Cow::Owned(text),
            fault: Some(fault),
        }
    }

    fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Self {
        let units = bytes.chunks_exact(2).map(|pair| match pair {
            [first, second] => unit([*first, *second]),
            _ => 0,
        });
        let mut text = String::with_capacity(bytes.len());
        let mut problem = None;
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => text.push(character),
                Err(error) => {
                    problem = Some(match error.unpaired_surrogate() {
                        0xdc00.. => "unexpected low surrogate area",
                        _ => "expected low surrogate area",
                    });
                    break;
                }
            }
        }
        if problem.is_none() && !bytes.len().is_multiple_of(2) {
            problem = Some("incomplete UTF-16 character");
        }
        let fault = forbidden(&text).or(problem.map(|problem| Fault {
            position: text.len(),
            problem,
        }));
        Self {
            text: Cow::Owned(text),
            fault,
        }
    }
}

fn utf8_problem(broken: &[u8]) -> &'static str {
    let width = match broken.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let Some(rest) = broken.get(1..width) else {
        return "incomplete UTF-8 octet sequence";
    };
    if rest.iter().any(|byte| byte & 0xc0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    match broken {
        [0xc0 | 0xc1, ..] | [0xe0, ..0xa0, ..] | [0xf0, ..0x90, ..] => "invalid length of a UTF-8 sequence",
        _ => "invalid Unicode character",
    }
}

/// The first character outside YAML's printable set.
fn forbidden(text: &str) -> Option<Fault> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(offset) = bytes
        .get(from..)?
        .iter()
        .position(|byte| SUSPECT[usize::from(*byte)])
    {
        let position = from + offset;
        let is_forbidden = match bytes.get(position..) {
            Some([0xc2, second, ..]) => *second < 0xa0 && *second != 0x85,
            Some([0xef, second, third, ..]) => *second == 0xbf && *third >= 0xbe,
            _ => true,
        };
        if is_forbidden {
            return Some(Fault {
                position,
                problem: "control characters are not allowed",
            });
        }
        from = position + 1;
    }
    None
}

/// The bytes that are, or may start, a forbidden character.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = byte != 0x09 && byte != 0x0a && byte != 0x0d;
        byte += 1;
    }
    table[0x7f] = true;
    table[0xc2] = true;
    table[0xef] = true;
    table
};

#[cfg(test)]
mod tests {
    use super::Input;

    fn problem(bytes: &[u8]) -> Option<&'static str> {
        Input::of_bytes(bytes).fault.map(|fault| fault.problem)
    }

    #[test]
    fn faults_have_goyamls_names() {
        for (bytes, expect) in [
            (&b"a: \xc3\xa9\t\r\n\xc2\x85\xef\xbb\xbf"[..], None),
            (b"a: \x00", Some("control characters are not allowed")),
            (b"a: \x7f", Some("control characters are not allowed")),
            (b"a: \xc2\x80", Some("control characters are not allowed")),
            (b"a: \xef\xbf\xbe", Some("control characters are not allowed")),
            (b"\xff", Some("invalid leading UTF-8 octet")),
            (b"\xc3", Some("incomplete UTF-8 octet sequence")),
            (b"\xc3(", Some("invalid trailing UTF-8 octet")),
            (b"\xc0\x80", Some("invalid length of a UTF-8 sequence")),
            (b"\xed\xa0\x80", Some("invalid Unicode character")),
            (b"\xff\xfea\x00", None),
            (b"\xfe\xff\xdc\x00", Some("unexpected low surrogate area")),
            (b"\xfe\xff\x00", Some("incomplete UTF-16 character")),
        ] {
            assert_eq!(problem(bytes), expect, "{bytes:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(Input::of_bytes(b"\xef\xbb\xbfa").text, "a");
        assert_eq!(Input::of_bytes(b"\xff\xfea\x00").text, "a");
    }
}
