//! Values under one verb.

use crate::value::{Object, Str, Value};

use super::quote::{Escape, can_backquote, quote_with};

/// How deeply values may be nested.
const DEPTH: u32 = 2000;

/// What is printed in place of an address: a real one would differ at each run.
const ADDRESS: u64 = 0xc0_0000_0000;

/// The flags, width and precision of one directive.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are independent of each other"
)]
pub(super) struct Flags {
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// The plus of `%+v`, which is not one of numbers.
    pub(super) plus_v: bool,
    /// The sharp of `%#v`: Go syntax.
    pub(super) sharp_v: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// Appends formatted values to a buffer, up to a size.
#[derive(Debug)]
pub(super) struct Printer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    /// The size of the buffer at which printing stops.
    limit: usize,
    cut_off: bool,
    depth: u32,
    /// Whether a wrong verb is being reported, which shows a value without its methods.
    reports_bad_verb: bool,
    pub(super) flags: Flags,
}

impl<'o> Printer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, room: usize) -> Self {
        let limit = out.len().saturating_add(room);
        Self {
            out,
            limit,
            cut_off: false,
            depth: 0,
            reports_bad_verb: false,
            flags: Flags::default(),
        }
    }

    /// Whether the output is within the room that it was given; what goes beyond is cut off.
    pub(super) fn fits(&self) -> bool {
        !self.cut_off && self.out.len() <= self.limit
    }

    /// Go's `Sprint`.
    pub(super) fn spaced(&mut self, arguments: &[Value]) {
        let mut after_string = true;
        for argument in arguments {
            let is_string = matches!(argument, Value::Str(_));
            if !is_string && !after_string {
                self.out.push(b' ');
            }
            self.argument(argument, 'v');
            after_string = is_string;
        }
    }

    /// Go's `Sprintln`.
    pub(super) fn line(&mut self, arguments: &[Value]) {
        for (index, argument) in arguments.iter().enumerate() {
            if index > 0 {
                self.out.push(b' ');
            }
            self.argument(argument, 'v');
        }
        self.out.push(b'\n');
    }

    /// A value as an action of a template prints it: what a pointer points to, unless the pointer has
    /// a text.
    pub(super) fn action(&mut self, value: &Value) {
        let Value::Object(object) = value else {
            return self.argument(value, 'v');
        };
        if let Some(text) = object.written() {
            return self.string(text.as_bytes());
        }
        match object.type_name().strip_prefix('*').zip(object.members()) {
            Some((name, members)) => self.members(name, &members, 'v'),
            None => self.argument(value, 'v'),
        }
    }

    /// A value that is an argument itself, not part of one.
    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        if value.is_nil() {
            match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(value, verb),
            }
            return;
        }
        match verb {
            'T' => self.string(value.type_name().as_bytes()),
            'p' => self.pointer(value),
            _ => self.value(value, verb),
        }
    }

    fn value(&mut self, value: &Value, verb: char) {
        if !self.fits() || self.depth >= DEPTH {
            self.cut_off = true;
            return;
        }
        match value {
            Value::Invalid | Value::Nil if self.flags.sharp_v => self.write("interface {}(nil)"),
            Value::Invalid | Value::Nil => self.write("<nil>"),
            Value::Bool(truth) => match verb {
                't' | 'v' => self.pad(if *truth { b"true" } else { b"false" }),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(number) | Value::Int64(number) => {
                self.integer_value(value, number.unsigned_abs(), *number < 0, true, verb);
            }
            Value::Uint64(number) => self.integer_value(value, *number, false, false, verb),
            Value::Byte(number) => self.integer_value(value, u64::from(*number), false, false, verb),
            Value::Float(number) => self.float_value(value, *number, verb),
            Value::Str(text) => self.text(value, text.as_bytes(), verb),
            Value::Bytes(bytes) => self.bytes(value, bytes, verb),
            Value::List(_) | Value::Map(_) | Value::Object(_) if verb == 'w' => self.bad_verb(value, verb),
            Value::Map(map) if map.is_nil() && self.flags.sharp_v => {
                self.nil_of_type(map.map_type().type_name());
            }
            Value::List(list) if list.is_nil() && self.flags.sharp_v => {
                self.nil_of_type(list.list_type().type_name());
            }
            Value::List(list) => {
                let type_name = list.list_type().type_name();
                self.sequence(type_name, list.items().iter().cloned(), verb);
            }
            Value::Map(map) => self.entries(map.map_type().type_name(), &map.entries(), verb),
            Value::Object(object) if object.kind_name() == "complex128" => {
                self.complex(value, object.as_any().downcast_ref(), verb);
            }
            Value::Object(object) => self.object(value, object.as_ref(), verb),
        }
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char) {
        let is_text = matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') && !self.flags.sharp_v;
        if is_text
            && !self.reports_bad_verb
            && let Some(text) = object.text()
        {
            return self.text(value, text.as_bytes(), verb);
        }
        if self.flags.sharp_v
            && !self.reports_bad_verb
            && let Some(text) = object.go_syntax()
        {
            return self.string(text.as_bytes());
        }
        if let Some(number) = object.integer() {
            return self.integer_value(value, number.unsigned_abs(), number < 0, true, verb);
        }
        if let Some(items) = object.items() {
            return self.sequence(object.type_name(), items.into_iter(), verb);
        }
        if let Some(entries) = object.entries() {
            return self.entries(object.type_name(), &entries, verb);
        }
        let members = object.members().unwrap_or_default();
        let name = object.type_name();
        match name.strip_prefix('*') {
            None => self.members(name, &members, verb),
            Some(name) if self.depth == 0 => {
                self.write("&");
                self.members(name, &members, verb);
            }
            // Go does not follow a pointer that is nested in something else.
            Some(_) => self.address(value, verb),
        }
    }

    /// Prints a struct: fields between braces, with their names under `%+v` and `%#v`.
    fn members(&mut self, type_name: &str, members: &[(&str, Value)], verb: char) {
        let (open, separator, close) = self.brackets(type_name, "{", "}");
        self.write(open);
        for (index, (name, value)) in members.iter().enumerate() {
            self.write(if index > 0 { separator } else { "" });
            if self.flags.plus_v || self.flags.sharp_v {
                self.write(name);
                self.write(":");
            }
            self.nested(value, verb);
        }
        self.write(close);
    }

    fn address(&mut self, value: &Value, verb: char) {
        match verb {
            'v' if self.flags.sharp_v => {
                self.write(&format!("({})({ADDRESS:#x})", value.type_name()));
            }
            'v' => self.pad(format!("{ADDRESS:#x}").as_bytes()),
            'b' | 'o' | 'd' | 'x' | 'X' => self.integer_value(value, ADDRESS, false, false, verb),
            _ => self.bad_verb(value, verb),
        }
    }

    fn nested(&mut self, value: &Value, verb: char) {
        self.depth += 1;
        crate::stack::grow(|| self.value(value, verb));
        self.depth -= 1;
    }

    fn sequence(&mut self, type_name: &str, items: impl Iterator<Item = Value>, verb: char) {
        let (open, separator, close) = self.brackets(type_name, "[", "]");
        self.write(open);
        for (index, item) in items.enumerate() {
            self.write(if index > 0 { separator } else { "" });
            self.nested(&item, verb);
            if self.cut_off {
                return;
            }
        }
        self.write(close);
    }

    /// A nil map or slice in Go syntax.
    fn nil_of_type(&mut self, type_name: &str) {
        self.write(type_name);
        self.write("(nil)");
    }

    fn entries(&mut self, type_name: &str, entries: &[(Str, Value)], verb: char) {
        let (open, separator, close) = self.brackets(type_name, "map[", "]");
        self.write(open);
        for (index, (key, value)) in entries.iter().enumerate() {
            self.write(if index > 0 { separator } else { "" });
            self.nested(&Value::Str(key.clone()), verb);
            self.write(":");
            self.nested(value, verb);
            if self.cut_off {
                return;
            }
        }
        self.write(close);
    }

    /// How a sequence opens, is separated and closes; in Go syntax the name of its type,
    /// which is written here, comes first.
    fn brackets<'b>(
        &mut self,
        type_name: &str,
        open: &'b str,
        close: &'b str,
    ) -> (&'b str, &'b str, &'b str) {
        if self.flags.sharp_v {
            self.write(type_name);
            ("{", ", ", "}")
        } else {
            (open, " ", close)
        }
    }

    fn bytes(&mut self, value: &Value, bytes: &[u8], verb: char) {
        match verb {
            's' | 'x' | 'X' | 'q' => self.text(value, bytes, verb),
            'w' if self.depth > 0 => self.bad_verb(value, verb),
            _ => {
                let type_name = if self.depth == 0 { "[]byte" } else { "[]uint8" };
                self.sequence(type_name, bytes.iter().copied().map(Value::Byte), verb);
            }
        }
    }

    fn text(&mut self, value: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.flags.sharp_v && matches!(value, Value::Str(_)) => self.quoted(text),
            'v' | 's' => self.string(text),
            'x' | 'X' => self.hexadecimal(text, verb),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn string(&mut self, text: &[u8]) {
        self.pad(self.truncated(text));
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        if self.flags.sharp && can_backquote(text) {
            let raw = [b"`", text, b"`"].concat();
            return self.pad(&raw);
        }
        let escape = if self.flags.plus {
            Escape::NotAscii
        } else {
            Escape::NotPrintable
        };
        self.pad(quote_with(text, '"', escape).as_bytes());
    }

    fn hexadecimal(&mut self, text: &[u8], verb: char) {
        let digits: &[u8; 16] = if verb == 'x' {
            b"0123456789abcdef"
        } else {
            b"0123456789ABCDEF"
        };
        let text = &text[..self.flags.precision.unwrap_or(text.len()).min(text.len())];
        let text = self.within_limit(text);
        let mut out = Vec::with_capacity(text.len() * 2 + 2);
        for (index, byte) in text.iter().enumerate() {
            if self.flags.space && index > 0 {
                out.push(b' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                out.extend([b'0', verb as u8]);
            }
            out.push(digits[usize::from(byte >> 4)]);
            out.push(digits[usize::from(byte & 15)]);
        }
        self.pad(&out);
    }

    /// No more of `text` than it takes to be too much: what is printed of it is no shorter.
    fn within_limit<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let room = self.limit.saturating_sub(self.out.len()).saturating_add(1);
        &text[..text.len().min(room)]
    }

    /// As many characters as the precision allows.
    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let text = self.within_limit(text);
        let Some(precision) = self.flags.precision else {
            return text;
        };
        let mut end = 0;
        for _ in 0..precision {
            let Some(rest) = text.get(end..).filter(|rest| !rest.is_empty()) else {
                return text;
            };
            end += first_length(rest);
        }
        &text[..end.min(text.len())]
    }

    fn pointer(&mut self, value: &Value) {
        match value {
            Value::List(_) | Value::Map(_) | Value::Bytes(_) => self.write(&format!("{ADDRESS:#x}")),
            Value::Object(object) if matches!(object.kind_name(), "ptr" | "map" | "slice") => {
                self.write(&format!("{ADDRESS:#x}"));
            }
            _ => self.bad_verb(value, 'p'),
        }
    }

    pub(super) fn bad_verb(&mut self, value: &Value, verb: char) {
        self.write("%!");
        self.write(verb.encode_utf8(&mut [0; 4]));
        self.write("(");
        if value.is_nil() {
            self.write("<nil>");
        } else {
            self.write(value.type_name());
            self.write("=");
            let (depth, reported) = (self.depth, self.reports_bad_verb);
            (self.depth, self.reports_bad_verb) = (0, true);
            self.value(value, 'v');
            (self.depth, self.reports_bad_verb) = (depth, reported);
        }
        self.write(")");
    }

    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Appends `text`, padded to the width.
    pub(super) fn pad(&mut self, text: &[u8]) {
        let padding = match self.flags.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(count_characters(text)),
        };
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.padding(padding);
        } else {
            self.padding(padding);
            self.out.extend_from_slice(text);
        }
    }

    /// Appends `text`, padded to the width with spaces even where zeros are asked for.
    pub(super) fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    pub(super) fn padding(&mut self, count: usize) {
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        if self.out.len() < self.limit {
            self.out.resize(self.out.len() + count, byte);
        }
    }
}

/// Go's `utf8.RuneCount`: bytes that are not UTF-8 count as one each.
fn count_characters(text: &[u8]) -> usize {
    let chunks = text.utf8_chunks();
    chunks
        .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
        .sum()
}

/// The length of the first character, or of one byte that is part of none.
fn first_length(text: &[u8]) -> usize {
    let first = text.utf8_chunks().next();
    let character = first.and_then(|chunk| chunk.valid().chars().next());
    character.map_or(1, char::len_utf8)
}
