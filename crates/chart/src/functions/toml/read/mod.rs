//! TOML into values, with the rules and the messages of `github.com/BurntSushi/toml`.

mod cursor;
mod scalar;
mod tables;
mod text;

use steersman_gotemplate::{List, ListType, Map, MapType, Value, format};

use cursor::{Cursor, END, ParseError, is_line_end, is_space, quoted};
use tables::{Key, Tables};

pub(super) use scalar::{LOCAL_DATE, LOCAL_DATE_TIME, LOCAL_TIME};

/// How many parts a key may have, with those of the table that it is in, and how deep values may
/// be nested.
const MAX_DEPTH: usize = 128;

const TOO_DEEP: &str = "keys and values are nested too deep";

/// The map that the text stands for, or what is wrong with it.
pub(super) fn toml(text: &[u8]) -> Result<Value, String> {
    let marks: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
    let text = marks
        .iter()
        .find_map(|mark| text.strip_prefix(*mark))
        .unwrap_or(text);
    if text.iter().take(6).any(|byte| *byte == 0) {
        return Err(
            "toml: line 1: files cannot contain NULL bytes; probably using UTF-16; \
                    TOML files must be UTF-8"
                .to_owned(),
        );
    }
    let mut reader = Reader {
        cursor: Cursor::new(text),
        tables: Tables::default(),
        depth: 0,
    };
    match reader.document() {
        Ok(()) => Ok(reader.tables.into_value()),
        Err(ParseError { line, message }) => {
            let key = reader.tables.current();
            Err(if key.is_empty() {
                format!("toml: line {line}: {message}")
            } else {
                let key = format::quote(&key);
                format!("toml: line {line} (last key {key}): {message}")
            })
        }
    }
}

struct Reader<'t> {
    cursor: Cursor<'t>,
    tables: Tables,
    /// How many arrays and inline tables are open.
    depth: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), ParseError> {
        loop {
            match self.cursor.next()? {
                END => return Ok(()),
                '#' => self.comment()?,
                '[' => self.header()?,
                white if is_space(white) || is_line_end(white) => {}
                _ => {
                    self.cursor.back();
                    self.entry()?;
                    self.end_of_line()?;
                }
            }
        }
    }

    /// What may come after a value or the header of a table.
    fn end_of_line(&mut self) -> Result<(), ParseError> {
        loop {
            match self.cursor.next()? {
                END => {
                    self.cursor.back();
                    return Ok(());
                }
                '#' => return self.comment(),
                white if is_space(white) => {}
                end if is_line_end(end) => return Ok(()),
                other => {
                    let found = quoted(other);
                    return Err(self.cursor.error(format!(
                        "expected a top-level item to end with a newline, comment, or EOF, \
                         but got {found} instead"
                    )));
                }
            }
        }
    }

    /// The rest of a comment, without the end of its line.
    fn comment(&mut self) -> Result<(), ParseError> {
        loop {
            let character = self.cursor.next()?;
            if character == END || is_line_end(character) {
                self.cursor.back();
                return Ok(());
            }
        }
    }

    /// The header of a table or of an item of a list of tables, after its first bracket.
    fn header(&mut self) -> Result<(), ParseError> {
        let is_list = self.cursor.peek()? == '[';
        if is_list {
            self.cursor.next()?;
        }
        let mut key = Key::new();
        loop {
            self.cursor.skip(is_space)?;
            match self.cursor.peek()? {
                ']' | END => {
                    let message = "unexpected end of table name (table names cannot be empty)";
                    return Err(self.cursor.here(message));
                }
                '.' => {
                    let message = "unexpected table separator (table names cannot be empty)";
                    return Err(self.cursor.here(message));
                }
                _ => self.part(&mut key)?,
            }
            self.cursor.skip(is_space)?;
            match self.cursor.next()? {
                '.' => {}
                ']' => break,
                other => {
                    let found = quoted(other);
                    let message = format!("expected '.' or ']' to end table name, but got {found} instead");
                    return Err(self.cursor.error(message));
                }
            }
        }
        if is_list {
            let end = self.cursor.next()?;
            if end != ']' {
                let found = quoted(end);
                return Err(self.cursor.error(format!(
                    "expected end of table array name delimiter ']', but got {found} instead"
                )));
            }
        }
        self.tables.enter(&key, is_list)?;
        self.tables.note_type("", false);
        self.end_of_line()
    }

    /// Reads `b` of `a.b.c`, and refuses what would be nested too deep.
    fn part(&mut self, key: &mut Key) -> Result<(), ParseError> {
        if key.is_empty() {
            self.tables.line = self.cursor.line;
        }
        let part = self.cursor.key_part()?;
        if key.len() + self.tables.depth() >= MAX_DEPTH {
            return Err(self.cursor.here(TOO_DEEP));
        }
        key.push(part);
        Ok(())
    }

    /// A key, and the equals sign after it.
    fn key(&mut self) -> Result<Key, ParseError> {
        self.cursor.skip(is_space)?;
        match self.cursor.peek()? {
            '=' | END => {
                let message = "unexpected '=': key name appears blank";
                return Err(self.cursor.here(message));
            }
            '.' => {
                let message = "unexpected '.': keys cannot start with a '.'";
                return Err(self.cursor.here(message));
            }
            _ => {}
        }
        let mut key = Key::new();
        loop {
            self.cursor.skip(is_space)?;
            match self.cursor.peek()? {
                '=' | END => return Err(self.cursor.here("unexpected '='")),
                '.' => return Err(self.cursor.here("unexpected '.'")),
                _ => self.part(&mut key)?,
            }
            self.cursor.skip(is_space)?;
            match self.cursor.next()? {
                '.' => {}
                '=' => return Ok(key),
                END => {
                    let message = "unexpected EOF; expected key separator '='";
                    return Err(self.cursor.error(message));
                }
                other => {
                    let message = format!("expected '.' or '=', but got {} instead", quoted(other));
                    return Err(self.cursor.unexpected(other, message));
                }
            }
        }
    }

    /// A key and its value, as an entry of the present table.
    fn entry(&mut self) -> Result<(), ParseError> {
        let outer = self.tables.context();
        let key = self.key()?;
        self.tables.begin_entry(&key)?;
        let value = self.value(false)?;
        self.tables.finish_entry(value)?;
        self.tables.leave_entry(outer);
        Ok(())
    }

    /// The value that comes next; `in_list` says whether it is an item of an array.
    fn value(&mut self, in_list: bool) -> Result<Value, ParseError> {
        self.cursor.skip(is_space)?;
        match self.cursor.next()? {
            quote @ ('"' | '\'') => self.cursor.quoted_text(quote).map(Value::from),
            opening @ ('[' | '{') => {
                if self.depth + self.tables.depth() >= MAX_DEPTH {
                    return Err(self.cursor.here(TOO_DEEP));
                }
                self.depth += 1;
                let value = if opening == '[' {
                    self.list()
                } else {
                    self.inline_table(in_list)
                };
                self.depth -= 1;
                value
            }
            first => self.cursor.scalar(first),
        }
    }

    fn list(&mut self) -> Result<Value, ParseError> {
        self.tables.note_list();
        let mut items = Vec::new();
        loop {
            match self.next_of_many()? {
                ',' => return Err(self.cursor.error("unexpected comma")),
                ']' => break,
                _ => {
                    self.cursor.back();
                    items.push(self.value(true)?);
                }
            }
            match self.next_of_many()? {
                ',' => {}
                ']' => break,
                other => {
                    let found = or_end(other);
                    let message =
                        format!("expected a comma (',') or array terminator (']'), but got {found}");
                    return Err(self.cursor.error(message));
                }
            }
        }
        Ok(List::new(ListType::Any, items).into())
    }

    fn inline_table(&mut self, in_list: bool) -> Result<Value, ParseError> {
        let table = Map::new(MapType::Any);
        let outer = self.tables.enter_inline(in_list)?;
        let context = self.tables.context();
        loop {
            match self.next_of_many()? {
                ',' => return Err(self.cursor.error("unexpected comma")),
                '}' => break,
                _ => self.cursor.back(),
            }
            let key = self.key()?;
            self.tables.begin_entry(&key)?;
            let value = self.value(false)?;
            self.tables.finish_entry(value.clone())?;
            self.tables.insert_into(&table, &key, value)?;
            self.tables.set_context(context.clone());
            match self.next_of_many()? {
                '}' => break,
                // The last entry may have a comma after it.
                ',' => {}
                other => {
                    let found = or_end(other);
                    return Err(self.cursor.error(format!(
                        "expected a comma or an inline table terminator '}}', but got {found} instead"
                    )));
                }
            }
        }
        self.tables.leave_inline(outer);
        Ok(table.into())
    }

    /// The next character of an array or inline table that is neither white space nor in a comment.
    fn next_of_many(&mut self) -> Result<char, ParseError> {
        loop {
            match self.cursor.next()? {
                '#' => self.comment()?,
                white if is_space(white) || is_line_end(white) => {}
                other => return Ok(other),
            }
        }
    }
}

/// A character in a message, or that there is none.
fn or_end(character: char) -> String {
    if character == END {
        "end of file".to_owned()
    } else {
        format!("'{character}'")
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, toml};

    #[test]
    fn what_is_nested_too_deep_is_refused() {
        for (deep, sound) in [("[", "]"), ("a.", ""), ("{a=", "}")] {
            let text = |depth: usize| {
                let start = if deep == "a." { "" } else { "a=" };
                let end = if deep == "a." { "a=1" } else { "1" };
                format!("{start}{}{end}{}", deep.repeat(depth), sound.repeat(depth))
            };
            assert!(toml(text(MAX_DEPTH / 2 - 2).as_bytes()).is_ok(), "{deep}");
            let message = toml(text(100_000).as_bytes()).unwrap_err();
            assert!(message.ends_with("nested too deep"), "{deep}: {message}");
        }
    }
}
