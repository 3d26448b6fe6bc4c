//! Replacements in which `$name` and `${name}` stand for groups.

use regex::bytes::Captures;

/// Writes `template` with the groups of `captures` in it. Groups that do not exist or did not match
/// are empty; a `$` that names nothing stands for itself, and `$$` for one.
pub(super) fn expand(result: &mut Vec<u8>, template: &[u8], captures: &Captures<'_>) {
    let mut rest = template;
    while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
        let (before, from_dollar) = rest.split_at(dollar);
        result.extend_from_slice(before);
        let after = from_dollar.get(1..).unwrap_or_default();
        if let Some(after) = after.strip_prefix(b"$") {
            result.push(b'$');
            rest = after;
        } else if let Some((name, after)) = group_name(after) {
            let group = match group_number(name) {
                Some(number) => captures.get(number),
                None => captures.name(name),
            };
            result.extend_from_slice(group.map(|group| group.as_bytes()).unwrap_or_default());
            rest = after;
        } else {
            result.push(b'$');
            rest = after;
        }
    }
    result.extend_from_slice(rest);
}

/// The name at the start of `text`, in braces or as long as it gets, and what comes after it.
fn group_name(text: &[u8]) -> Option<(&str, &[u8])> {
    let in_braces = text.strip_prefix(b"{");
    let start = in_braces.unwrap_or(text);
    let valid = start.utf8_chunks().next()?.valid();
    let end = valid
        .find(|character: char| !character.is_alphanumeric() && character != '_')
        .unwrap_or(valid.len());
    let name = valid.get(..end).filter(|name| !name.is_empty())?;
    let after = start.get(end..)?;
    match in_braces {
        Some(_) => Some((name, after.strip_prefix(b"}")?)),
        None => Some((name, after)),
    }
}

/// The number that the name is, without leading zeros and of a bearable size.
fn group_number(name: &str) -> Option<usize> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    if is_plain && name.len() < 9 {
        name.parse().ok()
    } else {
        None
    }
}
