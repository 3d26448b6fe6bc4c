//! Shell patterns as Go's `path/filepath.Match` has them.

/// Whether `name` as a whole matches `pattern`; none where the pattern is malformed.
///
/// `*` and `?` do not match a slash, `[a-z]` and `[^a-z]` are classes, `\` takes the next
/// character as it is.
pub(crate) fn matches(pattern: &str, name: &str) -> Option<bool> {
    let tokens = parse(pattern)?;
    Some(matches_tokens(&tokens, name))
}

enum Token {
    Character(char),
    Any,
    Star,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

fn parse(pattern: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        tokens.push(match character {
            '*' => Token::Star,
            '?' => Token::Any,
            '\\' => Token::Character(rest.next()?),
            '[' => {
                let negated = rest.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                loop {
                    if !ranges.is_empty() && rest.next_if_eq(&']').is_some() {
                        break;
                    }
                    let low = class_character(&mut rest)?;
                    let high = match rest.next_if_eq(&'-') {
                        Some(_) => class_character(&mut rest)?,
                        None => low,
                    };
                    ranges.push((low, high));
                }
                Token::Class { negated, ranges }
            }
            other => Token::Character(other),
        });
    }
    Some(tokens)
}

fn class_character(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match rest.next()? {
        '-' | ']' => None,
        '\\' => rest.next(),
        other => Some(other),
    }
}

/// Matches with one place to go back to, the last star: a star takes no slash, and an earlier
/// one never needs to take more once a later one is reached.
fn matches_tokens(tokens: &[Token], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut token, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match (tokens.get(token), name.get(place)) {
            (None, None) => return true,
            (Some(Token::Star), _) => {
                star = Some((token, place));
                token += 1;
                continue;
            }
            (Some(expected), Some(&character)) => accepts(expected, character),
            _ => false,
        };
        if step {
            token += 1;
            place += 1;
            continue;
        }
        match star {
            Some((star_token, star_place)) if name.get(star_place).is_some_and(|&taken| taken != '/') => {
                star = Some((star_token, star_place + 1));
                token = star_token + 1;
                place = star_place + 1;
            }
            _ => return false,
        }
    }
}

fn accepts(token: &Token, character: char) -> bool {
    match token {
        Token::Character(expected) => *expected == character,
        Token::Any => character != '/',
        Token::Star => false,
        Token::Class { negated, ranges } => {
            ranges
                .iter()
                .any(|&(low, high)| (low..=high).contains(&character))
                != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, name: &str, expect: Option<bool>) {
        assert_eq!(matches(pattern, name), expect, "{pattern} {name}");
    }

    #[test]
    fn stars_stop_at_slashes() {
        check("*.yaml", "a.yaml", Some(true));
        check("*.yaml", "a/b.yaml", Some(false));
        check("a/*/c*d", "a/b/cxxd", Some(true));
        check("a*b*c", "aXbYbZc", Some(true));
        check("*a", "bab/a", Some(false));
    }

    #[test]
    fn classes_and_escapes_are_those_of_go() {
        check("[a-c]x", "bx", Some(true));
        check("[^a-c]x", "bx", Some(false));
        check("\\*", "*", Some(true));
        check("[]a]", "]", None);
        check("[a", "a", None);
        check("a\\", "a", None);
    }
}
