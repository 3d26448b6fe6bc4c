//! The names of runs that nobody has named.

use steersman_model::Digest;

/// A name has at most so many letters before what tells it from others.
const MAX_NAME: usize = 40;

/// The name of the run of a procedure for a resource that this text stands for: it is made once.
pub(crate) fn run_name(resource: &str, uid: &str, procedure: &str, text: &str) -> String {
    let digest = Digest::of(format!("{uid}/{text}").as_bytes()).to_string();
    run_name_of(resource, procedure, digest.get(..10).unwrap_or_default())
}

/// The name that ends with `what`.
pub(crate) fn run_name_of(resource: &str, procedure: &str, what: &str) -> String {
    let whole = format!("{resource}-{procedure}");
    let start = whole.get(..MAX_NAME).unwrap_or(&whole);
    let is_whole = start.len() == whole.len();
    let start = start.trim_end_matches(['-', '.']);
    if is_whole {
        return format!("{start}-{what}");
    }
    let digest = Digest::of(whole.as_bytes()).to_string();
    format!("{start}-{}-{what}", digest.get(..6).unwrap_or_default())
}
