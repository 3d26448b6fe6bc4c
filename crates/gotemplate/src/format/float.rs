//! Floating-point numbers as Go's `strconv.FormatFloat` writes them.

/// Go's `strconv.FormatFloat` of a 64-bit number.
///
/// `verb` is one of `b e E f g G x X`; another is taken as `g`. Without `precision` the
/// fewest digits that give back the number are written.
#[must_use]
pub fn float(number: f64, verb: u8, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    match verb {
        b'e' | b'E' => exponential(number, verb, precision),
        b'f' => {
            let Some(precision) = precision else {
                let text = shortest(number);
                let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                return place_point(mantissa, exponent.parse().unwrap_or(0));
            };
            let exact = precision.min(EXACT);
            let zeros = "0".repeat(precision - exact);
            format!("{number:.exact$}{zeros}")
        }
        b'b' => binary(number),
        b'x' | b'X' => hexadecimal(number, verb, precision),
        b'G' => general(number, b'E', precision),
        _ => general(number, b'e', precision),
    }
}

/// As many digits as the exact value of any number has; the standard library does not take
/// every precision.
const EXACT: usize = 1100;

fn exponential(number: f64, verb: u8, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{number:.*e}", precision.min(EXACT)),
        None => shortest(number),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(precision.unwrap_or(0).saturating_sub(EXACT));
    let mantissa = format!("{mantissa}{zeros}");
    with_exponent(&mantissa, char::from(verb), exponent.parse().unwrap_or(0))
}

/// The fewest digits that give back the number, with an exponent. Of two such texts that are
/// equally near to it, Go takes the even one and Rust the greater; only many digits are so near.
fn shortest(number: f64) -> String {
    const FEWEST_THAT_TIE: usize = 16;
    let text = format!("{number:e}");
    let digits = text
        .bytes()
        .take_while(|byte| *byte != b'e')
        .filter(u8::is_ascii_digit)
        .count();
    if digits < FEWEST_THAT_TIE {
        return text;
    }
    let even = format!("{number:.*e}", digits - 1);
    if even.parse() == Ok(number) { even } else { text }
}

/// Go writes a sign and at least two digits.
fn with_exponent(mantissa: &str, letter: char, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{letter}{sign}{:02}", exponent.unsigned_abs())
}

/// Whether the shortest text of a number is its digits alone, at most six.
pub(super) fn is_small_integer(number: f64) -> bool {
    number.abs() < 1e6 && number.fract() == 0.0
}

/// `%e` for very small and large numbers, else `%f`, without zeros at the end.
fn general(number: f64, letter: u8, precision: Option<usize>) -> String {
    if precision.is_none() && is_small_integer(number) {
        return number.to_string();
    }
    let precision = precision.map(|precision| precision.clamp(1, EXACT));
    let text = match precision {
        Some(precision) => format!("{number:.*e}", precision - 1),
        None => shortest(number),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count() as i32;
    let limit = match precision.map(|precision| precision as i32) {
        None => 6,
        Some(precision) if precision > digits && digits > exponent => digits,
        Some(precision) => precision,
    };
    if exponent < -4 || exponent >= limit {
        return with_exponent(mantissa, char::from(letter), exponent);
    }
    place_point(mantissa, exponent)
}

/// The digits of `mantissa` times ten to the `exponent`, written without an exponent.
fn place_point(mantissa: &str, exponent: i32) -> String {
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    while digits.len() < whole {
        digits.push('0');
    }
    let (whole, fraction) = digits.split_at(whole);
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// The parts of a number: whether it is negative, its 53 bits, and the exponent of the last.
fn decode(number: f64) -> (bool, u64, i32) {
    let bits = number.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let (mantissa, exponent) = match exponent {
        0 => (fraction, 1),
        _ => (fraction | 1 << 52, exponent),
    };
    (bits >> 63 == 1, mantissa, exponent - 1075)
}

fn binary(number: f64) -> String {
    let (negative, mantissa, exponent) = decode(number);
    let sign = if negative { "-" } else { "" };
    format!("{sign}{mantissa}p{exponent:+}")
}

fn hexadecimal(number: f64, verb: u8, precision: Option<usize>) -> String {
    let (negative, mut mantissa, mut exponent) = decode(number);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // One bit before the point, 60 after it.
        exponent += 52;
        let shift = mantissa.leading_zeros() as i32 - 3;
        mantissa <<= shift;
        exponent -= shift - 8;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let cut = (15 - precision) * 4;
        let half = 1_u64 << (cut - 1);
        let rest = mantissa & ((1 << cut) - 1);
        mantissa >>= cut;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa += 1;
        }
        mantissa <<= cut;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    match precision {
        Some(precision) => {
            while digits.len() < precision {
                digits.push('0');
            }
            digits.truncate(precision);
        }
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let sign = if negative { "-" } else { "" };
    let point = if digits.is_empty() { "" } else { "." };
    let text = with_exponent(
        &format!("{sign}0x{}{point}{digits}", mantissa >> 60),
        'p',
        exponent,
    );
    if verb == b'X' { text.to_uppercase() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: f64, verb: u8, precision: Option<usize>, want: &str) {
        assert_eq!(
            float(number, verb, precision),
            want,
            "{number} {}",
            char::from(verb)
        );
    }

    #[test]
    fn of_two_shortest_texts_the_even_one_is_written() {
        check(
            8_301_207_505_988_097.0 / 4.0,
            b'g',
            None,
            "2.0753018764970242e+15",
        );
        check(8_301_207_505_988_097.0 / 4.0, b'f', None, "2075301876497024.2");
    }

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let recorded = include_str!("../../tests/recorded/floats.txt");
        for line in recorded.lines() {
            let mut parts = line.split(' ');
            let mut part = || parts.next().unwrap();
            let number: f64 = part().parse().unwrap();
            let verb = part().as_bytes()[0];
            let precision = part().parse().ok();
            check(number, verb, precision, part());
        }
    }

    #[test]
    fn what_is_not_finite_has_a_name() {
        check(f64::NAN, b'g', None, "NaN");
        check(f64::INFINITY, b'f', Some(2), "+Inf");
        check(f64::NEG_INFINITY, b'e', None, "-Inf");
    }
}
