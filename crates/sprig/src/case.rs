//! Words in upper, lower, title, camel, snake and kebab case.

use std::cell::LazyCell;

use regex::Regex;
use steersman_gotemplate::{Runtime, Value};

use crate::Outcome;
use crate::arguments::{bytes, text};
use crate::text::{is_title, lower, title, upper};

pub(crate) fn to_title(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let is_part_of_word = |character: char| {
        character == '_'
            || if character.is_ascii() {
                character.is_ascii_alphanumeric()
            } else {
                !character.is_whitespace()
            }
    };
    let mut starts_word = true;
    Ok(text(arguments, 0)
        .chars()
        .map(|character| {
            let mapped = if starts_word { title(character) } else { character };
            starts_word = !is_part_of_word(character);
            mapped
        })
        .collect::<String>()
        .into())
}

pub(crate) fn untitle(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut starts_word = true;
    Ok(text(arguments, 0)
        .chars()
        .map(|character| {
            if character.is_whitespace() {
                starts_word = true;
                return character;
            }
            if std::mem::take(&mut starts_word) {
                return lower(character);
            }
            character
        })
        .collect::<String>()
        .into())
}

pub(crate) fn swapcase(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut starts_word = true;
    Ok(text(arguments, 0)
        .chars()
        .map(|character| {
            if character.is_uppercase() || is_title(character) {
                starts_word = false;
                return lower(character);
            }
            if character.is_lowercase() {
                let starts = std::mem::take(&mut starts_word);
                return if starts {
                    title(character)
                } else {
                    upper(character)
                };
            }
            starts_word = character.is_whitespace();
            character
        })
        .collect::<String>()
        .into())
}

/// Looks at bytes, each as if it were a character.
pub(crate) fn initials(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut after_gap = true;
    Ok(bytes(arguments, 0)
        .iter()
        .map(|byte| char::from(*byte))
        .filter(|character| {
            let is_gap = character.is_whitespace();
            let starts_word = after_gap && !is_gap;
            after_gap = is_gap;
            starts_word
        })
        .collect::<String>()
        .into())
}

fn is_connector(character: char) -> bool {
    matches!(character, '-' | '_') || character.is_whitespace()
}

/// Connectors at the start stay, others make the next letter upper case; a word all in upper case
/// keeps only its first letter so.
pub(crate) fn camelcase(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = text(arguments, 0);
    let mut result = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    while let Some(connector) = characters.next_if(|character| is_connector(*character)) {
        result.push(connector);
    }
    let Some(first) = characters.next() else {
        // A text of connectors alone gets its last one twice.
        if let Some(last) = result.chars().next_back() {
            result.push(last);
        }
        return Ok(result.into());
    };
    let mut in_upper_case = first.is_uppercase();
    let mut previous = upper(first);
    for character in characters {
        let mut current = character;
        if is_connector(previous) {
            if is_connector(current) {
                result.push(previous);
                previous = current;
                continue;
            }
            in_upper_case = current.is_uppercase();
            current = upper(current);
        } else {
            if in_upper_case {
                if current.is_uppercase() {
                    current = lower(current);
                } else {
                    in_upper_case = false;
                }
            }
            result.push(previous);
        }
        previous = current;
    }
    result.push(previous);
    Ok(result.into())
}

pub(crate) fn snakecase(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(joined_words(&text(arguments, 0), '_').into())
}

pub(crate) fn kebabcase(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(joined_words(&text(arguments, 0), '-').into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// The end of the text.
    None,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// The words in lower case with `connector` between, as the library `xstrings` finds them: numbers
/// belong to the word before them, unless lower-case letters follow.
fn joined_words(source: &str, connector: char) -> String {
    let mut words = Words { rest: source };
    let mut result = String::with_capacity(source.len() + 8);
    let write = |result: &mut String, kind: Word, word: &str| push_word(result, kind, word, connector);
    let (mut kind, mut word) = words.next_word();
    while !words.rest.is_empty() {
        if kind != Word::Connector {
            write(&mut result, kind, word);
        }
        let (previous_kind, previous) = (kind, word);
        (kind, word) = words.next_word();
        match previous_kind {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write(&mut result, kind, word);
                    (kind, word) = words.next_word();
                }
                if !matches!(kind, Word::None | Word::Punctuation | Word::Connector) {
                    result.push(connector);
                }
            }
            Word::Connector => write(&mut result, previous_kind, previous),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punctuation) {
                    result.push(connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next_word();
                if kind != Word::Alphabet {
                    write(&mut result, Word::Number, number);
                    if !matches!(kind, Word::Connector | Word::Punctuation) {
                        result.push(connector);
                    }
                    continue;
                }
                result.push(connector);
                write(&mut result, Word::Number, number);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write(&mut result, kind, word);
                    (kind, word) = words.next_word();
                }
                if !matches!(kind, Word::None | Word::Connector | Word::Punctuation) {
                    result.push(connector);
                }
            }
        }
    }
    write(&mut result, kind, word);
    result
}

fn push_word(result: &mut String, kind: Word, word: &str, connector: char) {
    if !matches!(kind, Word::Upper | Word::Connector) {
        result.push_str(word);
        return;
    }
    result.extend(word.chars().map(|character| {
        if is_connector(character) {
            connector
        } else if character.is_uppercase() {
            lower(character)
        } else {
            character
        }
    }));
}

struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    /// The next word and its kind; after the last one an empty word.
    fn next_word(&mut self) -> (Word, &'a str) {
        let Some(first) = self.rest.chars().next() else {
            return (Word::None, "");
        };
        if is_connector(first) {
            (Word::Connector, self.take_while(is_connector))
        } else if is_punctuation(first) {
            (Word::Punctuation, self.take_while(is_punctuation))
        } else if first.is_uppercase() {
            (Word::Upper, self.take_upper())
        } else if is_alphabetic(first) {
            let is_lower = |character: char| is_alphabetic(character) && !character.is_uppercase();
            (Word::Alphabet, self.take_while(is_lower))
        } else if first.is_numeric() {
            (Word::Number, self.take_while(char::is_numeric))
        } else {
            let is_other = |character: char| {
                !is_connector(character)
                    && !is_alphabetic(character)
                    && !character.is_numeric()
                    && !is_punctuation(character)
            };
            // The first character belongs here whatever it is.
            let length = first.len_utf8();
            let rest = self.rest.get(length..).unwrap_or_default();
            let more = rest.find(|character| !is_other(character)).unwrap_or(rest.len());
            (Word::Other, self.take(length + more))
        }
    }

    /// A run of upper-case letters, less the last one if it starts a word of its own; or one such
    /// letter and the lower-case ones after it.
    fn take_upper(&mut self) -> &'a str {
        let upper_end = self
            .rest
            .find(|character: char| !character.is_uppercase())
            .unwrap_or(self.rest.len());
        let run = self.rest.get(..upper_end).unwrap_or_default();
        let last = run.chars().next_back().map_or(0, char::len_utf8);
        let after = self.rest.get(upper_end..).unwrap_or_default();
        let is_followed = after.starts_with(is_alphabetic);
        if run.len() > last {
            return self.take(if is_followed { upper_end - last } else { upper_end });
        }
        let more = after
            .find(|character: char| !is_alphabetic(character) || character.is_uppercase())
            .unwrap_or(after.len());
        self.take(upper_end + more)
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|character| !belongs(character))
            .unwrap_or(self.rest.len());
        self.take(end)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }
}

/// Whether the character is a letter that is not Chinese, Japanese or Korean.
fn is_alphabetic(character: char) -> bool {
    character.is_alphabetic()
        && !matches!(
            character,
            '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}'
        )
}

/// Whether the character is in one of Unicode's categories of punctuation.
fn is_punctuation(character: char) -> bool {
    thread_local! {
        static PUNCTUATION: LazyCell<Option<Regex>> = LazyCell::new(|| Regex::new(r"\p{P}").ok());
    }
    if character.is_ascii() {
        return character.is_ascii_punctuation()
            && !matches!(character, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~');
    }
    !character.is_alphanumeric()
        && PUNCTUATION.with(|punctuation| {
            punctuation
                .as_ref()
                .is_some_and(|punctuation| punctuation.is_match(character.encode_utf8(&mut [0; 4])))
        })
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::check;

    #[test]
    fn snake_case_finds_words() {
        for (source, expect) in [
            ("FirstName", "first_name"),
            ("HTTPServer", "http_server"),
            ("NoHTTPS", "no_https"),
            ("GO_PATH", "go_path"),
            ("GO PATH", "go_path"),
            ("GO-PATH", "go_path"),
            ("http2xx", "http_2xx"),
            ("HTTP20xOK", "http_20x_ok"),
            ("Duration2m3s", "duration_2m3s"),
            ("Bld4Floor3rd", "bld4_floor_3rd"),
            ("", ""),
        ] {
            check("snakecase", &[source.into()], expect);
        }
        check("kebabcase", &["FirstName".into()], "first-name");
    }

    #[test]
    fn camel_case_joins_words() {
        for (source, expect) in [
            ("some_words", "SomeWords"),
            ("http_server", "HttpServer"),
            ("_complex__case_", "_Complex_Case_"),
            ("GOLANG_IS_GREAT", "GolangIsGreat"),
            ("a", "A"),
            ("_", "__"),
        ] {
            check("camelcase", &[source.into()], expect);
        }
    }

    #[test]
    fn words_are_retitled() {
        check(
            "title",
            &["hello wORLD a-b_c d'e".into()],
            "Hello WORLD A-B_c D'E",
        );
        check("untitle", &["Hello World".into()], "hello world");
        check("swapcase", &["This Is a.Test".into()], "tHIS iS A.tEST");
        check("initials", &["First Try".into()], "FT");
    }
}
