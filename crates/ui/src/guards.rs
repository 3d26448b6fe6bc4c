//! Who is let in: browsers that know the page by its own names, with a session, and not for pages of others.

use std::sync::Arc;

use axum::extract::{Query, Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::access::harden;
use crate::app::App;

/// Answers to known names alone, and says to the browser what it may do.
pub(crate) async fn with_host(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = if app.hosts.admit(request.headers()) {
        next.run(request).await
    } else {
        (
            StatusCode::MISDIRECTED_REQUEST,
            "this page is not known by that name\n",
        )
            .into_response()
    };
    harden(response.headers_mut());
    response
}

/// Lets those in who have a session, and nobody from a page of others.
pub(crate) async fn with_session(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !app.sessions.admit(headers) {
        return app.message(
            StatusCode::UNAUTHORIZED,
            "There is no session",
            "Open the address that steersman has printed. It counts once: for another one, start it again.",
        );
    }
    // A browser says from where a stream is asked for by other pages, and nothing where it is its own.
    let is_foreign = headers.contains_key("origin") && !app.hosts.is_own(headers);
    let is_cross = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "same-origin" && site != "none");
    let is_stream = request.uri().path().ends_with("/events");
    if is_foreign || (is_stream && is_cross) {
        return app.message(
            StatusCode::FORBIDDEN,
            "Not from there",
            "Another page has asked for this.",
        );
    }
    next.run(request).await
}

#[derive(Deserialize)]
pub(crate) struct Login {
    #[serde(default)]
    code: String,
}

pub(crate) async fn login(
    State(app): State<Arc<App>>,
    Query(login): Query<Login>,
    headers: HeaderMap,
) -> Response {
    let cookie = match app.sessions.begin(&login.code) {
        Ok(Some(cookie)) => HeaderValue::from_str(&cookie).ok(),
        // Somebody has opened the same address twice.
        Ok(None) if app.sessions.admit(&headers) => {
            return (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response();
        }
        Ok(None) | Err(_) => None,
    };
    match cookie {
        Some(cookie) => {
            let mut response = (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response();
            response.headers_mut().insert(SET_COOKIE, cookie);
            response
        }
        None => app.message(
            StatusCode::UNAUTHORIZED,
            "This code does not count",
            "A code begins one session, and another one has been begun by it, or it is of an earlier start.",
        ),
    }
}
