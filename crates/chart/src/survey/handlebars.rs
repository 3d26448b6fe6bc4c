//! Templates in Handlebars. Their values are followed less far than those of Go templates: literals, places in
//! `Values`, defaults for these, and what partials and `include` print.

use std::rc::Rc;

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{Path, Template};

use super::Place;
use super::output::Output;
use super::resolve::print;
use super::value::{Abstract, Shape};
use super::walk::Walk;
use crate::engine::Templates;

/// How deeply blocks, partials and expressions are followed into each other.
const MAX_DEPTH: usize = 40;

/// What a file can print.
pub(super) fn output(walk: &mut Walk<'_>, templates: &Templates, name: &str, dot: &Abstract) -> Rc<[Output]> {
    let mut reader = Reader {
        walk,
        templates,
        dot,
        file: name.to_owned(),
        depth: 0,
    };
    let mut out = Vec::new();
    if let Some(template) = templates.handlebars(name) {
        reader.template(template, &mut out);
    }
    out.into()
}

struct Reader<'r, 'a> {
    walk: &'r mut Walk<'a>,
    templates: &'r Templates,
    dot: &'r Abstract,
    file: String,
    depth: usize,
}

impl Reader<'_, '_> {
    fn template(&mut self, template: &Template, out: &mut Vec<Output>) {
        self.walk.steps += template.elements.len();
        if self.depth >= MAX_DEPTH || self.walk.is_exhausted() {
            return;
        }
        self.depth += 1;
        for (index, element) in template.elements.iter().enumerate() {
            let line = template.mapping.get(index).map_or(1, |mapping| mapping.0);
            let place = Place {
                file: self.file.as_str().into(),
                line,
            };
            self.element(element, place, out);
        }
        self.depth -= 1;
    }

    fn element(&mut self, element: &TemplateElement, place: Place, out: &mut Vec<Output>) {
        match element {
            TemplateElement::RawString(text) => out.push(Output::Text(text.as_str().into(), place)),
            TemplateElement::Expression(call) | TemplateElement::HtmlExpression(call) => {
                let value = self.call(call, &place);
                print(value, place, out);
            }
            TemplateElement::HelperBlock(block) => self.block(block, out),
            TemplateElement::PartialExpression(partial) | TemplateElement::PartialBlock(partial) => {
                if let Some(inner) = &partial.template {
                    let mut body = Vec::new();
                    self.template(inner, &mut body);
                    out.push(Output::Either(vec![body.into(), Rc::from([])]));
                }
                if let Some(name) = partial.name.as_name() {
                    let mut inner = self.include(name);
                    // A partial on a line of its own is indented as a whole.
                    if let Some(indent) = &partial.indent {
                        out.push(Output::Text(indent.as_str().into(), place));
                        inner = Rc::from([Output::Indented(indent.len(), inner)]);
                    }
                    out.push(Output::Either(vec![inner]));
                }
            }
            _ => {}
        }
    }

    fn block(&mut self, block: &HelperTemplate, out: &mut Vec<Output>) {
        let is_frame = block.name.as_name().is_some_and(|name| name.starts_with('%'));
        let mut arms: Vec<Rc<[Output]>> = Vec::new();
        if let Some(inner) = &block.template {
            let mut body = Vec::new();
            self.template(inner, &mut body);
            arms.push(body.into());
        }
        if !is_frame {
            let mut body = Vec::new();
            if let Some(inner) = &block.inverse {
                self.template(inner, &mut body);
            }
            arms.push(body.into());
        }
        out.push(Output::Either(arms));
    }

    fn include(&mut self, name: &str) -> Rc<[Output]> {
        let name = name.trim_matches('\'');
        let Some(template) = self.templates.handlebars(name) else {
            return self.walk.template(self.templates.go(), name, self.dot);
        };
        let outer = std::mem::replace(&mut self.file, name.to_owned());
        let mut out = Vec::new();
        steersman_gotemplate::stack::grow(|| self.template(template, &mut out));
        self.file = outer;
        out.into()
    }

    fn call(&mut self, call: &HelperTemplate, place: &Place) -> Abstract {
        let mut arguments: Vec<Abstract> = Vec::new();
        let name = call.name.as_name().unwrap_or_default();
        if name == "include" {
            return match call.params.first() {
                Some(Parameter::Literal(serde_json::Value::String(name))) => {
                    Abstract::of(Shape::Text(self.include(name)))
                }
                _ => Abstract::open("a template whose name is computed"),
            };
        }
        for parameter in &call.params {
            let value = self.value(parameter, place);
            arguments.push(value);
        }
        match (name, arguments.as_slice()) {
            ("default", [otherwise, value]) => value.clone().not_empty().or(otherwise.clone()),
            ("indent" | "nindent", [_, _]) => {
                let width = match call.params.first() {
                    Some(Parameter::Literal(width)) => width.as_u64().unwrap_or(2).min(200) as usize,
                    _ => 2,
                };
                let mut inner = Vec::new();
                print(arguments.pop().unwrap_or_default(), place.clone(), &mut inner);
                let newline = if name == "nindent" { "\n" } else { "" };
                let first = format!("{newline}{}", " ".repeat(width));
                Abstract::text(vec![
                    Output::Text(first.into(), place.clone()),
                    Output::Indented(width, inner.into()),
                ])
            }
            (name, [value]) if name.starts_with('%') || is_the_same(name) => value.clone(),
            ("lookup", [_, _, _, _]) => {
                self.walk.look_up_at(&arguments, place);
                Abstract::open("what lookup finds")
            }
            ("", _) => self.value(&call.name, place),
            (name, _) => Abstract::open(name),
        }
    }

    fn value(&mut self, parameter: &Parameter, place: &Place) -> Abstract {
        match parameter {
            Parameter::Literal(value) => Abstract::json(value.clone()),
            Parameter::Subexpression(inner) => match inner.as_element() {
                TemplateElement::Expression(call) => {
                    steersman_gotemplate::stack::grow(|| self.call(call, place))
                }
                _ => Abstract::open("an expression"),
            },
            Parameter::Path(Path::Relative((_, path)) | Path::Local((_, _, path))) => self.path(path),
            Parameter::Name(name) => self.path(name),
            _ => Abstract::open("an expression"),
        }
    }

    fn path(&mut self, path: &str) -> Abstract {
        let path = path
            .strip_prefix("@root")
            .map_or(path, |rest| rest.trim_start_matches(['.', '/']));
        let mut names = path.split(['.', '/']);
        let first = names.next().unwrap_or_default();
        if !matches!(first, "Values" | "Chart" | "Release" | "Capabilities") {
            return Abstract::open(path);
        }
        let mut value = self.walk.field(self.dot, first, &[]);
        for name in names {
            value = self.walk.field(&value, name, &[]);
        }
        value
    }
}

/// Functions that leave the kinds in a text as they are.
fn is_the_same(name: &str) -> bool {
    matches!(name, "quote" | "squote" | "trim" | "toYaml" | "tpl")
}
