//! Values that steps of procedures have put over those of a release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use steersman_chart::Values;
use steersman_chart::values::overlay;

/// Values over those that a resource and its entry give. They stay until another step takes them out.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::procedure::Overlay;
///
/// let map = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
/// let mut over = Overlay::default();
/// over.change(map(json!({"maintenance": true, "members": {"min": 1, "max": 3}})));
/// // Nothing in place of a value takes it out: what the resource says of it counts again.
/// over.change(map(json!({"maintenance": null, "members": {"max": 5}})));
///
/// let mut values = map(json!({"maintenance": false, "members": {"max": 1}, "size": 3}));
/// over.put_over(&mut values);
/// let expect = json!({"maintenance": false, "members": {"min": 1, "max": 5}, "size": 3});
/// assert_eq!(json!(values), expect);
///
/// let before = over.clone();
/// over.change(map(json!({"members": {"max": null}})));
/// let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
/// assert!(over.takes_off(&before, &[path("members.max")]));
/// assert!(!over.takes_off(&before, &[path("members.min")]));
/// over.change(map(json!({"members": {"min": 0}})));
/// assert!(!over.takes_off(&before, &[path("members")]), "it gives another one");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Overlay(Values);

impl Overlay {
    /// All that steps have put there, as a map.
    pub fn values(&self) -> &Values {
        &self.0
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A step gives these values: maps are merged, a null takes out what is there, and all else takes its place.
    pub fn change(&mut self, step: Values) {
        change(&mut self.0, step);
    }

    /// Puts it over the values of a release.
    pub fn put_over(&self, values: &mut Values) {
        overlay(values, self.0.clone());
    }

    /// Whether it is what `before` was without something at these paths, or below, and nothing else.
    pub fn takes_off(&self, before: &Self, paths: &[Vec<String>]) -> bool {
        let [after, before] = [self, before].map(|overlay| leaves(&overlay.0));
        let is_at_one = |leaf: &[&str]| {
            let mut paths = paths.iter();
            paths.any(|path| leaf.len() >= path.len() && path.iter().zip(leaf).all(|(key, at)| key == at))
        };
        let mut gone = before.keys().filter(|leaf| !after.contains_key(*leaf));
        let is_left = after.iter().all(|(leaf, value)| before.get(leaf) == Some(value));
        is_left && gone.all(|leaf| is_at_one(leaf))
    }

    /// What of it lies at one of these paths, or below: a procedure that is gone keeps nothing up.
    #[must_use]
    pub fn within(&self, paths: &[Vec<String>]) -> Self {
        let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
        Self(within(&self.0, &paths))
    }
}

/// All values by where they are. A map with nothing in it is one.
fn leaves(values: &Values) -> BTreeMap<Vec<&str>, &Json> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(Vec<&str>, &Json)> = Vec::new();
    open.extend(values.iter().map(|(key, value)| (vec![key.as_str()], value)));
    while let Some((path, value)) = open.pop() {
        match value.as_object().filter(|below| !below.is_empty()) {
            Some(below) => open.extend(below.iter().map(|(key, value)| {
                let at = path.iter().copied().chain([key.as_str()]).collect();
                (at, value)
            })),
            None => _ = found.insert(path, value),
        }
    }
    found
}

fn change(values: &mut Values, step: Values) {
    for (key, value) in step {
        match (value, values.get_mut(&key)) {
            (Json::Null, _) => _ = values.remove(&key),
            (Json::Object(step), Some(Json::Object(before))) => {
                change(before, step);
                if before.is_empty() {
                    values.remove(&key);
                }
            }
            (Json::Object(step), _) => {
                let mut fresh = Map::new();
                let was_empty = step.is_empty();
                change(&mut fresh, step);
                if was_empty || !fresh.is_empty() {
                    values.insert(key, Json::Object(fresh));
                }
            }
            (value, _) => _ = values.insert(key, value),
        }
    }
}

fn within(values: &Values, paths: &[&[String]]) -> Values {
    let kept = values.iter().filter_map(|(key, value)| {
        let of_key = paths.iter().filter_map(|path| path.split_first());
        let below: Vec<&[String]> = of_key
            .filter(|(first, _)| *first == key)
            .map(|(_, rest)| rest)
            .collect();
        if below.iter().any(|path| path.is_empty()) {
            return Some((key.clone(), value.clone()));
        }
        let kept = within(value.as_object()?, &below);
        (!kept.is_empty()).then(|| (key.clone(), Json::Object(kept)))
    });
    kept.collect()
}
