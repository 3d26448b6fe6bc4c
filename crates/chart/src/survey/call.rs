//! What functions make of values that are known in part.

use std::rc::Rc;

use serde_json::Value as Json;
use steersman_gotemplate::TemplateSet;
use steersman_gotemplate::syntax::Node;

use super::output::Output;
use super::value::{Abstract, Shape};
use super::walk::Walk;
use super::{Lookup, Place};

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

pub(super) fn shortened(text: &str) -> String {
    const LENGTH: usize = 80;
    if text.chars().count() <= LENGTH {
        return text.to_owned();
    }
    text.chars().take(LENGTH).chain(['…']).collect()
}
