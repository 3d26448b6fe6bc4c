//! Go's layouts: how a certain time would be written.

/// A part of a time that a layout asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    LongYear,
    Year,
    LongMonth,
    Month,
    ZeroMonth,
    NumberMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    ZeroYearDay,
    UnderYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset {
        /// Whether UTC is written `Z`.
        z_for_utc: bool,
        shape: OffsetShape,
    },
    Fraction {
        /// What stands before the digits.
        separator: char,
        digits: usize,
        /// Whether zeros at the end are left out, and the separator with them.
        trimmed: bool,
    },
}

/// Which parts of an offset are written, and whether with colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffsetShape {
    Hours,
    Minutes,
    ColonMinutes,
    Seconds,
    ColonSeconds,
}

const fn offset(z_for_utc: bool, shape: OffsetShape) -> Element {
    Element::Offset { z_for_utc, shape }
}

/// How the elements are written, those first that others start with.
const ELEMENTS: &[(&str, Element)] = &[
    ("January", Element::LongMonth),
    ("Jan", Element::Month),
    ("Monday", Element::LongWeekday),
    ("Mon", Element::Weekday),
    ("MST", Element::ZoneName),
    ("01", Element::ZeroMonth),
    ("02", Element::ZeroDay),
    ("03", Element::ZeroHour12),
    ("04", Element::ZeroMinute),
    ("05", Element::ZeroSecond),
    ("06", Element::Year),
    ("002", Element::ZeroYearDay),
    ("15", Element::Hour),
    ("1", Element::NumberMonth),
    ("2006", Element::LongYear),
    ("2", Element::Day),
    ("_2", Element::UnderDay),
    ("__2", Element::UnderYearDay),
    ("3", Element::Hour12),
    ("4", Element::Minute),
    ("5", Element::Second),
    ("PM", Element::UpperPm),
    ("pm", Element::LowerPm),
    ("-070000", offset(false, OffsetShape::Seconds)),
    ("-07:00:00", offset(false, OffsetShape::ColonSeconds)),
    ("-0700", offset(false, OffsetShape::Minutes)),
    ("-07:00", offset(false, OffsetShape::ColonMinutes)),
    ("-07", offset(false, OffsetShape::Hours)),
    ("Z070000", offset(true, OffsetShape::Seconds)),
    ("Z07:00:00", offset(true, OffsetShape::ColonSeconds)),
    ("Z0700", offset(true, OffsetShape::Minutes)),
    ("Z07:00", offset(true, OffsetShape::ColonMinutes)),
    ("Z07", offset(true, OffsetShape::Hours)),
];

/// The next element of a layout: the text before it, how it is written, what it is, and the rest.
pub(super) struct Piece<'a> {
    pub(super) before: &'a str,
    pub(super) written: &'a str,
    pub(super) element: Element,
    pub(super) rest: &'a str,
}

/// The first element in `layout`, if there is one.
pub(super) fn next_piece(layout: &str) -> Option<Piece<'_>> {
    layout.char_indices().find_map(|(place, _)| {
        let (before, here) = layout.split_at(place);
        let (length, element) = element_at(here)?;
        let (written, rest) = here.split_at(length);
        Some(Piece {
            before,
            written,
            element,
            rest,
        })
    })
}

fn element_at(text: &str) -> Option<(usize, Element)> {
    if text.starts_with(['.', ',']) {
        return fraction_at(text);
    }
    let (name, element) = ELEMENTS
        .iter()
        .find(|(name, element)| text.starts_with(name) && !is_something_else(text, name, *element))?;
    Some((name.len(), *element))
}

/// `Janet` has no month in it, and `_2006` is an underscore and a year.
fn is_something_else(text: &str, name: &str, element: Element) -> bool {
    let after = text.get(name.len()..).unwrap_or_default();
    match element {
        Element::Month | Element::Weekday => after.starts_with(|next: char| next.is_ascii_lowercase()),
        Element::UnderDay => after.starts_with("006"),
        _ => false,
    }
}

/// Zeros or nines after a point or comma, if no other digit follows.
fn fraction_at(text: &str) -> Option<(usize, Element)> {
    let separator = text.chars().next()?;
    let after = text.get(1..)?;
    let digit = after.chars().next().filter(|digit| matches!(digit, '0' | '9'))?;
    let digits = after.len() - after.trim_start_matches(digit).len();
    let is_followed_by_digit = after
        .get(digits..)
        .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    (!is_followed_by_digit).then_some((
        1 + digits,
        Element::Fraction {
            separator,
            digits,
            trimmed: digit == '9',
        },
    ))
}
