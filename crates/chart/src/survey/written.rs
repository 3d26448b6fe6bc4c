//! Values as text: `toYaml`, `indent`, `printf`.

use std::rc::Rc;

use steersman_gotemplate::syntax::Node;

use super::Place;
use super::call::shortened;
use super::output::Output;
use super::resolve::print;
use super::value::{ANY_KEY, Abstract, Shape, printed};
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn indent(
        &mut self,
        width: &Abstract,
        text: &Abstract,
        on_a_new_line: bool,
        node: Node<'_>,
    ) -> Abstract {
        let width = match self.strings(width) {
            (widths, None) => widths.first().and_then(|width| width.parse().ok()),
            _ => None,
        };
        let width: usize = width.unwrap_or(2).min(200);
        let place = self.place(node);
        let mut inner = Vec::new();
        print(text.clone(), place.clone(), &mut inner);
        let newline = if on_a_new_line { "\n" } else { "" };
        let first = format!("{newline}{}", " ".repeat(width));
        Abstract::text(vec![
            Output::Text(first.into(), place),
            Output::Indented(width, inner.into()),
        ])
    }

    /// A value as text. What templates have put together is written entry by entry.
    pub(super) fn written(&mut self, name: &str, arguments: &[Abstract], node: Node<'_>) -> Abstract {
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

    /// The parts of a text that is put together, one after the other.
    pub(super) fn printed(&mut self, name: &str, arguments: &[Abstract], node: Node<'_>) -> Abstract {
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
            print(argument.clone(), place.clone(), &mut out);
        }
        Abstract::text(out)
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
