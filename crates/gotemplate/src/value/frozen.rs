//! Values that never change: made once, shared by threads, and cheap to begin executions with.

use std::sync::Arc;

use super::{Map, Str, Value};

/// A value that never changes and can be shared by threads.
#[derive(Clone, Debug, Default)]
pub enum Frozen {
    /// [`Value::Nil`]
    #[default]
    Nil,
    /// [`Value::Bool`]
    Bool(bool),
    /// [`Value::Int64`]
    Int64(i64),
    /// [`Value::Float`]
    Float(f64),
    /// [`Value::Str`]
    Str(Str),
    /// A `[]interface {}`.
    List(Arc<[Frozen]>),
    /// A `map[string]interface {}`.
    Map(FrozenMap),
}

/// A map that never changes and can be shared by threads.
///
/// ```
/// use steersman_gotemplate::{Frozen, FrozenMap, Value};
///
/// let defaults: FrozenMap = [("replicas".into(), Frozen::Int64(2))].into_iter().collect();
/// let values = defaults.thaw();
/// values.insert("replicas", Value::Int64(5));
/// assert!(matches!(defaults.entries(), [(_, Frozen::Int64(2))]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrozenMap(Arc<[(Str, Frozen)]>);

impl Frozen {
    /// This as a value that templates can change: all maps in it are new ones.
    ///
    /// Maps copy their entries when something first asks for more than one of their scalars, so
    /// that what a template does not look at costs nothing.
    #[must_use]
    pub fn thaw(&self) -> Value {
        match self {
            Self::List(items) => Value::list(items.iter().map(Self::thaw).collect()),
            Self::Map(map) => Value::Map(map.thaw()),
            Self::Nil => Value::Nil,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int64(number) => Value::Int64(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Str(text) => Value::Str(text.clone()),
        }
    }

    /// This as a value, unless it contains others.
    pub(super) fn scalar(&self) -> Option<Value> {
        match self {
            Self::List(_) | Self::Map(_) => None,
            scalar => Some(scalar.thaw()),
        }
    }
}

impl FrozenMap {
    /// A new map of templates with these entries; see [`Frozen::thaw`].
    #[must_use]
    pub fn thaw(&self) -> Map {
        Map::frozen(self.clone())
    }

    /// The entries, by key.
    #[must_use]
    pub fn entries(&self) -> &[(Str, Frozen)] {
        &self.0
    }
}

/// Of two entries with the same key the later one stays.
impl FromIterator<(Str, Frozen)> for FrozenMap {
    fn from_iter<I: IntoIterator<Item = (Str, Frozen)>>(entries: I) -> Self {
        let mut entries: Vec<(Str, Frozen)> = entries.into_iter().collect();
        entries.reverse();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(a, _), (b, _)| a == b);
        Self(entries.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> FrozenMap {
        let inner = FrozenMap::from_iter([("x".into(), Frozen::Int64(1))]);
        let list = [Frozen::Map(inner.clone())];
        FrozenMap::from_iter([
            ("b".into(), Frozen::Nil),
            ("map".into(), Frozen::Map(inner)),
            ("list".into(), Frozen::List(list.into())),
            ("b".into(), Frozen::Bool(true)),
        ])
    }

    #[test]
    fn entries_are_sorted_and_the_later_of_two_stays() {
        let map = sample().thaw();
        assert_eq!(map.keys(), ["b", "list", "map"]);
        assert!(matches!(map.get(b"b"), Some(Value::Bool(true))));
        assert_eq!(map.len(), 3);
    }

    #[test]
    fn what_is_changed_in_one_thawed_map_is_changed_in_no_other() {
        let frozen = sample();
        let (one, other) = (frozen.thaw(), frozen.thaw());
        let Some(Value::Map(inner)) = one.get(b"map") else {
            panic!("not a map");
        };
        inner.insert("x", Value::Int64(2));
        one.remove(b"b");
        let text = |map: &Map| crate::format::print_value(&Value::Map(map.clone()));
        assert_eq!(text(&one), "map[list:[map[x:1]] map:map[x:2]]");
        assert_eq!(text(&other), "map[b:true list:[map[x:1]] map:map[x:1]]");
    }

    #[test]
    fn a_map_in_a_thawed_map_is_the_same_each_time() {
        let map = sample().thaw();
        for key in [&b"map"[..], b"list"] {
            let inner = || match map.get(key) {
                Some(Value::Map(inner)) => Some(inner),
                Some(Value::List(list)) => match list.items() {
                    [Value::Map(inner)] => Some(inner.clone()),
                    _ => None,
                },
                _ => None,
            };
            assert!(inner().unwrap().is_same(&inner().unwrap()));
        }
    }

    #[test]
    fn a_deep_copy_shares_no_map() {
        let map = sample().thaw();
        map.insert("own", Value::map([("y", Value::Int64(1))]));
        let copy = map.deep_copy();
        for key in [&b"own"[..], b"map"] {
            let (Some(Value::Map(one)), Some(Value::Map(other))) = (map.get(key), copy.get(key)) else {
                panic!("not maps");
            };
            assert!(!one.is_same(&other));
        }
        assert!(!map.is_same(&copy));
        let text = |map: &Map| crate::format::print_value(&Value::Map(map.clone()));
        assert_eq!(text(&map), text(&copy));
    }
}
