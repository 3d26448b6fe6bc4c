//! What functions make of values that are known in part.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;
use steersman_gotemplate::syntax::Node;
use steersman_gotemplate::{
    Effect, Failure, Limits, LookupQuery, MissingKey, Options, TemplateSet, Timestamp, Value, World,
};

use super::output::Output;
use super::value::{ANY_KEY, Abstract, Shape, printed};
use super::walk::Walk;
use super::{Lookup, Place};
use crate::functions;

/// How many combinations of arguments are tried.
const MAX_COMBINATIONS: usize = 16;
/// How long an argument may be that a function is really called with.
const MAX_ARGUMENT: usize = 1 << 16;

impl Walk<'_> {
    /// What a function can give.
    #[expect(clippy::too_many_lines, reason = "a table of functions")]
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Abstract],
        node: Node<'_>,
        set: &TemplateSet,
    ) -> Abstract {
        let argument = |index: usize| arguments.get(index).cloned().unwrap_or_default();
        let last = || arguments.last().cloned().unwrap_or_default();
        match name {
            "include" => self.include(&argument(0), &argument(1), set),
            "tpl" => self.expand(&argument(0), &argument(1), set, node),
            "lookup" => {
                self.look_up(arguments, node);
                Abstract::open("what lookup finds")
            }
            "default" => argument(1).not_empty().or(argument(0)),
            "coalesce" | "or" => {
                let all = arguments.iter().cloned();
                all.map(Abstract::not_empty)
                    .fold(Abstract::default(), Abstract::or)
                    .or(last())
            }
            "and" => arguments.iter().cloned().fold(Abstract::default(), Abstract::or),
            "ternary" => match argument(2).truth() {
                Some(true) => argument(0),
                Some(false) => argument(1),
                None => argument(0).or(argument(1)),
            },
            "required" => argument(1),
            "fail" => Abstract::json(""),
            "dict" => self.dictionary(arguments),
            "list" | "tuple" => Abstract::of(Shape::List(Rc::new(arguments.to_vec()))),
            "set" => {
                self.put(&argument(0), &argument(1), &argument(2));
                argument(0)
            }
            "unset" | "omit" | "pick" | "deepCopy" | "mustDeepCopy" | "quote" | "squote" => argument(0),
            "get" => self.at(&argument(0), &argument(1)),
            "index" => {
                let keys = arguments.iter().skip(1);
                keys.fold(argument(0), |value, key| self.at(&value, key))
            }
            "dig" => self.dig(arguments),
            "merge" | "mergeOverwrite" | "mustMerge" | "mustMergeOverwrite" => self.merge(arguments),
            "append" | "mustAppend" | "push" | "mustPush" | "prepend" | "mustPrepend" => {
                let mut items = self.items(&argument(0));
                items.push(argument(1));
                Abstract::of(Shape::List(Rc::new(items)))
            }
            "concat" => {
                let items = arguments.iter().flat_map(|list| self.items(list)).collect();
                Abstract::of(Shape::List(Rc::new(items)))
            }
            "first" | "mustFirst" | "last" | "mustLast" | "pluck" | "values" => {
                match self.concrete(name, arguments) {
                    Some(known) => known,
                    None if name == "values" => Abstract::of(Shape::List(Rc::new(self.items(&argument(0))))),
                    None if name == "pluck" => arguments
                        .iter()
                        .skip(1)
                        .map(|value| self.at(value, &argument(0)))
                        .collect::<Vec<_>>()
                        .into_iter()
                        .fold(Abstract::default(), Abstract::or),
                    None => self
                        .items(&argument(0))
                        .into_iter()
                        .fold(Abstract::default(), Abstract::or),
                }
            }
            "rest" | "mustRest" | "initial" | "mustInitial" | "uniq" | "mustUniq" | "compact"
            | "mustCompact" | "reverse" | "mustReverse" | "sortAlpha" | "without" | "mustWithout" => {
                self.concrete(name, arguments).unwrap_or_else(|| argument(0))
            }
            "indent" | "nindent" => self.indent(&argument(0), &argument(1), name == "nindent", node),
            "toYaml" | "mustToYaml" | "toYamlPretty" | "toJson" | "mustToJson" | "toPrettyJson"
            | "toRawJson" => self.written(name, arguments, node),
            "fromYaml" | "fromJson" | "mustFromJson" | "fromYamlArray" | "fromJsonArray" => {
                self.concrete(name, arguments).unwrap_or_else(|| argument(0))
            }
            "trim" | "trimSuffix" | "trimPrefix" | "trimAll" | "replace" | "toString" => {
                self.concrete(name, arguments).unwrap_or_else(last)
            }
            "title" | "untitle" | "lower" | "upper" => self.each(name, &argument(0), node),
            "print" | "printf" | "cat" | "println" => self.printed(name, arguments, node),
            "eq" | "ne" => {
                self.compare(arguments);
                self.concrete(name, arguments).unwrap_or_else(Abstract::either)
            }
            "has" | "mustHas" => {
                let items = self.items(&argument(1));
                for item in items {
                    self.compare(&[argument(0), item]);
                }
                self.concrete(name, arguments).unwrap_or_else(Abstract::either)
            }
            "not" | "empty" => match argument(0).truth() {
                Some(truth) => Abstract::json(!truth),
                None => Abstract::either(),
            },
            "hasKey" | "kindIs" | "typeIs" | "contains" | "hasPrefix" | "hasSuffix" | "lt" | "le" | "gt"
            | "ge" | "semverCompare" | "regexMatch" | "mustRegexMatch" | "any" | "all" | "isAbs"
            | "deepEqual" | "kindOf" | "typeOf" => self.concrete(name, arguments).unwrap_or_else(|| {
                if name.ends_with("Of") {
                    Abstract::open("a type")
                } else {
                    Abstract::either()
                }
            }),
            _ => self
                .concrete(name, arguments)
                .unwrap_or_else(|| Abstract::open(shortened(&node.print()))),
        }
    }

    /// The output of templates of this name.
    fn include(&mut self, name: &Abstract, dot: &Abstract, set: &TemplateSet) -> Abstract {
        let (names, open) = self.strings(name);
        let mut found = Abstract {
            options: Vec::new(),
            open: open.map(|why| format!("a template whose name {why} decides").into()),
        };
        for name in names {
            let output = self.template(set, &name, dot);
            found.add(Shape::Text(output));
        }
        found
    }

    /// The output of texts as templates.
    fn expand(&mut self, text: &Abstract, dot: &Abstract, set: &TemplateSet, node: Node<'_>) -> Abstract {
        let (texts, open) = self.strings(text);
        let is_printed = text.options.iter().any(|shape| matches!(shape, Shape::Text(_)));
        if texts.is_empty() && is_printed {
            // Too much to say what it is; what it consists of is known.
            return text.clone();
        }
        let mut found = Abstract {
            options: Vec::new(),
            open,
        };
        for text in texts {
            if !text.contains("{{") {
                found.add(Shape::Json(Rc::new(Json::String(text))));
                continue;
            }
            let mut expanded = set.clone();
            let name = "gotpl";
            if expanded.parse(name, &text).is_err() {
                continue;
            }
            let steps = self.steps;
            let output = self.template(&expanded, name, dot);
            self.forget(name);
            self.steps = self.steps.max(steps + text.len() / 16);
            let place = self.place(node);
            found.add(Shape::Text(at(&output, &place)));
        }
        found
    }

    fn look_up(&mut self, arguments: &[Abstract], node: Node<'_>) {
        let place = self.place(node);
        self.look_up_at(arguments, &place);
    }

    /// Takes note of what is looked up.
    pub(super) fn look_up_at(&mut self, arguments: &[Abstract], place: &Place) {
        let mut texts = arguments
            .iter()
            .map(|argument| self.strings(argument))
            .collect::<Vec<_>>();
        texts.resize(4, (Vec::new(), None));
        let [versions, kinds, namespaces, names] = texts.as_slice() else {
            return;
        };
        for (what, (_, open)) in [("apiVersion", versions), ("kind", kinds)] {
            if let Some(why) = open {
                let message = format!("the {what} that lookup is called with follows from {why}");
                self.note(place, message);
            }
        }
        for version in &versions.0 {
            for kind in kinds.0.iter().filter(|kind| !kind.is_empty()) {
                let name = |(known, open): &(Vec<String>, Option<Rc<str>>)| {
                    known.iter().filter(|name| !name.is_empty()).count() > 0 || open.is_some()
                };
                let found = Lookup {
                    api_version: version.clone(),
                    kind: kind.clone(),
                    gets: name(names),
                    lists: names.0.iter().any(String::is_empty) || names.0.is_empty() && names.1.is_none(),
                    namespaces: namespaces.1.is_none().then(|| {
                        namespaces
                            .0
                            .iter()
                            .filter(|name| !name.is_empty())
                            .cloned()
                            .collect()
                    }),
                    place: place.clone(),
                };
                if !self.lookups.contains(&found) {
                    self.lookups.push(found);
                }
            }
        }
    }

    fn dictionary(&self, arguments: &[Abstract]) -> Abstract {
        let mut entries: BTreeMap<String, Abstract> = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let [key, value] = pair else { break };
            self.insert(&mut entries, key, value);
        }
        Abstract::of(Shape::Dictionary(Rc::new(RefCell::new(entries))))
    }

    fn insert(&self, entries: &mut BTreeMap<String, Abstract>, key: &Abstract, value: &Abstract) {
        let (mut keys, open) = self.strings(key);
        if open.is_some() {
            keys.push(ANY_KEY.to_owned());
        }
        for key in keys {
            let entry = entries.entry(key).or_default();
            *entry = std::mem::take(entry).or(value.clone());
        }
    }

    /// `set`: afterwards the entry may be what it was, or the value.
    fn put(&self, target: &Abstract, key: &Abstract, value: &Abstract) {
        for shape in &target.options {
            if let Shape::Dictionary(entries) = shape {
                // Taken out, so that a dictionary can be put into itself.
                let mut changed = entries.take();
                self.insert(&mut changed, key, value);
                entries.replace(changed);
            }
        }
    }

    fn merge(&mut self, arguments: &[Abstract]) -> Abstract {
        let Some((first, others)) = arguments.split_first() else {
            return Abstract::default();
        };
        for other in others {
            for (key, value) in self.entries(other) {
                self.put(first, &key, &value);
            }
        }
        arguments.iter().cloned().fold(Abstract::default(), Abstract::or)
    }

    /// The entries of dictionaries that are known.
    fn entries(&self, value: &Abstract) -> Vec<(Abstract, Abstract)> {
        let is_map = |shape: &&Shape| {
            matches!(shape, Shape::Dictionary(_) | Shape::Values(_))
                || matches!(shape, Shape::Json(json) if json.is_object())
        };
        let maps = Abstract {
            options: value.options.iter().filter(is_map).cloned().collect(),
            open: None,
        };
        self.elements(&maps)
    }

    /// The elements of lists and maps.
    fn items(&self, value: &Abstract) -> Vec<Abstract> {
        self.elements(value).into_iter().map(|(_, item)| item).collect()
    }

    /// The entry of a map, or the item of a list, under a key.
    fn at(&mut self, value: &Abstract, key: &Abstract) -> Abstract {
        let (keys, open) = self.strings(key);
        let lists = |shape: &Shape| {
            matches!(shape, Shape::List(_)) || matches!(shape, Shape::Json(json) if json.is_array())
        };
        if value.options.iter().any(lists) {
            let items = self.items(value);
            let index = match (keys.as_slice(), &open) {
                ([only], None) => only.parse::<usize>().ok(),
                _ => None,
            };
            return match index.and_then(|index| items.get(index)) {
                Some(item) => item.clone(),
                None => items.into_iter().fold(Abstract::default(), Abstract::or),
            };
        }
        let mut found = Abstract::default();
        for key in &keys {
            found = found.or(self.field(value, key, &[]));
        }
        if open.is_some() {
            let items = self.items(value);
            found = items.into_iter().fold(found, Abstract::or);
        }
        found
    }

    fn dig(&mut self, arguments: &[Abstract]) -> Abstract {
        let [keys @ .., otherwise, value] = arguments else {
            return Abstract::default();
        };
        let mut found = value.clone();
        for key in keys {
            found = self.at(&found, key);
        }
        found.not_empty().or(otherwise.clone())
    }

    fn indent(&mut self, width: &Abstract, text: &Abstract, on_a_new_line: bool, node: Node<'_>) -> Abstract {
        let width = match self.strings(width) {
            (widths, None) => widths.first().and_then(|width| width.parse().ok()),
            _ => None,
        };
        let width: usize = width.unwrap_or(2).min(200);
        let place = self.place(node);
        let mut inner = Vec::new();
        super::walk::print(text.clone(), place.clone(), &mut inner);
        let newline = if on_a_new_line { "\n" } else { "" };
        let first = format!("{newline}{}", " ".repeat(width));
        Abstract::text(vec![
            Output::Text(first.into(), place),
            Output::Indented(width, inner.into()),
        ])
    }

    /// A value as text. What templates have put together is written entry by entry.
    fn written(&mut self, name: &str, arguments: &[Abstract], node: Node<'_>) -> Abstract {
        let Some(value) = arguments.first() else {
            return Abstract::default();
        };
        if let Some(known) = self.concrete("toYaml", arguments) {
            return known;
        }
        if name.to_lowercase().ends_with("json") {
            return Abstract::open(shortened(&node.print()));
        }
        let place = self.place(node);
        let mut found = Abstract {
            options: Vec::new(),
            open: value.open.clone(),
        };
        for shape in &value.options {
            match shape {
                Shape::Dictionary(_) | Shape::List(_) => {
                    let mut out = Vec::new();
                    write(shape, &place, &mut out, 0);
                    found.add(Shape::Text(out.into()));
                }
                other => found.add(other.clone()),
            }
        }
        found
    }

    /// What a function makes of each text that a value can be.
    fn each(&mut self, name: &str, value: &Abstract, node: Node<'_>) -> Abstract {
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

    /// The parts of a text that is put together, one after the other.
    fn printed(&mut self, name: &str, arguments: &[Abstract], node: Node<'_>) -> Abstract {
        if let Some(known) = self.concrete(name, arguments) {
            return known;
        }
        let is_text = |value: &Abstract| value.options.iter().any(|shape| matches!(shape, Shape::Text(_)));
        if !arguments.iter().any(is_text) {
            return Abstract::open(shortened(&node.print()));
        }
        let place = self.place(node);
        let mut out = Vec::new();
        let shown = usize::from(name == "printf");
        for argument in arguments.iter().skip(shown) {
            super::walk::print(argument.clone(), place.clone(), &mut out);
        }
        Abstract::text(out)
    }

    /// Takes note of texts that a place in the values is compared with.
    fn compare(&mut self, arguments: &[Abstract]) {
        let mut places = Vec::new();
        let mut texts = Vec::new();
        for argument in arguments {
            for shape in &argument.options {
                match shape {
                    Shape::Values(path) => places.push(Rc::clone(path)),
                    Shape::Json(json) => texts.extend(json.as_str().map(str::to_owned)),
                    _ => {}
                }
            }
        }
        for place in places {
            self.compared
                .entry(place)
                .or_default()
                .extend(texts.iter().cloned());
        }
    }

    /// The function's own results, if all of its arguments are known and it does nothing else.
    fn concrete(&mut self, name: &str, arguments: &[Abstract]) -> Option<Abstract> {
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

/// Writes a value that templates have put together as YAML.
fn write(shape: &Shape, place: &Place, out: &mut Vec<Output>, depth: usize) {
    let text = |text: String| Output::Text(text.into(), place.clone());
    if depth > 20 {
        return;
    }
    match shape {
        Shape::Dictionary(entries) => {
            let entries = entries.borrow().clone();
            for (key, value) in entries {
                if key == ANY_KEY {
                    continue;
                }
                out.push(text(format!("\n{key}: ")));
                nested(&value, place, out, depth);
            }
        }
        Shape::List(items) => {
            for item in items.iter() {
                out.push(text("\n- ".to_owned()));
                nested(item, place, out, depth);
            }
        }
        _ => {}
    }
}

fn nested(value: &Abstract, place: &Place, out: &mut Vec<Output>, depth: usize) {
    if let ([Shape::Json(json)], None) = (value.options.as_slice(), &value.open)
        && let Some(scalar) = printed(json)
    {
        out.push(Output::Text(scalar.into(), place.clone()));
        return;
    }
    let mut arms: Vec<Rc<[Output]>> = Vec::new();
    let mut rest = Abstract {
        options: Vec::new(),
        open: value.open.clone(),
    };
    for shape in &value.options {
        match shape {
            Shape::Dictionary(_) | Shape::List(_) => {
                let mut inner = Vec::new();
                write(shape, place, &mut inner, depth + 1);
                arms.push(Rc::from([Output::Indented(2, inner.into())]));
            }
            other => rest.add(other.clone()),
        }
    }
    if !rest.options.is_empty() || rest.open.is_some() {
        arms.push(Rc::from([Output::Indented(
            2,
            Rc::from([Output::Value(rest, place.clone())]),
        )]));
    }
    if !arms.is_empty() {
        out.push(Output::Either(arms));
    }
}

/// The same output, as if all of it were written at one place.
fn at(output: &[Output], place: &Place) -> Rc<[Output]> {
    let moved = |part: &Output| match part {
        Output::Text(text, found) if found.file.as_ref() == "gotpl" => {
            Output::Text(Rc::clone(text), place.clone())
        }
        Output::Value(value, found) if found.file.as_ref() == "gotpl" => {
            Output::Value(value.clone(), place.clone())
        }
        Output::Either(arms) => Output::Either(arms.iter().map(|arm| at(arm, place)).collect()),
        Output::Indented(width, inner) => Output::Indented(*width, at(inner, place)),
        other => other.clone(),
    };
    output.iter().map(moved).collect()
}

fn shortened(text: &str) -> String {
    const LENGTH: usize = 80;
    if text.chars().count() <= LENGTH {
        return text.to_owned();
    }
    text.chars().take(LENGTH).chain(['…']).collect()
}
