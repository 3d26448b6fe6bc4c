//! What is inside of values: fields, entries, elements.

use std::rc::Rc;

use serde_json::Value as Json;
use steersman_gotemplate::Str;

use super::value::{ANY_KEY, Abstract, Shape, dotted};
use super::walk::Walk;

/// How many elements of a list or map are walked through one by one.
const MAX_ELEMENTS: usize = 24;

impl Walk<'_> {
    /// Keys and elements, as far as they are known, and one that stands for all others.
    pub(super) fn elements(&self, value: &Abstract) -> Vec<(Abstract, Abstract)> {
        let mut found = Vec::new();
        let mut rest = value.open.clone();
        for shape in &value.options {
            match shape {
                Shape::Json(json) => found.extend(json_elements(json)),
                Shape::Dictionary(entries) => {
                    for (key, element) in entries.borrow().iter() {
                        let key = if key == ANY_KEY {
                            Abstract::open("a key")
                        } else {
                            Abstract::json(key.as_str())
                        };
                        found.push((key, element.clone()));
                    }
                }
                Shape::List(items) => {
                    let item = |item: &Abstract| (Abstract::open("an index"), item.clone());
                    found.extend(items.iter().map(item));
                }
                Shape::Values(path) => {
                    for key in self.subject.keys(path).into_iter().take(MAX_ELEMENTS) {
                        let path: Rc<[String]> = path.iter().cloned().chain([key.clone()]).collect();
                        found.push((Abstract::json(key), Abstract::of(Shape::Values(path))));
                    }
                    let any: Rc<[String]> = path.iter().cloned().chain(["*".to_owned()]).collect();
                    found.push((
                        Abstract::open(format!("a key of {}", dotted(path))),
                        Abstract::of(Shape::Values(any)),
                    ));
                }
                Shape::Files(chart) => found.push((
                    Abstract::open("a file"),
                    Abstract::open(format!("a file of {}", self.subject.name(*chart))),
                )),
                Shape::Text(_) => rest = rest.or_else(|| Some("a text that is read as YAML".into())),
                Shape::Dot(_) => rest = rest.or_else(|| Some(".".into())),
            }
        }
        found.truncate(MAX_ELEMENTS * 2);
        if let Some(why) = rest {
            found.push((Abstract::open(Rc::clone(&why)), Abstract::open(why)));
        }
        found
    }

    pub(super) fn fields(&mut self, value: &Abstract, names: &[Str], arguments: &[Abstract]) -> Abstract {
        let mut value = value.clone();
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            let arguments = if is_last { arguments } else { &[] };
            value = self.field(&value, &name.text(), arguments);
        }
        value
    }

    /// A field, entry or method of what the value can be.
    pub(super) fn field(&mut self, value: &Abstract, name: &str, arguments: &[Abstract]) -> Abstract {
        let mut found = Abstract {
            options: Vec::new(),
            open: value.open.as_ref().map(|why| beneath(why, name)),
        };
        for shape in &value.options {
            let field = match shape {
                Shape::Json(json) => match json.get(name) {
                    Some(inner) => Abstract::json(inner.clone()),
                    None => Abstract::json(Json::Null),
                },
                Shape::Dictionary(entries) => {
                    let entries = entries.borrow();
                    let any = entries.get(ANY_KEY).cloned().unwrap_or_default();
                    match entries.get(name) {
                        Some(inner) => inner.clone().or(any),
                        None => Abstract::json(Json::Null).or(any),
                    }
                }
                Shape::Values(path) => Abstract::of(Shape::Values(
                    path.iter().cloned().chain([name.to_owned()]).collect(),
                )),
                Shape::Dot(chart) => self.of_dot(*chart, name),
                Shape::Files(chart) => self.of_files(*chart, name, arguments),
                Shape::Text(_) => Abstract::open(format!("the field {name} of a text that is read as YAML")),
                Shape::List(_) => Abstract::open(format!("the field {name} of a list")),
            };
            found = found.or(field);
        }
        found
    }

    fn of_dot(&self, chart: usize, name: &str) -> Abstract {
        match name {
            "Values" => Abstract::of(Shape::Values(self.subject.prefix(chart))),
            "Files" => Abstract::of(Shape::Files(chart)),
            "Chart" => Abstract::json(self.subject.metadata(chart)),
            "Template" => Abstract::json(serde_json::json!({
                "Name": self.file,
                "BasePath": self.subject.base_path(chart),
            })),
            _ => Abstract::open(format!(".{name}")),
        }
    }

    fn of_files(&mut self, chart: usize, method: &str, arguments: &[Abstract]) -> Abstract {
        let names = arguments.first().map(|name| self.strings(name));
        let (Some((names, None)), "Get" | "Glob" | "Lines") = (names, method) else {
            return Abstract::open(format!(".Files.{method}"));
        };
        let mut found = Abstract::default();
        for name in names {
            let value = match method {
                "Get" => Abstract::json(self.subject.file(chart, &name)),
                "Glob" => Abstract::json(self.subject.files(chart, &name)),
                _ => {
                    let text = self.subject.file(chart, &name);
                    Abstract::json(text.lines().map(str::to_owned).collect::<Vec<_>>())
                }
            };
            found = found.or(value);
        }
        found
    }
}

fn beneath(why: &Rc<str>, name: &str) -> Rc<str> {
    if why.starts_with('.') && why.len() < 120 {
        format!("{why}.{name}").into()
    } else {
        Rc::clone(why)
    }
}

fn json_elements(json: &Json) -> Vec<(Abstract, Abstract)> {
    match json {
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (Abstract::json(index), Abstract::json(item.clone())))
            .collect(),
        Json::Object(entries) => entries
            .iter()
            .map(|(key, item)| (Abstract::json(key.as_str()), Abstract::json(item.clone())))
            .collect(),
        Json::Number(_) => vec![(Abstract::open("a number"), Abstract::open("a number"))],
        _ => Vec::new(),
    }
}
