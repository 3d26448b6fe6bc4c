//! Sessions: begun by a code that counts once, and kept by a cookie that no script sees.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// So many sessions are kept: the one that was used least lately goes.
const MOST: usize = 32;
/// How long a session lasts that nobody uses.
const IDLE: Duration = Duration::from_hours(12);

/// A secret, kept as its digest: what is compared tells nothing of what would be right.
type Kept = [u8; 32];

fn kept(secret: &str) -> Kept {
    Sha256::digest(secret.as_bytes()).into()
}

/// A secret that nobody guesses, in hexadecimal.
fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Those who may see the page.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Browsers send a cookie to all ports of a machine.
    cookie: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    code: Option<Kept>,
    /// When each was used last.
    sessions: BTreeMap<Kept, Instant>,
}

impl Sessions {
    /// None yet, of a page at a port.
    pub(crate) fn new(port: u16) -> Self {
        Self {
            cookie: format!("steersman-{port}"),
            state: Mutex::default(),
        }
    }

    /// A code that begins one session. The one before counts no longer.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn code(&self) -> Result<String, getrandom::Error> {
        let code = secret()?;
        self.lock().code = Some(kept(&code));
        Ok(code)
    }

    /// Begins a session by a code, and gives what to set as a cookie. `None` where it is not the code, or was used.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn begin(&self, code: &str) -> Result<Option<String>, getrandom::Error> {
        let cookie = secret()?;
        let mut state = self.lock();
        if state.code.take_if(|known| *known == kept(code)).is_none() {
            return Ok(None);
        }
        if state.sessions.len() >= MOST {
            let oldest = state.sessions.iter().min_by_key(|(_, used)| **used);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                state.sessions.remove(&oldest);
            }
        }
        state.sessions.insert(kept(&cookie), Instant::now());
        let name = &self.cookie;
        Ok(Some(format!(
            "{name}={cookie}; HttpOnly; SameSite=Strict; Path=/"
        )))
    }

    /// Whether a request is of a session, which counts as used.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> bool {
        let cookies = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let pairs = cookies
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == self.cookie);
        let Some((_, cookie)) = own.next() else {
            return false;
        };
        let mut state = self.lock();
        state.sessions.retain(|_, used| used.elapsed() < IDLE);
        let used = state.sessions.get_mut(&kept(cookie));
        used.map(|used| *used = Instant::now()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(cookie).unwrap());
        headers
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_begins_one_session_which_ends_when_nobody_uses_it() {
        let sessions = Sessions::new(4711);
        let code = sessions.code().unwrap();
        assert_eq!(sessions.begin("wrong").unwrap(), None);
        let set = sessions.begin(&code).unwrap().unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
        assert_eq!(sessions.begin(&code).unwrap(), None, "it counts once");
        let cookie = set.split(';').next().unwrap();
        assert!(sessions.admit(&with(&format!("other=1; {cookie}"))));
        assert!(!sessions.admit(&with("steersman-4711=")));
        assert!(!sessions.admit(&with(&cookie.replace("4711", "4712"))));
        tokio::time::advance(IDLE / 2).await;
        assert!(sessions.admit(&with(cookie)));
        tokio::time::advance(IDLE / 2 + Duration::from_secs(1)).await;
        assert!(sessions.admit(&with(cookie)));
        tokio::time::advance(IDLE).await;
        assert!(!sessions.admit(&with(cookie)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_session_that_was_used_least_lately_makes_room() {
        let sessions = Sessions::new(1);
        let mut begun = Vec::new();
        for _ in 0..=MOST {
            let code = sessions.code().unwrap();
            let set = sessions.begin(&code).unwrap().unwrap();
            begun.push(set.split(';').next().unwrap().to_owned());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(!sessions.admit(&with(&begun[0])));
        assert!(begun[1..].iter().all(|cookie| sessions.admit(&with(cookie))));
    }
}
