//! The tables of a document while it is read: which keys are there, and how they came to be.

use std::collections::{BTreeMap, BTreeSet};

use steersman_gotemplate::{List, ListType, Map, MapType, Value, format};

use super::cursor::ParseError;

/// The parts of a key.
pub(super) type Key = Vec<String>;

type Table = BTreeMap<String, Entry>;

enum Entry {
    Table(Table),
    /// What `[[key]]` makes.
    Tables(Vec<Table>),
    Value(Value),
}

/// The tables that were read so far, and the place in them.
#[derive(Default)]
pub(super) struct Tables {
    root: Table,
    /// The line of the key that is being defined.
    pub(super) line: usize,
    /// The key of the present table.
    context: Key,
    /// The last part of the key whose value is being read, or was read last.
    key: String,
    /// The keys of tables that no header names, but only longer keys.
    implicit: BTreeSet<String>,
    /// The keys of arrays.
    lists: BTreeSet<String>,
}

/// The place before an inline table.
pub(super) struct Outer {
    context: Key,
    key: String,
}

impl Tables {
    pub(super) fn into_value(self) -> Value {
        value(self.root)
    }

    /// The key that messages name.
    pub(super) fn current(&self) -> String {
        match (self.context.is_empty(), self.key.is_empty()) {
            (_, true) => shown(&self.context),
            (true, false) => self.key.clone(),
            (false, false) => format!("{}.{}", shown(&self.context), self.key),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.context.len()
    }

    pub(super) fn context(&self) -> Key {
        self.context.clone()
    }

    pub(super) fn set_context(&mut self, context: Key) {
        self.context = context;
    }

    /// Begins an entry of the present table; all parts of its key but the last are tables in it.
    pub(super) fn begin_entry(&mut self, key: &Key) -> Result<(), ParseError> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        self.key.clone_from(last);
        for part in parents {
            let mut table = self.context.clone();
            table.push(part.clone());
            self.implicit.insert(shown(&table));
            self.enter(&table, false)?;
        }
        Ok(())
    }

    pub(super) fn finish_entry(&mut self, value: Value) -> Result<(), ParseError> {
        let is_list = matches!(value, Value::List(_));
        let key = self.key.clone();
        self.define(&key, Entry::Value(value))?;
        self.note_type(&key, is_list);
        Ok(())
    }

    pub(super) fn leave_entry(&mut self, context: Key) {
        self.context = context;
        self.key.clear();
    }

    /// The value of the present entry is an array.
    pub(super) fn note_list(&mut self) {
        let key = self.key.clone();
        self.note_type(&key, true);
    }

    /// Remembers whether the value of a key of the present table is an array. The empty key stands
    /// for the table itself.
    pub(super) fn note_type(&mut self, key: &str, is_list: bool) {
        let mut full = self.context.clone();
        if !key.is_empty() || full.is_empty() {
            full.push(key.to_owned());
        }
        let full = shown(&full);
        if is_list {
            self.lists.insert(full);
        } else {
            self.lists.remove(&full);
        }
    }

    /// Makes the value of the present entry the present table.
    pub(super) fn enter_inline(&mut self, in_list: bool) -> Result<Outer, ParseError> {
        let outer = Outer {
            context: self.context.clone(),
            key: std::mem::take(&mut self.key),
        };
        self.context.push(outer.key.clone());
        let table = self.context.clone();
        self.implicit.insert(shown(&table));
        self.enter(&table, in_list)?;
        Ok(outer)
    }

    pub(super) fn leave_inline(&mut self, outer: Outer) {
        self.context = outer.context;
        self.key = outer.key;
    }

    /// Makes the table of this key the present one, or a new item of the list of tables of this key.
    pub(super) fn enter(&mut self, key: &Key, is_list: bool) -> Result<(), ParseError> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        let mut table = &mut self.root;
        for (place, part) in parents.iter().enumerate() {
            let parent = parents.get(..=place).unwrap_or_default();
            if !table.contains_key(part) {
                self.implicit.insert(shown(parent));
            }
            let entry = table
                .entry(part.clone())
                .or_insert_with(|| Entry::Table(Table::new()));
            table = below(entry).ok_or_else(|| ParseError {
                line: self.line,
                message: format!("Key '{}' was already created as a hash.", shown(parent)),
            })?;
        }
        if is_list {
            let entry = table
                .entry(last.clone())
                .or_insert_with(|| Entry::Tables(Vec::new()));
            let Entry::Tables(tables) = entry else {
                let message = format!(
                    "Key '{}' was already created and cannot be used as an array.",
                    shown(key)
                );
                // The place is already that of the parent.
                self.context = parents.to_vec();
                return Err(ParseError {
                    line: self.line,
                    message,
                });
            };
            tables.push(Table::new());
            self.context.clone_from(key);
        } else {
            self.context = parents.to_vec();
            self.define(last, Entry::Table(Table::new()))?;
            self.context.clone_from(key);
        }
        Ok(())
    }

    /// Defines a key of the present table. A table that only longer keys had made may be defined
    /// once, and stays as it is.
    fn define(&mut self, key: &str, entry: Entry) -> Result<(), ParseError> {
        let line = self.line;
        let defined = |key: &[String]| ParseError {
            line,
            message: format!("Key '{}' has already been defined.", shown(key)),
        };
        let mut table = &mut self.root;
        for (place, part) in self.context.iter().enumerate() {
            let parent = self.context.get(..=place).unwrap_or_default();
            table = table
                .get_mut(part)
                .and_then(below)
                .ok_or_else(|| defined(parent))?;
        }
        let full: Key = self.context.iter().cloned().chain([key.to_owned()]).collect();
        let name = shown(&full);
        if table.contains_key(key) {
            if !self.implicit.remove(&name) {
                return Err(defined(&full));
            }
            if !self.lists.contains(&name) {
                return Ok(());
            }
        }
        table.insert(key.to_owned(), entry);
        Ok(())
    }

    /// Puts the value of a key into an inline table.
    pub(super) fn insert_into(&self, table: &Map, key: &Key, value: Value) -> Result<(), ParseError> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        let mut table = table.clone();
        for part in parents {
            let below = match table.get(part.as_bytes()) {
                Some(Value::Map(map)) => map,
                None => Map::new(MapType::Any),
                Some(_) => {
                    let names: Vec<String> = self.context.iter().map(|part| format::quote(part)).collect();
                    return Err(ParseError {
                        line: self.line,
                        message: format!("[{}] is not a table", names.join(" ")),
                    });
                }
            };
            table.insert(part.as_str(), Value::Map(below.clone()));
            table = below;
        }
        table.insert(last.as_str(), value);
        Ok(())
    }
}

/// The table that an entry is, or the newest one that it has.
fn below(entry: &mut Entry) -> Option<&mut Table> {
    match entry {
        Entry::Table(table) => Some(table),
        Entry::Tables(tables) => tables.last_mut(),
        Entry::Value(_) => None,
    }
}

fn value(table: Table) -> Value {
    Value::map(table.into_iter().map(|(key, entry)| {
        let value = match entry {
            Entry::Table(table) => value(table),
            Entry::Tables(tables) => {
                let list_type = ListType::Named("[]map[string]interface {}");
                List::new(list_type, tables.into_iter().map(value).collect()).into()
            }
            Entry::Value(value) => value,
        };
        (key, value)
    }))
}

/// A key as messages show it.
fn shown(key: &[String]) -> String {
    let parts: Vec<_> = key
        .iter()
        .map(|part| super::super::write::quoted_if_needed(part))
        .collect();
    parts.join(".")
}
