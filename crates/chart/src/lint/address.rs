//! Which addresses Helm takes in `Chart.yaml`.

use std::sync::LazyLock;

use regex::Regex;
use steersman_sprig::is_url as parses_as_url;

/// Letters beyond ASCII that are allowed in addresses for mail.
const LETTERS: &str = r"\x{00A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}";

/// Whether the text is an address for mail, as `govalidator` sees it.
pub(super) fn is_mail_address(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let atom = format!(r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{{|}}~{LETTERS}]+");
        let quoted = format!(
            r"\x22(?:[\x20\x09]*(?:\x0d\x0a)?[\x20\x09]*(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\x21\x23-\x5b\x5d-\x7e{LETTERS}]|\\[\x01-\x09\x0b\x0c\x0d-\x7f{LETTERS}]))*[\x20\x09]*(?:\x0d\x0a)?[\x20\x09]*\x22"
        );
        let edge = format!("[a-zA-Z0-9{LETTERS}]");
        let label = format!(r"{edge}(?:[a-zA-Z0-9\-._~{LETTERS}]*{edge})?");
        let letter = format!("[a-zA-Z{LETTERS}]");
        let last = format!(r"{letter}(?:[a-zA-Z0-9\-_~{LETTERS}]*{letter})?");
        Regex::new(&format!(
            r"^(?:{atom}(?:\.{atom})*|{quoted})@(?:{label}\.)+{last}\.?$"
        ))
        .ok()
    });
    FORM.as_ref().is_some_and(|form| form.is_match(text))
}

/// Whether the text is the address of a page, as `govalidator` sees it: with or without a scheme.
pub(super) fn is_url(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let scheme = "(?:(?:ftp|tcp|udp|wss?|https?)://)";
        let user = r"(?:[^\t\n\x0c\r ]+(?::[^\t\n\x0c\r ]*)?@)";
        let ip = r"(?:[1-9][0-9]?|1[0-9][0-9]|2[01][0-9]|22[0-3]|24[0-9]|25[0-5])(?:\.(?:[0-9]{1,2}|1[0-9][0-9]|2[0-4][0-9]|25[0-5])){2}\.(?:[0-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
        let ip6 = r"\[[0-9a-fA-F:.%a-zA-Z]*:[0-9a-fA-F:.%a-zA-Z]*\]";
        let first = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9_-]+)?[a-zA-Z0-9](?:[-.][a-zA-Z0-9]+)*|(?:www\.|[a-zA-Z0-9]+(?:[-_.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+)?)?";
        let word = r"(?:[a-zA-Z\x{00a1}-\x{ffff}0-9]+-?-?)*[a-zA-Z\x{00a1}-\x{ffff}0-9]+";
        let end = r"(?:\.[a-zA-Z\x{00a1}-\x{ffff}]+)?";
        let path = r"(?:[/?#][^\t\n\x0c\r ]*)";
        Regex::new(&format!(
            "^{scheme}?{user}?(?:{ip}|{ip6}|{first}{word}{end})\\.?(?::[0-9]{{1,5}})?{path}?$"
        ))
        .ok()
    });
    let length = text.chars().count();
    if length >= 2083 || text.len() <= 3 || text.starts_with('.') {
        return false;
    }
    let with_scheme = if text.contains(':') && !text.contains("://") {
        format!("http://{text}")
    } else {
        text.to_owned()
    };
    if !parses_as_url(&with_scheme) {
        return false;
    }
    let host = with_scheme.split_once("://").map(|(_, rest)| rest);
    if host.is_some_and(|host| host.starts_with('.')) || (host.is_none() && !text.contains('.')) {
        return false;
    }
    FORM.as_ref().is_some_and(|form| form.is_match(text))
}

/// Whether the text is a URL with a scheme that a request could be sent to, as Go's `url.ParseRequestURI` sees it.
pub(super) fn is_request_url(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    let has_scheme = text.len() > scheme.len()
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|other| other.is_ascii_alphanumeric() || "+-.".contains(other));
    // A `#` has no meaning of its own in a request.
    has_scheme && parses_as_url(&text.replace('#', "%23"))
}
