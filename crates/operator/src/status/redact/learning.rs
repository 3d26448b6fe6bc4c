//! A redactor that several actions teach.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::Redactor;
use crate::telemetry::Mask;

/// Nothing that is shown is longer: a condition's message is not, and the others are shorter.
const MOST_SHOWN: usize = 32 * 1024;
/// Less than so many bytes of secrets and text are looked through in a millisecond or two.
const LITTLE: usize = 16 * 1024;

/// A redactor that only ever learns: what it has masked once, it masks until it is dropped.
///
/// ```
/// use serde_json::json;
/// use steersman_operator::status::{LearningRedactor, Redactor};
///
/// let redactor = LearningRedactor::default();
/// redactor.learn(Redactor::new([], &json!({"password": "correct horse"})));
/// redactor.learn(Redactor::new([], &json!({"token": "battery staple"})));
/// assert_eq!(redactor.mask("correct horse, battery staple"), "********, ********");
/// ```
#[derive(Debug, Default)]
pub struct LearningRedactor {
    known: Mutex<Redactor>,
    /// Whether others may speak of secrets that are not known.
    hides_words_of_others: AtomicBool,
}

impl Mask for LearningRedactor {
    fn mask_line(&self, text: &str) -> String {
        self.with(text.len(), |redactor| {
            if redactor.overflown {
                // What is quoted from charts and others was masked before, and nothing is said otherwise.
                return text.to_owned();
            }
            redactor.mask(text)
        })
    }

    fn mask_own(&self, texts: &[&str]) -> Vec<String> {
        if texts.is_empty() {
            return Vec::new();
        }
        let length = texts.iter().map(|text| text.len()).sum();
        self.with(length, |redactor| redactor.mask_all(texts))
    }

    fn mask_others(&self, text: &str) -> String {
        self.mask(text)
    }
}

impl LearningRedactor {
    /// Masks what `other` masks as well.
    pub fn learn(&self, other: Redactor) {
        self.lock().extend(other);
    }

    /// From now on no words of others are shown: they may speak of secrets that are not known.
    pub fn hide_words_of_others(&self) {
        self.hides_words_of_others.store(true, Ordering::Relaxed);
    }

    /// `text`, in which words of others may be, with all secrets that are known by now masked, as much of it as is shown
    /// anywhere.
    ///
    /// # Blocking
    /// What takes longer than a task may keep a thread of the runtime is done while another thread takes its place.
    pub fn mask(&self, text: &str) -> String {
        if self.hides_words_of_others.load(Ordering::Relaxed) {
            return Redactor::of_the_unknown().mask(text);
        }
        self.mask_own(text)
    }

    /// The same of a text in which nothing stands but what the chart and the operator say.
    ///
    /// # Blocking
    /// As in [`LearningRedactor::mask`].
    pub fn mask_own(&self, text: &str) -> String {
        self.with(text.len().min(MOST_SHOWN), |redactor| {
            redactor.mask_start(text, MOST_SHOWN)
        })
    }

    /// What `work` makes of what is known by now. It is about `length` bytes of text, and may take long where these are many
    /// or many secrets are known, as in [`LearningRedactor::mask`].
    pub fn with<T>(&self, length: usize, work: impl FnOnce(&Redactor) -> T) -> T {
        let redactor = self.lock();
        let has_others =
            Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if has_others && redactor.size.saturating_add(length) > LITTLE {
            tokio::task::block_in_place(|| work(&redactor))
        } else {
            work(&redactor)
        }
    }

    /// What is known by now, for a thread of its own.
    pub fn snapshot(&self) -> Redactor {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Redactor> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
