//! `init`: a new project, as operator-sdk's plugins for Helm and Ansible lay it out.

use std::path::Path;

use steersman_model::Environment;
use steersman_project::layout::{
    self, Files, Plugin, Project, check_domain, check_project_name, new_project,
};
use steersman_project::rbac;

use super::Failure;
use super::scaffold::{self, AnsibleFlags, ApiFlags, Changes, Fetched, Named, NewKind, SourceFlags, wrong};
use super::schema;

const EXAMPLES: &str = "\
Examples:
  # An operator for a chart in a repository
  steersman init --domain example.com \\
    --helm-chart nginx --helm-chart-repo https://charts.example.com

  # For a chart on this machine, with names of your own
  steersman init --domain example.com --group cache --version v1alpha1 --kind Memcached \\
    --helm-chart ../charts/memcached

  # With a small chart to begin with
  steersman init --domain example.com --kind Shop

  # For a role and a playbook of Ansible, to begin with
  steersman init --plugins ansible --domain example.com --group cache --kind Memcached \\
    --generate-role --generate-playbook";

/// What `init` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", scaffold::EXIT_CODES))]
pub(super) struct Args {
    /// What the groups of the project's kinds end in
    #[arg(long, value_name = "DOMAIN", default_value = "my.domain")]
    domain: String,
    /// Name of the project: a part of all names in the cluster [default: that of the folder]
    #[arg(long, value_name = "NAME")]
    project_name: Option<String>,
    /// Version of the PROJECT file
    #[arg(long, value_name = "VERSION", default_value = "3", hide_short_help = true)]
    project_version: String,
    /// What the project begins with: helm or ansible, also as operator-sdk spells them. Kinds of the other one can come
    /// into it later
    #[arg(long, value_name = "PLUGIN", default_value = "helm")]
    plugins: String,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    api: ApiFlags,
    #[command(flatten)]
    ansible: AnsibleFlags,
    #[command(flatten)]
    source: SourceFlags,
}

/// Writes the project into the current folder.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let folder = Path::new(".");
    let project = project(arguments)?;
    let plugin = plugin(arguments)?;
    let base_rules = match plugin {
        Plugin::Helm => rbac::write::base_block(),
        Plugin::Ansible => rbac::write::run_base_block(),
    };
    let mut files: Files = new_project(&project, plugin, &base_rules);
    files.insert(schema::PLACE.to_owned(), steersman_watches::SCHEMA.to_owned());
    let mut changes = Changes::default();
    // What can be wrong is found before anything is fetched.
    write(&files, folder, arguments, &mut changes)?;
    let has_api = match plugin {
        Plugin::Helm => chart(&mut files, &project, arguments, environment, &mut changes)?,
        Plugin::Ansible => role(&mut files, &project, arguments, environment, &mut changes)?,
    };
    write(&files, folder, arguments, &mut changes)?;
    changes.apply(folder)?;
    scaffold::say(match (plugin, has_api) {
        (Plugin::Helm, true) => scaffold::NEXT_FOR_CHARTS,
        (Plugin::Helm, false) => "next: `steersman create api --helm-chart CHART` adds a kind",
        (Plugin::Ansible, true) => scaffold::NEXT_FOR_ROLES,
        (Plugin::Ansible, false) => "next: `steersman create api --kind KIND --generate-role` adds a kind",
    });
    Ok(())
}

/// Adds the files to the changes, which overwrite none unless that is wanted.
fn write(files: &Files, folder: &Path, arguments: &Args, changes: &mut Changes) -> Result<(), Failure> {
    for (path, text) in files {
        changes.write(path.clone(), text.clone());
    }
    if arguments.force {
        return Ok(());
    }
    changes.refuse_existing(folder, &[])
}

/// Adds the kind of a chart, if the arguments name one.
fn chart(
    files: &mut Files,
    project: &Project,
    arguments: &Args,
    environment: &Environment,
    changes: &mut Changes,
) -> Result<bool, Failure> {
    if arguments.ansible.is_given() {
        return Err(wrong(
            "roles and playbooks are of projects of Ansible",
            "--plugins=ansible makes one; in a project of charts, `steersman create api` takes these flags",
        ));
    }
    let fetched = arguments.source.fetch(Path::new("."), environment)?;
    if !arguments.api.is_given() && fetched.is_none() {
        return Ok(false);
    }
    let named = Named::ByChart(fetched.as_ref().map(|fetched| fetched.chart.name()));
    let (resource, kind) = arguments.api.resource(&project.domain, named)?;
    let fetched = match fetched {
        Some(fetched) => fetched,
        None => Fetched::of(layout::starter_chart(&kind.kind))?,
    };
    scaffold::plan(files, project, &resource, &kind, &fetched, changes)?;
    Ok(true)
}

/// Adds a kind that Ansible makes, if the arguments name one.
fn role(
    files: &mut Files,
    project: &Project,
    arguments: &Args,
    environment: &Environment,
    changes: &mut Changes,
) -> Result<bool, Failure> {
    if arguments.source.helm_chart.is_some() {
        return Err(wrong(
            "a project of Ansible begins with a role or a playbook",
            "`steersman create api --helm-chart` adds a kind of a chart to it",
        ));
    }
    if !arguments.api.is_given() && !arguments.ansible.is_given() {
        return Ok(false);
    }
    let (resource, kind) = arguments.api.resource(&project.domain, Named::ForRole)?;
    let new = NewKind {
        project,
        resource: &resource,
        kind: &kind,
    };
    scaffold::plan_ansible(
        Path::new("."),
        files,
        new,
        &arguments.ansible,
        environment,
        changes,
    )?;
    Ok(true)
}

/// The one plugin that the project begins with.
fn plugin(arguments: &Args) -> Result<Plugin, Failure> {
    let hint = "--plugins=helm and --plugins=ansible are; a project of either can get kinds of the other";
    let mut found = None;
    for name in arguments
        .plugins
        .split(',')
        .filter(|name| !name.trim().is_empty())
    {
        let plugin = Plugin::named(name)
            .ok_or_else(|| wrong(format!("the plugins `{}` are not known", arguments.plugins), hint))?;
        if found.is_some_and(|found| found != plugin) {
            return Err(wrong("a project begins with one plugin", hint));
        }
        found = Some(plugin);
    }
    Ok(found.unwrap_or_default())
}

fn project(arguments: &Args) -> Result<Project, Failure> {
    if arguments.project_version != "3" {
        return Err(wrong(
            format!(
                "PROJECT files of version {} are not known",
                arguments.project_version
            ),
            "leave --project-version out",
        ));
    }
    let name = match &arguments.project_name {
        Some(name) => name.clone(),
        None => folder_name()?,
    };
    check_project_name(&name).map_err(|problem| wrong(problem, "set it with --project-name"))?;
    check_domain(&arguments.domain).map_err(|problem| wrong(problem, "set it with --domain"))?;
    Ok(Project {
        name,
        domain: arguments.domain.clone(),
    })
}

/// The name of the current folder, in small letters.
fn folder_name() -> Result<String, Failure> {
    let folder = std::env::current_dir().map_err(|error| Failure::failed(error, None))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(name.to_lowercase())
}
