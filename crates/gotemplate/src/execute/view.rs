//! The templates that can be called at one moment.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::set::TemplateSet;
use crate::tree::Template;
use crate::value::Str;

/// A set, and the templates that the expansions being executed define. An inner expansion
/// sees those of the outer ones, but not the other way round.
#[derive(Debug)]
pub(super) struct View<'a> {
    set: &'a TemplateSet,
    expansion: Option<Rc<Expansion>>,
    /// The names that were called, each once.
    names: Vec<Name<'a>>,
    /// The place in `names` of each of them.
    ids: BTreeMap<Str, NameId>,
    /// The last name found for each of some addresses: constants of templates stay where they
    /// are, and are called again and again.
    recent: [Option<NameId>; RECENT],
}

/// The number of a name that was called.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameId(usize);

#[derive(Debug)]
struct Name<'a> {
    text: Str,
    in_set: Option<&'a Template>,
    /// How often a template of this name is among the callers of the current one by `include`.
    included: u32,
}

const RECENT: usize = 64;

#[derive(Debug)]
struct Expansion {
    templates: Arc<[Arc<Template>]>,
    outer: Option<Rc<Expansion>>,
}

/// A template to be executed.
pub(super) enum Callee<'a> {
    OfSet(&'a Template),
    OfExpansion(Arc<Template>),
}

impl Deref for Callee<'_> {
    type Target = Template;

    fn deref(&self) -> &Template {
        match self {
            Self::OfSet(template) => template,
            Self::OfExpansion(template) => template,
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn new(set: &'a TemplateSet) -> Self {
        Self {
            set,
            expansion: None,
            names: Vec::new(),
            ids: BTreeMap::new(),
            recent: [None; RECENT],
        }
    }

    /// The template of this name.
    pub(super) fn get(&mut self, name: &[u8]) -> Option<Callee<'a>> {
        self.find(name).map(|(callee, _)| callee)
    }

    /// The template of this name, and the number of the name.
    pub(super) fn find(&mut self, name: &[u8]) -> Option<(Callee<'a>, NameId)> {
        let expanded = self.in_expansions(name);
        let id = self.id(name, expanded.as_ref())?;
        let in_set = self.names.get(id.0)?.in_set;
        let callee = match (expanded, in_set) {
            // An empty definition does not hide another.
            (Some(template), Some(hidden)) if template.is_empty() => Callee::OfSet(hidden),
            (Some(template), _) => Callee::OfExpansion(template),
            (None, in_set) => Callee::OfSet(in_set?),
        };
        Some((callee, id))
    }

    /// How often a template of this name is among the callers of the current one by `include`.
    pub(super) fn included(&mut self, id: NameId) -> &mut u32 {
        &mut self.names[id.0].included
    }

    /// The innermost template of this name that is not empty, or else the outermost empty one.
    fn in_expansions(&self, name: &[u8]) -> Option<Arc<Template>> {
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
        empty.cloned()
    }

    /// The number of a name that a template has, in the set or in an expansion.
    fn id(&mut self, name: &[u8], expanded: Option<&Arc<Template>>) -> Option<NameId> {
        let place = (name.as_ptr().addr() >> 4) % RECENT;
        if let Some(id) = self.recent[place]
            && self
                .names
                .get(id.0)
                .is_some_and(|known| known.text.as_bytes() == name)
        {
            return Some(id);
        }
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None => self.add(name, expanded)?,
        };
        self.recent[place] = Some(id);
        Some(id)
    }

    fn add(&mut self, name: &[u8], expanded: Option<&Arc<Template>>) -> Option<NameId> {
        let in_set = self.set.get(name).map(|template| &**template);
        let template = in_set.or(expanded.map(|template| &**template))?;
        let id = NameId(self.names.len());
        self.names.push(Name {
            text: template.name.clone(),
            in_set,
            included: 0,
        });
        self.ids.insert(template.name.clone(), id);
        Some(id)
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

    /// Forgets all expansions and callers.
    pub(super) fn reset(&mut self) {
        while self.expansion.is_some() {
            self.leave();
        }
        if self.names.iter().any(|name| name.in_set.is_none()) {
            self.names.clear();
            self.ids.clear();
            self.recent = [None; RECENT];
        }
        for name in &mut self.names {
            name.included = 0;
        }
    }
}
