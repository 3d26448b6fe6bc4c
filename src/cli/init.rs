//! `init`: a new project, as operator-sdk's helm plugin lays it out.

use std::path::Path;

use steersman_model::Environment;
use steersman_project::layout::{self, Files, Project, check_domain, check_project_name, new_project};
use steersman_project::rbac;

use super::Failure;
use super::scaffold::{self, ApiFlags, Changes, Fetched, SourceFlags, wrong};

const EXAMPLES: &str = "\
Examples:
  # An operator for a chart in a repository
  steersman init --domain example.com \\
    --helm-chart nginx --helm-chart-repo https://charts.example.com

  # For a chart on this machine, with names of your own
  steersman init --domain example.com --group cache --version v1alpha1 --kind Memcached \\
    --helm-chart ../charts/memcached

  # With a small chart to begin with
  steersman init --domain example.com --kind Shop";

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
    /// Accepted as operator-sdk's: projects are of charts
    #[arg(long, value_name = "PLUGINS", default_value = "helm", hide_short_help = true)]
    plugins: String,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    api: ApiFlags,
    #[command(flatten)]
    source: SourceFlags,
}

/// Writes the project into the current folder.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let folder = Path::new(".");
    let project = project(arguments)?;
    let has_api = arguments.api.is_given() || arguments.source.helm_chart.is_some();
    let mut files: Files = new_project(&project, &rbac::write::base_block());
    let mut changes = Changes::default();
    // What can be wrong is found before anything is fetched.
    for (path, text) in &files {
        changes.write(path.clone(), text.clone());
    }
    if !arguments.force {
        changes.refuse_existing(folder, &[])?;
    }
    let fetched = arguments.source.fetch(folder, environment)?;
    if has_api {
        let chart = fetched.as_ref().map(|fetched| fetched.chart.name());
        let (resource, kind) = arguments.api.resource(&project.domain, chart)?;
        let fetched = match fetched {
            Some(fetched) => fetched,
            None => Fetched::of(layout::starter_chart(&kind.kind))?,
        };
        scaffold::plan(&mut files, &project, &resource, &kind, &fetched, &mut changes)?;
        for (path, text) in &files {
            changes.write(path.clone(), text.clone());
        }
        if !arguments.force {
            changes.refuse_existing(folder, &[])?;
        }
    }
    changes.apply(folder)?;
    if has_api {
        scaffold::say(
            "next: look at config/samples and config/rbac/role.yaml, then `make install run`, or `make deploy IMG=…`",
        );
    } else {
        scaffold::say("next: `steersman create api --helm-chart CHART` adds a kind");
    }
    Ok(())
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
    let is_helm = |plugin: &str| {
        let name = plugin.split('/').next().unwrap_or_default();
        matches!(name.trim(), "helm" | "helm.sdk.operatorframework.io" | "")
    };
    if !arguments.plugins.split(',').all(is_helm) {
        return Err(wrong(
            format!("the plugins `{}` are not known", arguments.plugins),
            "projects are of Helm charts: --plugins=helm, or nothing",
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
