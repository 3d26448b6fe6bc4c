//! Freeing values without recursion, and breaking the cycles that counting cannot free.

use super::{List, Map, Value};

impl Value {
    /// Empties every map that can be reached from this value.
    ///
    /// A map that contains itself, as `set $ "root" $` makes one, is never freed by counting
    /// its references. Whoever made the values of a rendering calls this when it is over.
    pub fn dismantle(&self) {
        let mut pending = vec![self.clone()];
        while let Some(value) = pending.pop() {
            match value {
                Value::Map(map) => pending.extend(map.take_entries().into_iter().map(|(_, value)| value)),
                Value::List(list) => {
                    pending.extend(list.items().iter().filter(|v| v.is_container()).cloned());
                }
                _ => {}
            }
        }
    }

    fn is_container(&self) -> bool {
        matches!(self, Self::Map(_) | Self::List(_))
    }
}

/// Values can be nested more deeply than the stack is; what only they hold is taken out of
/// them and freed level by level.
impl Drop for List {
    fn drop(&mut self) {
        if self.is_unshared() {
            let mut pending = Vec::new();
            self.take_containers(&mut pending);
            release(pending);
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.is_unshared() {
            let mut pending = Vec::new();
            self.take_containers(&mut pending);
            release(pending);
        }
    }
}

fn release(mut pending: Vec<Value>) {
    while let Some(mut value) = pending.pop() {
        match &mut value {
            Value::List(list) => list.take_containers(&mut pending),
            Value::Map(map) => map.take_containers(&mut pending),
            _ => {}
        }
    }
}

impl List {
    /// Moves the lists and maps in this list to `pending`, if nobody else has this list.
    fn take_containers(&mut self, pending: &mut Vec<Value>) {
        if let Some(items) = self.items_mut() {
            let containers = items.iter_mut().filter(|value| value.is_container());
            pending.extend(containers.map(std::mem::take));
        }
    }
}

impl Map {
    /// Moves the lists and maps in this map to `pending`, if nobody else has this map.
    fn take_containers(&mut self, pending: &mut Vec<Value>) {
        if let Some(entries) = self.entries_mut() {
            let values = entries.iter_mut().map(|(_, value)| value);
            pending.extend(values.filter(|value| value.is_container()).map(std::mem::take));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::MapType;

    #[test]
    fn values_nested_more_deeply_than_the_stack_are_freed() {
        let mut list = Value::Nil;
        for level in 0..1_000_000 {
            list = if level % 2 == 0 {
                Value::list(vec![list])
            } else {
                Value::map([("a", list)])
            };
        }
        drop(list);
    }

    #[test]
    fn a_map_that_contains_itself_can_be_dismantled() {
        let map = Map::new(MapType::Any);
        map.insert("list", Value::list(vec![Value::Map(map.clone())]));
        map.insert("self", Value::Map(map.clone()));
        Value::Map(map.clone()).dismantle();
        assert!(map.is_empty());
    }

    #[test]
    fn what_others_still_hold_is_kept() {
        let inner = Value::list(vec![Value::list(vec![Value::Int(1)])]);
        drop(Value::list(vec![inner.clone()]));
        assert_eq!(crate::format::print_value(&inner), "[[1]]");
    }
}
