//! The patches of watches.yaml on what the charts render here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use steersman_chart::Rendered;
use steersman_model::chain;
use steersman_project::check::{Finding, Severity};
use steersman_watches::{Watch, Watches};

use super::keyed;

/// The patches of watches.yaml on what the charts render here, and which of them were for an object.
pub(super) struct Patching<'a> {
    watches: &'a Watches,
    /// By the lines of their entries; entries of which nothing was rendered are not there.
    used: RefCell<BTreeMap<u32, BTreeSet<usize>>>,
}

impl<'a> Patching<'a> {
    pub(super) fn new(watches: &'a Watches) -> Self {
        Self {
            watches,
            used: RefCell::default(),
        }
    }

    pub(super) fn apply(&self, watch: &Watch, rendered: Rendered) -> Result<Rendered, String> {
        let namespace = watch.release_namespace.as_deref().unwrap_or("default");
        let patched = watch.post_render.apply(rendered, namespace);
        let patched = patched.map_err(|error| chain(&error))?;
        self.used
            .borrow_mut()
            .entry(watch.line)
            .or_default()
            .extend(patched.used);
        Ok(patched.rendered)
    }

    /// The patches that were for no object of any rendering.
    pub(super) fn unused(self, file: &str) -> Vec<Finding> {
        let used = self.used.into_inner();
        let mut findings = Vec::new();
        for watch in self.watches {
            let Some(used) = used.get(&watch.line) else {
                continue;
            };
            let patches = watch.post_render.patches().iter().enumerate();
            for (_, patch) in patches.filter(|(index, _)| !used.contains(index)) {
                let message =
                    "its target is no object of what the chart renders with the defaults and the samples";
                findings.push(Finding {
                    file: file.to_owned(),
                    line: patch.line,
                    severity: Severity::Warning,
                    message: keyed(&patch.key, message),
                    hint: None,
                });
            }
        }
        findings
    }
}
