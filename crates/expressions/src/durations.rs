//! Durations as Go writes and reads them.

/// A duration in seconds, as CEL writes it.
pub(crate) fn duration_text(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let rest = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", rest.trim_end_matches('0'))
}

/// Nanoseconds of `1h30m`, `-1.5s` and the like.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (is_negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(end)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, after) = after.split_at_checked(end.unwrap_or(after.len()))?;
        total = total.checked_add(part(number, unit_of(unit)?)?)?;
        if total > 1 << 63 {
            return None;
        }
        rest = after;
    }
    i64::try_from(if is_negative { -total } else { total }).ok()
}

fn unit_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn part(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 19 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More digits than these are no nanoseconds.
    let fraction = fraction.get(..fraction.len().min(18))?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    (whole.checked_mul(unit)?).checked_add(fraction.checked_mul(unit)? / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, expect) in [
            ("1h30m", Some(5_400_000_000_000)),
            ("-1.5s", Some(-1_500_000_000)),
            (".5ms", Some(500_000)),
            ("0", Some(0)),
            ("1", None),
            ("", None),
            ("-", None),
            ("1.2.3s", None),
            ("1x", None),
            ("9999999999999999999h", None),
            ("1é", None),
        ] {
            assert_eq!(parse_duration(text), expect, "{text}");
        }
        assert_eq!(duration_text(-1_500_000_000), "-1.5s");
        assert_eq!(duration_text(i64::MIN), "-9223372036.854775808s");
    }
}
