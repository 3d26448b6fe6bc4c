//! The names that the page answers to. A page of others can have its own name lead to this machine, and would else read what its
//! browser is given here.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// Names with their ports, as a browser writes them.
#[derive(Clone, Debug)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Those of this machine, at a port, and `more`.
    pub(crate) fn new(port: u16, more: &[String]) -> Self {
        let own = ["127.0.0.1", "[::1]", "localhost"];
        let own = own.into_iter().map(|name| format!("{name}:{port}"));
        Self(
            own.chain(more.iter().map(|name| name.to_ascii_lowercase()))
                .collect(),
        )
    }

    fn is_known(&self, host: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    /// Whether a request is for one of them. There is one name, or the request is none of a browser.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return false;
        };
        host.to_str().is_ok_and(|host| self.is_known(host))
    }

    /// Whether a request comes from a page of ours, as its browser says.
    pub(crate) fn is_own(&self, headers: &HeaderMap) -> bool {
        let mut said = headers.get_all(ORIGIN).iter();
        let (Some(origin), None) = (said.next(), said.next()) else {
            return false;
        };
        let origin = origin.to_str().unwrap_or_default();
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.is_known(host))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::HeaderName;

    use super::*;

    fn with(name: &HeaderName, values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn names_of_others_that_lead_here_are_refused() {
        let hosts = Hosts::new(4711, &["ui.example.com".to_owned()]);
        for (host, expect) in [
            ("127.0.0.1:4711", true),
            ("localhost:4711", true),
            ("LOCALHOST:4711", true),
            ("[::1]:4711", true),
            ("ui.example.com", true),
            ("ui.example.com:4711", false),
            ("127.0.0.1", false),
            ("127.0.0.1:4712", false),
            ("rebound.example.com:4711", false),
            ("localhost:4711.example.com", false),
            ("", false),
        ] {
            assert_eq!(hosts.admit(&with(&HOST, &[host])), expect, "{host}");
        }
        assert!(!hosts.admit(&HeaderMap::new()));
        assert!(!hosts.admit(&with(&HOST, &["localhost:4711", "localhost:4711"])));
    }

    #[test]
    fn pages_of_others_are_told_by_their_origin() {
        let hosts = Hosts::new(4711, &[]);
        for (origin, expect) in [
            ("http://127.0.0.1:4711", true),
            ("http://localhost:4711", true),
            ("https://localhost:4711", true),
            ("http://localhost:80", false),
            ("http://evil.example.com", false),
            ("null", false),
            ("localhost:4711", false),
            ("http://localhost:4711/", false),
        ] {
            assert_eq!(hosts.is_own(&with(&ORIGIN, &[origin])), expect, "{origin}");
        }
        assert!(
            !hosts.is_own(&HeaderMap::new()),
            "a browser says where a request comes from"
        );
    }
}
