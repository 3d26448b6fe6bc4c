//! URLs read and written as Go's `net/url` does.

use std::fmt;
use std::net::Ipv6Addr;

use steersman_gotemplate::format::{quote, quote_bytes};

use super::escape::{EscapeError, Part, escape, unescape};

/// The parts of a URL, unescaped where Go has them so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    pub(super) opaque: String,
    pub(super) user: Option<UserInfo>,
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: String,
    pub(super) fragment: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// Why a text is not a URL, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {problem}", quote(.url))]
pub(super) struct UrlError {
    url: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("net/url: invalid userinfo")]
    UserInfo,
    #[error("missing ']' in host")]
    MissingBracket,
    #[error("invalid IP-literal")]
    IpLiteral,
    #[error("invalid host: ParseAddr({}): unable to parse IP", quote_bytes(.0))]
    Address(Vec<u8>),
    #[error("invalid port {} after host", quote_bytes(.0))]
    Port(Vec<u8>),
    #[error(transparent)]
    Escape(#[from] EscapeError),
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let named = |url: &str| {
            let url = url.to_owned();
            move |problem| UrlError { url, problem }
        };
        let mut url = without_fragment(before).map_err(named(before))?;
        url.fragment = unescape(fragment.as_bytes(), Part::Fragment)
            .map_err(Problem::from)
            .map_err(named(text))?;
        Ok(url)
    }

    /// The host without port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let colon = self.host.iter().rposition(|byte| *byte == b':');
        let host = match colon.map(|colon| self.host.split_at(colon)) {
            Some((host, port)) if is_optional_port(port) => host,
            _ => &self.host,
        };
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }
}

fn without_fragment(text: &str) -> Result<Url, Problem> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(Problem::ControlCharacter);
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if rest
            .split('/')
            .next()
            .is_some_and(|segment| segment.contains(':'))
        {
            return Err(Problem::ColonInFirstSegment);
        }
    }
    let has_authority = !url.scheme.is_empty() || !rest.starts_with("///");
    if let Some(after) = rest.strip_prefix("//").filter(|_| has_authority) {
        let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
        (url.user, url.host) = parse_authority(&url.scheme, authority)?;
        rest = path;
    }
    url.path = unescape(rest.as_bytes(), Part::Path)?;
    Ok(url)
}

/// The scheme before the first colon, if what is there can be one, and the rest.
fn split_scheme(text: &str) -> Result<(&str, &str), Problem> {
    let end = text
        .find(|character: char| !character.is_ascii_alphanumeric() && !matches!(character, '+' | '-' | '.'));
    let Some((scheme, rest)) = end.map(|end| text.split_at(end)) else {
        return Ok(("", text));
    };
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => Err(Problem::MissingScheme),
        Some(rest) if scheme.starts_with(|first: char| first.is_ascii_alphabetic()) => Ok((scheme, rest)),
        _ => Ok(("", text)),
    }
}

fn parse_authority(scheme: &str, authority: &str) -> Result<(Option<UserInfo>, Vec<u8>), Problem> {
    let Some((userinfo, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(character);
    if !userinfo.chars().all(is_allowed) {
        return Err(Problem::UserInfo);
    }
    let (name, password) = match userinfo.split_once(':') {
        Some((name, password)) => (name, Some(password)),
        None => (userinfo, None),
    };
    let user = UserInfo {
        name: unescape(name.as_bytes(), Part::UserInfo)?,
        password: password
            .map(|password| unescape(password.as_bytes(), Part::UserInfo))
            .transpose()?,
    };
    Ok((Some(user), host))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, Problem> {
    if let Some(open) = host.rfind('[') {
        if open > 0 {
            return Err(Problem::IpLiteral);
        }
        return parse_literal(host);
    }
    if let Some(first) = host.find(':') {
        // Lists of hosts with ports are let through, but not for the web.
        let is_web = matches!(scheme, "http" | "https");
        let colon = if is_web {
            first
        } else {
            host.rfind(':').unwrap_or(first)
        };
        check_port(host.get(colon..).unwrap_or_default())?;
    }
    Ok(unescape(host.as_bytes(), Part::Host)?)
}

/// An address of IPv6 in brackets, perhaps with a zone, and a port.
fn parse_literal(host: &str) -> Result<Vec<u8>, Problem> {
    let Some((inner, port)) = host.get(1..).and_then(|host| host.rsplit_once(']')) else {
        return Err(Problem::MissingBracket);
    };
    check_port(port)?;
    let zone = inner.find("%25").unwrap_or(inner.len());
    let (address, zone) = inner.split_at(zone);
    let mut unescaped = unescape(address.as_bytes(), Part::Host)?;
    let is_address = std::str::from_utf8(&unescaped).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
    if !is_address {
        let is_old =
            std::str::from_utf8(&unescaped).is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok());
        return Err(if is_old {
            Problem::IpLiteral
        } else {
            Problem::Address(unescaped)
        });
    }
    unescaped.extend(unescape(zone.as_bytes(), Part::Zone)?);
    Ok([b"[", unescaped.as_slice(), b"]", port.as_bytes()].concat())
}

fn check_port(port: &str) -> Result<(), Problem> {
    if is_optional_port(port.as_bytes()) {
        return Ok(());
    }
    Err(Problem::Port(port.as_bytes().to_vec()))
}

/// Nothing, or a colon and digits.
fn is_optional_port(port: &[u8]) -> bool {
    match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

impl UserInfo {
    /// Name and password, escaped.
    pub(super) fn written(&self) -> String {
        let mut text = escape(&self.name, Part::UserInfo);
        if let Some(password) = &self.password {
            text.push(':');
            text.push_str(&escape(password, Part::UserInfo));
        }
        text
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(f)?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", escape(&self.fragment, Part::Fragment))?;
        }
        Ok(())
    }
}

impl Url {
    /// What comes between scheme and query: user, host and path.
    fn write_hierarchy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        if has_authority || (!self.scheme.is_empty() && !self.path.is_empty()) {
            f.write_str("//")?;
        }
        if let Some(user) = &self.user {
            write!(f, "{}@", user.written())?;
        }
        f.write_str(&escape(&self.host, Part::Host))?;
        let path = match self.path.as_slice() {
            b"*" => "*".to_owned(),
            path => escape(path, Part::Path),
        };
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            f.write_str("/")?;
        }
        // A colon in the first segment would make it a scheme.
        let starts = self.scheme.is_empty() && !has_authority;
        if starts
            && path
                .split('/')
                .next()
                .is_some_and(|segment| segment.contains(':'))
        {
            f.write_str("./")?;
        }
        f.write_str(&path)
    }
}
