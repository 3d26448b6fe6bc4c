//! The files of a project that go into its image.

use std::fs;
use std::path::{Component, Path};

use anyhow::{Context as _, anyhow};
use steersman_chart::Chart;
use steersman_image::{Home, Tree};
use steersman_model::Environment;
use steersman_watches::Watches;

use super::ansible;
use super::files::{Files, working_directory};
use crate::cli::Failure;

/// Where the operator looks for its watches.
const WATCHES: &str = "watches.yaml";

/// A project, as it lies in an image.
#[derive(Default)]
pub(super) struct Project {
    /// Whose images the image is like.
    pub(super) home: Home,
    /// The watches, and what they name.
    pub(super) files: Tree,
    pub(super) collections: Tree,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

/// The watches with the charts, files of values, roles and playbooks that they name, as they lie in the operator's home folder. All are checked
/// as the operator checks them at its start. `has_base` says whether there will be Python in the image.
pub(super) fn read(
    watches_file: &Path,
    has_base: bool,
    environment: &Environment,
) -> Result<Project, Failure> {
    let watches = Watches::load(watches_file, environment)?;
    if let (Some(first), false) = (watches.ansible().first(), has_base) {
        let problem = anyhow!(
            "`{}` names a role or playbook in line {}, and an image with nothing but the program has no Python to run \
             it",
            watches_file.display(),
            first.line
        );
        let hint = "--from REF builds upon an image that has Python and Ansible; where there is docker, the Dockerfile \
                    of the project does";
        return Err(Failure::usage(problem, Some(hint.to_owned())));
    }
    let mut files = Files::new()?;
    for watch in &watches {
        add_chart(&watch.chart_path, &mut files)?;
        for file in &watch.values.files {
            if let Some(path) = &file.path {
                files.add(path, &place_beside(&file.name)?)?;
            }
        }
    }
    let text = fs::read(watches_file)
        .with_context(|| format!("failed to read watches file `{}`", watches_file.display()))?;
    let names_ansible = !watches.ansible().is_empty();
    if names_ansible {
        ansible::check_paths(&text, &files)?;
    }
    files.put(WATCHES, text);
    if !names_ansible {
        return Ok(Project {
            home: Home::Helm,
            files: files.tree(Home::Helm.folder())?,
            ..Project::default()
        });
    }
    let home = Home::Ansible;
    let mut notes = ansible::add(watches.ansible(), &mut files)?;
    let collections = ansible::collections(&mut notes)?;
    Ok(Project {
        home,
        files: files.tree(home.folder())?,
        collections: collections.tree(&home.collections())?,
        notes,
    })
}

/// Adds the files of a chart: those that make it, or its archive as it is.
fn add_chart(chart: &Path, files: &mut Files) -> Result<(), Failure> {
    let place = place(chart)?;
    let failed = || format!("failed to read the chart `{}`", chart.display());
    if chart.is_file() {
        files.put(&place, fs::read(chart).with_context(failed)?);
        return Ok(());
    }
    let read = Chart::read_files(chart).with_context(failed)?;
    for (name, content) in read {
        files.put(&format!("{place}/{name}"), content);
    }
    Ok(())
}

/// Where a file of values lies in the operator's home folder: where it lies beside watches.yaml.
fn place_beside(name: &str) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            _ => {
                let problem = anyhow!("the value file `{name}` does not lie beside watches.yaml or below");
                let hint = "an image holds what is below its folder: name a file there, or one of the chart";
                return Err(Failure::usage(problem, Some(hint.to_owned())));
            }
        }
    }
    Ok(parts.join("/"))
}

/// Where a chart lies in the operator's home folder: where it lies in the project.
fn place(chart: &Path) -> Result<String, Failure> {
    let outside = || {
        Failure::usage(
            anyhow!("the chart `{}` is not in the working directory", chart.display()),
            Some("an image holds what is below the working directory: start in the project's folder, and name charts \
                 by paths from there"
                .to_owned()),
        )
    };
    let mut parts = Vec::new();
    for component in chart.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(outside)?),
            _ => return Err(outside()),
        }
    }
    let project = working_directory()?;
    let target =
        fs::canonicalize(chart).with_context(|| format!("failed to find the chart `{}`", chart.display()))?;
    if parts.is_empty() || !target.starts_with(project) {
        return Err(outside());
    }
    Ok(parts.join("/"))
}
