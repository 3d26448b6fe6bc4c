//! URLs of repositories and charts.

use reqwest::Url;

/// The URL of a chart that an index names, which may be relative to its repository.
///
/// # Errors
/// One of both is no URL.
pub(super) fn resolve(base: &str, reference: &str) -> Result<String, String> {
    if Url::parse(reference).is_ok() {
        return Ok(reference.to_owned());
    }
    let mut base = Url::parse(base).map_err(|error| format!("failed to parse {base} as URL: {error}"))?;
    let folder = format!("{}/", base.path().trim_end_matches('/'));
    base.set_path(&folder);
    let mut resolved = base
        .join(reference)
        .map_err(|error| format!("failed to parse {reference} as URL: {error}"))?;
    resolved.set_query(base.query());
    Ok(resolved.into())
}

/// Whether two URLs mean the same place: a slash at the end makes no difference.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    match (Url::parse(a), Url::parse(b)) {
        (Ok(mut a), Ok(mut b)) => {
            for url in [&mut a, &mut b] {
                let path = url.path().trim_end_matches('/').to_owned();
                url.set_path(&path);
            }
            a == b
        }
        _ => a.trim_end_matches('/') == b.trim_end_matches('/'),
    }
}

/// Whether two URLs lead to the same server, so that credentials for one are for the other, too.
pub(super) fn is_same_server(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme()
        && a.host_str() == b.host_str()
        && a.port_or_known_default() == b.port_or_known_default()
}

/// Whether the text names something in a registry.
pub(super) fn is_registry(text: &str) -> bool {
    text.starts_with("oci://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_may_be_named_relative_to_their_repository() {
        for (base, reference, expect) in [
            (
                "https://a.example/charts",
                "web-1.tgz",
                "https://a.example/charts/web-1.tgz",
            ),
            (
                "https://a.example/charts/",
                "x/web-1.tgz",
                "https://a.example/charts/x/web-1.tgz",
            ),
            (
                "https://a.example/charts?k=v",
                "web-1.tgz",
                "https://a.example/charts/web-1.tgz?k=v",
            ),
            (
                "https://a.example/charts",
                "/web-1.tgz",
                "https://a.example/web-1.tgz",
            ),
            (
                "https://a.example",
                "https://b.example/web-1.tgz",
                "https://b.example/web-1.tgz",
            ),
        ] {
            assert_eq!(resolve(base, reference).as_deref(), Ok(expect));
        }
    }

    #[test]
    fn a_slash_at_the_end_makes_no_difference() {
        assert!(is_same("https://a.example/charts/", "https://a.example/charts"));
        assert!(is_same("https://a.example", "https://a.example/"));
        assert!(!is_same("https://a.example/a", "https://a.example/b"));
        assert!(is_same("@alias", "@alias"));
    }

    #[test]
    fn another_port_is_another_server() {
        let server = |a: &str, b: &str| is_same_server(&Url::parse(a).unwrap(), &Url::parse(b).unwrap());
        assert!(server("https://a.example/x", "https://a.example:443/y"));
        assert!(!server("https://a.example/x", "https://a.example:444/x"));
        assert!(!server("https://a.example/x", "http://a.example/x"));
        assert!(!server("https://a.example/x", "https://b.example/x"));
    }
}
