//! `valueFiles` and `overrides`: values below and above the spec.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Map, Value};
use steersman_chart::{Chart, Values, values};
use steersman_yaml::Node;

use super::entry::Loader;
use super::fields::Fields;
use crate::values::{EntryValues, ValueFile, is_too_deep};

/// The most bytes of a file of values, as Helm has it for the files of a chart.
const MAX_BYTES: u64 = 5 << 20;

impl Loader<'_> {
    /// What an entry says of values. `chart` is the entry's, where it could be loaded.
    pub(super) fn entry_values(&mut self, fields: &Fields<'_>, chart: Option<&Chart>) -> EntryValues {
        let strings = self.override_values(fields);
        let from_environment = strings.iter().filter(|(_, value)| value.from_environment);
        EntryValues {
            files: self.value_files(fields, chart),
            overrides: self.overrides(fields),
            from_environment: from_environment.map(|(key, _)| key.clone()).collect(),
            override_values: strings
                .into_iter()
                .map(|(key, value)| (key, value.text))
                .collect(),
        }
    }

    fn overrides(&mut self, fields: &Fields<'_>) -> Values {
        let Some((_, node)) = fields.get("overrides") else {
            return Map::new();
        };
        let path = fields.key("overrides");
        match node.to_json() {
            Ok(values) if is_too_deep(&values) => {
                self.findings.problem(node, &path, "is nested too deeply");
            }
            Ok(Value::Object(values)) => return values,
            Ok(_) => self.findings.expected("a map of values", node, &path),
            Err(error) => self.findings.problem(node, &path, error.message()),
        }
        Map::new()
    }

    fn value_files(&mut self, fields: &Fields<'_>, chart: Option<&Chart>) -> Vec<ValueFile> {
        let items = fields.items("valueFiles", "paths of files", &mut self.findings);
        let mut files = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let key = format!("{}[{index}]", fields.key("valueFiles"));
            match item.as_str().filter(|name| !name.is_empty()) {
                Some(name) => files.extend(self.value_file(name, item, &key, chart)),
                None => self.findings.expected("the path of a file", item, &key),
            }
        }
        files
    }

    /// One that is both beside the file and in the chart would be another one where either is missing, as in an image.
    fn value_file(&mut self, name: &str, node: &Node, key: &str, chart: Option<&Chart>) -> Option<ValueFile> {
        let path = self.folder.join(name);
        let beside = match read(&path) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let message = format!("cannot read value file `{}`: {error}", path.display());
                self.findings.problem(node, key, message);
                return None;
            }
        };
        let of_chart = chart.and_then(|chart| chart.file(name));
        let (content, path) = match (&beside, of_chart) {
            (Some(beside), Some(of_chart)) if beside != of_chart => {
                let message = format!(
                    "`{}` is both beside this file and in the chart",
                    name.escape_debug()
                );
                let hint = format!("`./{name}` is the one beside this file");
                self.findings.problem_with_hint(node, key, message, Some(hint));
                return None;
            }
            (Some(beside), _) => (beside.as_slice(), Some(path)),
            (None, Some(of_chart)) => (of_chart, None),
            (None, None) => {
                // The chart may have it, and what is wrong with that is a problem of its own.
                if chart.is_some() {
                    let message = format!("value file `{}` was not found", name.escape_debug());
                    let hint = format!(
                        "it was looked for at {}, and among the files of the chart that `.helmignore` leaves there",
                        path.display()
                    );
                    self.findings.problem_with_hint(node, key, message, Some(hint));
                }
                return None;
            }
        };
        let read = values::read(content).and_then(|values| {
            let values = Value::Object(values);
            match values {
                values if is_too_deep(&values) => Err("it is nested too deeply".to_owned()),
                Value::Object(values) => Ok(values),
                _ => Ok(Map::new()),
            }
        });
        match read {
            Ok(values) => Some(ValueFile {
                name: name.to_owned(),
                path,
                values,
            }),
            Err(error) => {
                let message = format!("cannot read value file `{}`: {error}", name.escape_debug());
                self.findings.problem(node, key, message);
                None
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Whoever opens a pipe waits for whoever writes into it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(content)
}
