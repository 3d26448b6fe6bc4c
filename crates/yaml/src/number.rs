//! Numbers as Go's strconv reads and prints them.

/// A float as `strconv.FormatFloat(value, 'g', -1, 64)` prints it: the shortest digits that read back as the
/// same number, in scientific notation below 1e-04 and from 1e+06 on.
pub(crate) fn general(value: f64) -> String {
    layout(&shortest(value))
}

/// The shortest digits that read back as the same number, in Rust's scientific notation. Of two that are
/// equally close Go takes the even one, and Rust's shortest form the larger.
pub(crate) fn shortest(value: f64) -> String {
    let shortest = format!("{value:e}");
    let digits = shortest
        .bytes()
        .take_while(|byte| *byte != b'e')
        .filter(u8::is_ascii_digit)
        .count();
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    if rounded != shortest && rounded.parse() == Ok(value) {
        rounded
    } else {
        shortest
    }
}

/// A float as sigs.k8s.io/yaml prints the key of a mapping: like [`general`], rounded to 32 bits.
pub(crate) fn float_key(value: f64) -> String {
    // A number beyond the range of 32 bits becomes an infinity in Go, too.
    let narrow = value as f32;
    special(f64::from(narrow)).map_or_else(|| layout(&format!("{narrow:e}")), str::to_owned)
}

/// YAML's names of the floats that have no digits.
pub(crate) fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some(".nan")
    } else if value.is_infinite() {
        Some(if value > 0.0 { ".inf" } else { "-.inf" })
    } else {
        None
    }
}

/// Turns Rust's shortest scientific notation (`-1.25e-7`) into Go's `%g`.
fn layout(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let places = exponent.unsigned_abs() as usize;
    if !(-4..6).contains(&exponent) && mantissa.trim_start_matches('-') != "0" {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{places:02}");
    }
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |digits| ("-", digits));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(places - 1));
    }
    if digits.len() <= places + 1 {
        format!("{sign}{digits}{}", "0".repeat(places + 1 - digits.len()))
    } else {
        let (before, after) = digits.split_at(places + 1);
        format!("{sign}{before}.{after}")
    }
}

/// An integer of 64 bits as `strconv.ParseInt` and `ParseUint` read it, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    Signed(i64),
    Unsigned(u64),
}

/// Reads an integer in Go's syntax with base 0: the prefixes `0x`, `0o`, `0b` and a leading zero choose the
/// base.
pub(crate) fn integer(text: &str) -> Option<Integer> {
    let (negative, digits) = sign(text);
    let (base, rest) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    magnitude(negative, digits.len() != text.len(), rest, base)
}

/// Reads an integer in a given base, with an optional sign.
pub(crate) fn integer_in_base(text: &str, base: u32) -> Option<Integer> {
    let (negative, digits) = sign(text);
    magnitude(negative, digits.len() != text.len(), digits, base)
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    }
}

fn magnitude(negative: bool, signed: bool, digits: &str, base: u32) -> Option<Integer> {
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if negative {
        return (magnitude <= 1 << 63).then(|| Integer::Signed((magnitude as i64).wrapping_neg()));
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Integer::Signed(value)),
        // ParseUint takes no sign.
        Err(_) if signed => None,
        Err(_) => Some(Integer::Unsigned(magnitude)),
    }
}

/// Reads a float that goyaml takes for one: digits around an optional point and an optional exponent, nothing
/// else. A number out of range is no number.
pub(crate) fn float(text: &str) -> Option<f64> {
    let mut rest = text.as_bytes();
    if let [b'+' | b'-', tail @ ..] = rest {
        rest = tail;
    }
    let (whole, tail) = digits(rest);
    rest = tail;
    let mut fraction = 0;
    if let [b'.', tail @ ..] = rest {
        (fraction, rest) = digits(tail);
    }
    if whole + fraction == 0 {
        return None;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        let tail = if let [b'+' | b'-', tail @ ..] = tail {
            tail
        } else {
            tail
        };
        let (exponent, tail) = digits(tail);
        if exponent == 0 {
            return None;
        }
        rest = tail;
    }
    if !rest.is_empty() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads a float that starts with its point. Unlike elsewhere, goyaml leaves the underscores to Go here,
/// which takes them between digits only.
pub(crate) fn float_from_point(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return float(text);
    }
    let bytes = text.as_bytes();
    let is_digit = |position: Option<usize>| {
        position
            .and_then(|position| bytes.get(position))
            .is_some_and(u8::is_ascii_digit)
    };
    let mut previous_is_digit = false;
    for (position, byte) in bytes.iter().enumerate() {
        if *byte == b'_' && !(previous_is_digit && is_digit(position.checked_add(1))) {
            return None;
        }
        previous_is_digit = byte.is_ascii_digit();
    }
    float(&text.replace('_', ""))
}

fn digits(text: &[u8]) -> (usize, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count, text.get(count..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Integer, float, float_from_point, float_key, general, integer};

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (value, expect) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (1_234_567.5, "1.2345675e+06"),
            (2_049_830_034_986_950.2, "2.0498300349869502e+15"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (-1e-7, "-1e-07"),
            (1e300, "1e+300"),
            (0.1 + 0.2, "0.30000000000000004"),
        ] {
            assert_eq!(general(value), expect);
        }
        assert_eq!(float_key(16_777_217.0), "1.6777216e+07");
    }

    #[test]
    fn integers_are_read_as_go_reads_them() {
        use Integer::{Signed, Unsigned};
        for (text, expect) in [
            ("0", Some(Signed(0))),
            ("-0", Some(Signed(0))),
            ("0777", Some(Signed(511))),
            ("0o17", Some(Signed(15))),
            ("-0x10", Some(Signed(-16))),
            ("0b11", Some(Signed(3))),
            ("08", None),
            ("0x", None),
            ("0b", None),
            ("+-1", None),
            ("9223372036854775808", Some(Unsigned(1 << 63))),
            ("+9223372036854775808", None),
            ("-9223372036854775808", Some(Signed(i64::MIN))),
            ("-9223372036854775809", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(integer(text), expect, "{text}");
        }
    }

    #[test]
    fn floats_are_read_as_goyaml_reads_them() {
        for (text, expect) in [
            ("1.", Some(1.0)),
            ("+.5e-1", Some(0.05)),
            ("1e999", None),
            (".", None),
            ("1e", None),
            ("1.2.3", None),
            ("inf", None),
        ] {
            assert_eq!(float(text), expect, "{text}");
        }
        assert_eq!(float_from_point(".5_5"), Some(0.55));
        assert_eq!(float_from_point("._5"), None);
        assert_eq!(float_from_point(".5_"), None);
    }
}
