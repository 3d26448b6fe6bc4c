//! Requests that chromedriver knows and the standard does not.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

/// A request of a session.
#[derive(Debug)]
pub(super) struct Request {
    path: &'static str,
    body: Value,
}

impl Request {
    /// A method of the Chrome `DevTools` Protocol.
    pub(super) fn devtools(method: &str, parameters: Value) -> Self {
        Self {
            path: "goog/cdp/execute",
            body: json!({"cmd": method, "params": parameters}),
        }
    }

    /// What the console got since the last one of these.
    pub(super) fn console() -> Self {
        Self {
            path: "se/log",
            body: json!({"type": "browser"}),
        }
    }
}

impl WebDriverCompatibleCommand for Request {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/{}", self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
