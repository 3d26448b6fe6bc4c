//! A redactor that several actions teach.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Redactor;

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
pub struct LearningRedactor(Mutex<Redactor>);

impl LearningRedactor {
    /// Masks what `other` masks as well.
    pub fn learn(&self, other: Redactor) {
        self.lock().secrets.extend(other.secrets);
    }

    /// `text` with all secrets that are known by now masked.
    pub fn mask(&self, text: &str) -> String {
        self.lock().mask(text)
    }

    /// What is known by now, for a thread of its own.
    pub fn snapshot(&self) -> Redactor {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Redactor> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
