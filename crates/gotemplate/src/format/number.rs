//! Numbers under one verb.

use crate::value::Value;

use super::complex::Complex;
use super::float::float;
use super::printer::Printer;
use super::quote::{Escape, is_printable, quote_character};

impl Printer<'_> {
    /// Prints an integer; `magnitude` is without the sign, and `signed` says whether Go's type can have one.
    pub(super) fn integer_value(
        &mut self,
        value: &Value,
        magnitude: u64,
        negative: bool,
        signed: bool,
        verb: char,
    ) {
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.integer(magnitude, false, 16, verb);
                self.flags.sharp = sharp;
            }
            'v' | 'd' => self.integer(magnitude, negative, 10, verb),
            'b' => self.integer(magnitude, negative, 2, verb),
            'o' | 'O' => self.integer(magnitude, negative, 8, verb),
            'x' | 'X' => self.integer(magnitude, negative, 16, verb),
            'c' => {
                let character = code_point(magnitude, negative);
                self.pad(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            'q' => {
                let escape = if self.flags.plus {
                    Escape::NotAscii
                } else {
                    Escape::NotPrintable
                };
                let quoted = quote_character(code_point(magnitude, negative), escape);
                self.pad(quoted.as_bytes());
            }
            'U' => {
                let bits = if negative {
                    magnitude.wrapping_neg()
                } else {
                    magnitude
                };
                self.unicode(bits);
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn integer(&mut self, magnitude: u64, negative: bool, base: u32, verb: char) {
        let flags = self.flags;
        let has_sign = negative || flags.plus || flags.space;
        let mut least_digits = 0;
        if let Some(precision) = flags.precision {
            least_digits = precision;
            if precision == 0 && magnitude == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                self.padding(flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
        } else if let (true, false, Some(width)) = (flags.zero, flags.minus, flags.width) {
            least_digits = width.saturating_sub(usize::from(has_sign));
        }
        let digits = match base {
            2 => format!("{magnitude:b}"),
            8 => format!("{magnitude:o}"),
            16 if verb == 'X' => format!("{magnitude:X}"),
            16 => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        };
        let mut text = String::new();
        if negative {
            text.push('-');
        } else if flags.plus {
            text.push('+');
        } else if flags.space {
            text.push(' ');
        }
        let zeros = least_digits.saturating_sub(digits.len());
        text.push_str(if verb == 'O' { "0o" } else { "" });
        text.push_str(match (verb, base) {
            (_, 2) if flags.sharp => "0b",
            (_, 8) if flags.sharp && zeros == 0 && !digits.starts_with('0') => "0",
            ('X', 16) if flags.sharp => "0X",
            (_, 16) if flags.sharp => "0x",
            _ => "",
        });
        text.extend(std::iter::repeat_n('0', zeros));
        text.push_str(&digits);
        self.pad_with_spaces(text.as_bytes());
    }

    /// A code point such as `U+0078`, with the character itself where the sharp flag is set.
    fn unicode(&mut self, number: u64) {
        let least_digits = self.flags.precision.unwrap_or(4).max(4);
        let digits = format!("{number:X}");
        let mut text = String::from("U+");
        text.extend(std::iter::repeat_n(
            '0',
            least_digits.saturating_sub(digits.len()),
        ));
        text.push_str(&digits);
        let character = u32::try_from(number).ok().and_then(char::from_u32);
        if let Some(character) = character.filter(|c| self.flags.sharp && is_printable(*c)) {
            text.push_str(" '");
            text.push(character);
            text.push('\'');
        }
        self.pad_with_spaces(text.as_bytes());
    }

    pub(super) fn complex(&mut self, value: &Value, complex: Option<&Complex>, verb: char) {
        let known = matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E');
        let Some(complex) = complex.filter(|_| known) else {
            return self.bad_verb(value, verb);
        };
        self.write("(");
        self.float_value(value, complex.real, verb);
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float_value(value, complex.imaginary, verb);
        self.flags.plus = plus;
        self.write("i)");
    }

    pub(super) fn float_value(&mut self, value: &Value, number: f64, verb: char) {
        let (verb, precision) = match verb {
            'v' => ('g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
            'f' | 'e' | 'E' => (verb, Some(6)),
            'F' => ('f', Some(6)),
            _ => return self.bad_verb(value, verb),
        };
        let precision = self.flags.precision.or(precision);
        let mut text = float(number, verb as u8, precision);
        if !text.starts_with(['-', '+']) {
            text.insert(0, '+');
        }
        let flags = self.flags;
        if flags.space && !flags.plus && text.starts_with('+') {
            text.replace_range(..1, " ");
        }
        if !number.is_finite() {
            // An infinity keeps its plus.
            let hides_sign = number.is_nan() && !flags.space && !flags.plus;
            let shown = if hides_sign { &text[1..] } else { &text };
            return self.pad_with_spaces(shown.as_bytes());
        }
        if flags.sharp && verb != 'b' {
            text = with_point(&text, verb, precision);
        }
        if !flags.plus && text.starts_with('+') {
            return self.pad(&text.as_bytes()[1..]);
        }
        match flags.width {
            // Zeros go between the sign and the digits.
            Some(width) if flags.zero && !flags.minus && width > text.len() => {
                self.out.push(text.as_bytes()[0]);
                self.padding(width - text.len());
                self.write(&text[1..]);
            }
            _ => self.pad(text.as_bytes()),
        }
    }
}

/// The text of a number with a decimal point, and with the zeros that `%g` leaves out.
fn with_point(text: &str, verb: char, precision: Option<usize>) -> String {
    let exponent = match verb {
        'x' | 'X' => ['p', 'P'],
        _ => ['e', 'E'],
    };
    let end = text.find(exponent).unwrap_or(text.len());
    let (number, tail) = text.split_at(end);
    let mut out = number.to_owned();
    let mut digits = match verb {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let significant = number[1..].trim_start_matches(['0', '.']);
    let found = significant.bytes().filter(|byte| *byte != b'.').count();
    digits = digits.saturating_sub(found);
    if !number.contains('.') {
        if number[1..] == *"0" {
            digits = digits.saturating_sub(1);
        }
        out.push('.');
    }
    out.extend(std::iter::repeat_n('0', digits));
    out.push_str(tail);
    out
}

fn code_point(magnitude: u64, negative: bool) -> char {
    let code = u32::try_from(magnitude).ok().filter(|_| !negative);
    code.and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}
