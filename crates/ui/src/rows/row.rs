//! A row: what is kept of a resource, however large it is.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::Value;
use steersman_cluster::client::weight_of_cut;
use steersman_model::{harmless, in_words};

use super::health::{Health, judge};

/// So much of a message is kept, in bytes as a page has it: the whole is on the page of the release.
const LONGEST_MESSAGE: usize = 240;
/// So much of any other word.
const LONGEST_WORD: usize = 64;

/// Which resource it is: its kind by its place in the list of kinds, its namespace, which may be empty, and its name.
pub(crate) type Key = (usize, Box<str>, Box<str>);

/// What is shown of a resource in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) health: Health,
    pub(crate) reason: Box<str>,
    /// The beginning of it.
    pub(crate) message: Box<str>,
    /// Of the revision that is deployed.
    pub(crate) revision: Option<u64>,
    /// With its version.
    pub(crate) chart: Box<str>,
    /// How many objects are ready, of how many whose health is known.
    pub(crate) ready: Option<(u64, u64)>,
    /// How many objects differ from what the release wants, and are not put back at once.
    pub(crate) drifted: u64,
    /// In seconds since 1970.
    pub(crate) created: i64,
}

impl Row {
    /// What is kept of a resource.
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let (health, reason, message) = judge(object);
        let too_large = weight_of_cut(&object.data).filter(|_| health == Health::Unseen);
        let too_large = too_large.map(|bytes| {
            let bytes = in_words(bytes);
            format!("it takes {bytes} of memory, which is more than is read here: how it is, is not known")
        });
        let message = too_large.as_deref().unwrap_or(message);
        let status = |pointer: &str| object.data.pointer(pointer);
        let text = |pointer: &str| status(pointer).and_then(Value::as_str).unwrap_or_default();
        let number = |pointer: &str| status(pointer).and_then(Value::as_u64);
        let chart = [text("/status/chart/name"), text("/status/chart/version")];
        let chart: Vec<&str> = chart.into_iter().filter(|word| !word.is_empty()).collect();
        let created = object.metadata.creation_timestamp.as_ref();
        Self {
            health,
            reason: start(reason, LONGEST_WORD),
            message: start(message, LONGEST_MESSAGE),
            revision: number("/status/revision"),
            chart: start(&chart.join(" "), LONGEST_WORD),
            ready: number("/status/health/ready").zip(number("/status/health/total")),
            drifted: number("/status/drift/total").unwrap_or_default(),
            created: created.map_or(0, |time| time.0.as_second()),
        }
    }

    /// How long it has been there, such as `3 h`.
    pub(crate) fn age(&self, now: Timestamp) -> String {
        let seconds = now.as_second().saturating_sub(self.created).max(0);
        match seconds {
            0..120 => format!("{seconds} s"),
            120..7_200 => format!("{} min", seconds / 60),
            7_200..172_800 => format!("{} h", seconds / 3_600),
            _ => format!("{} d", seconds / 86_400),
        }
    }
}

/// The beginning of a text, on one line, without what would change how others are read. What is escaped on a page counts for as much
/// as it takes there.
fn start(text: &str, most: usize) -> Box<str> {
    let size = |letter: char| match letter {
        '&' | '<' | '>' | '"' | '\'' => "&#38;".len(),
        letter => letter.len_utf8(),
    };
    let mut left = most;
    let mut places = text.char_indices();
    let end = places.find_map(|(place, letter)| match left.checked_sub(size(letter)) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(place),
    });
    let end = end.unwrap_or(text.len());
    let start = text.get(..end).unwrap_or_default();
    let mut line = harmless(start).replace(['\n', '\t'], " ");
    if end < text.len() {
        line.push('…');
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(object: Value) -> Row {
        Row::of(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn a_row_is_small_however_large_its_resource_is() {
        let large = "x".repeat(100_000);
        let kept = row(
            json!({"apiVersion": "a/v1", "kind": "Web", "metadata": {"name": "shop", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"large": large},
            "status": {"observedGeneration": 1, "revision": 7, "chart": {"name": large, "version": "1"},
                "health": {"ready": 2, "total": 3}, "drift": {"total": 4},
                "conditions": [{"type": "Stalled", "status": "True", "reason": large, "message": format!("a\nb\u{202e}{large}")}]}}),
        );
        assert!(kept.message.len() < 300 && kept.reason.len() < 80 && kept.chart.len() < 80);
        assert!(kept.message.starts_with("a b\u{fffd}x"), "{}", kept.message);
        assert_eq!(
            (kept.revision, kept.ready, kept.drifted),
            (Some(7), Some((2, 3)), 4)
        );
        let escaped = start(&"<\u{e4}".repeat(100), 20);
        assert_eq!(&*escaped, "<\u{e4}<\u{e4}<…", "5 bytes and 2, by turns");
    }

    #[test]
    fn of_what_is_too_large_that_is_said() {
        let mut web = json!({"apiVersion": "a/v1", "kind": "Web", "metadata": {"name": "shop"}, "steersman.dev~weight": 150_000_000});
        assert!(row(web.clone()).message.starts_with("it takes 143 MiB of memory"));
        web["status"]["conditions"] =
            json!([{"type": "Stalled", "status": "True", "message": "as the operator says"}]);
        assert_eq!(&*row(web).message, "as the operator says");
    }

    #[test]
    fn ages_are_short() {
        let mut kept = row(json!({"apiVersion": "a/v1", "kind": "Web", "metadata": {"name": "shop"}}));
        let mut check = |created: i64, expect: &str| {
            kept.created = created;
            assert_eq!(kept.age(Timestamp::from_second(1_000_000).unwrap()), expect);
        };
        check(999_995, "5 s");
        check(1_000_005, "0 s");
        check(999_000, "16 min");
        check(980_000, "5 h");
        check(1_000, "11 d");
    }
}
