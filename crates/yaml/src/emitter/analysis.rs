//! What a string contains, and so how it may be written.

use super::Style;
use crate::number::integer_in_base;
use crate::resolve::{Dates, Looks, looks};

/// The styles that a string allows, and whether it has several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts, not a state"
)]
pub(super) struct Analysis {
    pub(super) is_multiline: bool,
    pub(super) allows_plain: bool,
    pub(super) allows_single_quoted: bool,
    pub(super) allows_block: bool,
}

/// Whether a string without a line feed would be read back as a string if it were written plain.
pub(super) fn reads_as_text(value: &str, style: Style) -> bool {
    if looks(value, Dates::Timestamps) != Looks::Text || is_base_60(value) {
        return false;
    }
    style == Style::V2 || !is_signed_octal(value)
}

/// goyaml v3 reads what follows `0o` by itself, and so takes a second sign.
fn is_signed_octal(value: &str) -> bool {
    value
        .strip_prefix("0o")
        .is_some_and(|digits| integer_in_base(&digits.replace('_', ""), 8).is_some())
}

/// Whether other readers of YAML 1.1 would take a string for a number in base 60, as `12:30:45`.
fn is_base_60(value: &str) -> bool {
    let Some((first, rest)) = value.split_once(':') else {
        return false;
    };
    let first = first.strip_prefix(['-', '+']).unwrap_or(first);
    if !first.starts_with(|first: char| first.is_ascii_digit()) || !first.bytes().all(is_digit_or_underscore)
    {
        return false;
    }
    let (groups, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let is_below_60 = |group: &str| match group.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, units] => (b'0'..=b'5').contains(tens) && units.is_ascii_digit(),
        _ => false,
    };
    groups.split(':').all(is_below_60) && fraction.bytes().all(is_digit_or_underscore)
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether goyaml writes a character without escaping it. What lies beyond the basic plane, as emoji do, it
/// escapes.
pub(super) fn is_printable(character: char) -> bool {
    matches!(
        character,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}'
    )
}

/// Looks a string over.
pub(super) fn analyse(value: &str, style: Style) -> Analysis {
    if is_plain_word(value) {
        return Analysis {
            is_multiline: false,
            allows_plain: true,
            allows_single_quoted: true,
            allows_block: true,
        };
    }
    if value.is_empty() {
        return Analysis {
            is_multiline: false,
            allows_plain: true,
            allows_single_quoted: true,
            allows_block: false,
        };
    }
    let mut has_indicators = value.starts_with("---") || value.starts_with("...");
    let (mut has_breaks, mut has_specials, mut has_tabs) = (false, false, false);
    let (mut has_space_before_break, mut has_space_behind_break) = (false, false);
    let mut previous = None;
    let mut characters = value.chars().peekable();
    while let Some(character) = characters.next() {
        let is_followed_by_blank = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        has_indicators |= match character {
            ':' => is_followed_by_blank,
            '?' | '-' => previous.is_none() && is_followed_by_blank,
            '#' => {
                previous.is_none_or(|previous| matches!(previous, ' ' | '\t' | '\0') || is_break(previous))
            }
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                previous.is_none()
            }
            _ => false,
        };
        if character == '\t' && style == Style::V3Pretty {
            has_tabs = true;
        } else if !is_printable(character) {
            has_specials = true;
        }
        if character == ' ' {
            has_space_behind_break |= previous.is_some_and(is_break);
        } else if is_break(character) {
            has_breaks = true;
            has_space_before_break |= previous == Some(' ');
        }
        previous = Some(character);
    }
    let starts_blank = value.starts_with(|first| first == ' ' || is_break(first));
    let ends_blank = value.ends_with(|last| last == ' ' || is_break(last));
    let allows_single_quoted =
        !(has_space_behind_break || has_space_before_break || has_tabs || has_specials);
    Analysis {
        is_multiline: has_breaks,
        allows_plain: allows_single_quoted && !(starts_blank || ends_blank || has_breaks || has_indicators),
        allows_single_quoted,
        allows_block: !(value.ends_with(' ') || has_space_before_break || has_specials),
    }
}

/// Whether a string consists of letters, digits and a few marks that are harmless everywhere: most do.
fn is_plain_word(value: &str) -> bool {
    let is_harmless =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.' | b'-' | b'+' | b'=');
    let starts_harmless = value.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/');
    starts_harmless && value.as_bytes().iter().all(is_harmless)
}

#[cfg(test)]
mod tests {
    use super::{Style, is_base_60, reads_as_text};

    #[test]
    fn base_60_numbers_are_recognised() {
        for text in ["1:2", "12:30:45", "-1_0:59.5_", "1:2."] {
            assert!(is_base_60(text), "{text}");
        }
        for text in ["1:60", "1:2:", ":1", "a:1", "1:123", "_1:2", "1:2.x", "10"] {
            assert!(!is_base_60(text), "{text}");
        }
    }

    #[test]
    fn strings_that_look_like_something_else_are_quoted() {
        for text in [
            "",
            "yes",
            "n",
            "1e3",
            "0x1f",
            "2001-01-01",
            "1:30",
            ".5",
            "~",
            "0b-1",
        ] {
            assert!(!reads_as_text(text, Style::V2), "{text}");
            assert!(!reads_as_text(text, Style::V3Pretty), "{text}");
        }
        assert!(reads_as_text("0o-7", Style::V2));
        assert!(!reads_as_text("0o-7", Style::V3Pretty));
    }
}
