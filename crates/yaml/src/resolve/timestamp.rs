//! Dates, of which goyaml asks only whether a text is one.

/// Whether goyaml takes a text for a timestamp: `2006-1-2`, alone, followed by a time of day after spaces, or
/// by a time of day and a zone after `T` or `t`. Each field may have one digit or two, as in Go's
/// `time.Parse`.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [
        b'0'..=b'9',
        b'0'..=b'9',
        b'0'..=b'9',
        b'0'..=b'9',
        b'-',
        rest @ ..,
    ] = bytes
    else {
        return false;
    };
    let year = bytes
        .iter()
        .take(4)
        .fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    date_and_more(year, rest).is_some()
}

fn date_and_more(year: u32, rest: &[u8]) -> Option<()> {
    let (month, rest) = field(rest)?;
    let (day, rest) = field(after(b'-', rest)?)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return None;
    }
    match rest {
        [] => Some(()),
        [b'T' | b't', rest @ ..] => zone(time_of_day(rest)?),
        [b' ', ..] => {
            let start = rest.iter().position(|byte| *byte != b' ')?;
            time_of_day(rest.get(start..)?)?.is_empty().then_some(())
        }
        _ => None,
    }
}

fn time_of_day(rest: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = field(rest)?;
    let (minute, rest) = field(after(b':', rest)?)?;
    let (second, rest) = field(after(b':', rest)?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest {
        [b'.' | b',', b'0'..=b'9', ..] => {
            let digits = rest
                .iter()
                .skip(1)
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            rest.get(1 + digits..)
        }
        _ => Some(rest),
    }
}

fn zone(rest: &[u8]) -> Option<()> {
    match rest {
        [b'Z'] => Some(()),
        [b'+' | b'-', h1, h2, b':', m1, m2]
            if [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit()) =>
        {
            let number = |tens: &u8, units: &u8| (tens - b'0') * 10 + (units - b'0');
            (number(h1, h2) <= 24 && number(m1, m2) <= 60).then_some(())
        }
        _ => None,
    }
}

/// A number of one digit or two.
fn field(rest: &[u8]) -> Option<(u32, &[u8])> {
    match rest {
        [tens @ b'0'..=b'9', units @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(tens - b'0') * 10 + u32::from(units - b'0'), rest))
        }
        [digit @ b'0'..=b'9', rest @ ..] => Some((u32::from(digit - b'0'), rest)),
        _ => None,
    }
}

fn after(expected: u8, rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [first, rest @ ..] if *first == expected => Some(rest),
        _ => None,
    }
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn dates_are_told_from_other_text() {
        for text in [
            "2001-1-2",
            "2000-02-29",
            "2001-01-02T03:04:05Z",
            "2001-01-02t3:4:5.123456789+01:30",
            "2001-01-02   3:4:5",
            "2001-01-02 3:4:5,5",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "2001-1",
            "1900-02-29",
            "2001-13-01",
            "2001-01-02T03:04:05",
            "2001-01-02 24:00:00",
            "2001-01-02 3:4",
            "2001-01-02x",
            "20011-1-1",
            "2001-01-02 3:4:5 Z",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
