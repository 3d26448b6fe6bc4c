//! Percent signs and hexadecimal digits for what a part of a URL cannot hold.

use std::fmt::Write as _;

use steersman_gotemplate::format::quote_bytes;

/// The part of a URL, which decides what stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    Zone,
    UserInfo,
    Fragment,
}

/// What cannot be unescaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EscapeError {
    #[error("invalid URL escape {}", quote_bytes(.0))]
    Escape(Vec<u8>),
    #[error("invalid character {} in host name", quote_bytes(&[*.0]))]
    HostCharacter(u8),
}

fn stands_for_itself(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    let allowed: &[u8] = match part {
        Part::Path => b"$&+,/:;=@",
        Part::Host | Part::Zone => b"!$&'()*+,;=:[]<>\"",
        Part::UserInfo => b"$&+,;=",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    allowed.contains(&byte)
}

/// The text with escapes for what does not stand for itself in this part.
pub(super) fn escape(text: &[u8], part: Part) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text {
        if stands_for_itself(*byte, part) {
            escaped.push(char::from(*byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// The text that the escapes stand for.
///
/// # Errors
/// An escape is incomplete, or stands for what this part cannot hold.
pub(super) fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, EscapeError> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut unescaped = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        if *byte == b'%' {
            let refused = || EscapeError::Escape(rest.get(..3).unwrap_or(rest).to_vec());
            let (digits, after) = after.split_at_checked(2).ok_or_else(refused)?;
            let character = hexadecimal(digits).ok_or_else(refused)?;
            let is_percent = digits == b"25";
            let is_refused = match part {
                Part::Host => character < 0x80 && !is_percent,
                Part::Zone => !is_percent && character != b' ' && !stands_for_itself(character, Part::Host),
                _ => false,
            };
            if is_refused {
                return Err(refused());
            }
            unescaped.push(character);
            rest = after;
            continue;
        }
        if in_host && byte.is_ascii() && !stands_for_itself(*byte, part) {
            return Err(EscapeError::HostCharacter(*byte));
        }
        unescaped.push(*byte);
        rest = after;
    }
    Ok(unescaped)
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digit = |place: usize| char::from(*digits.get(place)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}
