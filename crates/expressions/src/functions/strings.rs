//! Functions of texts: the standard ones and the extension's. Places in a text count its characters.

use super::wrong;
use crate::error::EvaluationError;
use crate::resources::Resources;
use crate::value::{List, Val};

type Result<T> = std::result::Result<T, EvaluationError>;

impl Resources {
    pub(super) fn text_function<'a>(&mut self, name: &'static str, arguments: &[Val<'a>]) -> Result<Val<'a>> {
        // All of them look through each text at most a few times.
        for argument in arguments {
            if let Val::Text(text) = argument {
                self.budget.read(text.as_str().len())?;
            }
        }
        match arguments {
            [Val::List(list)] if name == "join" => self.joined(list, ""),
            [Val::List(list), Val::Text(between)] if name == "join" => self.joined(list, between.as_str()),
            [Val::Text(text)] => self.of_one(name, text.as_str()),
            [Val::Text(text), Val::Text(other)] => self.of_two(name, text.as_str(), other.as_str()),
            [Val::Text(text), Val::Text(other), Val::Int(number)] => match name {
                "split" => self.split(text.as_str(), other.as_str(), *number),
                "indexOf" | "lastIndexOf" => index_of(name, text.as_str(), other.as_str(), Some(*number)),
                _ => Err(wrong(name, arguments)),
            },
            [Val::Text(text), Val::Int(at)] if name == "charAt" => char_at(text.as_str(), *at),
            [Val::Text(text), Val::Int(from)] if name == "substring" => {
                self.substring(text.as_str(), *from, None)
            }
            [Val::Text(text), Val::Int(from), Val::Int(to)] if name == "substring" => {
                self.substring(text.as_str(), *from, Some(*to))
            }
            [Val::Text(text), Val::Text(old), Val::Text(new)] if name == "replace" => {
                self.replaced(text.as_str(), old.as_str(), new.as_str(), -1)
            }
            [Val::Text(text), Val::Text(old), Val::Text(new), Val::Int(most)] if name == "replace" => {
                self.replaced(text.as_str(), old.as_str(), new.as_str(), *most)
            }
            _ => Err(wrong(name, arguments)),
        }
    }

    fn of_one<'a>(&mut self, name: &'static str, text: &str) -> Result<Val<'a>> {
        self.budget.allocate(text.len())?;
        Ok(Val::text(&match name {
            "lowerAscii" => text.to_ascii_lowercase(),
            "upperAscii" => text.to_ascii_uppercase(),
            "reverse" => text.chars().rev().collect(),
            "trim" => text.trim().to_owned(),
            _ => return Err(wrong(name, &[Val::text(text)])),
        }))
    }

    fn of_two<'a>(&mut self, name: &'static str, text: &str, other: &str) -> Result<Val<'a>> {
        match name {
            "contains" => Ok(Val::Bool(text.contains(other))),
            "startsWith" => Ok(Val::Bool(text.starts_with(other))),
            "endsWith" => Ok(Val::Bool(text.ends_with(other))),
            "matches" => {
                let found = self.patterns.find(&mut self.budget, text, other)?;
                Ok(Val::Bool(found))
            }
            "split" => self.split(text, other, -1),
            "indexOf" | "lastIndexOf" => index_of(name, text, other, None),
            _ => Err(EvaluationError::Unusable(name)),
        }
    }

    fn joined<'a>(&mut self, list: &List<'a>, between: &str) -> Result<Val<'a>> {
        let mut joined = String::new();
        for (index, item) in list.iter().enumerate() {
            let Val::Text(item) = item else {
                return Err(wrong("join", &[Val::List(list.clone())]));
            };
            let between = if index == 0 { "" } else { between };
            self.budget.allocate(between.len() + item.as_str().len())?;
            joined.push_str(between);
            joined.push_str(item.as_str());
        }
        Ok(Val::text(&joined))
    }

    /// At most so many parts, the last of which is what is left; all of them where `most` is negative.
    fn split<'a>(&mut self, text: &str, by: &str, most: i64) -> Result<Val<'a>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        let mut rest = Some(text).filter(|text| most > 0 && !(by.is_empty() && text.is_empty()));
        while let Some(text) = rest {
            let (part, after) = match cut(text, by) {
                Some((part, after)) if parts.len() + 1 < most => (part, Some(after)),
                _ => (text, None),
            };
            self.budget.allocate(size_of::<Val<'_>>() + part.len())?;
            parts.push(Val::text(part));
            rest = after;
        }
        Ok(Val::list(parts))
    }

    fn replaced<'a>(&mut self, text: &str, old: &str, new: &str, most: i64) -> Result<Val<'a>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let count = text.matches(old).take(most).count();
        let added = count.saturating_mul(new.len());
        self.budget.allocate(text.len().saturating_add(added))?;
        Ok(Val::text(&text.replacen(old, new, most)))
    }

    fn substring<'a>(&mut self, text: &str, from: i64, to: Option<i64>) -> Result<Val<'a>> {
        let wrong = || EvaluationError::Unusable("substring");
        let start = place(text, from).ok_or_else(wrong)?;
        let end = match to {
            Some(to) if to < from => return Err(wrong()),
            Some(to) => place(text, to).ok_or_else(wrong)?,
            None => text.len(),
        };
        let part = text.get(start..end).ok_or_else(wrong)?;
        self.budget.allocate(part.len())?;
        Ok(Val::text(part))
    }
}

/// What stands before the first separator, and what behind it. Nothing separates characters.
fn cut<'t>(text: &'t str, by: &str) -> Option<(&'t str, &'t str)> {
    if !by.is_empty() {
        return text.split_once(by);
    }
    let first = text.chars().next()?;
    let (first, rest) = text.split_at_checked(first.len_utf8())?;
    (!rest.is_empty()).then_some((first, rest))
}

/// Where in a text a character is, in bytes; its end is one, too.
fn place(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    let places = text.char_indices().map(|(at, _)| at);
    places.chain([text.len()]).nth(index)
}

fn char_at<'a>(text: &str, at: i64) -> Result<Val<'a>> {
    let start = place(text, at).ok_or(EvaluationError::Unusable("charAt"))?;
    let rest = text.get(start..).unwrap_or_default();
    let char: String = rest.chars().take(1).collect();
    Ok(Val::text(&char))
}

/// Which character something begins at, from this one on, or up to this one; -1 where it is nowhere.
fn index_of<'a>(name: &'static str, text: &str, other: &str, at: Option<i64>) -> Result<Val<'a>> {
    let length = text.chars().count() as i64;
    if other.is_empty() {
        let at = at.unwrap_or(if name == "indexOf" { 0 } else { length });
        return Ok(Val::Int(at));
    }
    if at.is_some_and(|at| at >= length) {
        return Ok(Val::Int(-1));
    }
    let at = at.map(|at| place(text, at).ok_or(EvaluationError::Unusable(name)));
    let at = at.transpose()?;
    let found = if name == "indexOf" {
        let from = at.unwrap_or(0);
        let rest = text.get(from..).unwrap_or_default();
        rest.find(other).map(|found| from + found)
    } else {
        let end = at.map_or(text.len(), |at| (at + other.len()).min(text.len()));
        // The place may be within a character that what is looked for would end in.
        let end = text.floor_char_boundary(end);
        text.get(..end).unwrap_or_default().rfind(other)
    };
    let before = found.and_then(|found| text.get(..found));
    Ok(Val::Int(
        before.map_or(-1, |before| before.chars().count() as i64),
    ))
}
