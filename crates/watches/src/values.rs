//! The values of a release: the custom resource's spec, what the watch lays below it, and what it puts on top.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value};
use steersman_chart::Values;
use steersman_chart::values::overlay;
use steersman_chart::values::set::set_string;

/// How deep values may be nested. A client reads a few more levels of an answer, of which some are around them.
const MAX_LEVELS: usize = 100;

/// The values can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The spec is something else than a map.
    #[error("failed to read the spec: it must be a map")]
    Spec,
    /// The spec has maps in maps, or lists, beyond all reason: what is deeper may not even be known.
    #[error("failed to read the spec: it is nested deeper than {MAX_LEVELS} levels")]
    Deep,
    /// What other objects have was not read.
    #[error("values that come from other objects were not read")]
    Incomplete,
    /// An override is not in the syntax of `--set`.
    #[error("failed to apply override value `{key}`: {reason}")]
    Override {
        /// `image.tag`, as `overrideValues` has it.
        key: String,
        /// Why.
        reason: String,
    },
}

/// What an entry of watches.yaml says about the values of its releases.
///
/// Of what follows, each wins over what stands before it: the chart's own values, which are no part of this; `files` in
/// their order; the spec of the resource; `overrides`; `override_values`. Maps are merged, a null removes the chart's
/// own value, and anything else takes the place of what is there, as with Helm's `--values`.
///
/// ```
/// use std::collections::BTreeMap;
/// use serde_json::json;
/// use steersman_watches::values::{EntryValues, ValueFile};
///
/// let map = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
/// let entry = EntryValues {
///     files: vec![ValueFile {
///         name: "values-production.yaml".to_owned(),
///         path: None,
///         values: map(json!({"replicas": 3, "image": {"tag": "v5", "pullPolicy": "Never"}})),
///     }],
///     overrides: map(json!({"image": {"pullPolicy": "Always"}})),
///     override_values: BTreeMap::from([("image.tag".to_owned(), "v7".to_owned())]),
///     ..EntryValues::default()
/// };
/// let resource = json!({"kind": "Web", "spec": {"replicas": 2, "image": {"tag": "v6"}}});
/// assert_eq!(
///     serde_json::Value::Object(entry.of(&resource)?),
///     json!({"replicas": 2, "image": {"tag": "v7", "pullPolicy": "Always"}})
/// );
/// # Ok::<(), steersman_watches::values::ValuesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryValues {
    /// What `valueFiles` names: values that the spec wins over.
    pub files: Vec<ValueFile>,
    /// Values that win over the spec, of any type.
    pub overrides: Values,
    /// Values that win over all: `--set` paths and texts, environment and templates already evaluated.
    pub override_values: BTreeMap<String, String>,
    /// The keys of those that come from the environment, at least in part.
    pub from_environment: BTreeSet<String>,
}

/// A file of values, as it was when the entry was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFile {
    /// As it is written in the file.
    pub name: String,
    /// Where it is; `None` for one of the chart.
    pub path: Option<PathBuf>,
    /// Numbers are floating-point, as Helm reads them from files.
    pub values: Values,
}

impl EntryValues {
    /// The values of a custom resource: what the user of Helm would give.
    ///
    /// A missing, null or empty spec gives none, so that those of the entry and the chart's own count.
    ///
    /// # Errors
    /// The spec is not a map, or is nested too deeply, or an override can't be read.
    pub fn of(&self, object: &Value) -> Result<Values, ValuesError> {
        self.over(self.below(), object)
    }

    /// The same, where `below` is what the spec wins over: [`below`](Self::below), and what else belongs there.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn over(&self, below: Values, object: &Value) -> Result<Values, ValuesError> {
        let spec = match object.get("spec") {
            None | Some(Value::Null) => Map::new(),
            Some(spec) if is_too_deep(spec) => return Err(ValuesError::Deep),
            Some(Value::Object(spec)) => spec.clone(),
            Some(_) => return Err(ValuesError::Spec),
        };
        let mut values = below;
        overlay(&mut values, spec);
        self.put_over(&mut values)?;
        Ok(values)
    }

    /// The values that the entry lays below the spec.
    pub fn below(&self) -> Values {
        let mut values = Values::new();
        for file in &self.files {
            overlay(&mut values, file.values.clone());
        }
        values
    }

    /// The values that the entry puts over the spec, without those that can't be read.
    pub fn above(&self) -> Values {
        let mut values = Values::new();
        // What can't be read is reported when the operator needs it.
        let _ = self.put_over(&mut values);
        values
    }

    /// The values of a resource without any.
    pub fn alone(&self) -> Values {
        let mut values = self.below();
        let _ = self.put_over(&mut values);
        values
    }

    /// The values of `overrides` by their paths, such as `image.tag`, for people: texts as they are, all else as JSON.
    pub fn typed_overrides(&self) -> BTreeMap<String, String> {
        let mut paths = BTreeMap::new();
        note_paths("", &self.overrides, &mut paths);
        paths
    }

    fn put_over(&self, values: &mut Values) -> Result<(), ValuesError> {
        overlay(values, self.overrides.clone());
        for (key, value) in &self.override_values {
            apply_override(values, key, value)?;
        }
        Ok(())
    }
}

fn note_paths(above: &str, values: &Values, paths: &mut BTreeMap<String, String>) {
    for (key, value) in values {
        let path = if above.is_empty() {
            key.clone()
        } else {
            format!("{above}.{key}")
        };
        match value {
            Value::Object(values) if !values.is_empty() => note_paths(&path, values, paths),
            Value::String(text) => {
                paths.insert(path, text.clone());
            }
            other => {
                paths.insert(path, other.to_string());
            }
        }
    }
}

/// Puts an override over what `values` have.
pub(crate) fn apply_override(values: &mut Values, key: &str, value: &str) -> Result<(), ValuesError> {
    set_string(values, &format!("{key}={value}")).map_err(|reason| ValuesError::Override {
        key: key.to_owned(),
        reason: without_parts_of(value, reason),
    })
}

/// Whether values are nested more deeply than a record of them could be read again.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    is_deeper(value, MAX_LEVELS)
}

/// Whether a value has more levels of maps and lists than these.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let next = levels.checked_sub(1);
    let is_deeper = |value: &Value| next.is_some_and(|next| is_deeper(value, next));
    match value {
        Value::Object(map) => next.is_none() || map.values().any(is_deeper),
        Value::Array(items) => next.is_none() || items.iter().any(is_deeper),
        _ => false,
    }
}

/// The reason without what it quotes of the value, which may be secret.
fn without_parts_of(value: &str, reason: String) -> String {
    let parts = value.split([',', '{', '}', '[', ']', '=', '\\']).map(str::trim);
    parts
        .filter(|part| part.len() > 3)
        .fold(reason, |reason, part| reason.replace(part, "********"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use steersman_chart::Chart;

    use super::*;

    fn map(value: Value) -> Values {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no map"),
        }
    }

    fn with_strings(overrides: &[(&str, &str)]) -> EntryValues {
        let overrides = overrides.iter();
        EntryValues {
            override_values: overrides
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
            ..EntryValues::default()
        }
    }

    fn check(object: Value, overrides: &[(&str, &str)], expect: Value) {
        let values = with_strings(overrides).of(&object).unwrap();
        assert_eq!(Value::Object(values), expect);
    }

    /// A source of values that `docs/reference/watches.md` lists, and what it gives where it is used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Source {
        Chart,
        FirstFile,
        SecondFile,
        Spec,
        Overrides,
        OverrideValues,
    }

    /// From the lowest to the highest.
    const SOURCES: [Source; 6] = [
        Source::Chart,
        Source::FirstFile,
        Source::SecondFile,
        Source::Spec,
        Source::Overrides,
        Source::OverrideValues,
    ];

    /// What a template sees where these sources say something: each its own name at `both`, which all have, and `own`.
    fn merged(used: &[Source]) -> Value {
        let said = |source: Source| {
            let own = format!("of{source:?}");
            if !used.contains(&source) {
                return Values::new();
            }
            map(json!({"nested": {"both": format!("{source:?}"), own: true}}))
        };
        let file = |source| ValueFile {
            name: String::new(),
            path: None,
            values: said(source),
        };
        let strings = [
            ("nested.both", "OverrideValues"),
            ("nested.ofOverrideValues", "true"),
        ];
        let strings = strings
            .into_iter()
            .filter(|_| used.contains(&Source::OverrideValues))
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let entry = EntryValues {
            files: vec![file(Source::FirstFile), file(Source::SecondFile)],
            overrides: said(Source::Overrides),
            override_values: strings.collect(),
            ..EntryValues::default()
        };
        let given = entry
            .of(&json!({"spec": Value::Object(said(Source::Spec))}))
            .unwrap();
        let own = Value::Object(said(Source::Chart)).to_string();
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice(),
            ),
            ("values.yaml", own.as_bytes()),
        ]);
        Value::Object(chart.unwrap().coalesce(&given).unwrap())
    }

    #[test]
    fn of_each_two_sources_the_later_one_wins_and_both_are_there() {
        for low in SOURCES {
            assert_eq!(merged(&[low])["nested"]["both"], format!("{low:?}"));
            for high in SOURCES.into_iter().filter(|high| *high > low) {
                let found = merged(&[low, high]);
                assert_eq!(
                    found["nested"]["both"],
                    format!("{high:?}"),
                    "{low:?} and {high:?}"
                );
                for source in [low, high] {
                    let own = &found["nested"][format!("of{source:?}")];
                    assert!(*own == true || *own == "true", "{low:?} and {high:?}: {found}");
                }
            }
        }
        assert_eq!(merged(&SOURCES)["nested"]["both"], "OverrideValues");
    }

    #[test]
    fn a_null_removes_the_charts_own_value_and_lists_are_replaced() {
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice(),
            ),
            ("values.yaml", b"{a: {b: chart, c: chart}, list: [chart, chart]}"),
        ]);
        let chart = chart.unwrap();
        let nulls = json!({"a": {"b": null}, "list": ["one"]});
        let below = EntryValues {
            files: vec![ValueFile {
                name: String::new(),
                path: None,
                values: map(nulls.clone()),
            }],
            ..EntryValues::default()
        };
        let above = EntryValues {
            overrides: map(nulls.clone()),
            ..EntryValues::default()
        };
        for (entry, spec, b) in [
            (&below, json!({}), None),
            (&below, json!({"a": {"b": "spec"}}), Some("spec")),
            (
                &above,
                json!({"a": {"b": "spec"}, "list": ["spec", "spec"]}),
                None,
            ),
            (&EntryValues::default(), nulls, None),
        ] {
            let given = entry.of(&json!({ "spec": spec })).unwrap();
            let seen = Value::Object(chart.coalesce(&given).unwrap());
            let mut expected = json!({"a": {"c": "chart"}, "list": ["one"]});
            if let Some(b) = b {
                expected["a"]["b"] = b.into();
            }
            assert_eq!(seen, expected, "{spec}");
        }
    }

    #[test]
    fn without_a_word_of_the_entry_the_values_are_the_spec_as_it_is() {
        let spec = json!({"b": [1, {"c": null}], "a": {"x": 1.5, "y": null}, "empty": {}});
        let values = EntryValues::default().of(&json!({ "spec": spec })).unwrap();
        assert_eq!(Value::Object(values), spec);
    }

    #[test]
    fn overrides_are_told_by_their_paths() {
        let entry = EntryValues {
            overrides: map(json!({"image": {"tag": "v7", "list": [1, {"a": 2}]}, "on": true, "none": null})),
            ..EntryValues::default()
        };
        let told: Vec<String> = entry
            .typed_overrides()
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(
            told,
            [
                r#"image.list=[1,{"a":2}]"#,
                "image.tag=v7",
                "none=null",
                "on=true"
            ]
        );
    }

    #[test]
    fn a_missing_spec_gives_no_values() {
        check(json!({}), &[], json!({}));
        check(json!({"spec": null}), &[], json!({}));
        check(json!({"spec": {}}), &[], json!({}));
        assert!(EntryValues::default().of(&json!({"spec": []})).is_err());
    }

    #[test]
    fn an_override_that_can_t_be_read_is_not_quoted() {
        let entry = with_strings(&[("auth.password", "part-a,part-b,part-c")]);
        let error = entry.of(&json!({})).unwrap_err().to_string();
        assert!(
            error.contains("auth.password") && !error.contains("part-"),
            "{error}"
        );
    }

    #[test]
    fn overrides_are_strings_on_top_of_the_spec() {
        check(
            json!({"spec": {"image": {"tag": "1"}, "replicas": 2}}),
            &[("image.tag", "7"), ("list", "{a,b}")],
            json!({"image": {"tag": "7"}, "replicas": 2, "list": ["a", "b"]}),
        );
    }

    #[test]
    fn a_spec_is_not_nested_without_end() {
        let spec = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": [inner] }));
        let read = |levels| EntryValues::default().of(&json!({"spec": spec(levels)}));
        // Each step has a list in a map.
        assert!(read(50).is_ok());
        let error = read(51).unwrap_err().to_string();
        assert_eq!(
            error,
            "failed to read the spec: it is nested deeper than 100 levels"
        );
    }
}
