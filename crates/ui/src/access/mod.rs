//! Who may see the page: which names it answers to, which sessions there are, and what a browser may do with what it is given.

mod hosts;
mod secret;
mod sessions;
mod tokens;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};

pub(crate) use hosts::Hosts;
pub(crate) use secret::{is_same, secret};
pub(crate) use sessions::{Session, Sessions};
pub(crate) use tokens::Tokens;

/// Nothing but what the page itself brings: no code in the page, none made of a text, nothing of other hosts, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// What every answer says to a browser.
pub(crate) fn harden(headers: &mut HeaderMap) {
    let said: [(HeaderName, &'static str); 7] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without any, a browser does not say of a form of ours that it is ours.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in said {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Assets say how long they may be kept; nothing else is.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
