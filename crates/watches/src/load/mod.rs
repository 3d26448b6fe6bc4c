//! From the file to checked watches.

mod confine;
mod drift;
mod entry;
mod expand;
mod fields;
mod options;
mod overrides;
mod selector;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use steersman_model::Environment;
use steersman_yaml::{Content, Node};

use crate::Watches;
use crate::error::{Problem, WatchesError};
use crate::load::entry::{Draft, Loader};
use crate::load::expand::Templates;
use crate::load::fields::Findings;

/// The smallest file that works, for those who have none.
const EXAMPLE: &str = "an entry looks like this:\n  - group: example.com\n    version: v1alpha1\n    kind: Memcached\n    \
                       chart: helm-charts/memcached";

impl Watches {
    /// Loads a watches.yaml and the charts that it names. Paths of charts are relative to the working directory.
    ///
    /// # Errors
    /// The file cannot be read, is not a list of entries, has no entry, or anything in it is wrong: then every
    /// problem is in the error, with its place.
    pub fn load(path: &Path, environment: &Environment) -> Result<Self, WatchesError> {
        let bytes = fs::read(path).map_err(|source| WatchesError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::read(&bytes, environment).map_err(|problems| WatchesError::Invalid {
            path: path.to_owned(),
            problems,
        })
    }

    /// Reads the text of a watches.yaml. The list of problems is not empty.
    fn read(bytes: &[u8], environment: &Environment) -> Result<Self, Vec<Problem>> {
        let node = steersman_yaml::parse_bytes(bytes).map_err(|error| {
            vec![Problem {
                line: error.line(),
                column: 0,
                key: String::new(),
                message: format!("not valid YAML: {}", error.message()),
                hint: None,
            }]
        })?;
        let items = entries(&node).map_err(|problem| vec![*problem])?;
        let mut loader = Loader {
            environment,
            templates: Templates::new(environment),
            charts: BTreeMap::new(),
            findings: Findings::default(),
        };
        let mut watches = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            watches.extend(loader.entry(index, item, &watches));
        }
        let Findings {
            mut problems,
            notices,
        } = loader.findings;
        if problems.is_empty() {
            return Ok(Self {
                watches: watches.into_iter().filter_map(Draft::finish).collect(),
                notices,
            });
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(problems)
    }
}

/// The items of the list that the file should be.
fn entries(node: &Node) -> Result<&[Node], Box<Problem>> {
    let problem = |message: &str| {
        Box::new(Problem {
            line: if node.value == Content::Null { 0 } else { node.line },
            column: 0,
            key: String::new(),
            message: message.to_owned(),
            hint: Some(EXAMPLE.to_owned()),
        })
    };
    match &node.value {
        Content::Sequence(items) if !items.is_empty() => Ok(items),
        Content::Null | Content::Sequence(_) => Err(problem("names no watch, so there is nothing to do")),
        Content::Mapping(_) => Err(problem(
            "expected a list of watches, found a map; entries start with `- `",
        )),
        _ => Err(problem("expected a list of watches")),
    }
}

#[cfg(test)]
mod tests;
