//! Dictionaries and lists that templates put together, change and take apart.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::value::{ANY_KEY, Abstract, Shape};
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn dictionary(&self, arguments: &[Abstract]) -> Abstract {
        let mut entries: BTreeMap<String, Abstract> = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let [key, value] = pair else { break };
            self.insert(&mut entries, key, value);
        }
        Abstract::of(Shape::Dictionary(Rc::new(RefCell::new(entries))))
    }

    fn insert(&self, entries: &mut BTreeMap<String, Abstract>, key: &Abstract, value: &Abstract) {
        let (mut keys, open) = self.strings(key);
        if open.is_some() {
            keys.push(ANY_KEY.to_owned());
        }
        for key in keys {
            let entry = entries.entry(key).or_default();
            *entry = std::mem::take(entry).or(value.clone());
        }
    }

    /// `set`: afterwards the entry may be what it was, or the value.
    pub(super) fn put(&self, target: &Abstract, key: &Abstract, value: &Abstract) {
        for shape in &target.options {
            if let Shape::Dictionary(entries) = shape {
                // Taken out, so that a dictionary can be put into itself.
                let mut changed = entries.take();
                self.insert(&mut changed, key, value);
                entries.replace(changed);
            }
        }
    }

    pub(super) fn merge(&mut self, arguments: &[Abstract]) -> Abstract {
        let Some((first, others)) = arguments.split_first() else {
            return Abstract::default();
        };
        for other in others {
            for (key, value) in self.entries(other) {
                self.put(first, &key, &value);
            }
        }
        arguments.iter().cloned().fold(Abstract::default(), Abstract::or)
    }

    /// The entries of dictionaries that are known.
    fn entries(&self, value: &Abstract) -> Vec<(Abstract, Abstract)> {
        let is_map = |shape: &&Shape| {
            matches!(shape, Shape::Dictionary(_) | Shape::Values(_))
                || matches!(shape, Shape::Json(json) if json.is_object())
        };
        let maps = Abstract {
            options: value.options.iter().filter(is_map).cloned().collect(),
            open: None,
        };
        self.elements(&maps)
    }

    /// The elements of lists and maps.
    pub(super) fn items(&self, value: &Abstract) -> Vec<Abstract> {
        self.elements(value).into_iter().map(|(_, item)| item).collect()
    }

    /// The entry of a map, or the item of a list, under a key.
    pub(super) fn at(&mut self, value: &Abstract, key: &Abstract) -> Abstract {
        let (keys, open) = self.strings(key);
        let lists = |shape: &Shape| {
            matches!(shape, Shape::List(_)) || matches!(shape, Shape::Json(json) if json.is_array())
        };
        if value.options.iter().any(lists) {
            let items = self.items(value);
            let index = match (keys.as_slice(), &open) {
                ([only], None) => only.parse::<usize>().ok(),
                _ => None,
            };
            return match index.and_then(|index| items.get(index)) {
                Some(item) => item.clone(),
                None => items.into_iter().fold(Abstract::default(), Abstract::or),
            };
        }
        let mut found = Abstract::default();
        for key in &keys {
            found = found.or(self.field(value, key, &[]));
        }
        if open.is_some() {
            let items = self.items(value);
            found = items.into_iter().fold(found, Abstract::or);
        }
        found
    }

    pub(super) fn dig(&mut self, arguments: &[Abstract]) -> Abstract {
        let [keys @ .., otherwise, value] = arguments else {
            return Abstract::default();
        };
        let mut found = value.clone();
        for key in keys {
            found = self.at(&found, key);
        }
        found.not_empty().or(otherwise.clone())
    }
}
