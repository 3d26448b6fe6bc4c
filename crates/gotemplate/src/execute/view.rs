//! The templates that can be called at one moment.

use std::rc::Rc;
use std::sync::Arc;

use crate::set::TemplateSet;
use crate::tree::Template;

/// A set, and the templates that the expansions being executed define. An inner expansion
/// sees those of the outer ones, but not the other way round.
#[derive(Clone, Debug)]
pub(super) struct View {
    set: TemplateSet,
    expansion: Option<Rc<Expansion>>,
}

#[derive(Debug)]
struct Expansion {
    templates: Arc<[Arc<Template>]>,
    outer: Option<Rc<Expansion>>,
}

impl View {
    pub(super) fn new(set: TemplateSet) -> Self {
        Self { set, expansion: None }
    }

    pub(super) fn set(&self) -> &TemplateSet {
        &self.set
    }

    /// The template of this name. An empty definition does not hide another.
    pub(super) fn get(&self, name: &[u8]) -> Option<Arc<Template>> {
        let mut empty = None;
        let mut expansion = self.expansion.as_ref();
        while let Some(current) = expansion {
            let template = current.templates.iter().find(|t| t.name.as_bytes() == name);
            match template {
                Some(template) if template.is_empty() => empty = Some(template),
                Some(template) => return Some(Arc::clone(template)),
                None => {}
            }
            expansion = current.outer.as_ref();
        }
        self.set.get(name).or(empty).cloned()
    }

    /// Adds what an expansion defines, until [`leave`](Self::leave).
    pub(super) fn enter(&mut self, templates: Arc<[Arc<Template>]>) {
        let outer = self.expansion.take();
        self.expansion = Some(Rc::new(Expansion { templates, outer }));
    }

    pub(super) fn leave(&mut self) {
        self.expansion = self
            .expansion
            .take()
            .and_then(|expansion| expansion.outer.clone());
    }

    pub(super) fn leave_all(&mut self) {
        while self.expansion.is_some() {
            self.leave();
        }
    }
}
