//! Who is let in: browsers that know the page by its own names, with a session, and not for pages of others.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Query, Request, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::access::harden;
use crate::app::{App, Door, Visitor, answer};
use crate::pages::{Head, LoginPage};
use crate::site::{LOOK_TIMEOUT, Site};

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
pub(crate) async fn with_session(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let visitor = match app.visitor(request.headers()).await {
        Ok(visitor) => visitor,
        Err(refused) => return without_session(&app, &request, refused),
    };
    if is_of_others(&app, &request) {
        return app.message(
            StatusCode::FORBIDDEN,
            "Not from there",
            "Another page has asked for this.",
        );
    }
    if visitor.of.is_silent() {
        return app.message(
            StatusCode::SERVICE_UNAVAILABLE,
            "The API server does not answer",
            "It has not said for a minute whether it still knows who asks: until it does, nothing is shown.",
        );
    }
    request.extensions_mut().insert(visitor);
    next.run(request).await
}

/// Lets somebody look at a few releases at a time, and gives a look up that takes too long, as others wait for what it holds.
pub(crate) async fn in_turn(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::GET {
        // Forms have a time of their own.
        let _turn = visitor.of.turn().await;
        return next.run(request).await;
    }
    let look = visitor.of.look(next.run(request)).await;
    look.unwrap_or_else(|| {
        let text = format!(
            "The API server has not said all of it within {} seconds.",
            LOOK_TIMEOUT.as_secs()
        );
        app.message(StatusCode::GATEWAY_TIMEOUT, "It takes too long", &text)
    })
}

fn without_session(app: &App, request: &Request, refused: Option<String>) -> Response {
    // Whoever comes by a proxy has no other token to give.
    if let Some(why) = refused {
        let text = format!("The API server does not take the token that came with the request: {why}");
        return app.message(StatusCode::UNAUTHORIZED, "The token was not taken", &text);
    }
    let is_page = request.method() == Method::GET && !request.uri().path().ends_with("/events");
    if is_page && matches!(app.door, Door::Token(_)) {
        return (StatusCode::SEE_OTHER, [(LOCATION, "/login")]).into_response();
    }
    app.message(
        StatusCode::UNAUTHORIZED,
        "There is no session",
        "Open the address that steersman has printed. It counts once: for another one, start it again.",
    )
}

/// Whether a page of others has had the browser ask. A browser says from where a form or a stream is asked for by other pages; a
/// form says so in any case.
fn is_of_others(app: &App, request: &Request) -> bool {
    let headers = request.headers();
    let has_origin = headers.contains_key("origin");
    let changes = request.method() != Method::GET && request.method() != Method::HEAD;
    if (has_origin || changes) && !app.hosts.is_own(headers) {
        return true;
    }
    let is_cross = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "same-origin" && site != "none");
    is_cross && (changes || request.uri().path().ends_with("/events"))
}

#[derive(Deserialize)]
pub(crate) struct Login {
    #[serde(default)]
    code: String,
}

/// Begins a session by a code, or asks for a token.
pub(crate) async fn login(
    State(app): State<Arc<App>>,
    Query(login): Query<Login>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if method == Method::HEAD {
        // Who only looks whether the address is there leaves the code to who opens it.
        return StatusCode::OK.into_response();
    }
    match &app.door {
        Door::Token(_) => token_page(StatusCode::OK, ""),
        Door::Code(site) if app.sessions.take_code(&login.code) => begin(&app, site, ""),
        // Somebody has opened the same address twice.
        Door::Code(_) if app.sessions.admit(&headers).is_some() => {
            (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
        }
        Door::Code(_) => app.message(
            StatusCode::UNAUTHORIZED,
            "This code does not count",
            "A code begins one session, and another one has been begun by it, or it is of an earlier start.",
        ),
    }
}

#[derive(Deserialize)]
pub(crate) struct TokenForm {
    #[serde(default)]
    token: String,
}

/// Begins a session by a token.
pub(crate) async fn login_by_token(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(form): Form<TokenForm>,
) -> Response {
    let Door::Token(tokens) = &app.door else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    if !app.hosts.is_own(&headers) {
        return app.message(
            StatusCode::FORBIDDEN,
            "Not from there",
            "Another page has asked for this.",
        );
    }
    match tokens.begin(&form.token, &app.watches, &app.scope).await {
        Ok(site) => begin(&app, &site, over_tls(&headers)),
        Err(why) => token_page(StatusCode::UNAUTHORIZED, &why),
    }
}

/// Ends a session.
pub(crate) async fn logout(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, "/login")]).into_response();
    if app.hosts.is_own(&headers)
        && let Ok(cookie) = HeaderValue::from_str(&app.sessions.end(&headers))
    {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn token_page(status: StatusCode, refused: &str) -> Response {
    let head = Head::default();
    let page = LoginPage { head, refused };
    answer(status, &page)
}

/// What a cookie says besides where the page is seen over TLS, as behind a proxy: the browser sends it in no other way then.
fn over_tls(headers: &HeaderMap) -> &'static str {
    let origin = headers.get("origin").and_then(|origin| origin.to_str().ok());
    if origin.is_some_and(|origin| origin.starts_with("https://")) {
        "; Secure"
    } else {
        ""
    }
}

fn begin(app: &App, site: &Arc<Site>, over_tls: &str) -> Response {
    // Somebody may have any number of tokens, and write each in several ways.
    let is_same = |one: &Arc<Site>, other: &Arc<Site>| Arc::ptr_eq(one, other) || one.is_of_same(other);
    let begun = app.sessions.begin(Arc::clone(site), is_same).ok();
    let cookie = begun.and_then(|cookie| HeaderValue::from_str(&format!("{cookie}{over_tls}")).ok());
    let Some(cookie) = cookie else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response();
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}
