//! Booleans, numbers, dates and times.

use steersman_gotemplate::{Value, format};
use steersman_sprig::date::{Time, Zone};

use super::cursor::{Cursor, END, ParseError, is_space, quoted};

/// The names of the zones of what says none; they tell how to write such a time again.
pub(in super::super) const LOCAL_DATE_TIME: &str = "datetime-local";
pub(in super::super) const LOCAL_DATE: &str = "date-local";
pub(in super::super) const LOCAL_TIME: &str = "time-local";

/// How dates and times are written, and the zone of what says none.
const LAYOUTS: [(&str, Option<&str>); 7] = [
    ("2006-01-02T15:04:05.999999999Z07:00", None),
    ("2006-01-02T15:04:05.999999999", Some(LOCAL_DATE_TIME)),
    ("2006-01-02", Some(LOCAL_DATE)),
    ("15:04:05.999999999", Some(LOCAL_TIME)),
    ("2006-01-02T15:04Z07:00", None),
    ("2006-01-02T15:04", Some(LOCAL_DATE_TIME)),
    ("15:04", Some(LOCAL_TIME)),
];

impl Cursor<'_> {
    /// The value that begins with `first`, which was read, and is no string, array or table.
    pub(super) fn scalar(&mut self, first: char) -> Result<Value, ParseError> {
        match first {
            '0'..='9' => {
                self.back();
                return self.number_or_date();
            }
            '.' => return Err(self.error(NO_DIGIT)),
            'i' | 'n' => {
                let is_infinite = self.accept('n')? && self.accept('f')?;
                if is_infinite || (self.accept('a')? && self.accept('n')?) {
                    return self.float();
                }
            }
            '-' | '+' => return self.signed_number(),
            _ => {}
        }
        if first.is_alphabetic() {
            self.back();
            return self.boolean();
        }
        if first == END {
            return Err(self.error("unexpected EOF; expected value"));
        }
        let found = quoted(first);
        Err(self.unexpected(first, format!("expected value but found {found} instead")))
    }

    fn boolean(&mut self) -> Result<Value, ParseError> {
        let mut word = String::new();
        loop {
            match self.next()? {
                letter if letter.is_alphabetic() => word.push(letter),
                _ => break,
            }
        }
        self.back();
        match &*word {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => {
                let found = format::quote(&word);
                Err(self.error(format!("expected value but found {found} instead")))
            }
        }
    }

    fn number_or_date(&mut self) -> Result<Value, ParseError> {
        if self.next()? == '0' {
            match self.next()? {
                '0'..='9' => {}
                'b' => return self.based("a binary", |digit| matches!(digit, '0' | '1')),
                'o' => return self.based("an octal", |digit| matches!(digit, '0'..='7')),
                'x' => return self.based("a hexadecimal", |digit| digit.is_ascii_hexdigit()),
                '_' => return self.decimal(),
                '.' | 'e' | 'E' => return self.fraction(),
                _ => {
                    self.back();
                    return self.integer();
                }
            }
        }
        self.pass(|character| character.is_ascii_digit())?;
        match self.next()? {
            '-' | ':' => self.date(),
            '_' => self.decimal(),
            '.' | 'e' | 'E' => self.fraction(),
            _ => {
                self.back();
                self.integer()
            }
        }
    }

    fn signed_number(&mut self) -> Result<Value, ParseError> {
        match self.next()? {
            first @ ('i' | 'n') => {
                let [second, third] = if first == 'i' { ['n', 'f'] } else { ['a', 'n'] };
                if !self.accept(second)? || !self.accept(third)? {
                    let found = self.current();
                    return Err(self.error(format!("invalid float: '{found}'")));
                }
                self.float()
            }
            '0' => {
                let next = self.peek()?;
                if matches!(next, 'b' | 'o' | 'x') {
                    let found = self.current();
                    let message = format!("cannot use sign with non-decimal numbers: '{found}{next}'");
                    return Err(self.error(message));
                }
                self.decimal()
            }
            '1'..='9' => self.decimal(),
            '.' => Err(self.error(NO_DIGIT)),
            other => Err(self.error(format!("expected a digit but got {}", quoted(other)))),
        }
    }

    fn decimal(&mut self) -> Result<Value, ParseError> {
        self.pass(|character| character.is_ascii_digit() || character == '_')?;
        match self.next()? {
            '.' | 'e' | 'E' => self.fraction(),
            _ => {
                self.back();
                self.integer()
            }
        }
    }

    /// An integer of a base, after its prefix.
    fn based(&mut self, name: &str, is_digit: fn(char) -> bool) -> Result<Value, ParseError> {
        let next = self.peek()?;
        if !is_digit(next) {
            let found = self.current();
            return Err(self.here(format!("not {name} number: '{found}{next}'")));
        }
        self.pass(|character| is_digit(character) || character == '_')?;
        self.integer()
    }

    fn fraction(&mut self) -> Result<Value, ParseError> {
        self.pass(|character| matches!(character, '0'..='9' | '_' | '.' | '-' | '+' | 'e' | 'E'))?;
        self.float()
    }

    /// Passes all characters that are as wanted.
    fn pass(&mut self, wanted: impl Fn(char) -> bool) -> Result<(), ParseError> {
        while wanted(self.next()?) {}
        self.back();
        Ok(())
    }

    fn integer(&self) -> Result<Value, ParseError> {
        let text = self.current();
        let shown = format::quote(text);
        if !has_sound_underscores(text) {
            let message = format!("Invalid integer {shown}: underscores must be surrounded by digits");
            return Err(self.here(message));
        }
        if has_leading_zero(text) {
            return Err(self.here(format!("Invalid integer {shown}: cannot have leading zeroes")));
        }
        let digits = text.replace('_', "");
        let (digits, base) = match digits.get(..2) {
            Some("0x") => (digits.get(2..), 16),
            Some("0o") => (digits.get(2..), 8),
            Some("0b") => (digits.get(2..), 2),
            _ => (Some(&*digits), 10),
        };
        let number = digits.and_then(|digits| i64::from_str_radix(digits, base).ok());
        number
            .map(Value::Int64)
            .ok_or_else(|| self.here(format!("{text} is out of range for int64")))
    }

    fn float(&self) -> Result<Value, ParseError> {
        let text = self.current();
        let shown = format::quote(text);
        let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty());
        if !parts.clone().all(has_sound_underscores) {
            let message = format!("Invalid float {shown}: underscores must be surrounded by digits");
            return Err(self.here(message));
        }
        if parts.next().is_some_and(has_leading_zero) {
            return Err(self.here(format!("Invalid float {shown}: cannot have leading zeroes")));
        }
        let mut after_periods = text.split('.').skip(1);
        if !after_periods.all(|part| part.starts_with(|first: char| first.is_ascii_digit())) {
            let message = format!("Invalid float {shown}: '.' must be followed by one or more digits");
            return Err(self.here(message));
        }
        let number: f64 = text
            .replace('_', "")
            .parse()
            .map_err(|_| self.here(format!("Invalid float value: {shown}")))?;
        if number.is_infinite() && !text.ends_with("inf") {
            return Err(self.here(format!("{text} is out of range for float64")));
        }
        Ok(Value::Float(number))
    }

    fn date(&mut self) -> Result<Value, ParseError> {
        self.pass(|character| {
            matches!(
                character,
                '0'..='9' | '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+'
            )
        })?;
        let text: String = self
            .current()
            .trim_matches(is_space)
            .chars()
            .map(|character| match character {
                'z' => 'Z',
                't' | ' ' => 'T',
                other => other,
            })
            .collect();
        let time = LAYOUTS.iter().find_map(|(layout, zone)| {
            let time = Time::parse(layout, &text).ok()?;
            Some((layout, zone, time))
        });
        match time {
            Some((layout, zone, time)) if has_all_digits(&text, layout) => Ok(Value::object(match zone {
                Some(name) => time.in_zone(Zone::Fixed {
                    name: (*name).to_owned(),
                    offset: 0,
                }),
                None => time,
            })),
            _ => Err(self.here(format!("invalid datetime: {}", format::quote(&text)))),
        }
    }
}

const NO_DIGIT: &str = "floats must start with a digit, not '.'";

/// Whether every underscore stands between digits of some base.
fn has_sound_underscores(text: &str) -> bool {
    if matches!(text.trim_start_matches(['+', '-']), "nan" | "inf") {
        return true;
    }
    let mut is_after_digit = false;
    for character in text.chars() {
        if character == '_' && !is_after_digit {
            return false;
        }
        is_after_digit = character.is_ascii_hexdigit();
    }
    is_after_digit
}

fn has_leading_zero(text: &str) -> bool {
    let (has_sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut characters = digits.chars();
    characters.next() == Some('0')
        && match characters.next() {
            None => false,
            Some('b' | 'o' | 'x') => has_sign,
            Some(_) => true,
        }
}

/// Whether the separators of a date are where the layout has them, so that no digit is missing.
fn has_all_digits(text: &str, layout: &str) -> bool {
    let fixed = layout.bytes().take_while(|byte| !matches!(byte, b'.' | b'Z'));
    fixed
        .zip(text.bytes())
        .all(|(expected, found)| expected.is_ascii_digit() || expected == found)
}
