//! Sizes as Kubernetes writes them. Pure.

/// A size in billionths of a byte, as `1Gi`, `1.5e3` or `500m` say it; `None` where it is none, or out of all bounds.
pub(super) fn parse(text: &str) -> Option<u128> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let places = u32::try_from(part.len()).ok().filter(|places| *places <= 12)?;
    let number: u128 = format!("{whole}{part}").parse().ok()?;
    let scaled = number.checked_mul(billionths(unit)?)?;
    // What is less than the smallest part of a byte counts as one, as for the server.
    Some(scaled.div_ceil(10_u128.checked_pow(places)?))
}

/// How many billionths of a byte a unit has.
fn billionths(unit: &str) -> Option<u128> {
    const BYTE: u128 = 1_000_000_000;
    if let Some(power) = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
        .iter()
        .position(|known| *known == unit)
    {
        return (0..=power).try_fold(BYTE, |size, _| size.checked_mul(1024));
    }
    let known = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    if let Some(power) = known.iter().position(|known| *known == unit) {
        return 1000_u128.checked_pow(u32::try_from(power).ok()?);
    }
    let exponent: i32 = unit.strip_prefix(['e', 'E'])?.parse().ok()?;
    10_u128.checked_pow(u32::try_from(exponent.checked_add(9)?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_same_however_they_are_written() {
        let same = [
            ["1Gi", "1024Mi"],
            ["1Gi", "1073741824"],
            ["1.5Gi", "1536Mi"],
            ["1G", "1e9"],
            ["1E", "1E18"],
            ["2k", "2000"],
            ["500m", "0.5"],
            ["100e-2", "1"],
        ];
        for [a, b] in same {
            assert!(parse(a).is_some(), "{a}");
            assert_eq!(parse(a), parse(b), "{a} {b}");
        }
        assert!(parse("1G") < parse("1Gi") && parse("999Gi") < parse("1Ti"));
    }

    #[test]
    fn what_is_no_size_is_none() {
        for text in [
            "",
            "Gi",
            "1gi",
            "-1",
            "1 Gi",
            "1.2.3",
            "1e",
            "9e99",
            "99999999999999999999999Ei",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"9".repeat(10_000)), None);
    }
}
