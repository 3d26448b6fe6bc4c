//! The order of keys.

use super::Style;
use std::cmp::Ordering;

/// goyaml v2's order of the keys of a mapping: other characters before letters, and numbers by their value,
/// so that `a9` stands before `a10`.
///
/// It is not transitive for every three strings. Sort with [`sort_keys`]: the standard library may panic.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    Style::V2.key_order(a, b)
}

/// Sorts by keys as goyaml does, whatever the keys are.
///
/// Where goyaml's order contradicts itself, as for `a9`, `a10` and `a1b`, its output changes from run to run; here it
/// depends on the order of the items alone.
///
/// ```
/// use steersman_yaml::{Style, sort_keys};
///
/// let mut keys = vec!["web10", "web9", "Web"];
/// sort_keys(&mut keys, Style::V2, |key| key);
/// assert_eq!(keys, ["Web", "web9", "web10"]);
/// ```
pub fn sort_keys<T>(items: &mut Vec<T>, style: Style, key: impl Fn(&T) -> &str) {
    if items.len() <= FEW {
        return sort_few(items, style, key);
    }
    let mut width = FEW;
    for run in items.chunks_mut(FEW) {
        sort_few(run, style, &key);
    }
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        let mut rest = std::mem::take(items).into_iter();
        while rest.len() > 0 {
            let left: Vec<T> = rest.by_ref().take(width).collect();
            let right: Vec<T> = rest.by_ref().take(width).collect();
            merge(left, right, &mut merged, |a, b| {
                style.key_order(key(a), key(b)) == Ordering::Less
            });
        }
        *items = merged;
        width *= 2;
    }
}

/// Up to this many items are sorted in place.
const FEW: usize = 16;

fn sort_few<T>(items: &mut [T], style: Style, key: impl Fn(&T) -> &str) {
    for end in 1..items.len() {
        let mut position = end;
        while let Some([before, item]) = items.get(position.saturating_sub(1)..=position)
            && style.key_order(key(item), key(before)) == Ordering::Less
        {
            items.swap(position - 1, position);
            position -= 1;
        }
    }
}

fn merge<T>(left: Vec<T>, right: Vec<T>, merged: &mut Vec<T>, is_less: impl Fn(&T, &T) -> bool) {
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        merged.extend(if is_less(b, a) { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
}

impl Style {
    /// The order of keys in this style; goyaml v3 sorts letters before other characters behind a digit.
    #[must_use]
    pub fn key_order(self, a: &str, b: &str) -> Ordering {
        let mut length = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        while !a.is_char_boundary(length) {
            length -= 1;
        }
        let (common, a) = a.split_at(length);
        let b = b.get(length..).unwrap_or_default();
        let (Some(first_a), Some(first_b)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        match (first_a.is_alphabetic(), first_b.is_alphabetic()) {
            (true, true) => first_a.cmp(&first_b),
            (false, false) => number_order(common, a, b),
            (a_is_letter, _) => {
                let letters_first =
                    self == Style::V3Pretty && common.ends_with(|last: char| last.is_ascii_digit());
                if a_is_letter == letters_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

/// Compares what follows a common start at the numbers there.
fn number_order(common: &str, a: &str, b: &str) -> Ordering {
    // A zero decides by its place if it continues a number.
    let continues_number = (a.starts_with('0') || b.starts_with('0'))
        && common
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .any(|digit| digit != b'0');
    let (number_a, digits_a) = number(a, continues_number);
    let (number_b, digits_b) = number(b, continues_number);
    number_a
        .cmp(&number_b)
        .then(digits_a.cmp(&digits_b))
        .then_with(|| a.chars().next().cmp(&b.chars().next()))
}

fn number(text: &str, continues_number: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(continues_number), 0), |(number, count), digit| {
        (
            number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')),
            count + 1,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Style, sort_keys};

    fn check(style: Style, sorted: &[&str]) {
        let mut keys: Vec<&str> = sorted.to_vec();
        keys.reverse();
        sort_keys(&mut keys, style, |key| key);
        assert_eq!(keys, sorted);
    }

    #[test]
    fn keys_stand_in_natural_order() {
        check(
            Style::V2,
            &[
                "", "_z", "1", "2", "10", "A", "a", "a-b", "a1", "a2", "a9", "a10", "aB", "ab", "b",
            ],
        );
        check(Style::V2, &["a0", "a1", "a01"]);
        check(Style::V2, &["a1-b", "a1b"]);
        check(Style::V3Pretty, &["a1b", "a1-b"]);
    }
}
