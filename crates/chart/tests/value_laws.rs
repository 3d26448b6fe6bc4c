//! What holds of all values that are set, overlaid and coalesced, on many of them from a fixed sequence.

use serde_json::{Map, Value, json};
use steersman_chart::values::overlay;
use steersman_chart::values::set::{set, set_json, set_string};
use steersman_chart::{Chart, Values};

/// A generator of the same values in every run (xorshift).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn values(&mut self, depth: usize) -> Values {
        const KEYS: [&str; 5] = ["a", "b", "c", "d e", "f.g"];
        (0..self.below(5))
            .map(|_| (KEYS[self.below(KEYS.len())].to_owned(), self.value(depth + 1)))
            .collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 3 { 4 } else { 8 }) {
            0 => Value::from(self.below(9) as f64),
            1 => Value::from(self.below(2) == 0),
            2 | 3 => Value::from(["", "x", "y=z", "1,2", "{w}", "a b"][self.below(6)]),
            4 => (0..self.below(3)).map(|_| self.value(depth + 1)).collect(),
            _ => Value::Object(self.values(depth)),
        }
    }
}

fn sequence() -> Sequence {
    Sequence(0x9e37_79b9_7f4a_7c15)
}

/// A key as `--set` takes it: dots divide it.
fn escaped(key: &str) -> String {
    key.replace('.', "\\.")
}

/// The text that sets every scalar of `values` by itself.
fn set_texts(values: &Values, before: &str, texts: &mut Vec<String>) {
    for (key, value) in values {
        let path = format!("{before}{}", escaped(key));
        match value {
            Value::Object(inner) if !inner.is_empty() => set_texts(inner, &format!("{path}."), texts),
            value => texts.push(format!("{path}={value}")),
        }
    }
}

#[test]
fn values_can_be_set_one_by_one() {
    let mut sequence = sequence();
    for _ in 0..500 {
        let values = sequence.values(0);
        let mut texts = Vec::new();
        set_texts(&values, "", &mut texts);
        let mut found = Values::new();
        for text in &texts {
            set_json(&mut found, text).unwrap();
        }
        assert_eq!(found, values, "{texts:?}");
        // Once more changes nothing, in whatever order.
        for text in texts.iter().rev() {
            set_json(&mut found, text).unwrap();
        }
        assert_eq!(found, values, "{texts:?}");
    }
}

#[test]
fn texts_are_set_as_they_are() {
    const PIECES: [&str; 12] = [
        "a", "1", "true", "null", ",", "=", "\\", "{", "}", "[0]", ".", " ",
    ];
    let mut sequence = sequence();
    for _ in 0..2000 {
        let text: String = (0..=sequence.below(6))
            .map(|_| PIECES[sequence.below(12)])
            .collect();
        let escaped: String = text
            .chars()
            .flat_map(|character| {
                let needs_escape = matches!(character, ',' | '\\' | '{' | '}');
                needs_escape.then_some('\\').into_iter().chain([character])
            })
            .collect();
        let mut values = Values::new();
        set_string(&mut values, &format!("k={escaped}")).unwrap();
        assert_eq!(Value::Object(values), json!({"k": text}), "{escaped}");
    }
}

#[test]
fn setting_one_key_leaves_the_others() {
    let mut sequence = sequence();
    for _ in 0..500 {
        let mut values = sequence.values(0);
        let before = values.clone();
        set(&mut values, "new.key[2]=x").unwrap();
        assert_eq!(values.remove("new"), Some(json!({"key": [null, null, "x"]})));
        assert_eq!(values, before);
    }
}

#[test]
fn overlaying_has_a_neutral_element_and_is_idempotent() {
    let mut sequence = sequence();
    for _ in 0..500 {
        let (below, above) = (sequence.values(0), sequence.values(0));
        let over = |below: &Values, above: &Values| {
            let mut result = below.clone();
            overlay(&mut result, above.clone());
            result
        };
        assert_eq!(over(&below, &Values::new()), below);
        assert_eq!(over(&Values::new(), &above), above);
        let both = over(&below, &above);
        assert_eq!(over(&both, &above), both);
        assert!(contains(&both, &above), "{both:?} {above:?}");
    }
}

/// Whether all that `part` says is so in `whole`.
fn contains(whole: &Values, part: &Values) -> bool {
    part.iter().all(|(key, value)| match (whole.get(key), value) {
        (Some(Value::Object(whole)), Value::Object(part)) => contains(whole, part),
        (found, value) => found == Some(value),
    })
}

#[test]
fn defaults_fill_up_what_the_user_leaves_open() {
    let mut sequence = sequence();
    for _ in 0..200 {
        let (defaults, given) = (sequence.values(0), sequence.values(0));
        let yaml = Value::Object(defaults.clone()).to_string();
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                "apiVersion: v2\nname: web\nversion: 1.0.0\n".as_bytes(),
            ),
            ("values.yaml", yaml.as_bytes()),
        ])
        .unwrap();
        assert_eq!(chart.coalesce(&Values::new()).unwrap(), defaults);
        let both = chart.coalesce(&given).unwrap();
        assert!(contains(&both, &given), "{both:?} {given:?}");
        assert_eq!(chart.coalesce(&both).unwrap(), both);
        // Where both are maps all the way, a default stays that the user does not mention.
        for (key, value) in &defaults {
            if !given.contains_key(key) {
                assert_eq!(both.get(key), Some(value), "{key}");
            }
        }
        // A null removes a default.
        let nulls: Map<_, _> = defaults.keys().map(|key| (key.clone(), Value::Null)).collect();
        assert_eq!(chart.coalesce(&nulls).unwrap(), Values::new());
    }
}
