//! Projects of watches.yaml, charts and roles alone: the files that `init` and `create api` would write for them, for commands
//! that need more than these.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use steersman_chart::files_of_chart;
use steersman_cluster::permissions::options;
use steersman_model::Environment;
use steersman_project::CustomKind;
use steersman_project::layout::{
    self, Api, Content, Files, Plugin, Project, add_runs, api_files, new_project, project_name_of,
};
use steersman_project::rbac::{self, Known, Rules};
use steersman_watches::{Watch, Watches};
use tempfile::TempDir;

use super::api::wrong_project;
use super::definitions::{Entry, definitions, entries, known_by, own_definitions};
use super::{say, wrong};
use crate::cli::Failure;

/// The file that is all of such a project but its charts and roles.
const WATCHES: &str = "watches.yaml";

/// A project of watches.yaml, charts and roles, with all files, in a folder that is gone when this is dropped.
#[derive(Debug)]
pub(in crate::cli) struct PlainProject {
    name: String,
    folder: TempDir,
}

impl PlainProject {
    /// Whether the current folder has what such a project is made of.
    pub(in crate::cli) fn is_here() -> bool {
        Path::new(WATCHES).is_file()
    }

    /// Lays out the project of the current folder, and says what a reader of its roles should know.
    ///
    /// # Errors
    /// watches.yaml or a chart is wrong, or the files cannot be written.
    pub(in crate::cli) fn read(environment: &Environment) -> Result<Self, Failure> {
        let watches = Watches::load(Path::new(WATCHES), environment)?;
        let project = project()?;
        let (plugin, base_rules) = if watches.ansible().is_empty() {
            (Plugin::Helm, rbac::write::base_block())
        } else {
            (Plugin::Ansible, rbac::write::run_base_block())
        };
        let mut files = new_project(&project, plugin, &base_rules);
        let own = own_definitions().map_err(|error| Failure::usage(error, None))?;
        let known = known_by(&own);
        let own_or = |kind: &CustomKind, made: String| {
            let own = own.iter().find(|own| own.is_of(kind));
            own.map_or(made, |own| own.text.clone())
        };
        let kinds = kinds(&watches, &known)?;
        let made = definitions(&watches, &kinds, &known, environment)?;
        for (entry, (kind, made)) in entries(&watches).zip(kinds.iter().zip(made)) {
            let definition = own_or(kind, made.definition);
            match entry {
                Entry::Chart(watch) => {
                    let needs = options(watch, known.clone(), false);
                    add(&mut files, &project, watch, kind, &definition, &needs)?;
                }
                Entry::Ansible(_) => add_ansible(&mut files, &project, kind, &definition)?,
            }
            for (procedure, definition) in made.runs {
                let definition = own_or(&procedure.runs, definition);
                add_runs(&mut files, &project, kind, &procedure, &definition)
                    .map_err(|error| wrong_project(&error))?;
            }
        }
        let folder = write(&files).map_err(|error| Failure::failed(error, None))?;
        Ok(Self {
            name: project.name,
            folder,
        })
    }

    /// What the project is called: after its folder.
    pub(in crate::cli) fn name(&self) -> &str {
        &self.name
    }

    /// The objects of one of its kustomizations, such as `config/default`.
    ///
    /// # Errors
    /// The names of two kinds lead to the same name of an object.
    pub(in crate::cli) fn build(&self, kustomization: &str) -> Result<Vec<Value>, Failure> {
        let folder = self.folder.path();
        steersman_kustomize::build_within(folder, &folder.join(kustomization)).map_err(|error| {
            let hint = "`steersman init` and `steersman create api` write the project's files, where names can be changed";
            Failure::failed(error, Some(hint.to_owned()))
        })
    }
}

fn project() -> Result<Project, Failure> {
    let folder = std::env::current_dir().context("failed to find the current folder")?;
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = project_name_of(&folder).ok_or_else(|| {
        wrong(
            format!("the folder's name `{folder}` can't be that of an operator"),
            "`steersman init --project-name` writes the files of a project with a name",
        )
    })?;
    Ok(Project {
        name,
        domain: String::new(),
    })
}

/// The kinds of the entries. Versions of one kind share a definition, which several charts or roles do not give.
fn kinds(watches: &Watches, known: &Known) -> Result<Vec<CustomKind>, Failure> {
    let mut kinds: Vec<CustomKind> = Vec::new();
    for entry in entries(watches) {
        let kind = entry.kind(known);
        if kinds
            .iter()
            .any(|other| other.definition_name() == kind.definition_name())
        {
            return Err(wrong(
                format!(
                    "watches.yaml has several versions of {} in {}, and no definition for all of them follows",
                    kind.kind, kind.group
                ),
                "`steersman init` writes a project's files: make one definition of those of `steersman crd`",
            ));
        }
        kinds.push(kind);
    }
    Ok(kinds)
}

/// Adds the files of a kind that Ansible makes. What its tasks make nobody knows here.
fn add_ansible(
    files: &mut Files,
    project: &Project,
    kind: &CustomKind,
    definition: &str,
) -> Result<(), Failure> {
    say(&format!(
        "note: {}: the operator gets no rules for what its tasks make; bind a role with them to its ServiceAccount",
        kind.kind
    ));
    let api = Api {
        kind,
        group: &kind.group,
        content: Content::Open,
        definition,
        rules: &rbac::write::run_block(kind),
    };
    layout::register(files, project, &api).map_err(|error| wrong_project(&error))?;
    files.extend(api_files(project, &api));
    Ok(())
}

/// Adds the files of a kind, and enters it into the others.
fn add(
    files: &mut Files,
    project: &Project,
    watch: &Watch,
    kind: &CustomKind,
    definition: &str,
    needs: &rbac::Options,
) -> Result<(), Failure> {
    let place = watch.chart_path.display();
    let rules = Rules::of(kind, &watch.chart, needs)
        .with_context(|| format!("failed to survey the chart {place}"))
        .map_err(|error| Failure::usage(error, None))?;
    for notice in &rules.notices {
        say(&format!("note: {}: {notice}", kind.kind));
    }
    let chart: BTreeMap<String, Vec<u8>> =
        files_of_chart(&watch.chart_path).with_context(|| format!("failed to read the chart {place}"))?;
    let values = chart.get("values.yaml").map(Vec::as_slice).unwrap_or_default();
    let api = Api {
        kind,
        group: &kind.group,
        content: Content::Chart {
            name: watch.chart.name(),
            values: &String::from_utf8_lossy(values),
        },
        definition,
        rules: &rbac::write::block(&rules),
    };
    layout::register(files, project, &api).map_err(|error| wrong_project(&error))?;
    files.extend(api_files(project, &api));
    Ok(())
}

fn write(files: &Files) -> anyhow::Result<TempDir> {
    let attempt = "failed to lay out the project in a temporary folder";
    let folder = tempfile::tempdir().context(attempt)?;
    for (path, text) in files {
        let path = folder.path().join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above).context(attempt)?;
        }
        fs::write(path, text).context(attempt)?;
    }
    Ok(folder)
}
