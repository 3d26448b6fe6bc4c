//! Writing YAML event by event, in the two layouts that Helm has.

mod analysis;
mod json;
mod order;
mod quote;
mod scalar;
mod value;

pub use order::{natural_order, sort_keys};
pub use value::{marshal, to_string, to_string_pretty};

use crate::{Error, MAX_DEPTH, number};

/// How YAML is laid out.
///
/// ```
/// use serde_json::json;
/// use steersman_yaml::{Style, marshal};
///
/// let value = json!({"ports": [80], "on": "yes"});
/// assert_eq!(marshal(&value, Style::V2)?, "\"on\": \"yes\"\nports:\n- 80\n");
/// assert_eq!(marshal(&value, Style::V3Pretty)?, "\"on\": \"yes\"\nports:\n  - 80\n");
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// What Helm's `toYaml` writes: sigs.k8s.io/yaml, which is Go's JSON passed through goyaml v2. Sequences
    /// are not indented below their key, long strings are folded at 80 columns, whole numbers have no
    /// exponent.
    V2,
    /// What Helm's `toYamlPretty` writes: goyaml v3 with an indentation of 2, sequences included.
    V3Pretty,
}

/// Writes one YAML document into a string.
///
/// Call one method for each scalar and a pair of them for each collection; in a mapping, keys and values take
/// turns, and keys are written in the order in which they come: sort them with [`sort_keys`] first.
///
/// ```
/// use steersman_yaml::{Emitter, Style};
///
/// let mut text = String::new();
/// let mut emitter = Emitter::new(&mut text, Style::V2);
/// emitter.begin_mapping(1);
/// emitter.string("ports");
/// emitter.begin_sequence(1);
/// emitter.int(80);
/// emitter.end_sequence();
/// emitter.end_mapping();
/// emitter.finish()?;
/// assert_eq!(text, "ports:\n- 80\n");
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
#[derive(Debug)]
pub struct Emitter<'a> {
    out: &'a mut String,
    start: usize,
    style: Style,
    /// Whether what Go's JSON and its way through YAML do to a string is done here, too.
    imitates_json: bool,
    margin: usize,
    open: Vec<Collection>,
    /// The column of the innermost block collection, -1 outside of any.
    indent: isize,
    column: usize,
    /// The last character written separates what follows.
    after_whitespace: bool,
    /// Only indentation and indicators that count as such stand on the line.
    in_indentation: bool,
    failure: Option<Error>,
}

#[derive(Debug)]
struct Collection {
    kind: CollectionKind,
    has_items: bool,
    outer_indent: isize,
    /// The collection is the key or the value of a mapping.
    is_in_mapping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CollectionKind {
    Sequence,
    Mapping(Expects),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Key,
    Value,
    /// The value of a key that needed a `?`.
    ValueOfComplexKey,
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Sequence,
    Mapping,
    SimpleKey,
}

/// Keys longer than this are written as complex ones.
const MAX_SIMPLE_KEY_LENGTH: usize = 128;

impl<'a> Emitter<'a> {
    /// Starts a document at the end of a string, which has to end in a line break, if in anything.
    #[must_use]
    pub fn new(out: &'a mut String, style: Style) -> Self {
        Self::with_margin(out, style, 0)
    }

    /// Starts a document whose lines, but for the first, are preceded by a number of spaces: what piping
    /// through `indent` gives, without the copy. The lines are folded as if the margin were not there.
    #[must_use]
    pub fn with_margin(out: &'a mut String, style: Style, margin: usize) -> Self {
        let start = out.len();
        Self {
            out,
            start,
            style,
            imitates_json: style == Style::V2,
            margin,
            open: Vec::new(),
            indent: -1,
            column: 0,
            after_whitespace: true,
            in_indentation: true,
            failure: None,
        }
    }

    /// Ends the document with a line break.
    ///
    /// # Errors
    ///
    /// goyaml or Go's JSON would have refused a value: infinities, keys of more than 1,024 characters,
    /// control characters beyond ASCII. Then nothing has been written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.indent = -1;
        self.write_indent();
        if let Some(failure) = self.failure.take() {
            self.out.truncate(self.start);
            return Err(failure);
        }
        self.out.truncate(self.out.len() - self.margin);
        Ok(())
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.number("null");
    }

    /// Writes `true` or `false`.
    pub fn bool(&mut self, value: bool) {
        self.number(if value { "true" } else { "false" });
    }

    /// Writes an integer.
    pub fn int(&mut self, value: i64) {
        self.number(&value.to_string());
    }

    /// Writes an integer.
    pub fn uint(&mut self, value: u64) {
        self.number(&value.to_string());
    }

    /// Writes a float as Go does: the shortest digits, with an exponent from 1e+06 on. In [`Style::V2`] a
    /// whole number that fits into 64 bits is an integer, since it was one on its way through JSON.
    pub fn float(&mut self, value: f64) {
        if self.style == Style::V2 {
            if !value.is_finite() {
                let name = if value.is_nan() {
                    "NaN"
                } else if value > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                self.fail(Error::conversion(
                    format!("error marshaling into JSON: json: unsupported value: {name}"),
                    0,
                ));
            }
            if let Some(integer) = json::integer(value) {
                return self.number(&integer);
            }
        }
        match number::special(value) {
            Some(name) => self.number(name),
            None => self.number(&number::general(value)),
        }
    }

    /// Writes a time as it stands, such as `2006-01-02T15:04:05Z`, without the quotes that tell a string from it.
    pub fn timestamp(&mut self, value: &str) {
        self.number(value);
    }

    /// Writes a string, in quotes or as a block where it needs them.
    pub fn string(&mut self, value: &str) {
        if !self.imitates_json {
            return self.emit_string(value);
        }
        let is_key = self.expects_key();
        match json::through_json(value, is_key) {
            Ok(value) => self.emit_string(&value),
            Err(failure) => {
                self.fail(failure);
                self.emit_string("");
            }
        }
    }

    /// Starts a sequence. The length decides how an empty one is written where it is a key.
    pub fn begin_sequence(&mut self, len: usize) {
        self.begin(CollectionKind::Sequence, len);
    }

    /// Ends the sequence that was started last.
    pub fn end_sequence(&mut self) {
        self.end("[", "]");
    }

    /// Starts a mapping. The length decides how an empty one is written where it is a key.
    pub fn begin_mapping(&mut self, len: usize) {
        self.begin(CollectionKind::Mapping(Expects::Key), len);
    }

    /// Ends the mapping that was started last.
    pub fn end_mapping(&mut self) {
        self.end("{", "}");
    }

    /// How many bytes of the document are written, which may lack what comes with the next value.
    #[must_use]
    pub fn written(&self) -> usize {
        self.out.len() - self.start
    }

    /// How many collections are open.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    fn fail(&mut self, failure: Error) {
        self.failure.get_or_insert(failure);
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Collection {
                kind: CollectionKind::Mapping(Expects::Key),
                ..
            })
        )
    }

    fn begin(&mut self, kind: CollectionKind, len: usize) {
        if self.open.len() >= MAX_DEPTH {
            self.fail(Error::content(format!("exceeded max depth of {MAX_DEPTH}"), 0));
        }
        let context = self.begin_node(len == 0);
        self.open.push(Collection {
            kind,
            has_items: false,
            outer_indent: self.indent,
            is_in_mapping: matches!(context, Context::Mapping | Context::SimpleKey),
        });
    }

    fn end(&mut self, opening: &str, closing: &str) {
        let Some(collection) = self.open.pop() else { return };
        self.indent = collection.outer_indent;
        if !collection.has_items {
            self.write_indicator(opening, true, true, false);
            self.write_indicator(closing, false, false, false);
        }
    }

    fn number(&mut self, text: &str) {
        self.begin_node(true);
        self.write_plain_word(text);
    }

    /// Writes what stands between the previous node and the next one.
    fn begin_node(&mut self, may_be_simple_key: bool) -> Context {
        let Some(collection) = self.open.last_mut() else {
            return Context::Root;
        };
        let is_first = !std::mem::replace(&mut collection.has_items, true);
        let is_in_mapping = collection.is_in_mapping;
        match collection.kind {
            CollectionKind::Sequence => {
                if is_first {
                    let is_indentless = self.style == Style::V2 && is_in_mapping && !self.in_indentation;
                    self.increase_indent(is_indentless);
                }
                self.write_indent();
                self.write_indicator("-", true, false, true);
                Context::Sequence
            }
            CollectionKind::Mapping(Expects::Key) => {
                collection.kind = CollectionKind::Mapping(if may_be_simple_key {
                    Expects::Value
                } else {
                    Expects::ValueOfComplexKey
                });
                if is_first {
                    self.increase_indent(false);
                }
                self.write_indent();
                if may_be_simple_key {
                    return Context::SimpleKey;
                }
                self.write_indicator("?", true, false, true);
                Context::Mapping
            }
            CollectionKind::Mapping(Expects::Value) => {
                collection.kind = CollectionKind::Mapping(Expects::Key);
                self.write_indicator(":", false, false, false);
                Context::Mapping
            }
            CollectionKind::Mapping(Expects::ValueOfComplexKey) => {
                collection.kind = CollectionKind::Mapping(Expects::Key);
                self.write_indent();
                self.write_indicator(":", true, false, true);
                Context::Mapping
            }
        }
    }

    fn increase_indent(&mut self, is_indentless: bool) {
        if self.indent < 0 {
            self.indent = 0;
        } else if !is_indentless {
            self.indent += 2;
        }
    }

    /// The indentation of the further lines of a scalar.
    fn scalar_indent(&self) -> usize {
        if self.indent < 0 {
            2
        } else {
            self.indent.unsigned_abs() + 2
        }
    }

    fn write_indent(&mut self) {
        self.write_indent_of(self.indent.max(0).unsigned_abs());
    }

    /// Starts a line with an indentation, unless the current one is such a line.
    fn write_indent_of(&mut self, indent: usize) {
        if !self.in_indentation || self.column > indent || self.column == indent && !self.after_whitespace {
            self.write_break();
        }
        if self.column < indent {
            self.write_spaces(indent - self.column);
            self.column = indent;
        }
        self.after_whitespace = true;
        self.in_indentation = true;
    }

    fn write_break(&mut self) {
        self.out.push('\n');
        self.write_spaces(self.margin);
        self.column = 0;
        self.in_indentation = true;
    }

    fn write_spaces(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
    }

    fn write_indicator(
        &mut self,
        indicator: &str,
        needs_whitespace: bool,
        is_whitespace: bool,
        is_indentation: bool,
    ) {
        if needs_whitespace && !self.after_whitespace {
            self.out.push(' ');
            self.column += 1;
        }
        self.out.push_str(indicator);
        self.column += indicator.len();
        self.after_whitespace = is_whitespace;
        self.in_indentation &= is_indentation;
    }
}

#[cfg(test)]
mod tests {
    use super::{Emitter, Style};
    use serde_json::json;

    #[test]
    fn a_margin_is_what_indenting_gives() {
        let words = "word ".repeat(40);
        let value =
            json!({"a": ["x\n\n y\n", {"b": [], "c": words}], "d": "\"q\" ".repeat(30), "e": {"f": 1}});
        for style in [Style::V2, Style::V3Pretty] {
            let mut plain = String::new();
            let mut emitter = Emitter::new(&mut plain, style);
            emitter.value(&value);
            emitter.finish().unwrap();
            let mut indented = "before\n".to_owned();
            let mut emitter = Emitter::with_margin(&mut indented, style, 4);
            emitter.value(&value);
            emitter.finish().unwrap();
            let expect = format!("before\n{}\n", plain.trim_end().replace('\n', "\n    "));
            assert_eq!(indented, expect);
        }
    }

    #[test]
    fn a_refused_document_leaves_no_trace() {
        let mut text = "before\n".to_owned();
        let mut emitter = Emitter::new(&mut text, Style::V2);
        emitter.begin_sequence(2);
        emitter.string("a");
        emitter.string("\u{7f}");
        emitter.end_sequence();
        assert_eq!(
            emitter.finish().unwrap_err().to_string(),
            "yaml: control characters are not allowed"
        );
        let mut emitter = Emitter::new(&mut text, Style::V2);
        emitter.float(f64::NAN);
        assert_eq!(
            emitter.finish().unwrap_err().to_string(),
            "error marshaling into JSON: json: unsupported value: NaN"
        );
        assert_eq!(text, "before\n");
    }
}
