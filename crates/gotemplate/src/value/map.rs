//! Go's maps with string keys: shared by reference, ordered by key.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Signature, Str, Value};
use crate::function::{Failure, Runtime};

/// The Go type of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface {}`.
    Any,
    /// `map[string]string`.
    String,
    /// A named map type that can stand in for `map[string]interface {}`, such as
    /// `common.Values`.
    Named(&'static NamedMap),
}

/// A Go map type with a name and methods.
#[derive(Debug)]
pub struct NamedMap {
    /// Go's name of the type.
    pub name: &'static str,
    /// Its methods; in templates they come before entries of the same name.
    pub methods: &'static [MapMethod],
}

/// A method of a named map type.
#[derive(Debug)]
pub struct MapMethod {
    /// The name.
    pub name: &'static str,
    /// The parameters.
    pub signature: Signature,
    /// The body. The arguments were checked against the signature.
    pub call: fn(&mut dyn Runtime, &Map, &[Value]) -> Result<Value, Failure>,
}

/// Go's types are told apart by their names.
impl PartialEq for NamedMap {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedMap {}

impl MapType {
    /// Go's name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "map[string]interface {}",
            Self::String => "map[string]string",
            Self::Named(named) => named.name,
        }
    }
}

/// A map. Clones are the same map: what is set through one is seen through all.
///
/// No method keeps the map borrowed when it returns, so a map may be changed while a
/// snapshot of it is being walked.
#[derive(Clone, Debug)]
pub struct Map {
    go_type: MapType,
    /// Sorted by key, which is the order in which Go's templates walk and print maps.
    entries: Rc<RefCell<Vec<(Str, Value)>>>,
    is_nil: bool,
}

impl Map {
    /// An empty map.
    #[must_use]
    pub fn new(map_type: MapType) -> Self {
        Self {
            go_type: map_type,
            entries: Rc::default(),
            is_nil: false,
        }
    }

    /// Go's nil map of this type. It prints as an empty one, but JSON shows it as `null`, and it
    /// cannot be filled: whoever changes maps for templates checks [`is_nil`](Self::is_nil) first.
    #[must_use]
    pub fn nil(map_type: MapType) -> Self {
        let mut map = Self::new(map_type);
        map.is_nil = true;
        map
    }

    /// Whether this is a nil map.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.is_nil
    }

    /// A map of these entries; of two with the same key the later one stays.
    pub fn from_entries<K: Into<Str>>(
        map_type: MapType,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let map = Self::new(map_type);
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }

    /// The Go type.
    #[must_use]
    pub fn map_type(&self) -> MapType {
        self.go_type
    }

    /// The method of this name that the type has.
    pub(crate) fn method(&self, name: &[u8]) -> Option<&'static MapMethod> {
        let MapType::Named(named) = self.go_type else {
            return None;
        };
        named.methods.iter().find(|method| method.name.as_bytes() == name)
    }

    /// This same map under another Go type, as Go converts one map type to another.
    #[must_use]
    pub fn retyped(&self, map_type: MapType) -> Self {
        Self {
            go_type: map_type,
            entries: Rc::clone(&self.entries),
            is_nil: self.is_nil,
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        let entries = self.entries.borrow();
        let place = entries
            .binary_search_by(|(name, _)| name.as_bytes().cmp(key))
            .ok()?;
        entries.get(place).map(|(_, value)| value.clone())
    }

    /// Whether there is a value for `key`.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.entries
            .borrow()
            .binary_search_by(|(name, _)| name.as_bytes().cmp(key))
            .is_ok()
    }

    /// Sets the value of `key`, and gives the one it had.
    pub fn insert(&self, key: impl Into<Str>, value: Value) -> Option<Value> {
        let key = key.into();
        let mut entries = self.entries.borrow_mut();
        // Most maps are filled in the order of their keys.
        if entries.last().is_none_or(|(last, _)| *last < key) {
            entries.push((key, value));
            return None;
        }
        match entries.binary_search_by(|(name, _)| name.cmp(&key)) {
            Ok(place) => entries
                .get_mut(place)
                .map(|entry| std::mem::replace(&mut entry.1, value)),
            Err(place) => {
                entries.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes `key`, and gives the value it had.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        let mut entries = self.entries.borrow_mut();
        let place = entries
            .binary_search_by(|(name, _)| name.as_bytes().cmp(key))
            .ok()?;
        Some(entries.remove(place).1)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }

    /// The entries as they are now, by key.
    #[must_use]
    pub fn entries(&self) -> Vec<(Str, Value)> {
        self.entries.borrow().clone()
    }

    /// The keys as they are now, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<Str> {
        self.entries.borrow().iter().map(|(key, _)| key.clone()).collect()
    }

    /// Removes all entries.
    pub(super) fn take_entries(&self) -> Vec<(Str, Value)> {
        std::mem::take(&mut *self.entries.borrow_mut())
    }

    /// Whether this is the only handle of the map.
    pub(super) fn is_unshared(&self) -> bool {
        Rc::strong_count(&self.entries) == 1
    }

    /// The entries, if nobody else has this map.
    pub(super) fn entries_mut(&mut self) -> Option<&mut Vec<(Str, Value)>> {
        Rc::get_mut(&mut self.entries).map(RefCell::get_mut)
    }

    /// Whether both are the same map, not just equal ones.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.entries, &other.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_through_one_name_is_seen_through_all() {
        let map = Map::new(MapType::Any);
        let alias = map.clone();
        alias.insert("b", Value::Int(1));
        alias.insert("a", Value::Int(2));
        assert_eq!(map.len(), 2);
        assert_eq!(map.keys(), ["a", "b"]);
        assert!(matches!(map.remove(b"a"), Some(Value::Int(2))));
        assert!(!alias.contains(b"a"));
    }

    #[test]
    fn the_later_of_two_entries_with_one_key_stays() {
        let map = Map::from_entries(MapType::Any, [("a", Value::Int(1)), ("a", Value::Int(2))]);
        assert!(matches!(map.get(b"a"), Some(Value::Int(2))));
    }
}
