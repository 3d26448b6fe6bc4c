//! Who may read a guarded page: the bearer of a token that a review allows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long an answer is believed. Scrapes are usually further apart; who asks more often costs no more.
const BELIEVED_FOR: Duration = Duration::from_secs(10);

/// How many answers are kept, so that made-up tokens cannot fill the memory.
const MAX_KEPT: usize = 100;

/// How long a review may take.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known of who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody who may read the page.
    Allowed,
    /// Somebody who may not.
    Forbidden,
    /// There is no token, or nobody's.
    Unauthenticated,
}

/// Why nothing is known of who asks. No text of these holds a token.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The operator has only started.
    #[error("the API server has not answered yet")]
    NotConnected,
    /// The API server refuses the review, or is not reached.
    #[error("failed to create a {kind}: {reason}")]
    Failed {
        /// `TokenReview` or `SubjectAccessReview`.
        kind: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// It takes too long.
    #[error("the API server did not answer within {} seconds", REVIEW_TIMEOUT.as_secs())]
    TooSlow,
}

/// Knows who may read the page.
pub trait Review: Send + Sync {
    /// Says whether the bearer of a token may.
    ///
    /// # Errors
    /// It cannot be known. The text never holds the token.
    fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, ReviewError>>;
}

/// Lets in who a review allows. Clones share the verdicts that they remember.
#[derive(Clone)]
pub struct Guard {
    review: Arc<dyn Review>,
    cache: Arc<Mutex<VerdictCache>>,
}

impl Guard {
    /// Asks `review`, and believes each answer for ten seconds.
    pub fn new(review: impl Review + 'static) -> Self {
        Self {
            review: Arc::new(review),
            cache: Arc::default(),
        }
    }

    /// What is known of who sent these headers. What cannot be known is no answer to keep.
    pub(super) async fn judge(&self, headers: &HeaderMap) -> Result<Verdict, ReviewError> {
        let Some(token) = bearer_token(headers) else {
            return Ok(Verdict::Unauthenticated);
        };
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        if let Some(verdict) = self.cache(|cache| cache.get(&digest)) {
            return Ok(verdict);
        }
        let verdict = tokio::time::timeout(REVIEW_TIMEOUT, self.review.review(token))
            .await
            .map_err(|_| ReviewError::TooSlow)??;
        self.cache(|cache| cache.insert(digest, verdict));
        Ok(verdict)
    }

    fn cache<T>(&self, act: impl FnOnce(&mut VerdictCache) -> T) -> T {
        act(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// The token of `Authorization: Bearer TOKEN`, read as the API server does.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut words = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split(' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// What a token is known by: the token itself is not kept.
type TokenDigest = [u8; 32];

/// The latest answers, with their ends.
#[derive(Default)]
struct VerdictCache(BTreeMap<TokenDigest, (Instant, Verdict)>);

impl VerdictCache {
    fn get(&self, digest: &TokenDigest) -> Option<Verdict> {
        let (end, verdict) = self.0.get(digest)?;
        (Instant::now() < *end).then_some(*verdict)
    }

    fn insert(&mut self, digest: TokenDigest, verdict: Verdict) {
        let now = Instant::now();
        self.0.retain(|_, (end, _)| now < *end);
        if self.0.len() >= MAX_KEPT {
            let oldest = self.0.iter().min_by_key(|(_, (end, _))| *end);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                self.0.remove(&oldest);
            }
        }
        self.0.insert(digest, (now + BELIEVED_FOR, verdict));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::BoxFuture;
    use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};

    use super::{Guard, MAX_KEPT, Review, ReviewError, Verdict};

    /// Allows `reader`, knows `somebody`, does not answer on `slow`, and fails on `broken`.
    #[derive(Clone, Default)]
    struct Table {
        asked: Arc<AtomicUsize>,
    }

    impl Review for Table {
        fn review<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Verdict, ReviewError>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                match token {
                    "reader" => Ok(Verdict::Allowed),
                    "somebody" => Ok(Verdict::Forbidden),
                    "broken" => Err(ReviewError::NotConnected),
                    "slow" => std::future::pending().await,
                    _ => Ok(Verdict::Unauthenticated),
                }
            })
        }
    }

    fn headers(authorization: &str) -> HeaderMap {
        let value = HeaderValue::from_str(authorization).unwrap();
        HeaderMap::from_iter([(AUTHORIZATION, value)])
    }

    async fn check(authorization: &str, expect: Verdict) {
        let guard = Guard::new(Table::default());
        let verdict = guard.judge(&headers(authorization)).await.unwrap();
        assert_eq!(verdict, expect, "{authorization}");
    }

    #[tokio::test]
    async fn only_a_bearer_of_a_good_token_is_let_in() {
        check("Bearer reader", Verdict::Allowed).await;
        check("bearer reader", Verdict::Allowed).await;
        check("Bearer somebody", Verdict::Forbidden).await;
        for authorization in [
            "",
            "Bearer",
            "Bearer ",
            "reader",
            "Basic reader",
            "Bearer  reader",
            "Bearer nobody",
        ] {
            check(authorization, Verdict::Unauthenticated).await;
        }
        let guard = Guard::new(Table::default());
        let verdict = guard.judge(&HeaderMap::new()).await.unwrap();
        assert_eq!(verdict, Verdict::Unauthenticated);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_believed_for_ten_seconds() {
        let table = Table::default();
        let guard = Guard::new(table.clone());
        for (pause, asked) in [(0, 1), (9, 1), (1, 2)] {
            tokio::time::advance(Duration::from_secs(pause)).await;
            guard.judge(&headers("Bearer reader")).await.unwrap();
            assert_eq!(table.asked.load(Ordering::Relaxed), asked, "after {pause} s more");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_that_fails_lets_nobody_in_and_is_asked_again() {
        let table = Table::default();
        let guard = Guard::new(table.clone());
        for _ in 0..2 {
            let error = guard.judge(&headers("Bearer broken")).await.unwrap_err();
            assert!(matches!(error, ReviewError::NotConnected));
        }
        assert_eq!(table.asked.load(Ordering::Relaxed), 2);
        let error = guard.judge(&headers("Bearer slow")).await.unwrap_err();
        assert!(matches!(error, ReviewError::TooSlow));
    }

    #[tokio::test]
    async fn made_up_tokens_do_not_fill_the_memory() {
        let guard = Guard::new(Table::default());
        for number in 0..2 * MAX_KEPT {
            guard.judge(&headers(&format!("Bearer {number}"))).await.unwrap();
        }
        assert_eq!(guard.cache(|cache| cache.0.len()), MAX_KEPT);
    }
}
