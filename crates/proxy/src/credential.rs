//! What a run shows to be let in.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest as _, Sha256};

/// How many bytes are random.
const RANDOM: usize = 32;

/// Opens the proxy for one run, until that ends. It says nothing about the run: whose it is, the proxy knows.
///
/// It is printed by no `Debug` and in no error.
pub struct Credential(String);

/// The operating system has no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("failed to draw the credential of a run")]
pub struct CredentialError(#[source] getrandom::Error);

impl Credential {
    /// A new one, of 256 random bits in hexadecimal digits.
    pub(crate) fn draw() -> Result<Self, CredentialError> {
        let mut bytes = [0; RANDOM];
        getrandom::fill(&mut bytes).map_err(CredentialError)?;
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Ok(Self(
            digits
                .filter_map(|digit| char::from_digit(digit.into(), 16))
                .collect(),
        ))
    }

    /// What a client sends: as a bearer token, or as the password of basic authentication, or as its user.
    pub fn secret(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> CredentialDigest {
        digest(self.0.as_bytes())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// What a credential is known by. It is not kept itself, and what is compared is nothing that a client can choose, so the time
/// that it takes tells nothing.
pub(crate) type CredentialDigest = [u8; 32];

fn digest(secret: &[u8]) -> CredentialDigest {
    Sha256::digest(secret).into()
}

/// The credentials that a request may show, of which one has to be known: as which of them the client takes its user is its
/// own affair. There are none where it shows nothing, or two things at once.
pub(crate) fn presented(headers: &HeaderMap) -> Vec<CredentialDigest> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next().and_then(|value| value.to_str().ok()), all.next()) {
        (Some(only), None) => shown(only).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn shown(value: &str) -> Option<Vec<CredentialDigest>> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(vec![digest(rest.as_bytes())]);
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(rest).ok()?;
    let parts = pair.splitn(2, |byte| *byte == b':');
    Some(parts.map(digest).collect())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let pairs = values
            .iter()
            .map(|value| (AUTHORIZATION, HeaderValue::from_str(value).unwrap()));
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_credential_is_a_token_a_password_or_a_user() {
        let credential = Credential(String::from("abc"));
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        for value in [
            "Bearer abc",
            "bearer  abc",
            &basic("abc:unused"),
            &basic("steersman:abc"),
            &basic("abc"),
        ] {
            assert!(
                presented(&headers(&[value])).contains(&credential.digest()),
                "{value}"
            );
        }
        for value in [
            "Bearer abcd",
            &basic("ab:c"),
            &basic("x:abc:"),
            "Bearer Abc",
            "abc",
            "Digest abc",
            "Basic %",
        ] {
            assert!(
                !presented(&headers(&[value])).contains(&credential.digest()),
                "{value}"
            );
        }
        assert!(presented(&headers(&["Bearer abc", "Bearer abc"])).is_empty());
    }

    #[test]
    fn credentials_differ_and_are_not_printed() {
        let (one, other) = (Credential::draw().unwrap(), Credential::draw().unwrap());
        assert_eq!(one.secret().len(), 2 * RANDOM);
        assert_ne!(one.secret(), other.secret());
        assert_eq!(format!("{one:?}"), "Credential(..)");
    }
}
