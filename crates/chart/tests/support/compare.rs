//! How rendered output is compared with a recording: byte by byte, or else document by document
//! without the places that differ from run to run.

use serde_json::Value;
use steersman_testkit::corpus::Volatile;

/// How well output agrees with its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// It is the same.
    Bytes,
    /// Each document is the same, apart from volatile places.
    Semantic,
    /// It differs here.
    Differs(String),
}

/// Compares output with its recording.
pub(crate) fn compare(golden: &str, found: &str, volatile: &[Volatile]) -> Agreement {
    if golden == found {
        return Agreement::Bytes;
    }
    let (golden, found) = (documents(golden), documents(found));
    if golden.len() != found.len() {
        let names = |documents: &[Document]| documents.iter().map(Document::name).collect::<Vec<_>>();
        let (golden_names, found_names) = (names(&golden), names(&found));
        let missing: Vec<_> = golden_names
            .iter()
            .filter(|name| !found_names.contains(name))
            .collect();
        let extra: Vec<_> = found_names
            .iter()
            .filter(|name| !golden_names.contains(name))
            .collect();
        return Agreement::Differs(format!(
            "{} documents expected, {} found; missing {missing:?}, unexpected {extra:?}",
            golden.len(),
            found.len()
        ));
    }
    for (index, (mut golden, mut found)) in golden.into_iter().zip(found).enumerate() {
        if let (Document::Parsed(golden), Document::Parsed(found)) = (&mut golden, &mut found) {
            for place in volatile.iter().filter(|place| place.doc.index == index) {
                mask(golden, &place.pointer);
                mask(found, &place.pointer);
            }
        }
        if golden != found {
            return Agreement::Differs(format!(
                "{}: {}",
                golden.name(),
                first_difference(&golden, &found)
            ));
        }
    }
    Agreement::Semantic
}

#[derive(Debug, PartialEq)]
enum Document {
    Parsed(Value),
    /// What is not YAML is compared as text.
    Text(String),
}

impl Document {
    fn name(&self) -> String {
        let Self::Parsed(value) = self else {
            return "text".to_owned();
        };
        let text = |pointer| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        format!("{}/{}", text("/kind"), text("/metadata/name"))
    }
}

fn documents(text: &str) -> Vec<Document> {
    let mut starts = vec![(0, 0)];
    let mut place = 0;
    for line in text.split_inclusive('\n') {
        if line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']))
        {
            starts.push((place, place + 3));
        }
        place += line.len();
    }
    starts.push((text.len(), text.len()));
    starts
        .windows(2)
        .filter_map(|pair| {
            let document = &text[pair[0].1..pair[1].0];
            match steersman_yaml::to_json(document) {
                Ok(Value::Null) => None,
                Ok(value) => Some(Document::Parsed(value)),
                Err(_) => Some(Document::Text(
                    document
                        .trim()
                        .lines()
                        .map(str::trim_end)
                        .collect::<Vec<_>>()
                        .join("\n"),
                )),
            }
        })
        .collect()
}

fn mask(value: &mut Value, pointer: &str) {
    if let Some(place) = value.pointer_mut(pointer) {
        *place = "<volatile>".into();
    }
}

fn first_difference(golden: &Document, found: &Document) -> String {
    match (golden, found) {
        (Document::Parsed(golden), Document::Parsed(found)) => {
            let mut place = String::new();
            locate(golden, found, &mut place);
            let shown = |value: Option<&Value>| {
                let text = value.map_or_else(|| "nothing".to_owned(), ToString::to_string);
                text.chars().take(300).collect::<String>()
            };
            format!(
                "{place}: expected {} found {}",
                shown(golden.pointer(&place)),
                shown(found.pointer(&place))
            )
        }
        _ => "not YAML".to_owned(),
    }
}

/// Extends `place` to the smallest part that differs.
fn locate(golden: &Value, found: &Value, place: &mut String) {
    match (golden, found) {
        (Value::Object(golden), Value::Object(found)) => {
            let differing = golden
                .iter()
                .find(|(key, value)| found.get(*key).is_some_and(|other| other != *value));
            if let Some((key, value)) = differing
                && golden.len() == found.len()
            {
                place.push('/');
                place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                locate(value, &found[key], place);
            }
        }
        (Value::Array(golden), Value::Array(found)) if golden.len() == found.len() => {
            if let Some(index) = golden.iter().zip(found).position(|(a, b)| a != b) {
                place.push('/');
                place.push_str(&index.to_string());
                locate(&golden[index], &found[index], place);
            }
        }
        _ => {}
    }
}
