//! The texts that values can be printed as.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value as Json;

use super::Place;
use super::output::{self, Output, Resolved};
use super::subject::Subject;
use super::value::{Abstract, Shape, printed};
use super::walk::Walk;

impl Walk<'_> {
    /// The texts that a value can be, and what else decides.
    pub(super) fn strings(&self, value: &Abstract) -> (Vec<String>, Option<Rc<str>>) {
        strings(self.subject, &self.compared, value)
    }
}

/// The texts that a value can print, whole ones and those that consist of pieces.
pub(super) fn resolve(
    subject: &Subject<'_>,
    compared: &BTreeMap<Rc<[String]>, BTreeSet<String>>,
    value: &Abstract,
) -> Resolved {
    let nowhere = Place::default();
    let mut known: Vec<Rc<[Output]>> = Vec::new();
    let mut open = value.open.clone();
    let text = |text: &str| -> Rc<[Output]> { Rc::from([Output::Text(text.into(), nowhere.clone())]) };
    for shape in &value.options {
        match shape {
            Shape::Text(output) => known.push(Rc::clone(output)),
            Shape::Json(json) => known.push(text(&printed(json).unwrap_or_else(|| yaml(json)))),
            Shape::Values(path) => {
                let (options, why) = subject.options(path, compared.get(path));
                known.extend(
                    options
                        .iter()
                        .map(|option| text(&printed(option).unwrap_or_else(|| yaml(option)))),
                );
                open = open.or(why);
            }
            Shape::Dictionary(_) | Shape::List(_) => {
                open = open.or_else(|| Some("a value that templates put together".into()));
            }
            Shape::Dot(_) | Shape::Files(_) => open = open.or_else(|| Some(".".into())),
        }
    }
    (known, open)
}

fn strings(
    subject: &Subject<'_>,
    compared: &BTreeMap<Rc<[String]>, BTreeSet<String>>,
    value: &Abstract,
) -> (Vec<String>, Option<Rc<str>>) {
    let again = |value: &Abstract| resolve(subject, compared, value);
    let (outputs, mut open) = again(value);
    let mut known = Vec::new();
    for output in outputs {
        match output::texts(&output, &again) {
            Some(texts) => known.extend(texts),
            None => open = open.or_else(|| Some("what a template prints".into())),
        }
    }
    known.sort();
    known.dedup();
    (known, open)
}

/// A value as templates print it after `toYaml`.
fn yaml(value: &Json) -> String {
    let value = crate::values::to_value(value);
    crate::functions::to_yaml(&value).unwrap_or_default()
}

/// Adds what printing a value gives.
pub(super) fn print(value: Abstract, place: Place, out: &mut Vec<Output>) {
    let Abstract { options, open } = &value;
    match (options.as_slice(), open) {
        ([], None) => {}
        ([Shape::Text(output)], None) => out.push(Output::Either(vec![Rc::clone(output)])),
        ([Shape::Json(json)], None) => match printed(json) {
            Some(text) => out.push(Output::Text(text.into(), place)),
            None => out.push(Output::Value(value, place)),
        },
        _ => out.push(Output::Value(value, place)),
    }
}
