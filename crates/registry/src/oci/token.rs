//! Logging in to a registry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::credentials::Login;
use super::reference::Reference;
use crate::client::{Client, FetchError, body};

/// The largest answer of a server that gives tokens.
const MAX_TOKEN: u64 = 1 << 20;

#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
}

/// What is to be done in a registry, in the words of tokens.
#[derive(Clone, Debug)]
pub(super) struct Actions {
    /// Such as `pull`, in the repository that is asked.
    pub(super) own: &'static str,
    /// Another repository whose blobs are wanted there.
    pub(super) pull_from: Option<String>,
}

/// The authorization that answers a challenge; `None` for a challenge of another kind, and for a basic one without
/// credentials.
pub(super) async fn authorization(
    client: &Client,
    challenge: &str,
    reference: &Reference,
    actions: &Actions,
    login: Option<&Login>,
) -> Result<Option<HeaderValue>, FetchError> {
    let (scheme, parameters) = challenge.split_once(' ').unwrap_or((challenge, ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Ok(login.and_then(basic));
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Ok(None);
    }
    let Some(realm) = parameter(parameters, "realm") else {
        return Ok(None);
    };
    let mut url = Url::parse(&realm).map_err(|error| {
        FetchError::Answer(format!(
            "{}: the address of tokens is none: {error}",
            reference.host
        ))
    })?;
    if url.scheme() != "https" && !client.access().plain_http {
        return Err(FetchError::Answer(format!(
            "{}: tokens would be asked for without TLS",
            reference.host
        )));
    }
    let scope = format!("repository:{}:{}", reference.repository, actions.own);
    url.query_pairs_mut().append_pair("scope", &scope);
    if let Some(service) = parameter(parameters, "service") {
        url.query_pairs_mut().append_pair("service", &service);
    }
    let mut headers = HeaderMap::new();
    if let Some(value) = login.and_then(basic) {
        headers.insert(AUTHORIZATION, value);
    }
    let mut response = None;
    if let Some(repository) = &actions.pull_from {
        let scope = format!("repository:{repository}:pull");
        let mut both = url.clone();
        both.query_pairs_mut().append_pair("scope", &scope);
        // Who may not read the other repository gets a token without it, or none.
        let answer = client.ask(both.as_str(), headers.clone()).await?;
        response = Some(answer).filter(|answer| answer.status() == StatusCode::OK);
    }
    let response = match response {
        Some(response) => response,
        None => client.ask(url.as_str(), headers).await?,
    };
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status {
            url: realm,
            status: response.status(),
        });
    }
    let text = body(response, &realm, MAX_TOKEN).await?;
    let answer: Option<Answer> = serde_json::from_slice(&text).ok();
    let token = answer.and_then(|answer| answer.token.or(answer.access_token));
    Ok(token.and_then(|token| secret(&format!("Bearer {token}"))))
}

fn basic(login: &Login) -> Option<HeaderValue> {
    let text = STANDARD.encode(format!("{}:{}", login.username, login.password));
    secret(&format!("Basic {text}"))
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A parameter of a challenge, such as `realm` in `realm="https://…",service="…"`.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        if key.trim_matches([' ', ',']).eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn parameters_are_found_in_challenges() {
        let challenge =
            r#"realm="https://a.example/token?x=y,z",service=registry, scope="repository:a:pull""#;
        let find = |name| parameter(challenge, name);
        assert_eq!(find("realm").as_deref(), Some("https://a.example/token?x=y,z"));
        assert_eq!(find("service").as_deref(), Some("registry"));
        assert_eq!(find("scope").as_deref(), Some("repository:a:pull"));
        assert_eq!(find("error"), None);
        assert_eq!(parameter("", "realm"), None);
    }
}
