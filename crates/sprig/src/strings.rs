//! Trimming, cutting, repeating, wrapping and quoting.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use steersman_gotemplate::{Failure, Runtime, Str, Value};

use crate::arguments::{bytes, integer, rest, string, text};
use crate::text::{printed, strval};
use crate::{Outcome, arguments, text};

pub(crate) fn hello(_: &mut dyn Runtime, _: &[Value]) -> Outcome {
    Ok("Hello!".into())
}

/// The argument at `place` itself when `part` is all of it, or a new string.
fn part_of(arguments: &[Value], place: usize, part: &[u8]) -> Value {
    if part.len() == bytes(arguments, place).len() {
        return Value::Str(string(arguments, place));
    }
    Value::Str(Str::from_bytes(part.to_vec()))
}

pub(crate) fn trim(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let whole = string(arguments, 0);
    let Some(source) = whole.as_str() else {
        let part = whole.as_bytes().trim_with(char::is_whitespace);
        return Ok(part_of(arguments, 0, part));
    };
    let part = source.trim();
    if part.len() == source.len() {
        return Ok(whole.into());
    }
    Ok(part.into())
}

pub(crate) fn trim_all(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (cut, source) = (text(arguments, 0), bytes(arguments, 1));
    // A set takes time to build, and a search through a long text takes time for each character.
    let part = if cut.len() <= 64 {
        source.trim_with(|character| cut.contains(character))
    } else {
        let cut: BTreeSet<char> = cut.chars().collect();
        source.trim_with(|character| cut.contains(&character))
    };
    Ok(part_of(arguments, 1, part))
}

pub(crate) fn trim_prefix(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 1);
    let part = source.strip_prefix(bytes(arguments, 0)).unwrap_or(source);
    Ok(part_of(arguments, 1, part))
}

pub(crate) fn trim_suffix(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 1);
    let part = source.strip_suffix(bytes(arguments, 0)).unwrap_or(source);
    Ok(part_of(arguments, 1, part))
}

/// Looks at bytes, each as if it were a character: text that is not ASCII comes out as its bytes
/// read as Latin-1, unless it has no white space of that reading.
pub(crate) fn nospace(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 0);
    let kept: String = source
        .iter()
        .map(|byte| char::from(*byte))
        .filter(|character| !character.is_whitespace())
        .collect();
    if kept.chars().count() == source.len() {
        return Ok(string(arguments, 0).into());
    }
    Ok(kept.into())
}

pub(crate) fn upper(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(text(arguments, 0)
        .chars()
        .map(text::upper)
        .collect::<String>()
        .into())
}

pub(crate) fn lower(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(text(arguments, 0)
        .chars()
        .map(text::lower)
        .collect::<String>()
        .into())
}

pub(crate) fn trunc(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 1);
    let length = source.len() as i64;
    let count = integer(arguments, 0);
    let part = if count < 0 && length.saturating_add(count) > 0 {
        source.get((length + count) as usize..)
    } else if count >= 0 && length > count {
        source.get(..count as usize)
    } else {
        None
    };
    Ok(part_of(arguments, 1, part.unwrap_or(source)))
}

pub(crate) fn substr(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (start, end) = (integer(arguments, 0), integer(arguments, 1));
    let source = bytes(arguments, 2);
    let length = source.len() as i64;
    let (from, to) = if start < 0 {
        (0, end)
    } else if end < 0 || end > length {
        (start, length)
    } else {
        (start, end)
    };
    let part = usize::try_from(to)
        .ok()
        .zip(usize::try_from(from).ok())
        .and_then(|(to, from)| source.get(from..to));
    match part {
        Some(part) => Ok(part_of(arguments, 2, part)),
        None => Err(out_of_range(from, to, length)),
    }
}

/// The message with which Go refuses `text[from:to]`.
fn out_of_range(from: i64, to: i64, length: i64) -> Failure {
    let place = if to < 0 {
        format!("[:{to}]")
    } else if to > length {
        format!("[:{to}] with length {length}")
    } else {
        format!("[{from}:{to}]")
    };
    Failure::new(format!("runtime error: slice bounds out of range {place}"))
}

pub(crate) fn abbrev(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let width = integer(arguments, 0);
    if width < 4 {
        return Ok(string(arguments, 1).into());
    }
    Ok(abbreviated(arguments, 1, 0, width))
}

pub(crate) fn abbrevboth(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (left, right) = (integer(arguments, 0), integer(arguments, 1));
    if right < 4 || (left > 0 && right < 7) {
        return Ok(string(arguments, 2).into());
    }
    Ok(abbreviated(arguments, 2, left, right))
}

/// The text shortened to `width` bytes, seen from `offset`; both at least as large as an ellipsis
/// needs.
fn abbreviated(arguments: &[Value], place: usize, offset: i64, width: i64) -> Value {
    let source = bytes(arguments, place);
    let length = source.len() as i64;
    if length <= width {
        return string(arguments, place).into();
    }
    let mut offset = offset.min(length);
    let shown = width - 3;
    // An offset before the text counts like its start.
    if length.wrapping_sub(offset) < shown {
        offset = length - shown;
    }
    if offset > 4 && width < 7 {
        return "".into();
    }
    let piece = |from: i64, to: i64| {
        source
            .get(from.max(0) as usize..to.max(0) as usize)
            .unwrap_or_default()
    };
    let parts: [&[u8]; 3] = if offset <= 4 {
        [b"", piece(0, shown), b"..."]
    } else if offset + shown < length {
        [b"...", piece(offset, offset + shown - 3), b"..."]
    } else {
        [b"...", piece(length - shown, length), b""]
    };
    Str::from_bytes(parts.concat()).into()
}

pub(crate) fn repeat(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let source = bytes(arguments, 1);
    let Ok(count) = usize::try_from(integer(arguments, 0)) else {
        return Err(Failure::new("strings: negative Repeat count"));
    };
    if source.is_empty() || count == 0 {
        return Ok("".into());
    }
    let Some(size) = source.len().checked_mul(count) else {
        return Err(Failure::new("strings: Repeat output length overflow"));
    };
    runtime.reserve(size)?;
    Ok(Str::from_bytes(source.repeat(count)).into())
}

pub(crate) fn contains(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(bytes(arguments, 1).contains_str(bytes(arguments, 0)).into())
}

pub(crate) fn has_prefix(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(bytes(arguments, 1).starts_with(bytes(arguments, 0)).into())
}

pub(crate) fn has_suffix(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(bytes(arguments, 1).ends_with(bytes(arguments, 0)).into())
}

pub(crate) fn replace(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (old, new, source) = (bytes(arguments, 0), bytes(arguments, 1), bytes(arguments, 2));
    if old == new || source.is_empty() && !old.is_empty() {
        return Ok(string(arguments, 2).into());
    }
    if old.is_empty() {
        // Go puts the new text around every character.
        let characters = source.char_indices().count();
        runtime.reserve(source.len() + new.len().saturating_mul(characters + 1))?;
        let mut result = new.to_vec();
        for (from, to, _) in source.char_indices() {
            result.extend_from_slice(source.get(from..to).unwrap_or_default());
            result.extend_from_slice(new);
        }
        return Ok(Str::from_bytes(result).into());
    }
    let count = source.find_iter(old).count();
    if count == 0 {
        return Ok(string(arguments, 2).into());
    }
    runtime.reserve(source.len() + new.len().saturating_mul(count))?;
    Ok(Str::from_bytes(source.replace(old, new)).into())
}

pub(crate) fn indent(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    indented(runtime, arguments, "")
}

pub(crate) fn nindent(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    indented(runtime, arguments, "\n")
}

fn indented(runtime: &mut dyn Runtime, arguments: &[Value], before: &str) -> Outcome {
    let Ok(width) = usize::try_from(integer(arguments, 0)) else {
        return Err(Failure::new("strings: negative Repeat count"));
    };
    let source = bytes(arguments, 1);
    let lines = 1 + source.find_iter(b"\n").count();
    let size = lines
        .saturating_mul(width)
        .saturating_add(source.len() + before.len());
    runtime.reserve(size)?;
    let mut result = Vec::with_capacity(size);
    result.extend_from_slice(before.as_bytes());
    let pad = |result: &mut Vec<u8>| result.resize(result.len() + width, b' ');
    pad(&mut result);
    let mut lines = source.split(|byte| *byte == b'\n');
    result.extend_from_slice(lines.next().unwrap_or_default());
    for line in lines {
        result.push(b'\n');
        pad(&mut result);
        result.extend_from_slice(line);
    }
    Ok(Str::from_bytes(result).into())
}

pub(crate) fn wrap(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    wrapped(runtime, integer(arguments, 0), b"", bytes(arguments, 1), false)
}

pub(crate) fn wrap_with(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    wrapped(
        runtime,
        integer(arguments, 0),
        bytes(arguments, 1),
        bytes(arguments, 2),
        true,
    )
}

/// `source` in lines of at most `width` bytes, broken at spaces; longer words are broken if
/// `break_words`, else they get a line of their own.
fn wrapped(
    runtime: &mut dyn Runtime,
    width: i64,
    separator: &[u8],
    source: &[u8],
    break_words: bool,
) -> Outcome {
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let width = usize::try_from(width).unwrap_or(0).max(1);
    let breaks = if break_words || width > 1 {
        source.len() / width + source.find_iter(b" ").count()
    } else {
        source.len()
    };
    runtime.reserve(
        source
            .len()
            .saturating_add(breaks.saturating_mul(separator.len())),
    )?;
    let mut result = Vec::with_capacity(source.len());
    let mut remaining = source;
    while remaining.len() > width {
        if let Some(after) = remaining.strip_prefix(b" ") {
            remaining = after;
            continue;
        }
        let (line, after) = remaining.split_at(width);
        let (line, after) = if let Some(space) = remaining.get(..=width).and_then(|window| window.rfind(b" "))
        {
            (
                line.get(..space).unwrap_or(line),
                remaining.get(space + 1..).unwrap_or_default(),
            )
        } else if break_words {
            (line, after)
        } else if let Some(space) = after.find(b" ") {
            (
                remaining.get(..width + space).unwrap_or_default(),
                after.get(space + 1..).unwrap_or_default(),
            )
        } else {
            break;
        };
        result.extend_from_slice(line);
        result.extend_from_slice(separator);
        remaining = after;
    }
    result.extend_from_slice(remaining);
    Ok(Str::from_bytes(result).into())
}

pub(crate) fn plural(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let place = usize::from(integer(arguments, 2) != 1);
    Ok(string(arguments, place).into())
}

pub(crate) fn to_string(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let value = arguments::any(arguments, 0);
    if let Value::Str(text) = value {
        return Ok(text.clone().into());
    }
    Ok(strval(runtime, value)?.into())
}

pub(crate) fn quote(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    joined(runtime, arguments, |runtime, result, value| {
        let text = strval(runtime, value)?;
        // At the worst every byte becomes an escape.
        runtime.reserve(text.len())?;
        result.extend_from_slice(text::quoted(&text).as_bytes());
        Ok(())
    })
}

pub(crate) fn squote(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    joined(runtime, arguments, |runtime, result, value| {
        let text = printed(runtime, value)?;
        result.push(b'\'');
        result.extend_from_slice(text.as_bytes());
        result.push(b'\'');
        Ok(())
    })
}

/// The values that are not nil, written by `write`, with spaces between.
fn joined(
    runtime: &mut dyn Runtime,
    arguments: &[Value],
    write: impl Fn(&mut dyn Runtime, &mut Vec<u8>, &Value) -> Result<(), Failure>,
) -> Outcome {
    let mut result = Vec::new();
    for (place, value) in rest(arguments, 0)
        .iter()
        .filter(|value| !value.is_nil())
        .enumerate()
    {
        if place > 0 {
            result.push(b' ');
        }
        let before = result.len();
        write(runtime, &mut result, value)?;
        runtime.reserve(result.len() - before)?;
    }
    Ok(Str::from_bytes(result).into())
}

pub(crate) fn cat(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    joined(runtime, arguments, |runtime, result, value| {
        result.extend_from_slice(printed(runtime, value)?.as_bytes());
        Ok(())
    })
}
