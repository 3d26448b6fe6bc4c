//! The end of a secret at the start of a text.

use super::forms::{for_each_form, lines};
use super::{Redactor, SHORTEST};

/// No more of a text is compared with the ends of secrets.
const LONGEST: usize = 64 * 1024;

impl Redactor {
    /// How many bytes at the start of `text` are the end of a secret, however it is written: whoever cut the text may have
    /// cut within it.
    pub(super) fn tail_at_start(&self, text: &[u8]) -> usize {
        let start = text.get(..LONGEST.min(self.longest_form())).unwrap_or(text);
        let Some(start) = Start::new(start) else { return 0 };
        let mut longest = 0;
        let mut compare = |form: &str| longest = longest.max(start.that_ends(form.as_bytes()));
        for secret in &self.secrets {
            for secret in std::iter::once(secret.as_str()).chain(lines(secret)) {
                for_each_form(secret, usize::MAX, &mut compare);
            }
        }
        if longest < SHORTEST { 0 } else { longest }
    }
}

/// A text, prepared for the search of Knuth, Morris and Pratt.
struct Start<'a> {
    text: &'a [u8],
    /// For each of its starts that is not empty, how much of the end of that is a shorter start.
    borders: Vec<usize>,
}

impl<'a> Start<'a> {
    fn new(text: &'a [u8]) -> Option<Self> {
        let mut start = Self {
            text,
            borders: vec![0],
        };
        let mut length = 0;
        for byte in text.get(1..)? {
            length = start.next(length, *byte);
            start.borders.push(length);
        }
        Some(start)
    }

    /// How much of the text `other` ends with.
    fn that_ends(&self, other: &[u8]) -> usize {
        let last = other.len().saturating_sub(self.text.len());
        let end = other.get(last..).unwrap_or_default();
        end.iter().fold(0, |length, byte| self.next(length, *byte))
    }

    /// How much of the text something ends with that ended with `length` of it, and goes on with `byte`.
    fn next(&self, mut length: usize, byte: u8) -> usize {
        loop {
            if self.text.get(length) == Some(&byte) {
                return length + 1;
            }
            match length.checked_sub(1).and_then(|last| self.borders.get(last)) {
                Some(shorter) => length = *shorter,
                None => return 0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use steersman_model::CUT;

    use super::*;

    #[test]
    fn the_end_of_a_secret_is_found() {
        for (text, other, length) in [
            ("abcd rest", "xabcd", 4),
            ("abab", "abababab", 4),
            ("abc", "abcabx", 0),
            ("aab", "xaa", 2),
            ("ab", "ab", 2),
        ] {
            let start = Start::new(text.as_bytes()).unwrap();
            assert_eq!(start.that_ends(other.as_bytes()), length, "{text}, {other}");
        }
    }

    #[test]
    fn what_begins_within_a_secret_is_masked_there() {
        let secret = "canary with spaces/0123456789 and \"more\"";
        let redactor = Redactor::new([], &json!({ "password": secret }));
        for at in 1..secret.len() - SHORTEST {
            let rest = &secret[at..];
            let text = format!("pod ended with 1: {CUT}{rest}: refused, {CUT}{rest}");
            let masked = redactor.mask(&text);
            assert_eq!(masked, "pod ended with 1: ********: refused, ********", "{at}");
            let quoted = serde_json::to_string(rest).unwrap();
            let masked = redactor.mask(&format!("ended: {CUT}{}", &quoted[1..]));
            assert_eq!(masked, "ended: ********\"", "{at}");
        }
        assert_eq!(
            redactor.mask(&format!("1: {CUT}no such table")),
            "1: no such table"
        );
        assert_eq!(Redactor::default().mask(&format!("1: {CUT}x")), "1: x");
    }

    #[test]
    fn what_begins_within_a_secret_with_an_empty_line_is_masked_there() {
        let redactor = Redactor::new([], &json!({"password": "canary-of-one\n\ncanary-of-two"}));
        assert_eq!(redactor.mask(&format!("1: {CUT}y-of-one: no")), "1: ********: no");
    }
}
