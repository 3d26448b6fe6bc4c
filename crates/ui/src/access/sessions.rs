//! Sessions: begun by a code that counts once, or by a token of the cluster, and kept by a cookie that no script sees.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::secret::{Kept, hex, kept, make_room, make_room_among_all, secret};

/// So many sessions are kept: of whom most are, the one that was used least lately goes.
const MOST: usize = 256;
/// So many of one: whoever begins more ends their own.
const MOST_OF_ONE: usize = 8;

/// Those who may see the page, each with what is theirs.
#[derive(Debug)]
pub(crate) struct Sessions<T> {
    /// Browsers send a cookie to all ports of a machine.
    cookie: String,
    /// How long a session lasts that nobody uses.
    idle: Duration,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    code: Option<Kept>,
    /// When each was used last.
    sessions: BTreeMap<Kept, (Instant, Begun<T>)>,
}

#[derive(Debug)]
struct Begun<T> {
    of: T,
    /// Cancelled with the session.
    ended: DropGuard,
}

/// A session that a request is of.
#[derive(Clone, Debug)]
pub(crate) struct Session<T> {
    pub(crate) of: T,
    /// Cancelled when it has ended: nothing is told any longer then.
    pub(crate) ended: CancellationToken,
    /// What forms have to carry: pages of others do not know it.
    pub(crate) form: String,
    /// Whether a cookie keeps it, which can be taken back.
    pub(crate) is_by_cookie: bool,
}

impl<T> Session<T> {
    /// Of who has this secret.
    pub(crate) fn new(of: T, secret: &str) -> Self {
        Self {
            of,
            ended: CancellationToken::new(),
            form: hex(&kept(&format!("form {secret}"))),
            is_by_cookie: false,
        }
    }
}

impl<T: Clone> Sessions<T> {
    /// None yet, of a page at a port.
    pub(crate) fn new(port: u16, idle: Duration) -> Self {
        Self {
            cookie: format!("steersman-{port}"),
            idle,
            state: Mutex::new(State {
                code: None,
                sessions: BTreeMap::new(),
            }),
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

    /// Whether it is the code, which counts no longer then.
    pub(crate) fn take_code(&self, code: &str) -> bool {
        let code = kept(code);
        self.lock().code.take_if(|known| *known == code).is_some()
    }

    /// Begins a session of somebody, and gives what to set as a cookie. `is_same` tells whose sessions are one person's.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn begin(&self, of: T, is_same: impl Fn(&T, &T) -> bool) -> Result<String, getrandom::Error> {
        let cookie = secret()?;
        let mut state = self.lock();
        make_room(&mut state.sessions, MOST_OF_ONE, |begun| is_same(&of, &begun.of));
        make_room_among_all(&mut state.sessions, MOST, |one, other| {
            is_same(&one.of, &other.of)
        });
        let ended = CancellationToken::new().drop_guard();
        state
            .sessions
            .insert(kept(&cookie), (Instant::now(), Begun { of, ended }));
        let name = &self.cookie;
        Ok(format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path=/"))
    }

    /// The session that a request is of, which counts as used.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Option<Session<T>> {
        let cookie = self.cookie_of(headers)?;
        let mut state = self.lock();
        let idle = self.idle;
        state.sessions.retain(|_, (used, _)| used.elapsed() < idle);
        let (used, begun) = state.sessions.get_mut(&kept(&cookie))?;
        *used = Instant::now();
        Some(Session {
            ended: begun.ended.token().clone(),
            is_by_cookie: true,
            ..Session::new(begun.of.clone(), &cookie)
        })
    }

    /// Ends the session that a request is of, and gives what to set as a cookie.
    pub(crate) fn end(&self, headers: &HeaderMap) -> String {
        if let Some(cookie) = self.cookie_of(headers) {
            self.lock().sessions.remove(&kept(&cookie));
        }
        format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", self.cookie)
    }

    fn cookie_of(&self, headers: &HeaderMap) -> Option<String> {
        let all = headers.get_all(COOKIE).iter();
        let cookies = all.filter_map(|value| value.to_str().ok());
        let pairs = cookies.flat_map(|text| text.split(';'));
        let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        let own = pairs.find(|(name, _)| *name == self.cookie);
        own.map(|(_, cookie)| cookie.to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const IDLE: Duration = Duration::from_hours(12);

    fn with(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(cookie).unwrap());
        headers
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_begins_one_session_which_ends_when_nobody_uses_it() {
        let sessions = Sessions::new(4711, IDLE);
        let code = sessions.code().unwrap();
        assert!(!sessions.take_code("wrong"));
        assert!(sessions.take_code(&code));
        assert!(!sessions.take_code(&code), "it counts once");
        let set = sessions.begin("mine", |_, _| false).unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
        let cookie = set.split(';').next().unwrap();
        let is_admitted = |cookie: &str| sessions.admit(&with(cookie)).is_some();
        let session = sessions.admit(&with(&format!("other=1; {cookie}"))).unwrap();
        assert_eq!(session.of, "mine");
        assert_eq!(session.form.len(), 64);
        assert!(!cookie.contains(&session.form));
        assert!(!is_admitted("steersman-4711="));
        assert!(!is_admitted(&cookie.replace("4711", "4712")));
        tokio::time::advance(IDLE / 2).await;
        assert!(is_admitted(cookie));
        tokio::time::advance(IDLE / 2 + Duration::from_secs(1)).await;
        assert!(is_admitted(cookie));
        tokio::time::advance(IDLE).await;
        assert!(!is_admitted(cookie));
    }

    #[tokio::test(start_paused = true)]
    async fn the_session_that_was_used_least_lately_makes_room_and_one_that_was_ended_is_gone() {
        let sessions = Sessions::new(1, IDLE);
        let mut begun = Vec::new();
        for number in 0..=MOST {
            let set = sessions.begin(number, |_, _| false).unwrap();
            begun.push(set.split(';').next().unwrap().to_owned());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(sessions.admit(&with(&begun[0])).is_none());
        for (number, cookie) in begun.iter().enumerate().skip(1) {
            assert_eq!(sessions.admit(&with(cookie)).unwrap().of, number);
        }
        let open = sessions.admit(&with(&begun[1])).unwrap().ended;
        assert!(!open.is_cancelled());
        let ended = sessions.end(&with(&begun[1]));
        assert!(open.is_cancelled(), "what it is told ends");
        assert!(ended.contains("Max-Age=0"), "{ended}");
        assert!(sessions.admit(&with(&begun[1])).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_begins_many_ends_their_own() {
        let sessions = Sessions::new(1, IDLE);
        let cookie = |set: String| set.split(';').next().unwrap().to_owned();
        let other = cookie(sessions.begin("other", |of, other| of == other).unwrap());
        let mut own = Vec::new();
        for _ in 0..=MOST_OF_ONE {
            tokio::time::advance(Duration::from_secs(1)).await;
            own.push(cookie(sessions.begin("own", |of, other| of == other).unwrap()));
        }
        let is_there = |cookie: &String| sessions.admit(&with(cookie)).is_some();
        assert!(is_there(&other) && !is_there(&own[0]));
        assert!(own.iter().skip(1).all(is_there));
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_by_many_names_throws_nobody_out_who_has_fewer_sessions() {
        let sessions = Sessions::new(1, IDLE);
        let cookie = |set: String| set.split(';').next().unwrap().to_owned();
        let other = cookie(sessions.begin(0, |of, other| of == other).unwrap());
        for number in 0..2 * MOST {
            tokio::time::advance(Duration::from_secs(1)).await;
            let name = 1 + number / MOST_OF_ONE;
            sessions.begin(name, |of, other| of == other).unwrap();
        }
        assert!(sessions.admit(&with(&other)).is_some());
    }
}
