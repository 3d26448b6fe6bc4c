//! Lines of the log in which what is secret is masked, whoever writes them.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

/// Who has a say in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The operator, whatever it quotes.
    Operator,
    /// The chart as well.
    Chart,
    /// Anybody, such as the server.
    Others,
}

/// Takes what is secret out of texts.
pub(crate) trait Mask: Send + Sync {
    /// The texts of a line without what is secret in them.
    fn mask_line(&self, texts: &[(Voice, &str)]) -> Vec<String>;
}

/// Masks nothing: what is said was masked before.
struct AsItIs;

impl Mask for AsItIs {
    fn mask_line(&self, texts: &[(Voice, &str)]) -> Vec<String> {
        texts.iter().map(|(_, text)| (*text).to_owned()).collect()
    }
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

/// The same work at once, whose lines are written as they are: its texts were masked before, all in one go.
pub(crate) fn masked_before<T>(work: impl FnOnce() -> T) -> T {
    MASK.sync_scope(Arc::new(AsItIs), work)
}

/// Masks what an event says; outside of such work it stays as it is.
pub(super) fn mask_event(message: &mut String, fields: &mut [(String, Value)]) {
    // Outside of work that is masked there is nothing to mask with.
    let _ = MASK.try_with(|mask| {
        let mut texts = vec![(Voice::Operator, message)];
        for (name, value) in fields {
            let Value::String(text) = value else { continue };
            match name.as_str() {
                name if NAMES.contains(&name) => {}
                name if OF_OTHERS.contains(&name) => texts.push((Voice::Others, text)),
                _ => texts.push((Voice::Chart, text)),
            }
        }
        let said: Vec<(Voice, &str)> = texts
            .iter()
            .map(|(voice, text)| (*voice, text.as_str()))
            .collect();
        let masked = mask.mask_line(&said);
        for ((_, text), masked) in texts.into_iter().zip(masked) {
            *text = masked;
        }
    });
}
