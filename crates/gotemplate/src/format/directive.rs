//! Format strings.

use crate::value::Value;

use super::printer::{Flags, Printer};

/// The largest width or precision.
const LARGEST: i64 = 1_000_000;

/// A format string being read.
struct Format<'f> {
    text: &'f [u8],
    position: usize,
    arguments: &'f [Value],
    /// The number of the next argument.
    next: usize,
    /// Whether any argument was chosen by number.
    reordered: bool,
    /// Whether all numbers of arguments in the current directive are right.
    good_number: bool,
}

impl Printer<'_> {
    /// Go's `Sprintf`.
    pub(super) fn format(&mut self, text: &[u8], arguments: &[Value]) {
        let mut format = Format {
            text,
            position: 0,
            arguments,
            next: 0,
            reordered: false,
            good_number: true,
        };
        while format.position < text.len() && self.fits() {
            let rest = &text[format.position..];
            let plain = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..plain]);
            format.position += plain;
            if format.position < text.len() {
                format.position += 1;
                self.directive(&mut format);
            }
        }
        self.flags = Flags::default();
        if !format.reordered && format.next < arguments.len() {
            self.extra(&arguments[format.next..]);
        }
    }

    fn extra(&mut self, arguments: &[Value]) {
        self.write("%!(EXTRA ");
        for (index, argument) in arguments.iter().enumerate() {
            self.write(if index > 0 { ", " } else { "" });
            if argument.is_nil() {
                self.write("<nil>");
            } else {
                self.write(argument.type_name());
                self.write("=");
                self.argument(argument, 'v');
            }
        }
        self.write(")");
    }

    fn directive(&mut self, format: &mut Format<'_>) {
        format.good_number = true;
        self.flags = format.flags();
        let mut after_number = format.argument_number();
        self.width(format, &mut after_number);
        self.precision(format, &mut after_number);
        if !after_number {
            format.argument_number();
        }
        let Some(verb) = format.verb() else {
            self.write("%!(NOVERB)");
            return;
        };
        let written = &mut [0; 4];
        if verb == '%' {
            self.out.push(b'%');
        } else if !format.good_number {
            self.write("%!");
            self.write(verb.encode_utf8(written));
            self.write("(BADINDEX)");
        } else if let Some(argument) = format.arguments.get(format.next) {
            if let 'v' | 'w' = verb {
                self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
                self.flags.plus_v = std::mem::take(&mut self.flags.plus);
            }
            self.argument(argument, verb);
            format.next += 1;
        } else {
            self.write("%!");
            self.write(verb.encode_utf8(written));
            self.write("(MISSING)");
        }
    }

    fn width(&mut self, format: &mut Format<'_>, after_number: &mut bool) {
        if !format.take(b'*') {
            self.flags.width = format.number();
            if *after_number && self.flags.width.is_some() {
                format.good_number = false;
            }
            return;
        }
        *after_number = false;
        match format.star() {
            Some(width) => {
                self.flags.width = Some(width.unsigned_abs() as usize);
                if width < 0 {
                    self.flags.minus = true;
                    self.flags.zero = false;
                }
            }
            None => self.write("%!(BADWIDTH)"),
        }
    }

    fn precision(&mut self, format: &mut Format<'_>, after_number: &mut bool) {
        // A point that ends the format is a verb.
        if format.position + 1 >= format.text.len() || !format.take(b'.') {
            return;
        }
        if *after_number {
            format.good_number = false;
        }
        *after_number = format.argument_number();
        if !format.take(b'*') {
            self.flags.precision = Some(format.number().unwrap_or(0));
            return;
        }
        *after_number = false;
        match format.star() {
            Some(precision) if precision >= 0 => self.flags.precision = Some(precision as usize),
            _ => self.write("%!(BADPREC)"),
        }
    }
}

impl Format<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        loop {
            match self.peek() {
                Some(b'#') => flags.sharp = true,
                Some(b'0') => flags.zero = true,
                Some(b'+') => flags.plus = true,
                Some(b'-') => flags.minus = true,
                Some(b' ') => flags.space = true,
                _ => return flags,
            }
            self.position += 1;
        }
    }

    /// Reads a number such as `[2]`, if there is one, and makes that argument the next.
    fn argument_number(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.text[self.position..];
        let Some(end) = rest
            .iter()
            .position(|byte| *byte == b']')
            .filter(|_| rest.len() >= 3)
        else {
            self.good_number = false;
            self.position += 1;
            return false;
        };
        let digits = std::str::from_utf8(&rest[1..end]).unwrap_or_default();
        self.position += end + 1;
        let number = if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            digits
                .parse::<usize>()
                .ok()
                .filter(|number| *number as i64 <= LARGEST * 10)
        } else {
            None
        };
        let Some(number) = number else {
            self.good_number = false;
            return false;
        };
        if (1..=self.arguments.len()).contains(&number) {
            self.next = number - 1;
        } else {
            self.good_number = false;
        }
        true
    }

    /// Reads the digits of a width or precision. A number that is too large swallows the
    /// rest of the format, as in Go.
    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let value = number.unwrap_or(0);
            if value as i64 > LARGEST {
                self.position = self.text.len();
                return None;
            }
            number = Some(value * 10 + usize::from(digit - b'0'));
            self.position += 1;
        }
        number
    }

    /// The next argument as a width or precision.
    fn star(&mut self) -> Option<i64> {
        let argument = self.arguments.get(self.next)?;
        self.next += 1;
        let number = match argument {
            Value::Int(number) | Value::Int64(number) => *number,
            Value::Uint64(number) => i64::try_from(*number).ok()?,
            Value::Byte(number) => i64::from(*number),
            Value::Object(object) => object.integer()?,
            _ => return None,
        };
        (-LARGEST..=LARGEST).contains(&number).then_some(number)
    }

    fn verb(&mut self) -> Option<char> {
        let rest = self.text.get(self.position..).filter(|rest| !rest.is_empty())?;
        let first = rest.utf8_chunks().next();
        let verb = first.and_then(|chunk| chunk.valid().chars().next());
        self.position += verb.map_or(1, char::len_utf8);
        Some(verb.unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}
