//! What functions really give, where their arguments are known.

use std::rc::Rc;

use serde_json::Value as Json;
use steersman_gotemplate::syntax::Node;
use steersman_gotemplate::{
    Effect, Failure, Limits, LookupQuery, MissingKey, Options, TemplateSet, Timestamp, Value, World,
};

use super::call::shortened;
use super::value::{Abstract, Shape};
use super::walk::Walk;
use crate::functions;

/// How many combinations of arguments are tried.
const MAX_COMBINATIONS: usize = 16;

/// How long an argument may be that a function is really called with.
const MAX_ARGUMENT: usize = 1 << 16;

impl Walk<'_> {
    /// What a function makes of each text that a value can be.
    pub(super) fn each(&mut self, name: &str, value: &Abstract, node: Node<'_>) -> Abstract {
        let (texts, open) = self.strings(value);
        let mut found = Abstract {
            options: Vec::new(),
            open: open.map(|_| shortened(&node.print()).into()),
        };
        for text in texts {
            match self.evaluate(name, &[Json::String(text)]) {
                Some(result) => found.add(Shape::Json(Rc::new(result))),
                None => return Abstract::open(shortened(&node.print())),
            }
        }
        found
    }

    /// The function's own results, if all of its arguments are known and it does nothing else.
    pub(super) fn concrete(&mut self, name: &str, arguments: &[Abstract]) -> Option<Abstract> {
        let table = functions::table();
        let function = table.id(name).and_then(|id| table.get(id))?;
        if function.effect != Effect::Pure {
            return None;
        }
        let mut combinations: Vec<Vec<Json>> = vec![Vec::new()];
        for argument in arguments {
            let options = self.known(argument)?;
            let mut next = Vec::new();
            for before in &combinations {
                next.extend(options.iter().map(|option| {
                    let mut all = before.clone();
                    all.push(option.clone());
                    all
                }));
            }
            if next.len() > MAX_COMBINATIONS {
                return None;
            }
            combinations = next;
        }
        let mut found = Abstract::default();
        for arguments in combinations {
            found = found.or(Abstract::json(self.evaluate(name, &arguments)?));
        }
        Some(found)
    }

    /// All that a value can be, if each of it is known whole.
    fn known(&self, value: &Abstract) -> Option<Vec<Json>> {
        if value.open.is_some() || value.options.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for shape in &value.options {
            match shape {
                Shape::Json(json) => found.push(json.as_ref().clone()),
                Shape::Text(_) => {
                    let (texts, open) = self.strings(&Abstract::of(shape.clone()));
                    if open.is_some() {
                        return None;
                    }
                    found.extend(texts.into_iter().map(Json::String));
                }
                Shape::List(items) => {
                    let mut list = Vec::new();
                    for item in items.iter() {
                        match self.known(item)?.as_slice() {
                            [only] => list.push(only.clone()),
                            _ => return None,
                        }
                    }
                    found.push(Json::Array(list));
                }
                _ => return None,
            }
        }
        Some(found)
    }

    fn evaluate(&mut self, name: &str, arguments: &[Json]) -> Option<Json> {
        let key = format!("{name} {}", Json::Array(arguments.to_vec()));
        if key.len() > MAX_ARGUMENT {
            return None;
        }
        if let Some(known) = self.concrete.get(&key) {
            return known.clone();
        }
        let value = evaluate(name, arguments);
        self.steps += 50;
        self.concrete.insert(key, value.clone());
        value
    }
}

/// What a function gives.
fn evaluate(name: &str, arguments: &[Json]) -> Option<Json> {
    let mut set = TemplateSet::new(functions::table());
    let given = (0..arguments.len()).fold(String::new(), |given, index| {
        given + &format!(" (index . {index})")
    });
    set.parse("call", &format!("{{{{ {name}{given} | toJson }}}}"))
        .ok()?;
    let dot = Value::list(arguments.iter().map(crate::values::to_value).collect());
    let options = Options {
        missing_key: MissingKey::Zero,
        limits: Limits {
            steps: 200_000,
            output_bytes: 1 << 20,
            value_bytes: 1 << 20,
            ..Limits::default()
        },
        expired: None,
    };
    let text = set.execute("call", &dot, &Nobody, &options).ok()?;
    serde_json::from_str(&text.text()).ok()
}

/// A world in which nothing is to be learnt.
pub(super) struct Nobody;

impl World for Nobody {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::map::<&str>([]))
    }
}
