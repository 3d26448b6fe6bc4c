//! A redactor that several actions teach.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::Redactor;
use super::masking::untold;
use crate::telemetry::{Mask, Voice};

/// Nothing that is shown is longer: a condition's message is not, and the others are shorter.
const MOST_SHOWN: usize = 32 * 1024;
/// Less than so many bytes of secrets and text are looked through in a millisecond or two.
const LITTLE: usize = 16 * 1024;
/// So many bytes of secrets are looked for in the lines of one reconcile, which takes some seconds: those of most releases in
/// thousands of lines, and the most that there can be in a few.
const MOST_SEARCHED_FOR_LOG: usize = 16 * 1024 * 1024;

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
    /// How many bytes of secrets were looked for in lines of the log.
    searched_for_log: AtomicUsize,
}

impl Mask for LearningRedactor {
    fn mask_line(&self, texts: &[(Voice, &str)]) -> Vec<String> {
        self.with(length_of(texts), |redactor| {
            if redactor.overflown {
                // What is quoted from charts and others was masked before, and nothing is said otherwise.
                let shown = texts.iter().map(|(voice, text)| match voice {
                    Voice::Operator => (*text).to_owned(),
                    Voice::Chart | Voice::Others => untold(),
                });
                return shown.collect();
            }
            let searched = self.searched_for_log.fetch_add(redactor.size, Ordering::Relaxed);
            if searched.saturating_add(redactor.size) > MOST_SEARCHED_FOR_LOG {
                return texts.iter().map(|_| too_much()).collect();
            }
            self.masked(redactor, texts)
        })
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

    /// Whether no words of others are shown.
    pub fn hides_words_of_others(&self) -> bool {
        self.hides_words_of_others.load(Ordering::Relaxed)
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

    /// The same as [`LearningRedactor::mask`] with about `shown` bytes at the start of `text`.
    pub fn mask_start(&self, text: &str, shown: usize) -> String {
        if self.hides_words_of_others.load(Ordering::Relaxed) {
            return untold();
        }
        self.with(text.len().min(shown), |redactor| redactor.mask_start(text, shown))
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

    /// The same as [`LearningRedactor::mask`] with each of `texts`. It takes not much longer than with one of them.
    pub fn mask_all(&self, texts: &[impl AsRef<str>]) -> Vec<String> {
        self.masked_by(Voice::Others, texts)
    }

    /// The same as [`LearningRedactor::mask_own`] with each of `texts`, such as the names of objects. It takes not much longer
    /// than with one of them.
    pub fn mask_all_own(&self, texts: &[impl AsRef<str>]) -> Vec<String> {
        self.masked_by(Voice::Chart, texts)
    }

    fn masked_by(&self, voice: Voice, texts: &[impl AsRef<str>]) -> Vec<String> {
        let texts: Vec<(Voice, &str)> = texts.iter().map(|text| (voice, text.as_ref())).collect();
        if texts.is_empty() {
            return Vec::new();
        }
        self.with(length_of(&texts), |redactor| self.masked(redactor, &texts))
    }

    /// All that is not longer than what is shown is looked through together.
    fn masked(&self, redactor: &Redactor, texts: &[(Voice, &str)]) -> Vec<String> {
        let hides = self.hides_words_of_others.load(Ordering::Relaxed);
        let is_hidden = |voice: Voice| hides && voice == Voice::Others;
        let is_cut = |voice: Voice, text: &str| voice == Voice::Others && text.len() > MOST_SHOWN;
        let together = texts.iter().map(|(voice, text)| match *text {
            text if is_hidden(*voice) || is_cut(*voice, text) => "",
            text => text,
        });
        let masked = redactor.mask_all(&together.collect::<Vec<_>>());
        let shown = texts
            .iter()
            .zip(masked)
            .map(|((voice, text), masked)| match *text {
                _ if is_hidden(*voice) => untold(),
                text if is_cut(*voice, text) => redactor.mask_start(text, MOST_SHOWN),
                _ => masked,
            });
        shown.collect()
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

fn length_of(texts: &[(Voice, &str)]) -> usize {
    texts.iter().map(|(_, text)| text.len()).sum()
}

fn too_much() -> String {
    "(not shown: this reconcile has said more than can be looked through for its secrets)".to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(redactor: &LearningRedactor) -> Vec<String> {
        redactor.mask_line(&[
            (Voice::Operator, "of canary"),
            (Voice::Chart, "a canary"),
            (Voice::Others, "the canary"),
        ])
    }

    #[test]
    fn a_line_shows_no_words_of_others_where_these_are_hidden() {
        let redactor = LearningRedactor::default();
        redactor.learn(Redactor::new([], &json!({"password": "canary"})));
        assert_eq!(line(&redactor), ["of ********", "a ********", "the ********"]);
        assert_eq!(redactor.mask_all(&["canary", "b"]), ["********", "b"]);
        redactor.hide_words_of_others();
        let hidden = [String::from("of ********"), String::from("a ********"), untold()];
        assert_eq!(line(&redactor), hidden);
        assert_eq!(redactor.mask_all(&["canary", "b"]), [untold(), untold()]);
        assert_eq!(redactor.mask_all_own(&["canary", "b"]), ["********", "b"]);
        redactor.learn(Redactor::of_the_unknown());
        assert_eq!(line(&redactor), [String::from("of canary"), untold(), untold()]);
    }

    #[test]
    fn who_has_many_secrets_and_much_to_say_is_not_heard_out() {
        let redactor = LearningRedactor::default();
        let secrets: Vec<String> = (0..60_000).map(|number| format!("canary-{number:09}")).collect();
        redactor.learn(Redactor::new([], &json!({ "passwords": secrets })));
        let names: Vec<String> = (0..3000).map(|number| format!("ConfigMap a/c{number}")).collect();
        assert_eq!(redactor.mask_all_own(&names), names);
        let size = redactor.lock().size;
        assert!((5..50).contains(&(MOST_SEARCHED_FOR_LOG / size)));
        // Most was looked for before.
        let before = MOST_SEARCHED_FOR_LOG - 2 * size;
        redactor.searched_for_log.store(before, Ordering::Relaxed);
        let lines = (0..1000).map(|_| line(&redactor));
        let heard = lines.take_while(|line| *line != [too_much(), too_much(), too_much()]);
        assert_eq!(heard.count(), 2);
    }
}
