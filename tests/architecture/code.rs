//! Rust's tokens, as far as imports need them.

/// A word or a sign of a source; texts, characters and lifetimes are [`Token::Literal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    /// `::`
    Colons,
    Sign(char),
    Literal,
}

/// The tokens of a source. Comments are none.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = token(rest, first);
        tokens.extend(token);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The token at the start of a text, if it is no comment, and its length.
fn token(text: &str, first: char) -> (Option<Token<'_>>, usize) {
    if text.starts_with("//") {
        return (None, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (None, block_comment(text));
    }
    if text.starts_with("::") {
        return (Some(Token::Colons), 2);
    }
    if let Some(length) = raw_string(text) {
        return (Some(Token::Literal), length);
    }
    match first {
        '"' => (Some(Token::Literal), quoted(text, '"')),
        '\'' => (Some(Token::Literal), character(text)),
        _ if is_word(first) => {
            let start = if text.starts_with("r#") { 2 } else { 0 };
            let end = text[start..]
                .find(|c| !is_word(c))
                .map_or(text.len(), |end| start + end);
            (Some(Token::Word(&text[start..end])), end)
        }
        _ => (Some(Token::Sign(first)), first.len_utf8()),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            open -= 1;
            at += 2;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        if open == 0 {
            break;
        }
    }
    at
}

/// The length of `r"…"`, `br#"…"#` and their like.
fn raw_string(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let inside = body.trim_start_matches('#');
    let hashes = &body[..body.len() - inside.len()];
    let inside = inside.strip_prefix('"')?;
    let end = format!("\"{hashes}");
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(text.len() - inside.len() + length)
}

fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// A character, or the sign of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    let first = inside.next();
    if first == Some('\\') || inside.next() == Some('\'') {
        quoted(text, '\'')
    } else {
        text[1..].find(|c| !is_word(c)).map_or(text.len(), |end| end + 1)
    }
}

#[test]
fn texts_and_comments_have_no_words() {
    let source = r##"a /* b /* c */ */ "d\"" r#"e " e"# b'f' '\'' 'g: h // i
j::r#type"##;
    assert_eq!(
        tokens(source),
        [
            Token::Word("a"),
            Token::Literal,
            Token::Literal,
            Token::Word("b"),
            Token::Literal,
            Token::Literal,
            Token::Literal,
            Token::Sign(':'),
            Token::Word("h"),
            Token::Word("j"),
            Token::Colons,
            Token::Word("type"),
        ]
    );
}
