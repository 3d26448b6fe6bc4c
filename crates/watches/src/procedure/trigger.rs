//! Changes of values that lead to runs: `on` and `before`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A value that a release keeps as it is until a run of the procedure has changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Where the value is, with dots between.
    pub path: String,
    /// By how much one run changes a number at most; without it one run does all of it.
    pub by: Option<u32>,
}

/// The revisions that wait until a run of the procedure has succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Where values are by which another revision waits, with dots between. Another chart does, too. With none each waits.
    pub changed: Vec<String>,
}

/// From what to what one run changes a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What the release has.
    pub from: Json,
    /// What it gets by the run.
    pub to: Json,
}

impl Trigger {
    /// The next change on the way from what a release has to what is wanted; `None` where that is the same.
    ///
    /// ```
    /// use serde_json::json;
    /// use steersman_watches::procedure::{Change, Trigger};
    ///
    /// let size = Trigger { path: "size".to_owned(), by: Some(1) };
    /// let change = |from: i64, to: i64| Some(Change { from: json!(from), to: json!(to) });
    /// assert_eq!(size.next(&json!(1), &json!(3)), change(1, 2));
    /// assert_eq!(size.next(&json!(5), &json!(3)), change(5, 4));
    /// assert_eq!(size.next(&json!(3), &json!(3)), None);
    /// ```
    pub fn next(&self, reached: &Json, wanted: &Json) -> Option<Change> {
        let to = match (whole(reached), whole(wanted), self.by) {
            (Some(from), Some(to), _) if from == to => return None,
            (Some(from), Some(to), Some(by)) => {
                let by = i64::from(by);
                let next = if to > from {
                    from.saturating_add(by).min(to)
                } else {
                    from.saturating_sub(by).max(to)
                };
                next.into()
            }
            _ if is_same(reached, wanted) => return None,
            _ => wanted.clone(),
        };
        Some(Change {
            from: whole(reached).map_or_else(|| reached.clone(), Json::from),
            to: whole(&to).map_or(to, Json::from),
        })
    }
}

impl Before {
    /// Whether a revision waits that has `wanted` instead of `reached`. Another chart is another revision as a whole.
    pub fn applies(&self, reached: &Json, wanted: &Json, is_other_chart: bool) -> bool {
        let differs = |path: &String| {
            let [reached, wanted] = [reached, wanted].map(|values| value_at(values.as_object()?, path));
            let both = |one: Option<&Json>| one.map(|one| whole(one).map_or_else(|| one.clone(), Json::from));
            both(reached) != both(wanted)
        };
        self.changed.is_empty() || is_other_chart || self.changed.iter().any(differs)
    }
}

/// Whether values say the same: a step writes `17` for the text "17".
fn is_same(one: &Json, other: &Json) -> bool {
    let text = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    one == other || text(one).is_some_and(|one| text(other) == Some(one))
}

/// A number without a fraction, however it is written: value files give `3.0` where a resource says `3`.
fn whole(value: &Json) -> Option<i64> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let exact = value.as_i64();
    exact.or_else(|| {
        let number = value.as_f64()?;
        let is_whole = number.fract() == 0.0 && number.abs() <= MOST;
        #[expect(clippy::cast_possible_truncation, reason = "it was looked at")]
        is_whole.then_some(number as i64)
    })
}

/// What values have at a path with dots between.
pub fn value_at<'a>(values: &'a Map<String, Json>, path: &str) -> Option<&'a Json> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let value = values.get(first)?;
    if rest.is_empty() {
        Some(value)
    } else {
        value_at(value.as_object()?, rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_goes_step_by_step_and_all_else_at_once() {
        let trigger = |by| Trigger {
            path: "size".to_owned(),
            by,
        };
        for (by, from, wanted, to) in [
            (Some(2), json!(1), json!(4), Some(json!(3))),
            (Some(2), json!(3), json!(4), Some(json!(4))),
            (Some(2), json!(-1), json!(-4), Some(json!(-3))),
            (None, json!(1), json!(4), Some(json!(4))),
            (Some(1), json!(1.0), json!(3), Some(json!(2))),
            (Some(1), json!(3.0), json!(3), None),
            (Some(1), json!(null), json!(3), Some(json!(3))),
            (Some(1), json!("3.6"), json!("3.7"), Some(json!("3.7"))),
            (None, json!("3.6"), json!("3.6"), None),
            (None, json!(17), json!("17"), None),
            (None, json!(true), json!("true"), None),
            (None, json!({"a": 1}), json!("a"), Some(json!("a"))),
        ] {
            let next = trigger(by).next(&from, &wanted).map(|change| change.to);
            assert_eq!(next, to, "{from} {wanted} {by:?}");
        }
    }

    #[test]
    fn a_revision_waits_by_the_values_that_are_named_or_by_its_chart() {
        let named = Before {
            changed: vec!["image.tag".to_owned()],
        };
        let (old, new) = (json!({"image": {"tag": "1"}}), json!({"image": {"tag": "2"}}));
        let other = json!({"image": {"tag": "1"}, "size": 3});
        assert!(named.applies(&old, &new, false));
        assert!(!named.applies(&old, &other, false));
        assert!(named.applies(&old, &other, true));
        assert!(Before::default().applies(&old, &other, false));
    }
}
