//! From texts to templates that the crate can execute within our bounds.
//!
//! The parsed templates are checked and rewritten: each thing that is printed becomes a call of
//! [`PRINT`], the bodies of partials and of blocks given to them become blocks of helpers that
//! bound them, and names of partials become names of files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use handlebars::template::{DecoratorTemplate, HelperTemplate, Parameter, Subexpression, TemplateElement};
use handlebars::{Handlebars, JsonValue, Path, PathSeg, Template, no_escape};

use super::names::Partials;
use super::session::Delegate;
use super::text::ParseBudget;
use super::{Templates, block, context, function};

/// The helper that prints a value. No template can name it.
pub(super) const PRINT: &str = "%print";
/// The helper whose block is the body of a template or partial.
pub(super) const BODY: &str = "%body";
/// The helper whose block is given to a partial.
pub(super) const CAPTURE: &str = "%capture";

/// How deeply blocks, and expressions in each other, may be nested in one template.
const MAX_DEPTH: usize = 100;

/// What is wrong with a template.
pub(super) struct Problem {
    pub(super) name: String,
    pub(super) place: Option<(usize, usize)>,
    pub(super) message: String,
}

/// Parses all files of a chart and its subcharts.
pub(super) fn templates(files: &[(&str, Cow<'_, str>)]) -> Result<Templates, Problem> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(no_escape);
    let mut partials = Partials::default();
    let mut mentioned = BTreeSet::new();
    if !files.is_empty() {
        for name in block::NAMES.iter().copied().chain(function::names()) {
            registry.register_helper(name, Box::new(Delegate));
        }
        let mut budget = ParseBudget::default();
        let mut parsed = BTreeMap::new();
        let mut inline = BTreeSet::new();
        for (name, text) in files {
            let template = parse(name, text, &mut budget)?;
            collect_inline(&template, 0, &mut inline);
            parsed.insert(*name, template);
            partials.add(name);
        }
        for (name, mut template) in parsed {
            let mut rewriting = Rewriting {
                file: name,
                partials: &partials,
                inline: &inline,
                mentioned: &mut mentioned,
                frame: frame(),
                place: None,
            };
            rewriting.template(&mut template, 0).map_err(|message| Problem {
                name: name.to_owned(),
                place: rewriting.place,
                message,
            })?;
            let mut template = rewriting.framed(BODY, template);
            template.name = Some(name.to_owned());
            registry.register_template(name, template);
        }
    }
    Ok(Templates {
        registry,
        partials,
        mentioned,
    })
}

fn parse(name: &str, text: &str, budget: &mut ParseBudget) -> Result<Template, Problem> {
    let problem = |place, message| Problem {
        name: name.to_owned(),
        place,
        message,
    };
    budget.check(text).map_err(|message| problem(None, message))?;
    // The parser gives up where less than 64 KiB of stack is left; it gets room for what is allowed.
    stacker::grow(PARSER_STACK, || Template::compile(text))
        .map_err(|error| problem(error.pos(), shortened(error.reason().to_string())))
}

/// A message of the parser, which can contain much of the text.
fn shortened(mut message: String) -> String {
    const LENGTH: usize = 400;
    if let Some((end, _)) = message.char_indices().nth(LENGTH) {
        message.truncate(end);
        message.push('…');
    }
    message
}

/// The parser takes a few KiB for each level of nesting.
const PARSER_STACK: usize = 4 << 20;

/// A block helper that stands on a line with other text, as a pattern for those that are put in.
fn frame() -> Template {
    let mut pattern = Template::compile("-{{#frame}}{{/frame}}-").unwrap_or_default();
    pattern
        .elements
        .retain(|element| matches!(element, TemplateElement::HelperBlock(_)));
    pattern.mapping.truncate(1);
    pattern
}

/// The names of the partials that a template defines for itself.
fn collect_inline(template: &Template, depth: usize, names: &mut BTreeSet<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    for element in &template.elements {
        match element {
            TemplateElement::HelperBlock(block) => {
                for inner in [&block.template, &block.inverse].into_iter().flatten() {
                    collect_inline(inner, depth + 1, names);
                }
            }
            TemplateElement::DecoratorBlock(block) | TemplateElement::PartialBlock(block) => {
                if matches!(element, TemplateElement::DecoratorBlock(_)) {
                    names.extend(inline_name(block).map(str::to_owned));
                }
                if let Some(inner) = &block.template {
                    collect_inline(inner, depth + 1, names);
                }
            }
            _ => {}
        }
    }
}

fn inline_name(block: &DecoratorTemplate) -> Option<&str> {
    match block.params.as_slice() {
        [Parameter::Literal(JsonValue::String(name))] => Some(name),
        _ => None,
    }
}

/// The rewriting of one file.
struct Rewriting<'a> {
    file: &'a str,
    partials: &'a Partials,
    inline: &'a BTreeSet<String>,
    mentioned: &'a mut BTreeSet<&'static str>,
    frame: Template,
    /// Where the element is that is being looked at.
    place: Option<(usize, usize)>,
}

type Checked = Result<(), String>;

impl Rewriting<'_> {
    fn template(&mut self, template: &mut Template, depth: usize) -> Checked {
        if depth > MAX_DEPTH {
            return Err(format!("blocks are nested more than {MAX_DEPTH} deep"));
        }
        let elements = std::mem::take(&mut template.elements);
        let mut places = std::mem::take(&mut template.mapping).into_iter();
        for mut element in elements {
            let place = places.next();
            if let Some(place) = &place {
                self.place = Some((place.0, place.1));
            }
            // What does nothing would be work without an account.
            let is_nothing = match &element {
                TemplateElement::Comment(_) => true,
                TemplateElement::RawString(text) => text.is_empty(),
                _ => false,
            };
            if !is_nothing {
                self.element(&mut element, depth)?;
                template.elements.push(element);
                template.mapping.extend(place);
            }
        }
        Ok(())
    }

    fn element(&mut self, element: &mut TemplateElement, depth: usize) -> Checked {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => Ok(()),
            TemplateElement::Expression(call) => self.expression(call, depth),
            TemplateElement::HtmlExpression(call) => {
                self.expression(call, depth)?;
                // Of these, each turns escaping on for what follows.
                *element = TemplateElement::Expression(call.clone());
                Ok(())
            }
            TemplateElement::HelperBlock(block) => self.block(block, depth),
            TemplateElement::PartialExpression(partial) | TemplateElement::PartialBlock(partial) => {
                self.partial(partial, depth)
            }
            TemplateElement::DecoratorBlock(definition) => self.definition(definition, depth),
            TemplateElement::DecoratorExpression(decorator) => {
                Err(format!("decorator {} not defined", quoted(&decorator.name)))
            }
            _ => Err("this is no part of a template".to_owned()),
        }
    }

    /// Something to print: a value, or what a helper gives.
    fn expression(&mut self, call: &mut HelperTemplate, depth: usize) -> Checked {
        if !call.params.is_empty() || !call.hash.is_empty() {
            return self.call(call, depth);
        }
        if let Some(name) = call.name.as_name().filter(|name| function::is_bare(name)) {
            call.name = Parameter::Name(name.to_owned());
            return Ok(());
        }
        let value = std::mem::replace(&mut call.name, Parameter::Name(PRINT.to_owned()));
        call.params.push(value);
        call.params
            .iter_mut()
            .try_for_each(|value| self.parameter(value, depth))
    }

    fn call(&mut self, call: &mut HelperTemplate, depth: usize) -> Checked {
        let name = call.name.as_name().unwrap_or_default();
        if block::NAMES.contains(&name) {
            return Err(format!("{name:?} is a block: {{{{#{name} …}}}}"));
        }
        if !function::is_known(name) {
            return Err(format!("function {name:?} not defined"));
        }
        if !call.hash.is_empty() {
            return Err(format!("{name:?} takes no named arguments"));
        }
        if let ("include", Some(Parameter::Literal(JsonValue::String(partial)))) =
            (name, call.params.first_mut())
            && let Some(file) = self.partials.find(self.file, partial)
        {
            file.clone_into(partial);
        }
        call.params
            .iter_mut()
            .try_for_each(|value| self.parameter(value, depth))
    }

    fn block(&mut self, block: &mut HelperTemplate, depth: usize) -> Checked {
        let name = block.name.as_name().unwrap_or_default();
        let Some(count) = block::parameters(name) else {
            let what = if function::is_known(name) {
                "is no block"
            } else {
                "is not defined as a block"
            };
            return Err(format!("function {name:?} {what}"));
        };
        if block.params.len() != count {
            let got = block.params.len();
            return Err(format!("wrong number of args for {name}: want {count} got {got}"));
        }
        if block.hash.keys().any(|key| !block::takes(name, key)) {
            return Err(format!("{name:?} takes no such named argument"));
        }
        block
            .params
            .iter_mut()
            .chain(block.hash.values_mut())
            .try_for_each(|value| self.parameter(value, depth))?;
        for inner in [&mut block.template, &mut block.inverse].into_iter().flatten() {
            self.template(inner, depth + 1)?;
        }
        Ok(())
    }

    fn partial(&mut self, partial: &mut DecoratorTemplate, depth: usize) -> Checked {
        let Some(name) = partial.name.as_name() else {
            return Err("the name of a partial cannot be computed; use include".to_owned());
        };
        let name = name.trim_matches('\'').to_owned();
        if partial.params.len() > 1 {
            return Err(format!("partial {name:?} takes one value at most"));
        }
        let file = self.partials.find(self.file, &name);
        let is_inline = name == "@partial-block" || self.inline.contains(&name);
        match (file, is_inline) {
            (Some(_), true) => {
                return Err(format!(
                    "partial {name:?} is a file and defined in a template, too"
                ));
            }
            (Some(file), false) => partial.name = Parameter::Name(file.to_owned()),
            (None, false) if partial.template.is_none() => return Err(self.unknown(&name)),
            (None, _) => partial.name = Parameter::Name(name),
        }
        partial
            .params
            .iter_mut()
            .chain(partial.hash.values_mut())
            .try_for_each(|value| self.parameter(value, depth))?;
        if let Some(mut content) = partial.template.take() {
            self.template(&mut content, depth + 1)?;
            partial.template = Some(self.framed(CAPTURE, content));
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.partials.own(self.file).collect();
        if known.is_empty() {
            return format!("partial {name:?} not found");
        }
        format!("partial {name:?} not found; this chart has {}", known.join(", "))
    }

    /// A partial that is defined inside of a template.
    fn definition(&mut self, definition: &mut DecoratorTemplate, depth: usize) -> Checked {
        if definition.name.as_name() != Some("inline") {
            return Err(format!("decorator {} not defined", quoted(&definition.name)));
        }
        if inline_name(definition).is_none() || !definition.hash.is_empty() {
            return Err("inline takes the name of a partial, in quotes".to_owned());
        }
        if let Some(mut body) = definition.template.take() {
            self.template(&mut body, depth + 1)?;
            definition.template = Some(self.framed(BODY, body));
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: &mut Parameter, depth: usize) -> Checked {
        if depth > MAX_DEPTH {
            return Err(format!("expressions are nested more than {MAX_DEPTH} deep"));
        }
        match parameter {
            Parameter::Name(_) => Ok(()),
            Parameter::Literal(value) => {
                self.mention(value.as_str().unwrap_or_default());
                Ok(())
            }
            Parameter::Path(path) => {
                if let Path::Local((0, name, _)) = path
                    && name == "root"
                {
                    *path = Path::parse("@root/this").map_err(|error| error.to_string())?;
                }
                if let Path::Relative((segments, _)) = path {
                    for segment in segments {
                        if let PathSeg::Named(name) = segment {
                            self.mention(name);
                        }
                    }
                }
                Ok(())
            }
            Parameter::Subexpression(Subexpression { element, .. }) => match &mut **element {
                TemplateElement::Expression(call) => {
                    call.name = Parameter::Name(call.name.as_name().unwrap_or_default().to_owned());
                    self.call(call, depth + 1)
                }
                _ => Err("this cannot be an argument".to_owned()),
            },
            _ => Err("this cannot be an argument".to_owned()),
        }
    }

    fn mention(&mut self, name: &str) {
        let known = context::KEYS.iter().find(|key| **key == name);
        self.mentioned.extend(known.copied());
    }

    /// A template as the block of a helper.
    fn framed(&self, helper: &str, template: Template) -> Template {
        let mut framed = self.frame.clone();
        if let Some(TemplateElement::HelperBlock(block)) = framed.elements.first_mut() {
            block.name = Parameter::Name(helper.to_owned());
            block.template = Some(template);
        }
        framed
    }
}

fn quoted(name: &Parameter) -> String {
    format!("{:?}", name.as_name().unwrap_or_default())
}
