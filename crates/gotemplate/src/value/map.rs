//! Go's maps with string keys: shared by reference, ordered by key.

use std::cell::{RefCell, RefMut};
use std::rc::{Rc, Weak};

use super::{Failure, FrozenMap, Runtime, Signature, Str, Value};

/// The Go type of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// `map[string]interface {}`.
    Any,
    /// `map[string]string`: annotations of a chart, for example.
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
    /// As templates call it: `AsMap`.
    pub name: &'static str,
    /// What templates have to hand over, and whether they may call it at all.
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
///
/// ```
/// use steersman_gotemplate::{Map, MapType, Value};
///
/// let values = Map::from_entries(MapType::Any, [("b", Value::Int(2)), ("a", Value::Nil)]);
/// assert!(matches!(values.get(b"a"), Some(Value::Nil)));
/// assert!(values.get(b"c").is_none());
/// assert_eq!(values.keys(), ["a", "b"]);
/// ```
#[derive(Clone, Debug)]
pub struct Map {
    go_type: MapType,
    entries: Rc<RefCell<Entries>>,
}

/// A map that is remembered, but not kept.
#[derive(Debug)]
pub(crate) struct WeakMap(Weak<RefCell<Entries>>);

impl WeakMap {
    /// The map, if it is still there.
    pub(crate) fn upgrade(&self) -> Option<Map> {
        let entries = self.0.upgrade()?;
        let go_type = MapType::Any;
        Some(Map { go_type, entries })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(crate) fn is_of(&self, map: &Map) -> bool {
        std::ptr::eq(self.0.as_ptr(), Rc::as_ptr(&map.entries))
    }
}

#[derive(Debug, Default)]
struct Entries {
    /// Sorted by key, which is the order in which Go's templates walk and print maps.
    own: Vec<(Str, Value)>,
    /// Where this is something, nothing is in `own` yet: to be copied there before the first
    /// change, and before anybody gets hold of a map in it.
    frozen: Option<FrozenMap>,
    is_nil: bool,
}

impl Entries {
    fn own(&mut self) -> &mut Vec<(Str, Value)> {
        if let Some(map) = self.frozen.take() {
            let entries = map.entries().iter();
            self.own = entries.map(|(key, value)| (key.clone(), value.thaw())).collect();
        }
        &mut self.own
    }
}

/// Where the entry of `key` is, or where it would be.
fn search<V>(entries: &[(Str, V)], key: &[u8]) -> Result<usize, usize> {
    entries.binary_search_by(|(name, _)| name.as_bytes().cmp(key))
}

/// Maps of up to this many entries are looked through from the start: most keys differ in length
/// already, which takes less time to see than to compare a few of them.
const FEW: usize = 20;

fn find<'e, V>(entries: &'e [(Str, V)], key: &[u8]) -> Option<&'e V> {
    if entries.len() <= FEW {
        let is_wanted = |(name, _): &&(Str, V)| name.as_bytes() == key;
        return entries.iter().find(is_wanted).map(|(_, value)| value);
    }
    let place = search(entries, key).ok()?;
    entries.get(place).map(|(_, value)| value)
}

impl Map {
    /// An empty map.
    #[must_use]
    pub fn new(map_type: MapType) -> Self {
        Self::of(map_type, Entries::default())
    }

    /// Go's nil map of this type. It prints as an empty one, but JSON shows it as `null`, and it
    /// cannot be filled: whoever changes maps for templates checks [`is_nil`](Self::is_nil) first.
    #[must_use]
    pub fn nil(map_type: MapType) -> Self {
        let entries = Entries {
            is_nil: true,
            ..Entries::default()
        };
        Self::of(map_type, entries)
    }

    /// Whether this is Go's nil map, which can be read as an empty one but takes no entries.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.entries.borrow().is_nil
    }

    /// A map of these entries; of two with the same key the later one stays.
    pub fn from_entries<K: Into<Str>>(
        map_type: MapType,
        entries: impl IntoIterator<Item = (K, Value)>,
    ) -> Self {
        let entries = entries.into_iter();
        let map = Self::of(
            map_type,
            Entries {
                own: Vec::with_capacity(entries.size_hint().0),
                ..Entries::default()
            },
        );
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }

    /// A `map[string]interface {}` with the entries of `map`.
    pub(super) fn frozen(map: FrozenMap) -> Self {
        Self::of(
            MapType::Any,
            Entries {
                frozen: Some(map),
                ..Entries::default()
            },
        )
    }

    fn of(map_type: MapType, entries: Entries) -> Self {
        Self {
            go_type: map_type,
            entries: Rc::new(RefCell::new(entries)),
        }
    }

    fn own(&self) -> RefMut<'_, Vec<(Str, Value)>> {
        RefMut::map(self.entries.borrow_mut(), Entries::own)
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
        }
    }

    /// A map with equal entries that shares no map with this one. Objects are shared.
    ///
    /// The caller vouches that no map in it contains itself.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        let Entries { own, frozen, is_nil } = &*self.entries.borrow();
        let copied = |(key, value): &(Str, Value)| (key.clone(), value.deep_copy());
        let entries = Entries {
            own: own.iter().map(copied).collect(),
            frozen: frozen.clone(),
            is_nil: *is_nil,
        };
        Self::of(self.go_type, entries)
    }

    /// The entry at `key`; `None` where there is none, and [`Value::Nil`] for one that is null.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        if let Entries {
            own, frozen: None, ..
        } = &*self.entries.borrow()
        {
            return find(own, key).cloned();
        }
        self.get_frozen(key)
    }

    /// The value of `key`, without copying all entries where that one is a scalar or missing.
    fn get_frozen(&self, key: &[u8]) -> Option<Value> {
        if let Some(map) = &self.entries.borrow().frozen {
            let value = find(map.entries(), key)?;
            if let Some(scalar) = value.scalar() {
                return Some(scalar);
            }
        }
        find(&self.own(), key).cloned()
    }

    /// Whether there is a value for `key`.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        let Entries { own, frozen, .. } = &*self.entries.borrow();
        match frozen {
            None => find(own, key).is_some(),
            Some(map) => find(map.entries(), key).is_some(),
        }
    }

    /// Sets the value of `key`, and gives the one it had.
    pub fn insert(&self, key: impl Into<Str>, value: Value) -> Option<Value> {
        let key = key.into();
        let mut entries = self.own();
        // Most maps are filled in the order of their keys.
        if entries.last().is_none_or(|(last, _)| *last < key) {
            entries.push((key, value));
            return None;
        }
        match search(&entries, key.as_bytes()) {
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
        let mut entries = self.own();
        let place = search(&entries, key).ok()?;
        Some(entries.remove(place).1)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        let Entries { own, frozen, .. } = &*self.entries.borrow();
        own.len() + frozen.as_ref().map_or(0, |map| map.entries().len())
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries as they are now, by key.
    #[must_use]
    pub fn entries(&self) -> Vec<(Str, Value)> {
        self.own().clone()
    }

    /// The keys as they are now, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<Str> {
        let Entries { own, frozen, .. } = &*self.entries.borrow();
        match frozen {
            None => own.iter().map(|(key, _)| key.clone()).collect(),
            Some(map) => map.entries().iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    /// Removes all entries.
    pub(super) fn take_entries(&self) -> Vec<(Str, Value)> {
        // Nothing that is still frozen can lead back to this map.
        std::mem::take(&mut *self.entries.borrow_mut()).own
    }

    pub(crate) fn downgrade(&self) -> WeakMap {
        WeakMap(Rc::downgrade(&self.entries))
    }

    /// Whether this is the only handle of the map.
    pub(super) fn is_unshared(&self) -> bool {
        Rc::strong_count(&self.entries) == 1
    }

    /// The entries that are no longer frozen, if nobody else has this map.
    pub(super) fn entries_mut(&mut self) -> Option<&mut Vec<(Str, Value)>> {
        Rc::get_mut(&mut self.entries).map(|entries| &mut entries.get_mut().own)
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
