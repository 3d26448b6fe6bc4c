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
pub fn sort_keys<T>(items: &mut Vec<T>, style: Style, key: impl Fn(&T) -> &str) {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        let mut rest = std::mem::take(items).into_iter().peekable();
        while rest.peek().is_some() {
            let mut left = rest
                .by_ref()
                .take(width)
                .collect::<Vec<_>>()
                .into_iter()
                .peekable();
            let mut right = rest
                .by_ref()
                .take(width)
                .collect::<Vec<_>>()
                .into_iter()
                .peekable();
            while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
                let next = if style.key_order(key(b), key(a)) == Ordering::Less {
                    right.next()
                } else {
                    left.next()
                };
                merged.extend(next);
            }
            merged.extend(left);
            merged.extend(right);
        }
        *items = merged;
        width *= 2;
    }
}

impl Style {
    /// The order of keys in this style; goyaml v3 sorts letters before other characters behind a digit.
    #[must_use]
    pub fn key_order(self, a: &str, b: &str) -> Ordering {
        let common = a
            .chars()
            .zip(b.chars())
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a);
        let common: Vec<char> = common.collect();
        let length: usize = common.iter().map(|character| character.len_utf8()).sum();
        let (a, b) = (
            a.get(length..).unwrap_or_default(),
            b.get(length..).unwrap_or_default(),
        );
        let (Some(first_a), Some(first_b)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        match (first_a.is_alphabetic(), first_b.is_alphabetic()) {
            (true, true) => first_a.cmp(&first_b),
            (false, false) => number_order(&common, a, b),
            (a_is_letter, _) => {
                let letters_first =
                    self == Style::V3Pretty && common.last().is_some_and(char::is_ascii_digit);
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
fn number_order(common: &[char], a: &str, b: &str) -> Ordering {
    // A zero decides by its place if it continues a number.
    let continues_number = (a.starts_with('0') || b.starts_with('0'))
        && common
            .iter()
            .rev()
            .take_while(|digit| digit.is_ascii_digit())
            .any(|digit| *digit != '0');
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
