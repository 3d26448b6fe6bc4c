//! Errors as text for people: on one line, causes included.

use std::error::Error;

/// Stands before a text whose start may be missing, so that it may begin within a secret. It shows nothing, and who masks
/// secrets in the text takes it out.
pub const CUT: char = '\u{2060}';

/// Stands behind a text whose end may be missing, so that it may end within a secret. As with [`CUT`], who masks takes it out.
pub const CUT_OFF: char = '\u{2061}';

/// Texts of others go to logs and conditions: control characters and line breaks are taken out.
///
/// ```
/// assert_eq!(steersman_model::one_line("denied:\n  too \u{1b}[31mlarge"), "denied: too [31mlarge");
/// ```
pub fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An error and its causes on one line, each once: a cause whose text its parent repeats is left out.
///
/// ```
/// use std::io;
/// use steersman_model::chain;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("failed to read `watches.yaml`")]
/// struct ReadError(#[source] io::Error);
///
/// let error = ReadError(io::Error::other("no such file"));
/// assert_eq!(chain(&error), "failed to read `watches.yaml`: no such file");
/// ```
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    let is_odd = |c: char| c.is_control() || (c.is_whitespace() && c != ' ');
    if text.contains(is_odd) {
        return one_line(&text);
    }
    text
}

/// What is wrong with a certificate that a TLS library refuses for its version, which is all that the library says.
///
/// ```
/// use steersman_model::old_certificate;
///
/// let said = "invalid peer certificate: Other(OtherError(UnsupportedCertVersion))";
/// assert!(old_certificate(said).is_some_and(|reason| reason.starts_with("it is of X.509 version 1")));
/// assert_eq!(old_certificate("invalid peer certificate: Expired"), None);
/// ```
pub fn old_certificate(said: &str) -> Option<&'static str> {
    said.contains("UnsupportedCertVersion").then_some(
        "it is of X.509 version 1; issue it again as version 3, which has extensions: `openssl x509 -req` makes that \
         with `-extfile`",
    )
}
