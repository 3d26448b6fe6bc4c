//! Lines of the log in which what is secret is masked, whoever writes them.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

/// Takes what is secret out of texts.
pub(crate) trait Mask: Send + Sync {
    /// What a line says, which the operator has written itself, without what is secret in what it quotes.
    fn mask_line(&self, text: &str) -> String;
    /// Texts of the chart's without what is secret.
    fn mask_own(&self, texts: &[&str]) -> Vec<String>;
    /// The same of a text in which words of others may be.
    fn mask_others(&self, text: &str) -> String;
}

tokio::task_local! {
    static MASK: Arc<dyn Mask>;
}

/// Fields that say which resource a line is about: they are no secrets, and may be equal to one.
const NAMES: &[&str] = &["release", "name", "namespace", "kind", "apiVersion"];
/// Fields in which others have their say.
const OF_OTHERS: &[&str] = &["error", "reason"];

/// The same work, with all that it says in the log masked. Tasks of its own that it starts are not meant.
pub(crate) fn masked<F: Future>(mask: Arc<dyn Mask>, work: F) -> impl Future<Output = F::Output> {
    MASK.scope(mask, work)
}

/// Masks what an event says; outside of such work it stays as it is.
pub(super) fn mask_event(message: &mut String, fields: &mut [(String, Value)]) {
    // Outside of work that is masked there is nothing to mask with.
    let _ = MASK.try_with(|mask| {
        *message = mask.mask_line(message);
        let mut own: Vec<&mut String> = Vec::new();
        for (name, value) in fields {
            match value {
                Value::String(text) if OF_OTHERS.contains(&name.as_str()) => *text = mask.mask_others(text),
                Value::String(text) if !NAMES.contains(&name.as_str()) => own.push(text),
                _ => {}
            }
        }
        let texts: Vec<&str> = own.iter().map(|text| text.as_str()).collect();
        let masked = mask.mask_own(&texts);
        for (text, masked) in own.into_iter().zip(masked) {
            *text = masked;
        }
    });
}
