//! Mending objects that do not fit the schema of their kind, where Helm's clients get away with them.
//!
//! To a client that creates an object, the server forgives fields that it does not know, which it drops, and items of
//! a list that have the same key, of which as a rule the last counts. To a server-side apply it does not. There are
//! many charts of both sorts, so what the server names is taken out, as long as it would create the object as it is.

use kube::api::{Api, DynamicObject};
use serde_json::Value;
use steersman_cluster::{FaultKind, RequestError};

use super::recreate::try_create;

/// An object that was mended.
#[derive(Debug, PartialEq)]
pub(in crate::apply) struct Mended {
    /// The object.
    pub(in crate::apply) value: Value,
    /// What was done to it, for people.
    pub(in crate::apply) notes: Vec<String>,
}

/// `value` without what the server finds fault with.
///
/// # Guarantees
/// Nothing is written.
///
/// # Errors
/// `refusal`, if it is about something else, or the server would not create the object either.
pub(in crate::apply) async fn mend(
    api: &Api<DynamicObject>,
    value: &Value,
    refusal: RequestError,
) -> Result<Mended, RequestError> {
    let Some(mended) = mended(value, refusal.faults()) else {
        return Err(refusal);
    };
    match try_create(api, value).await {
        // Quotas and admission may have something against another object, which is not what is asked.
        Err(error) if (error.is_invalid() || error.code == 400) && !is_about_the_name(&error) => Err(refusal),
        _ => Ok(mended),
    }
}

/// Whether nothing but the name is wrong with the object that the server was asked about, which is made up: the names
/// of some kinds follow from what they contain.
fn is_about_the_name(error: &RequestError) -> bool {
    !error.causes.is_empty()
        && error
            .causes
            .iter()
            .all(|cause| cause.field.starts_with("metadata."))
}

/// What becomes of `value`; `None` if not all of `faults` can be mended.
fn mended<'f>(value: &Value, faults: impl Iterator<Item = (&'f str, &'f FaultKind)>) -> Option<Mended> {
    let mut value = value.clone();
    let mut notes = Vec::new();
    for (path, fault) in faults {
        let (change, note) = match fault {
            FaultKind::Undeclared => (
                Change::Remove,
                format!("{path} is no field of its kind, and left out"),
            ),
            FaultKind::Duplicate(key) => (
                Change::KeepLast(Key::read(key)?.0),
                format!("{path} has several items with {key}, of which the last counts"),
            ),
            FaultKind::Other(_) => return None,
        };
        if !change.make(&mut value, &format!(".{path}")) {
            return None;
        }
        notes.push(note);
    }
    (!notes.is_empty()).then_some(Mended { value, notes })
}

enum Change {
    /// The field at the path goes.
    Remove,
    /// Of the items with a key in the list at the path, only the last one stays.
    KeepLast(Key),
}

impl Change {
    /// Makes the change at `path`; whether there was anything to change.
    fn make(&self, node: &mut Value, path: &str) -> bool {
        match (self, node) {
            (Self::KeepLast(key), Value::Array(items)) if path.is_empty() => keep_last(items, key),
            (_, Value::Array(items)) => {
                let Some((key, rest)) = Key::read(path) else {
                    return false;
                };
                let chosen = items
                    .iter_mut()
                    .enumerate()
                    .filter(|(index, item)| key.is_of(*index, item));
                let changed = chosen.filter_map(|(_, item)| self.make(item, rest).then_some(()));
                changed.count() > 0
            }
            (_, Value::Object(map)) => {
                let Some(path) = path.strip_prefix('.') else {
                    return false;
                };
                // Keys of maps may contain dots.
                let mut names: Vec<String> = map
                    .keys()
                    .filter(|name| begins_with(path, name))
                    .cloned()
                    .collect();
                names.sort_by_key(|name| std::cmp::Reverse(name.len()));
                names.iter().any(|name| {
                    let rest = path.get(name.len()..).unwrap_or_default();
                    if rest.is_empty() && matches!(self, Self::Remove) {
                        return map.remove(name).is_some();
                    }
                    map.get_mut(name).is_some_and(|child| self.make(child, rest))
                })
            }
            _ => false,
        }
    }
}

/// Whether the first step of `path` may be `name`.
fn begins_with(path: &str, name: &str) -> bool {
    let rest = path.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn keep_last(items: &mut Vec<Value>, key: &Key) -> bool {
    let chosen: Vec<bool> = items
        .iter()
        .enumerate()
        .map(|(index, item)| key.is_of(index, item))
        .collect();
    let Some(last) = chosen.iter().rposition(|is_chosen| *is_chosen) else {
        return false;
    };
    let before = items.len();
    let mut index = 0;
    items.retain(|_| {
        let stays = index == last || !chosen.get(index).copied().unwrap_or_default();
        index += 1;
        stays
    });
    items.len() < before
}

/// Which items of a list are meant.
#[derive(Debug, PartialEq)]
enum Key {
    /// The one at this place.
    Index(usize),
    /// Those that are `"TCP"`, for `[="TCP"]`: a list that is a set.
    Is(Value),
    /// Those in which each key is this or absent, for `[port=80,protocol="TCP"]`.
    Fields(Vec<(String, Value)>),
}

impl Key {
    /// Reads `[0]`, `[="a"]` or `[port=80,protocol="TCP"]` at the beginning of a text, and gives what follows, too.
    fn read(text: &str) -> Option<(Self, &str)> {
        let mut rest = text.strip_prefix('[')?;
        if let Some((index, after)) = rest.split_once(']')
            && let Ok(index) = index.parse()
        {
            return Some((Self::Index(index), after));
        }
        let mut fields = Vec::new();
        loop {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = read_value(after)?;
            fields.push((name.to_owned(), value));
            if let Some(after) = after.strip_prefix(',') {
                rest = after;
                continue;
            }
            let after = after.strip_prefix(']')?;
            return match fields.as_mut_slice() {
                [(name, value)] if name.is_empty() => Some((Self::Is(value.take()), after)),
                _ => Some((Self::Fields(fields), after)),
            };
        }
    }

    fn is_of(&self, index: usize, item: &Value) -> bool {
        match self {
            Self::Index(place) => *place == index,
            Self::Is(value) => value == item,
            // A field that is not there has the value that the schema gives it, which the key names.
            Self::Fields(fields) => fields
                .iter()
                .all(|(name, value)| item.get(name).is_none_or(|found| found == value)),
        }
    }
}

/// Reads a scalar, and gives what follows, too.
fn read_value(text: &str) -> Option<(Value, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let rest = text.get(values.byte_offset()..)?;
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn duplicate(key: &str) -> FaultKind {
        FaultKind::Duplicate(key.to_owned())
    }

    fn check(value: Value, path: &str, fault: &FaultKind, expect: Option<Value>) {
        let found = mended(&value, std::iter::once((path, fault)));
        assert_eq!(found.map(|mended| mended.value), expect);
    }

    #[test]
    fn the_last_item_of_a_key_stays_in_its_place() {
        check(
            json!({"spec": {"containers": [
                {"name": "b", "env": [{"name": "A", "value": "0"}, {"name": "A", "value": "0"}]},
                {"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]},
            ]}}),
            "spec.containers[name=\"c\"].env",
            &duplicate("[name=\"A\"]"),
            Some(json!({"spec": {"containers": [
                {"name": "b", "env": [{"name": "A", "value": "0"}, {"name": "A", "value": "0"}]},
                {"name": "c", "env": [{"name": "B"}, {"name": "A", "value": "2"}]},
            ]}})),
        );
    }

    #[test]
    fn a_key_counts_what_the_schema_adds() {
        check(
            json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "UDP"}, {"port": 80, "protocol": "TCP"}]}),
            "ports",
            &duplicate("[port=80,protocol=\"TCP\"]"),
            Some(json!({"ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "protocol": "TCP"}]})),
        );
        check(
            json!({"l": ["a]", "b", "a]"]}),
            "l",
            &duplicate("[=\"a]\"]"),
            Some(json!({"l": ["b", "a]"]})),
        );
    }

    #[test]
    fn unknown_fields_go_wherever_they_are() {
        check(
            json!({"a": {"b.c": {"d": 1, "e": 2}}, "list": [{}, {"x": 1}]}),
            "a.b.c.d",
            &FaultKind::Undeclared,
            Some(json!({"a": {"b.c": {"e": 2}}, "list": [{}, {"x": 1}]})),
        );
        check(
            json!({"list": [{"x": 0}, {"x": 1}]}),
            "list[1].x",
            &FaultKind::Undeclared,
            Some(json!({"list": [{"x": 0}, {}]})),
        );
    }

    #[test]
    fn what_is_not_found_or_not_understood_is_not_mended() {
        check(json!({"a": 1}), "b", &FaultKind::Undeclared, None);
        check(json!({"a": [1]}), "a", &duplicate("[=1]"), None);
        check(json!({"a": [1]}), "a", &duplicate("[name=\"x]"), None);
        let other = FaultKind::Other("expected string".to_owned());
        check(json!({"a": 1}), "a", &other, None);
    }
}
