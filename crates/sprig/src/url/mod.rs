//! URLs into maps and back, and the lookup of hosts, which finds none.

mod escape;
mod parse;

use steersman_gotemplate::{Failure, Map, Runtime, Str, Value};

use crate::Outcome;
use crate::arguments::{map_or_empty, text};
use parse::{Url, UserInfo};

/// Whether Go's `net/url` can read `text` as a URL.
///
/// ```
/// assert!(steersman_sprig::is_url("oci://ghcr.io/example/web"));
/// assert!(!steersman_sprig::is_url("http://[::1"));
/// ```
pub fn is_url(text: &str) -> bool {
    Url::parse(text).is_ok()
}

pub(crate) fn url_parse(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let url = Url::parse(&text(arguments, 0))
        .map_err(|error| Failure::new(format!("unable to parse url: {error}")))?;
    let hostname = Str::from_bytes(url.hostname().to_vec());
    let userinfo = url.user.as_ref().map(UserInfo::written).unwrap_or_default();
    Ok(Value::map([
        ("scheme", Value::from(url.scheme)),
        ("host", Str::from_bytes(url.host).into()),
        ("hostname", hostname.into()),
        ("path", Str::from_bytes(url.path).into()),
        ("query", url.query.into()),
        ("opaque", url.opaque.into()),
        ("fragment", Str::from_bytes(url.fragment).into()),
        ("userinfo", userinfo.into()),
    ]))
}

pub(crate) fn url_join(_: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let parts = map_or_empty(arguments, 0);
    let userinfo = part(&parts, "userinfo")?;
    let user = if userinfo.is_empty() {
        None
    } else {
        Url::parse(&format!("proto://{userinfo}@host"))
            .map_err(|error| Failure::new(format!("unable to parse userinfo in dict: {error}")))?
            .user
    };
    let url = Url {
        scheme: part(&parts, "scheme")?.to_string(),
        opaque: part(&parts, "opaque")?.to_string(),
        user,
        host: part(&parts, "host")?.as_bytes().to_vec(),
        path: part(&parts, "path")?.as_bytes().to_vec(),
        query: part(&parts, "query")?.to_string(),
        fragment: part(&parts, "fragment")?.as_bytes().to_vec(),
    };
    Ok(url.to_string().into())
}

/// The text of this part, empty if there is none.
fn part(parts: &Map, key: &str) -> Result<Str, Failure> {
    match parts.get(key.as_bytes()) {
        None => Ok(Str::default()),
        Some(Value::Str(text)) => Ok(text),
        Some(Value::Nil | Value::Invalid) => Err(Failure::new(
            "runtime error: invalid memory address or nil pointer dereference",
        )),
        Some(other) => Err(Failure::new(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind_name()
        ))),
    }
}

pub(crate) fn no_host(_: &mut dyn Runtime, _: &[Value]) -> Outcome {
    Ok("".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::{call, check, int};

    #[track_caller]
    fn check_round_trip(url: &str) {
        let parts = call("urlParse", &[url.into()]).unwrap();
        check("urlJoin", &[parts], url);
    }

    #[test]
    fn parts_are_found() {
        check(
            "urlParse",
            &["https://user:p%40ss@example.com:8443/a%20b?x=1#frag".into()],
            "map[fragment:frag host:example.com:8443 hostname:example.com opaque: path:/a b query:x=1 scheme:https userinfo:user:p%40ss]",
        );
        check(
            "urlParse",
            &["mailto:a@b".into()],
            "map[fragment: host: hostname: opaque:a@b path: query: scheme:mailto userinfo:]",
        );
    }

    #[test]
    fn parts_are_joined_again() {
        for url in [
            "https://user:p%40ss@example.com:8443/a%20b?x=1#frag",
            "http://[::1]:80/",
            "mailto:a@b",
            "/a/b",
            "//host/path",
            "file:///etc/passwd",
        ] {
            check_round_trip(url);
        }
        check("urlJoin", &[Value::map([("path", "a:b".into())])], "./a:b");
        check(
            "urlJoin",
            &[Value::map([("scheme", int(1))])],
            "error: unable to parse scheme key, must be of type string, but int found",
        );
    }

    #[test]
    fn errors_have_gos_words() {
        for (url, expect) in [
            ("%zz", r#"parse "%zz": invalid URL escape "%zz""#),
            ("://x", r#"parse "://x": missing protocol scheme"#),
            (
                "http://a:b:c/",
                r#"parse "http://a:b:c/": invalid port ":b:c" after host"#,
            ),
            ("http://[::1", r#"parse "http://[::1": missing ']' in host"#),
            (
                "http://a b/",
                r#"parse "http://a b/": invalid character " " in host name"#,
            ),
            (
                "1a:b",
                r#"parse "1a:b": first path segment in URL cannot contain colon"#,
            ),
        ] {
            check(
                "urlParse",
                &[url.into()],
                &format!("error: unable to parse url: {expect}"),
            );
        }
    }
}
