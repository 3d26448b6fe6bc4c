//! What is written reads back as the same value, for many values from a fixed sequence.

#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test may allocate"
)]

use serde_json::{Map, Value, json};
use steersman_yaml::{Style, marshal, parse, parse_bytes, parse_documents, sort_keys, to_json, to_string};

/// A generator of the same numbers in every run (xorshift).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn text(&mut self, pieces: &[&str]) -> String {
        let length = match self.below(8) {
            0 => 0,
            7 => 60,
            length => length,
        };
        (0..length).map(|_| self.pick(pieces)).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 4 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => Value::from(self.below(2) == 0),
            2 => Value::from(self.0 as i64),
            3 => Value::from(self.below(100)),
            // Halves are written with a point, so they come back as floats.
            4 => Value::from(self.below(1 << 30) as f64 + 0.5),
            5 | 6 => Value::from(self.text(PIECES)),
            7 | 8 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => {
                let pairs = (0..self.below(5)).map(|_| (self.text(PIECES), self.value(depth + 1)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

const PIECES: &[&str] = &[
    "a",
    "b",
    "word ",
    "yes",
    "null",
    "0",
    "1",
    "9",
    "0x",
    "-",
    "- ",
    "+",
    ".",
    "_",
    ":",
    ": ",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "#",
    " #",
    "\"",
    "'",
    "\\",
    "[",
    "]",
    "{",
    "}",
    ",",
    "?",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "&",
    "*",
    "~",
    "=",
    "1e3",
    "é",
    "☃",
    "😀",
    "\r",
    "\u{a0}",
    "\u{feff}",
    "\0",
    "\u{1b}",
    "---",
    "...",
    "2001-01-01",
    "12:30",
    "\u{7f}",
    "\u{85}",
];

/// Whether goyaml's own way of writing a value reads back: it writes the key `<<` plain, which merges, starts
/// blocks with tabs in version 3, and loses track of the Unicode separators at the ends of blocks.
fn is_faithful(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(['\t', '\u{2028}', '\u{2029}']),
        Value::Array(items) => items.iter().all(is_faithful),
        Value::Object(object) => object
            .iter()
            .all(|(key, value)| key != "<<" && is_faithful(&Value::from(key.as_str())) && is_faithful(value)),
        _ => true,
    }
}

/// Pieces of grammar, whole and broken.
const FRAGMENTS: &[&str] = &[
    "a",
    "key",
    "yes",
    "1",
    "\"q\"",
    "'s'",
    "\"a\\n",
    "\\u00",
    "\\x",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "?",
    ", ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "&",
    "*",
    "!!str ",
    "!!int ",
    "!t ",
    "!",
    "!<",
    "%41",
    "|",
    ">",
    "|-\n",
    ">+2\n",
    "\n",
    "\n  ",
    "\n ",
    "\t",
    " ",
    "#c\n",
    "---",
    "\n---\n",
    "\n...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "<<: ",
    "<<: *x\n",
    "~",
    "é",
    "\u{2028}",
    "\u{85}",
    "\r\n",
    "\r",
    "😀",
    "@",
    "\"",
    "'",
    "\u{feff}",
    "\0",
    "\u{7f}",
];

#[test]
fn written_values_read_back() {
    let mut sequence = Sequence(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        let value = sequence.value(0);
        let text = to_string(&value);
        assert_eq!(to_json(&text).unwrap(), value, "{text:?}");
        assert!(text.ends_with('\n'), "{text}");
    }
}

#[test]
fn pretty_values_read_back() {
    let mut sequence = Sequence(0x2545_f491_4f6c_dd1d);
    for _ in 0..3000 {
        let value = sequence.value(0);
        if !is_faithful(&value) {
            continue;
        }
        let text = marshal(&value, Style::V3Pretty).unwrap();
        assert_eq!(to_json(&text).unwrap(), value, "{text:?}");
    }
}

#[test]
fn any_text_is_read_or_refused() {
    let mut sequence = Sequence(0x1234_5678_9abc_def1);
    for _ in 0..20_000 {
        let text = sequence.text(FRAGMENTS) + &sequence.text(FRAGMENTS);
        if let Ok(node) = parse(&text)
            && let Ok(value) = node.to_json()
            && is_faithful(&value)
        {
            let written = to_string(&value);
            assert_eq!(to_json(&written).unwrap(), value, "{text:?}");
        }
        let _ = parse_documents(&text);
        let mut bytes = text.into_bytes();
        let position = sequence.below(bytes.len().max(1));
        if let Some(byte) = bytes.get_mut(position) {
            *byte = sequence.below(256) as u8;
        }
        let _ = parse_bytes(&bytes);
        let _ = parse_bytes(&[b"\xff\xfe", bytes.as_slice()].concat());
    }
}

#[test]
fn any_keys_are_sorted() {
    let mut sequence = Sequence(0x0dd0_beef_1234_5678);
    for _ in 0..300 {
        let mut keys: Vec<String> = (0..sequence.below(60)).map(|_| sequence.text(PIECES)).collect();
        let mut expect = keys.clone();
        sort_keys(&mut keys, Style::V2, |key| key);
        keys.sort_unstable();
        expect.sort_unstable();
        assert_eq!(keys, expect);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (opening, closing) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[{? ", "}]")] {
        let text = opening.repeat(100_000) + &closing.repeat(100_000);
        let error = parse(&text).unwrap_err();
        assert_eq!(error.message(), "exceeded max depth of 256", "{opening}");
    }
    let indented: String = (0..3000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    assert!(parse(&indented).is_err());
    let nested = "[".repeat(256) + &"]".repeat(256);
    let value = to_json(&nested).unwrap();
    assert_eq!(to_json(&to_string(&value)).unwrap(), value);
}

#[test]
fn depth_is_not_gained_by_aliases() {
    let mut text = "a0: &a0 []\n".to_owned();
    for depth in 1..2000 {
        text += &format!("a{depth}: &a{depth} [*a{}]\n", depth - 1);
    }
    assert!(parse(&text).is_err());
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [previous.as_str(); 10].join(", "));
    }
    assert_eq!(
        parse(&bomb).unwrap_err().to_string(),
        "yaml: document contains excessive aliasing"
    );

    let too_large = "yaml: document needs more than 67108864 bytes";
    let long_text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1000));
    assert_eq!(parse(&long_text).unwrap_err().to_string(), too_large);

    let nested_anchors = (0..200).map(|level| format!("[&a{level} ")).collect::<String>();
    let text = format!("{nested_anchors}{}{}", "x".repeat(1 << 20), "]".repeat(200));
    assert_eq!(parse(&text).unwrap_err().to_string(), too_large);
}

#[test]
fn many_small_nodes_cannot_fill_the_memory() {
    for piece in ["1,", "{},", "[],", "a,", "{a: },"] {
        let text = format!("[{}]", piece.repeat(2_000_000));
        assert_eq!(
            parse(&text).unwrap_err().to_string(),
            "yaml: document needs more than 67108864 bytes",
            "{piece}"
        );
    }
}

#[test]
fn nodes_know_their_places() {
    let node = parse("# c\na: é b\né: {x: [1,\n  \"two\"]}\n").unwrap();
    let place = |node: &steersman_yaml::Node| (node.line, node.column);
    assert_eq!(place(&node), (2, 1));
    assert_eq!(place(node.get("a").unwrap()), (2, 4));
    let inner = node.get("é").unwrap();
    assert_eq!(place(inner), (3, 4));
    let list = inner.get("x").unwrap();
    let steersman_yaml::Content::Sequence(items) = &list.value else {
        panic!("not a list")
    };
    assert_eq!(items.iter().map(place).collect::<Vec<_>>(), [(3, 9), (4, 3)]);
}

#[test]
fn documents_are_separated() {
    let documents = parse_documents("a: 1\n---\n# only a comment\n---\n- 2\n...\n---\n\"3\"\n").unwrap();
    let values: Vec<Value> = documents.iter().map(|node| node.to_json().unwrap()).collect();
    assert_eq!(values, [json!({"a": 1}), Value::Null, json!([2]), json!("3")]);
    assert!(parse_documents("").unwrap().is_empty());
    assert!(parse_documents("a: 1\n---\nb: [\n").is_err());
}
