//! Which headers go on, in both directions.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// Headers of a connection, which are for nobody behind it; with those that `Connection` names.
const OF_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The two that have no name in the library.
const OF_OLD_CONNECTIONS: [&str; 2] = ["keep-alive", "proxy-connection"];

/// Beginnings of headers by which a client would be somebody else. Only the proxy says who asks.
const OF_IDENTITY: [&str; 2] = ["impersonate-", "x-remote-"];

/// What of a client's headers the API server gets: nothing of the connection, and nothing that says who asks.
pub(crate) fn to_server(headers: &HeaderMap) -> HeaderMap {
    let mut kept = without_connection(headers);
    for name in [AUTHORIZATION, HOST, EXPECT, CONTENT_LENGTH] {
        kept.remove(name);
    }
    let spoofed = |name: &&HeaderName| OF_IDENTITY.iter().any(|begin| name.as_str().starts_with(begin));
    let spoofed: Vec<HeaderName> = kept.keys().filter(spoofed).cloned().collect();
    for name in spoofed {
        kept.remove(name);
    }
    kept
}

/// What of the API server's headers a client gets.
pub(crate) fn to_client(headers: &HeaderMap) -> HeaderMap {
    without_connection(headers)
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in words(headers, &CONNECTION) {
        kept.remove(name);
    }
    for name in OF_CONNECTION {
        kept.remove(name);
    }
    for name in OF_OLD_CONNECTIONS {
        kept.remove(name);
    }
    kept
}

/// The protocol that a client wants to go on with in the place of HTTP.
pub(crate) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let is_wanted = words(headers, &CONNECTION).any(|word| word == "upgrade");
    headers.get(UPGRADE).filter(|_| is_wanted).cloned()
}

/// Has an answer come as JSON, and not compressed, where the client takes JSON at all. Whether it does is given back.
pub(crate) fn accept_json(headers: &mut HeaderMap) -> bool {
    headers.remove(ACCEPT_ENCODING);
    let accepted: Vec<String> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|kind| kind.trim().to_owned())
        .collect();
    if accepted.is_empty() {
        return true;
    }
    let is_json = |kind: &&String| {
        let name = kind
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        matches!(name.as_str(), "application/json" | "application/*" | "*/*")
    };
    let json: Vec<&str> = accepted.iter().filter(is_json).map(String::as_str).collect();
    if json.is_empty() {
        return false;
    }
    // `*/*` would bring back what was taken out.
    let named: Vec<&str> = json.into_iter().filter(|kind| !kind.contains('*')).collect();
    let value = if named.is_empty() {
        "application/json".to_owned()
    } else {
        named.join(",")
    };
    if let Ok(value) = HeaderValue::from_str(&value) {
        headers.insert(ACCEPT, value);
    }
    true
}

/// The words of a header that is a list, in small letters.
fn words(headers: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|word| word.trim().to_ascii_lowercase())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.to_ascii_lowercase().parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn nobody_says_who_he_is_but_by_his_credential() {
        let sent = to_server(&headers(&[
            "Authorization: Bearer x",
            "Impersonate-User: admin",
            "Impersonate-Group: system:masters",
            "Impersonate-Group: b",
            "Impersonate-Extra-Scopes: a",
            "Impersonate-Uid: 1",
            "X-Remote-User: admin",
            "X-Remote-Extra-A: b",
            "Host: example.com",
            "User-Agent: kubectl",
        ]));
        assert_eq!(sent, headers(&["User-Agent: kubectl"]));
    }

    #[test]
    fn headers_of_a_connection_end_with_it() {
        let there = headers(&[
            "Connection: close, X-Mine",
            "X-Mine: a",
            "Keep-Alive: timeout=5",
            "Transfer-Encoding: chunked",
            "TE: trailers",
            "Upgrade: websocket",
            "Proxy-Authorization: Basic x",
            "Content-Type: application/json",
        ]);
        assert_eq!(to_server(&there), headers(&["Content-Type: application/json"]));
        assert_eq!(to_client(&there), headers(&["Content-Type: application/json"]));
    }

    #[test]
    fn an_upgrade_is_asked_for_by_two_headers() {
        let wanted = headers(&["Connection: keep-alive, Upgrade", "Upgrade: SPDY/3.1"]);
        assert_eq!(upgrade_of(&wanted).unwrap(), "SPDY/3.1");
        assert_eq!(upgrade_of(&headers(&["Upgrade: SPDY/3.1"])), None);
        assert_eq!(upgrade_of(&headers(&["Connection: upgrade"])), None);
    }

    #[test]
    fn json_is_taken_where_it_is_among_what_is_accepted() {
        let check = |accept: &str, expect: Option<&str>| {
            let mut there = headers(&[&format!("Accept: {accept}"), "Accept-Encoding: gzip"]);
            assert_eq!(accept_json(&mut there), expect.is_some(), "{accept}");
            assert!(!there.contains_key(ACCEPT_ENCODING));
            let left = there.get(ACCEPT).unwrap().to_str().unwrap();
            assert_eq!(left, expect.unwrap_or(accept));
        };
        check("application/json", Some("application/json"));
        check(
            "application/vnd.kubernetes.protobuf,application/json",
            Some("application/json"),
        );
        check("*/*", Some("application/json"));
        check("application/json, */*", Some("application/json"));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        check(table, Some(table));
        check("application/vnd.kubernetes.protobuf", None);
        let mut none = HeaderMap::new();
        assert!(accept_json(&mut none) && none.is_empty());
    }
}
