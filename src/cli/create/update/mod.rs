//! `create api --update`: a newer chart for a kind, merged with what was edited since the last one.
//!
//! Three versions of each file meet: the base, which the chart of the project gave; the one on disk; and the one that the
//! newer chart gives. The base of what is generated is generated again.

mod base;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::anyhow;
use base::base;
use serde_json::Value;
use steersman_chart::files_of_chart;
use steersman_model::Environment;
use steersman_project::CustomKind;
use steersman_project::layout::{
    Api, Content, Files, Project, ProjectFile, Resource, api_files, is_bare_definition, replace_rules,
    rules_of,
};
use steersman_tree::unified_text;

use super::super::Failure;
use super::super::report::print_text;
use super::super::scaffold::{self, Changes, Fetched, digest, say, wrong};
use super::super::style::harmless;
use super::merge::{Outcome, merge};
use super::{ApiArgs, project};

const ROLE: &str = "config/rbac/role.yaml";

/// A kind of the project, and where its chart is.
struct Target {
    resource: Resource,
    kind: CustomKind,
    /// The folder in the project.
    chart: String,
}

/// Takes the newer chart.
pub(super) fn exec(arguments: &ApiArgs, environment: &Environment) -> Result<(), Failure> {
    let folder = Path::new(".");
    let project::Opened { project, shared, .. } = project::read(folder)?;
    let target = find(&project, &shared, arguments)?;
    let Some(theirs) = arguments.source.fetch(folder, environment)? else {
        return Err(wrong("the newer chart is missing", "name it with --helm-chart"));
    };
    let ours = chart_on_disk(&folder.join(&target.chart))?;
    let base = base(&target, &shared, &ours, &theirs, arguments, environment)?;
    let versions = [base.chart.version(), theirs.chart.version()].map(str::to_owned);
    let mut plan = Plan {
        folder,
        markers: arguments.update.conflict_markers,
        changes: Changes::default(),
        conflicts: BTreeSet::new(),
    };
    plan.chart(&target, &base, &ours, &theirs);
    plan.generated(&project, &target, &base, &theirs, &shared)?;
    plan.project_file(&target, &theirs, &shared)?;
    if arguments.update.dry_run {
        return plan.show();
    }
    if plan.changes.is_empty() && plan.conflicts.is_empty() {
        say(&format!(
            "{} has everything of {} already",
            target.chart, versions[1]
        ));
        return Ok(());
    }
    plan.changes.apply(folder)?;
    say(&format!(
        "{} went from {} to {}",
        target.chart, versions[0], versions[1]
    ));
    plan.finish()
}

/// The kind that is meant: by the flags, or the only one.
fn find(project: &Project, shared: &Files, arguments: &ApiArgs) -> Result<Target, Failure> {
    let text = shared.get("PROJECT").map_or("", String::as_str);
    let file = ProjectFile::parse(text).map_err(|error| wrong(error.to_string(), "mend PROJECT"))?;
    let flags = &arguments.api;
    let fits = |flag: &Option<String>, value: &str| flag.as_deref().is_none_or(|flag| flag == value);
    let found: Vec<Resource> = file
        .resources()
        .into_iter()
        .filter(|resource| {
            fits(&flags.group, &resource.group)
                && fits(&flags.version, &resource.version)
                && fits(&flags.kind, &resource.kind)
        })
        .collect();
    let [resource] = found.as_slice() else {
        let problem = if found.is_empty() {
            "no kind of the project is called so"
        } else {
            "the project has several kinds"
        };
        return Err(wrong(
            problem,
            "name one of PROJECT's with --group, --version and --kind",
        ));
    };
    let group = if resource.group.is_empty() {
        project.domain.clone()
    } else {
        format!("{}.{}", resource.group, project.domain)
    };
    let mut kind = CustomKind::new(group, &resource.version, &resource.kind);
    if let Some(plural) = flags.plural.as_ref().or(resource.plural.as_ref()) {
        kind.plural.clone_from(plural);
    }
    let chart = chart_of(shared.get("watches.yaml").map_or("", String::as_str), &kind)?;
    Ok(Target {
        resource: resource.clone(),
        kind,
        chart,
    })
}

/// The folder of the chart that watches.yaml names for a kind.
fn chart_of(watches: &str, kind: &CustomKind) -> Result<String, Failure> {
    let hint = "watches.yaml has to name a folder in helm-charts/ for it; a role is edited where it is";
    let entries =
        steersman_yaml::to_json(watches).map_err(|error| wrong(format!("watches.yaml: {error}"), hint))?;
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let chart = entries.as_array().into_iter().flatten().find_map(|entry| {
        let is_meant = text(entry, "group") == kind.group
            && text(entry, "version") == kind.version
            && text(entry, "kind") == kind.kind;
        is_meant.then(|| text(entry, "chart"))
    });
    let chart = chart.unwrap_or_default();
    let chart = chart.trim_start_matches("./").trim_end_matches('/').to_owned();
    let is_inside = chart
        .strip_prefix("helm-charts/")
        .is_some_and(|name| !name.is_empty() && !name.contains('/') && name != "..");
    if is_inside {
        return Ok(chart);
    }
    let problem = if chart.is_empty() {
        format!("no chart makes {}", kind.kind)
    } else {
        format!("the chart of {} is not in helm-charts/", kind.kind)
    };
    Err(wrong(problem, hint))
}

fn chart_on_disk(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    files_of_chart(path).map_err(|error| wrong(error.to_string(), "`steersman lint CHART` says more"))
}

fn chart_name(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

/// What the update does.
struct Plan<'a> {
    folder: &'a Path,
    markers: bool,
    changes: Changes,
    conflicts: BTreeSet<String>,
}

impl Plan<'_> {
    /// Merges the files of the chart.
    fn chart(&mut self, target: &Target, base: &Fetched, ours: &BTreeMap<String, Vec<u8>>, theirs: &Fetched) {
        let paths: BTreeSet<&String> = base
            .files
            .keys()
            .chain(ours.keys())
            .chain(theirs.files.keys())
            .collect();
        for path in paths {
            let outcome = merge(
                base.files.get(path).map(Vec::as_slice),
                ours.get(path).map(Vec::as_slice),
                theirs.files.get(path).map(Vec::as_slice),
            );
            self.take(&format!("{}/{path}", target.chart), outcome);
        }
    }

    /// Merges what is generated: definition, sample, roles for people, rules.
    fn generated(
        &mut self,
        project: &Project,
        target: &Target,
        base: &Fetched,
        theirs: &Fetched,
        shared: &Files,
    ) -> Result<(), Failure> {
        let old = scaffold::generate(&target.kind, &base.chart)?;
        let new = scaffold::generate(&target.kind, &theirs.chart)?;
        let (old_values, new_values) = (base.values(), theirs.values());
        let files = |generated: &scaffold::Generated, values: &str| {
            api_files(
                project,
                &Api {
                    kind: &target.kind,
                    group: &target.resource.group,
                    content: Content::Chart {
                        name: chart_name(&target.chart),
                        values,
                    },
                    definition: &generated.definition,
                    rules: &generated.rules,
                },
            )
        };
        let (old_files, new_files) = (files(&old, &old_values), files(&new, &new_values));
        for (path, text) in &new_files {
            let mut ours = project::read_text(self.folder, path)?;
            let is_definition = path.starts_with("config/crd/");
            if is_definition
                && ours
                    .as_deref()
                    .is_some_and(|text| is_bare_definition(text, &target.kind))
            {
                ours = old_files.get(path).cloned();
            }
            let outcome = merge(
                old_files.get(path).map(String::as_bytes),
                ours.as_deref().map(str::as_bytes),
                Some(text.as_bytes()),
            );
            self.take(path, outcome);
        }
        for notice in new.notices.iter().filter(|notice| !old.notices.contains(notice)) {
            say(&format!("note: {notice}"));
        }
        self.rules(&target.kind, shared, &old.rules, &new.rules)
    }

    /// Merges the block of the kind's rules in the operator's role.
    fn rules(&mut self, kind: &CustomKind, shared: &Files, old: &str, new: &str) -> Result<(), Failure> {
        let role = shared.get(ROLE).map_or("", String::as_str);
        let Some(ours) = rules_of(role, kind) else {
            return Err(wrong(
                format!("`{ROLE}` has no heading for the rules of {}", kind.kind),
                "`steersman rbac generate` prints the rules with their heading",
            ));
        };
        let outcome = merge(
            Some(old.trim_end().as_bytes()),
            Some(ours.as_bytes()),
            Some(new.trim_end().as_bytes()),
        );
        let whole = |rules: Vec<u8>| {
            let rules = String::from_utf8_lossy(&rules).into_owned();
            replace_rules(role, kind, &rules)
                .unwrap_or_else(|| role.to_owned())
                .into_bytes()
        };
        let outcome = match outcome {
            Outcome::Take(rules) => Outcome::Take(whole(rules)),
            Outcome::Conflict { theirs, marked } => Outcome::Conflict {
                theirs: theirs.map(whole),
                marked: marked
                    .map(|marked| whole(marked.into_bytes()))
                    .map(|text| String::from_utf8_lossy(&text).into_owned()),
            },
            other => other,
        };
        self.take(ROLE, outcome);
        Ok(())
    }

    /// Remembers the newer chart.
    fn project_file(&mut self, target: &Target, theirs: &Fetched, shared: &Files) -> Result<(), Failure> {
        let text = shared.get("PROJECT").map_or("", String::as_str);
        let mut file = ProjectFile::parse(text).map_err(|error| wrong(error.to_string(), "mend PROJECT"))?;
        file.set_chart(
            chart_name(&target.chart),
            theirs.chart.version(),
            &digest(&theirs.files),
        );
        if file.to_text() != text {
            self.changes.write("PROJECT", file.to_text());
        }
        Ok(())
    }

    fn take(&mut self, path: &str, outcome: Outcome) {
        match outcome {
            Outcome::Keep => {}
            Outcome::Take(content) => self.changes.write(path, content),
            Outcome::Remove => self.changes.remove(path),
            Outcome::Conflict { theirs, marked } => {
                self.conflicts.insert(path.to_owned());
                match (marked.filter(|_| self.markers), theirs) {
                    (Some(marked), _) => self.changes.write(path, marked),
                    (None, Some(theirs)) => self.changes.write(format!("{path}.new"), theirs),
                    (None, None) => {}
                }
            }
        }
    }

    /// Prints the changes as a diff, and what would be in conflict.
    fn show(&self) -> Result<(), Failure> {
        for (path, content) in self.changes.written() {
            print_text(&self.diff(path, Some(content)))?;
        }
        for path in self.changes.removed() {
            print_text(&self.diff(path, None))?;
        }
        for path in &self.conflicts {
            say(&format!(
                "conflict: {path} was edited where the newer chart changes it"
            ));
        }
        Ok(())
    }

    fn diff(&self, path: &str, content: Option<&[u8]>) -> String {
        let old = fs::read(self.folder.join(path)).unwrap_or_default();
        let (Ok(old), Ok(new)) = (
            std::str::from_utf8(&old),
            std::str::from_utf8(content.unwrap_or_default()),
        ) else {
            return format!("binary file {path} differs\n");
        };
        let from = if old.is_empty() { "/dev/null" } else { path };
        let to = if content.is_some() { path } else { "/dev/null" };
        let diff = unified_text((from, old), (to, new)).unwrap_or_default();
        diff.lines().fold(String::new(), |mut text, line| {
            text.push_str(&harmless(line));
            text.push('\n');
            text
        })
    }

    /// Says what is left to do.
    fn finish(&self) -> Result<(), Failure> {
        if self.conflicts.is_empty() {
            return Ok(());
        }
        let list: Vec<&str> = self.conflicts.iter().map(String::as_str).collect();
        let hint = if self.markers {
            "the conflicts are marked in these files; solve them by hand"
        } else {
            "your version stays, and what the newer chart gives is beside it as FILE.new; --conflict-markers shows both in \
             one file"
        };
        Err(Failure::failed(
            anyhow!(
                "edited where the newer chart changes them:\n  {}",
                list.join("\n  ")
            ),
            Some(hint.to_owned()),
        ))
    }
}
