//! Cutting what is too much of an object out of a text of JSON while it arrives.

use hyper::body::Bytes;
use steersman_model::Weight;

use super::bounded::CUT;

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An object, or something else that is one thing. It is not cut.
    Object,
    /// An object whose status was written, of which the rest need not be known.
    Status,
    /// Objects in `items`.
    List,
    /// Events, each with an object.
    Watch,
}

/// The longest name of a field that is told from others.
const METADATA: &[u8] = b"metadata";

/// Passes a text on, without what its objects have too much of.
///
/// A collection that is open when its object gets too heavy ends at the next comma. Fields of the object itself, and of
/// its metadata, always go on: its name and version come behind what may be large.
#[derive(Debug)]
pub(super) struct Cut {
    shape: Shape,
    limit: usize,
    /// How many collections are open.
    depth: usize,
    /// Whether the second of these is a list, as `items` is.
    in_items: bool,
    in_string: bool,
    is_escaped: bool,
    /// Of the object that is open.
    weight: Weight,
    /// The name of the field of the object that is open, as far as it matters.
    field: Field,
    /// The collection, by its depth, of which nothing more is passed on.
    skipped: Option<usize>,
    heaviest: usize,
    /// Of the objects before.
    sum: usize,
}

#[derive(Debug, Default)]
struct Field {
    name: Vec<u8>,
    /// Whether the next string is a name, and whether it is being read.
    is_due: bool,
    is_open: bool,
}

impl Cut {
    pub(super) fn new(shape: Shape, limit: usize) -> Self {
        Self {
            shape,
            limit,
            depth: 0,
            in_items: false,
            in_string: false,
            is_escaped: false,
            weight: Weight::default(),
            field: Field::default(),
            skipped: None,
            heaviest: 0,
            sum: 0,
        }
    }

    /// The weight of the heaviest object so far.
    pub(super) fn heaviest(&self) -> usize {
        self.heaviest.max(self.weight.bytes())
    }

    /// The weight of all objects so far, each as it is passed on.
    pub(super) fn sum(&self) -> usize {
        self.sum.saturating_add(self.weight.bytes().min(self.limit))
    }

    /// The next part of the text.
    pub(super) fn pass(&mut self, bytes: Bytes) -> Bytes {
        let mut changed: Option<Vec<u8>> = None;
        for (at, &byte) in bytes.iter().enumerate() {
            let is_passed = self.step(byte);
            if !is_passed || self.ends_cut(byte) {
                let text = changed.get_or_insert_with(|| bytes.slice(..at).to_vec());
                if is_passed {
                    let mark = format!(",\"{CUT}\":{}", self.heaviest);
                    text.extend_from_slice(mark.as_bytes());
                    text.push(byte);
                }
            } else if let Some(text) = &mut changed {
                text.push(byte);
            }
        }
        changed.map_or(bytes, Bytes::from)
    }

    /// At which depth the fields of an object are.
    fn root(&self) -> usize {
        match self.shape {
            Shape::Object | Shape::Status => 1,
            Shape::Watch => 2,
            Shape::List => 3,
        }
    }

    fn is_in_object(&self) -> bool {
        self.depth >= self.root() && (self.shape != Shape::List || self.in_items)
    }

    /// Whether the object that has just ended with this byte was cut. Its weight is the heaviest then.
    fn ends_cut(&mut self, byte: u8) -> bool {
        let has_ended = byte == b'}' && !self.in_string && self.depth + 1 == self.root();
        if !has_ended || (self.shape == Shape::List && !self.in_items) {
            return false;
        }
        let weight = std::mem::take(&mut self.weight).bytes();
        self.sum = self.sum.saturating_add(weight.min(self.limit));
        let is_cut = weight > self.limit && self.shape != Shape::Object;
        self.heaviest = if is_cut { weight } else { self.heaviest.max(weight) };
        is_cut
    }

    /// Whether the next byte is passed on.
    fn step(&mut self, byte: u8) -> bool {
        if self.is_in_object() || (byte == b'{' && self.opens_object()) {
            self.weight.step(byte);
        }
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => (self.in_string, self.field.is_open) = (false, false),
                _ => {}
            }
            if self.field.is_open && self.field.name.len() <= METADATA.len() {
                self.field.name.push(byte);
            }
            return self.skipped.is_none();
        }
        let before = self.depth;
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == self.root() && std::mem::take(&mut self.field.is_due) {
                    self.field.name.clear();
                    self.field.is_open = true;
                }
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 2 {
                    self.in_items = byte == b'[';
                }
                self.field.is_due |= self.depth == self.root();
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' => {
                self.field.is_due |= self.depth == self.root();
                if self.may_end_here() {
                    self.skipped = self.skipped.or(Some(before));
                }
            }
            _ => {}
        }
        match self.skipped {
            None => true,
            // The end of the collection is passed on.
            Some(depth) if self.depth < depth => {
                self.skipped = None;
                true
            }
            Some(_) => false,
        }
    }

    /// Whether the next collection is an object to be weighed.
    fn opens_object(&self) -> bool {
        self.depth + 1 == self.root() && (self.shape != Shape::List || self.in_items)
    }

    /// Whether the collection that is open can do without the rest.
    fn may_end_here(&self) -> bool {
        if self.shape == Shape::Object || !self.is_in_object() || self.weight.bytes() <= self.limit {
            return false;
        }
        let first = self.root() + 1;
        self.depth > first || (self.depth == first && self.field.name != METADATA)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::weight_of_cut;

    /// However the text arrives, the same is passed on.
    fn pass(shape: Shape, text: &str) -> String {
        let of_pieces = |size: usize| {
            let mut cut = Cut::new(shape, 10_000);
            let pieces = text.as_bytes().chunks(size).map(Bytes::copy_from_slice);
            let passed: Vec<u8> = pieces.flat_map(|piece| cut.pass(piece)).collect();
            String::from_utf8(passed).unwrap()
        };
        let whole = of_pieces(text.len());
        for size in [1, 7, 64] {
            assert_eq!(of_pieces(size), whole, "{size}");
        }
        whole
    }

    fn object(spec: Value) -> Value {
        json!({"apiVersion": "a/v1", "kind": "A", "spec": spec, "status": {"a": [1, 2, {"b": "}"}]},
            "metadata": {"annotations": {"x": "metadata"}, "managedFields": [{"a": 1}, {"b": 1}], "name": "a", "uid": "u"}})
    }

    #[test]
    fn what_is_light_stays_as_it_is() {
        let list = json!({"metadata": {"continue": "c"}, "items": [object(json!({})), object(json!([1, "\\\",{["]))]});
        assert_eq!(pass(Shape::List, &list.to_string()), list.to_string());
        let event = json!({"type": "ADDED", "object": object(json!({"a": []}))}).to_string();
        let events = [event.as_str(); 30].join("\n");
        assert_eq!(pass(Shape::Watch, &events), events);
    }

    #[test]
    fn what_is_heavy_is_cut_wherever_that_is() {
        let numbers = Value::from(vec![0; 1000]);
        let entries: serde_json::Map<String, Value> =
            (0..1000).map(|key| (key.to_string(), 1.into())).collect();
        let maps = Value::from(vec![json!({"a": {"b": ["x,y"]}}); 1000]);
        let nested = (0..40).fold(json!(1), |inner, _| json!({"a": [inner], "b": {"c": 1}}));
        for spec in [
            numbers.clone(),
            json!({"a": {"b": numbers}}),
            Value::Object(entries),
            maps,
            nested,
        ] {
            for text in [spec.to_string(), spec.to_string().replace(',', " , ")] {
                let heavy = object(json!("SPEC")).to_string().replace("\"SPEC\"", &text);
                let light = object(json!("light")).to_string();
                let list = format!(r#"{{"kind":"AList","metadata":{{}},"items":[{light},{heavy},{light}]}}"#);
                let passed = pass(Shape::List, &list);
                let list: Value =
                    serde_json::from_str(&passed).unwrap_or_else(|error| panic!("{error}: {passed}"));
                assert!(passed.len() < 15_000, "{}", passed.len());
                assert_eq!(list["items"][0], object(json!("light")));
                assert_eq!(list["items"][2], object(json!("light")));
                check_cut(&list["items"][1]);

                let events = format!(
                    "{{\"type\":\"ADDED\",\"object\":{heavy}}}\n{{\"type\":\"ADDED\",\"object\":{light}}}\n"
                );
                let passed = pass(Shape::Watch, &events);
                let mut lines = passed
                    .lines()
                    .map(|line| serde_json::from_str::<Value>(line).unwrap());
                check_cut(&lines.next().unwrap()["object"]);
                assert_eq!(lines.next().unwrap()["object"], object(json!("light")));
            }
        }
    }

    fn check_cut(cut: &Value) {
        assert!(weight_of_cut(cut).is_some_and(|weight| weight > 10_000), "{cut}");
        assert_eq!(cut["metadata"]["name"], "a");
        assert_eq!(cut["metadata"]["uid"], "u");
        assert_eq!(cut["kind"], "A");
    }

    #[test]
    fn heavy_metadata_keeps_the_name() {
        let many: serde_json::Map<String, Value> =
            (0..1000).map(|key| (format!("f:{key}"), json!({}))).collect();
        let mut heavy = object(json!({"a": 1}));
        heavy["metadata"]["managedFields"] = json!([{"fieldsV1": many}]);
        let event = json!({"object": heavy, "type": "MODIFIED"}).to_string();
        let passed: Value = serde_json::from_str(&pass(Shape::Watch, &event)).unwrap();
        check_cut(&passed["object"]);
        assert_eq!(passed["type"], "MODIFIED");
    }
}
