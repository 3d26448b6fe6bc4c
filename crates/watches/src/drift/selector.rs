//! Selectors as people write them on one line: `tier in (web, api), !canary`.
//!
//! The language is that of kubectl's `--selector`, but for `<` and `>`.

use kube_core::{Expression, Selector};

/// Reads a selector. The empty one selects everything.
///
/// ```
/// use std::collections::BTreeMap;
/// use kube_core::SelectorExt as _;
/// use steersman_watches::drift::parse_selector;
///
/// let selector = parse_selector("tier in (web, api), !canary")?;
/// let labels = |text: &str| BTreeMap::from([("tier".to_owned(), text.to_owned())]);
/// assert!(selector.matches(&labels("web")) && !selector.matches(&labels("db")));
/// assert!(parse_selector("tier > 3").is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// It is none; the text says at which part.
pub fn parse_selector(text: &str) -> Result<Selector, String> {
    let mut selector = Selector::default();
    for part in split(text) {
        let part = part.trim();
        let wrong = || {
            format!(
                "`{}` is not a part of a selector such as `tier=web`",
                part.escape_debug()
            )
        };
        if !text.trim().is_empty() {
            selector.extend(expression(part).ok_or_else(wrong)?);
        }
    }
    Ok(selector)
}

/// The parts between commas that are in no parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn expression(part: &str) -> Option<Expression> {
    if let Some(key) = part.strip_prefix('!') {
        return Some(Expression::DoesNotExist(word(key)?));
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Expression::NotEqual(word(key)?, value_of(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Expression::Equal(word(key)?, value_of(value)?));
    }
    let Some((key, rest)) = part.split_once(|c: char| c.is_whitespace() || c == '(') else {
        return Some(Expression::Exists(word(part)?));
    };
    let (key, rest) = (word(key)?, &part[part.len() - rest.len() - 1..]);
    let rest = rest.trim_start();
    let (is_in, list) = match (rest.strip_prefix("in"), rest.strip_prefix("notin")) {
        (_, Some(list)) => (false, list),
        (Some(list), None) => (true, list),
        (None, None) => return None,
    };
    let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
    let values = list.split(',').map(value_of).collect::<Option<_>>()?;
    Some(if is_in {
        Expression::In(key, values)
    } else {
        Expression::NotIn(key, values)
    })
}

fn word(text: &str) -> Option<String> {
    value_of(text).filter(|word| !word.is_empty())
}

/// A value may be empty.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.chars().all(is_plain).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let read = parse_selector(text).ok().map(|selector| selector.to_string());
        assert_eq!(read.as_deref(), expect, "{text}");
    }

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        for plain in [
            "",
            "tier=web",
            "tier!=web",
            "tier",
            "!tier",
            "tier in (api,web)",
            "example.com/tier notin (web)",
            "a=b,!c,d in (e,f),g=",
        ] {
            check(plain, Some(plain));
        }
        check(" tier == web , !x ", Some("tier=web,!x"));
        check("tier in(web, api)", Some("tier in (api,web)"));
        for wrong in [
            "=",
            "!",
            ",",
            "a,",
            "a b",
            "a in web",
            "a in (",
            "a>1",
            "a=b=c",
            "a in (b) c",
            "(a)",
        ] {
            check(wrong, None);
        }
    }
}
