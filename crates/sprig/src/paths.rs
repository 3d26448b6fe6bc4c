//! Paths with slashes, taken apart as text.

use steersman_gotemplate::{Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{bytes, string};

pub(crate) fn base(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let path = bytes(arguments, 0);
    let end = path
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(0, |last| last + 1);
    let last = path
        .get(..end)
        .and_then(|path| path.rsplit(|byte| *byte == b'/').next())
        .unwrap_or_default();
    let base = match last {
        b"" if path.is_empty() => b".",
        b"" => b"/",
        last => last,
    };
    Ok(Str::from_bytes(base.to_vec()).into())
}

pub(crate) fn dir(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let path = bytes(arguments, 0);
    let end = path
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |slash| slash + 1);
    Ok(cleaned(path.get(..end).unwrap_or_default()).into())
}

pub(crate) fn clean(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(cleaned(bytes(arguments, 0)).into())
}

/// The path without empty elements, `.`, and `..` after something that it undoes.
fn cleaned(path: &[u8]) -> Str {
    let is_rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for element in path.split(|byte| *byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." => match kept.last() {
                Some(last) if *last != b".." => {
                    kept.pop();
                }
                _ if is_rooted => {}
                _ => kept.push(element),
            },
            element => kept.push(element),
        }
    }
    let joined = kept.join(&b'/');
    if is_rooted {
        return Str::from_bytes([b"/".as_slice(), &joined].concat());
    }
    if joined.is_empty() {
        ".".into()
    } else {
        Str::from_bytes(joined)
    }
}

pub(crate) fn ext(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let path = bytes(arguments, 0);
    let last = path.iter().rposition(|byte| matches!(byte, b'.' | b'/'));
    let extension = last
        .and_then(|place| path.get(place..))
        .filter(|extension| extension.starts_with(b"."));
    Ok(Str::from_bytes(extension.unwrap_or_default().to_vec()).into())
}

pub(crate) fn is_abs(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    Ok(string(arguments, 0).as_bytes().starts_with(b"/").into())
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::check;

    #[test]
    fn paths_are_taken_apart() {
        for (path, base, dir, clean, ext) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("a", "a", ".", "a", ""),
            ("/a/b.tar.gz", "b.tar.gz", "/a", "/a/b.tar.gz", ".gz"),
            ("a//b/./c/..", "..", "a/b/c", "a/b", "."),
            ("../../a/", "a", "../../a", "../../a", ""),
            ("/../a", "a", "/", "/a", ""),
            ("///", "/", "/", "/", ""),
        ] {
            check("base", &[path.into()], base);
            check("dir", &[path.into()], dir);
            check("clean", &[path.into()], clean);
            check("ext", &[path.into()], ext);
        }
        check("isAbs", &["/a".into()], "true");
        check("osIsAbs", &["a".into()], "false");
    }
}
