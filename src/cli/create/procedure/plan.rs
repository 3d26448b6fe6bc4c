//! What a procedure changes in a project.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use steersman_cluster::permissions::{custom_kind, options, procedures};
use steersman_model::Environment;
use steersman_project::layout::{FoundEntry, NewProcedure, add_runs, replace_rules, rules_of};
use steersman_project::rbac::{Known, Rules, write};
use steersman_project::{CustomKind, Procedure};
use steersman_watches::{Watch, Watches};

use super::of;
use crate::cli::Failure;
use crate::cli::create::merge::{Outcome, merge};
use crate::cli::create::project::Opened;
use crate::cli::scaffold::{Changes, OwnDefinition, all_definitions, known_by, say, wrong, wrong_project};

const ROLE: &str = "config/rbac/role.yaml";

/// What is written.
pub(super) struct Plan {
    own: Vec<OwnDefinition>,
    known: Known,
    opened: Opened,
    pub(super) changes: Changes,
    /// Files that are the command's to change.
    may_exist: BTreeSet<String>,
    /// Files with edits where the new text differs, too.
    beside: BTreeSet<String>,
}

impl Plan {
    pub(super) fn new(opened: Opened, own: Vec<OwnDefinition>) -> Self {
        Self {
            known: known_by(&own),
            own,
            opened,
            changes: Changes::default(),
            may_exist: BTreeSet::new(),
            beside: BTreeSet::new(),
        }
    }

    pub(super) fn shared(&mut self, path: &str, text: String) {
        if self.opened.shared.get(path) != Some(&text) {
            self.may_exist.insert(path.to_owned());
            self.changes.write(path, text.clone());
            self.opened.shared.insert(path.to_owned(), text);
        }
    }

    /// The definition of the runs with what goes with it, and what changes in those that are there.
    pub(super) fn definitions(
        &mut self,
        old: &Watches,
        new: &Watches,
        entry: &FoundEntry,
        procedure: &NewProcedure,
        environment: &Environment,
    ) -> Result<(), Failure> {
        let watch = of(new, entry)?;
        let kind = custom_kind(watch, &self.known);
        let all = procedures(watch, &kind, &self.known);
        let Some(made) = all.into_iter().find(|made| made.name == procedure.name) else {
            return Err(wrong(
                "the procedure is not in its entry",
                "`steersman check` says more",
            ));
        };
        let before = all_definitions(old, &self.known, environment)?;
        for (kind, text) in all_definitions(new, &self.known, environment)? {
            if kind == made.runs {
                self.runs(&custom_kind(watch, &self.known), &made, &text)?;
                continue;
            }
            let before = before.iter().find(|(other, _)| *other == kind);
            self.changed(&kind, before.map(|(_, text)| text.as_str()), &text);
        }
        Ok(())
    }

    fn runs(&mut self, of: &CustomKind, procedure: &Procedure, definition: &str) -> Result<(), Failure> {
        let mut files = self.opened.shared.clone();
        add_runs(&mut files, &self.opened.project, of, procedure, definition)
            .map_err(|error| wrong_project(&error))?;
        for (path, text) in files {
            if self.opened.shared.contains_key(&path) {
                self.shared(&path, text);
            } else {
                self.changes.write(path, text);
            }
        }
        Ok(())
    }

    fn changed(&mut self, kind: &CustomKind, before: Option<&str>, after: &str) {
        if before == Some(after) {
            return;
        }
        let Some(own) = self.own.iter().find(|own| own.is_of(kind)) else {
            say(&format!(
                "note: the project has no definition of {}: `steersman crd --kind {}` prints it",
                kind.kind, kind.kind
            ));
            return;
        };
        let (path, ours) = (own.path.clone(), own.text.clone());
        self.take(&path, [before, Some(&ours), Some(after)], |text| {
            Some(text.to_owned())
        });
    }

    /// A text of the project that follows from watches.yaml: as it was, as it is, and as it is going to be; `whole` makes a file of
    /// it. Where it was edited at the same place the new one is written beside it.
    fn take(&mut self, path: &str, texts: [Option<&str>; 3], whole: impl Fn(&str) -> Option<String>) {
        let [before, ours, after] = texts.map(|text| text.map(str::as_bytes));
        let (path, text) = match merge(before, ours, after) {
            Outcome::Keep | Outcome::Remove => return,
            Outcome::Take(text) => (path.to_owned(), text),
            Outcome::Conflict { theirs, .. } => {
                self.beside.insert(path.to_owned());
                (format!("{path}.new"), theirs.unwrap_or_default())
            }
        };
        if let Some(text) = whole(&String::from_utf8_lossy(&text)) {
            self.may_exist.insert(path.clone());
            self.changes.write(path, text);
        }
    }

    /// The rules of the entry's kind.
    pub(super) fn rules(&mut self, old: &Watch, new: &Watch) -> Result<(), Failure> {
        let kind = custom_kind(new, &self.known);
        let rules = |watch: &Watch| {
            let rules = Rules::of(&kind, &watch.chart, &options(watch, self.known.clone(), false));
            rules.map_err(|error| wrong(error.to_string(), "`steersman lint CHART` says more"))
        };
        let (before, after) = (rules(old)?, rules(new)?);
        for notice in after
            .notices
            .iter()
            .filter(|notice| !before.notices.contains(notice))
        {
            say(&format!("note: {notice}"));
        }
        let [before, after] = [before, after].map(|rules| write::block(&rules).trim_end().to_owned());
        let role = self.opened.shared.get(ROLE).cloned().unwrap_or_default();
        let ours = rules_of(&role, &kind).filter(|ours| {
            let heading: Vec<&str> = ours.lines().take(3).collect();
            role.matches(&heading.join("\n")).count() == 1
        });
        let Some(ours) = ours.map(str::to_owned) else {
            say(&format!(
                "note: {ROLE} has no one place with the rules for {}: `steersman rbac generate` prints what the operator needs",
                kind.kind
            ));
            return Ok(());
        };
        // Rules of somebody's own after the others stay there.
        let own = ours.strip_prefix(before.as_str());
        let own = own.filter(|own| own.starts_with('\n')).unwrap_or_default();
        let (before, after) = (format!("{before}{own}"), format!("{after}{own}"));
        let texts = [Some(before.as_str()), Some(&ours), Some(&after)];
        self.take(ROLE, texts, |rules| replace_rules(&role, &kind, rules));
        Ok(())
    }

    pub(super) fn apply(&self, folder: &Path, force: bool) -> Result<(), Failure> {
        if !force {
            let may_exist: Vec<&str> = self.may_exist.iter().map(String::as_str).collect();
            self.changes.refuse_existing(folder, &may_exist)?;
        }
        self.changes.apply(folder)
    }

    /// Says what is left to do.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        if self.beside.is_empty() {
            return Ok(());
        }
        let list: Vec<&str> = self.beside.iter().map(String::as_str).collect();
        let hint = "your version stays, and what the procedure needs is beside it as FILE.new";
        Err(Failure::failed(
            anyhow!(
                "edited where the procedure changes them:\n  {}",
                list.join("\n  ")
            ),
            Some(hint.to_owned()),
        ))
    }
}
