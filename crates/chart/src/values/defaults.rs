//! A chart's `values.yaml`, made ready once for all renderings.

use steersman_gotemplate::{Frozen, FrozenMap, Str};

use super::{Values, to_frozen};

/// The defaults of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults(Vec<DefaultValue>);

/// A key at the top of `values.yaml` with both readings of what it holds.
#[derive(Clone, Debug)]
pub(super) struct DefaultValue {
    pub(super) key: Str,
    /// As it is in `values.yaml`.
    pub(super) full: Frozen,
    /// Without the nulls in its maps.
    pub(super) pruned: Frozen,
}

impl Defaults {
    pub(crate) fn new(values: &Values) -> Self {
        let default = |(key, value): (&String, &serde_json::Value)| {
            let full = to_frozen(value);
            DefaultValue {
                key: key.as_str().into(),
                pruned: pruned(&full),
                full,
            }
        };
        Self(values.iter().map(default).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DefaultValue> {
        self.0.iter()
    }
}

fn pruned(value: &Frozen) -> Frozen {
    match value {
        Frozen::Map(map) if has_null(map) => Frozen::Map(without_nulls(map)),
        other => other.clone(),
    }
}

/// Whether any map in this one, itself included, has a null. Lists are not looked into.
fn has_null(map: &FrozenMap) -> bool {
    map.entries().iter().any(|(_, value)| match value {
        Frozen::Nil => true,
        Frozen::Map(inner) => has_null(inner),
        _ => false,
    })
}

fn without_nulls(map: &FrozenMap) -> FrozenMap {
    map.entries()
        .iter()
        .filter(|(_, value)| !matches!(value, Frozen::Nil))
        .map(|(key, value)| {
            let value = match value {
                Frozen::Map(inner) => Frozen::Map(without_nulls(inner)),
                other => other.clone(),
            };
            (key.clone(), value)
        })
        .collect()
}
