//! A kind that Ansible makes: its role or playbook, and what follows from it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use steersman_model::Environment;
use steersman_project::definition::{Definition, RoleOptions, sample_of_role};
use steersman_project::layout::{
    self, Api, Content, Files, Plugin, Project, ProjectFile, Resource, Switched, api_files,
};
use steersman_project::{CustomKind, Role, rbac, roles_of_playbook};
use steersman_watches::{AnsibleContent, AnsibleWatch};

use super::api::{check_new, wrong_project};
use super::{Changes, say, wrong};
use crate::cli::Failure;

/// What is made for a kind, with operator-sdk's flags.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Ansible")]
pub(in crate::cli) struct AnsibleFlags {
    /// Make a role for the kind, to begin with
    #[arg(long, conflicts_with_all = ["helm_chart", "helm_chart_repo", "helm_chart_version"])]
    generate_role: bool,
    /// Make a playbook for the kind, which runs its role
    #[arg(long, conflicts_with_all = ["helm_chart", "helm_chart_repo", "helm_chart_version"])]
    generate_playbook: bool,
}

impl AnsibleFlags {
    /// Whether the user wants something made.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.generate_role || self.generate_playbook
    }
}

/// How the operator makes variables of the keys of a spec where watches.yaml does not say otherwise.
fn usual_options() -> RoleOptions {
    RoleOptions {
        variable_of: Some(steersman_ansible::snake_case),
        ..RoleOptions::default()
    }
}

/// What a definition follows from for an entry of watches.yaml.
pub(in crate::cli) fn options_of(watch: &AnsibleWatch, defaults: bool) -> RoleOptions {
    let usual = usual_options();
    RoleOptions {
        defaults,
        variable_of: usual.variable_of.filter(|_| watch.snake_case_parameters),
        given: watch.vars.keys().cloned().collect(),
        manages_status: watch.manage_status,
    }
}

/// Whether the kind of an entry is one that Kubernetes serves without a definition.
pub(in crate::cli) fn is_of_kubernetes(watch: &AnsibleWatch) -> bool {
    let known = rbac::Known::of_kubernetes();
    known.get(&watch.gvk.group, &watch.gvk.kind).is_some()
}

/// The role of an entry, or those that its playbook runs and that are found.
///
/// # Errors
/// A file can't be read.
pub(in crate::cli) fn roles_of(
    watch: &AnsibleWatch,
    environment: &Environment,
) -> Result<Vec<Role>, Failure> {
    match &watch.content {
        AnsibleContent::Role(folder) => Ok(vec![read(folder)?]),
        AnsibleContent::Playbook(file) => {
            let text = fs::read_to_string(file)
                .with_context(|| format!("failed to read the playbook `{}`", file.display()))
                .map_err(|error| Failure::usage(error, None))?;
            roles_beside(file, &text, environment)
        }
    }
}

/// The roles that a playbook runs, as far as they are where Ansible would look first.
fn roles_beside(playbook: &Path, text: &str, environment: &Environment) -> Result<Vec<Role>, Failure> {
    let mut folders = vec![playbook.with_file_name("roles"), PathBuf::from("roles")];
    let named = environment.get("ANSIBLE_ROLES_PATH").unwrap_or_default();
    folders.extend(
        named
            .split(':')
            .filter(|folder| !folder.is_empty())
            .map(PathBuf::from),
    );
    let is_name = |name: &String| !name.contains(['/', '\\']) && name != ".." && !name.is_empty();
    let mut roles = Vec::new();
    for name in roles_of_playbook(text).into_iter().filter(is_name) {
        let found = folders
            .iter()
            .map(|folder| folder.join(&name))
            .find(|folder| folder.is_dir());
        if let Some(folder) = found {
            let role = read(&folder)?;
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
    }
    Ok(roles)
}

fn read(folder: &Path) -> Result<Role, Failure> {
    Role::read(folder).map_err(|error| Failure::usage(error, None))
}

/// What makes a kind, and its files where they are new.
#[derive(Default)]
struct Made {
    files: Files,
    roles: Vec<Role>,
    has_playbook: bool,
    has_role: bool,
}

impl Made {
    /// By the flags, or without them what is there under the name of the kind.
    fn of(
        folder: &Path,
        kind: &CustomKind,
        flags: &AnsibleFlags,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let role_folder = layout::role_folder(kind);
        let playbook_path = layout::playbook_path(kind);
        let role_is_there = folder.join(&role_folder).is_dir();
        let mut made = Self::default();
        if flags.generate_role {
            made.files.extend(layout::starter_role(kind));
            made.roles.push(Role {
                name: kind.singular(),
                defaults: made
                    .files
                    .get(&format!("{role_folder}/defaults/main.yml"))
                    .cloned(),
                argument_specs: None,
            });
        } else if role_is_there {
            made.roles.push(read(&folder.join(&role_folder))?);
        }
        made.has_role = !made.roles.is_empty();
        if flags.generate_playbook {
            let playbook = layout::starter_playbook(kind, made.has_role);
            made.files.insert(playbook_path, playbook);
            made.has_playbook = true;
        } else if !flags.generate_role && folder.join(&playbook_path).is_file() {
            made.has_playbook = true;
            if !made.has_role {
                let file = folder.join(&playbook_path);
                let text = fs::read_to_string(&file).unwrap_or_default();
                made.roles = roles_beside(&file, &text, environment)?;
            }
        }
        Ok(made)
    }
}

/// A kind that is to come into a project.
#[derive(Clone, Copy)]
pub(in crate::cli) struct NewKind<'a> {
    pub(in crate::cli) project: &'a Project,
    /// Its names as `PROJECT` has them.
    pub(in crate::cli) resource: &'a Resource,
    pub(in crate::cli) kind: &'a CustomKind,
}

/// Adds the files of a kind that Ansible makes to the changes, and enters it into the shared files.
///
/// # Errors
/// The kind is there, or would be in another group, or a shared file lacks its marker.
pub(in crate::cli) fn plan_ansible(
    folder: &Path,
    shared: &mut Files,
    new: NewKind<'_>,
    flags: &AnsibleFlags,
    environment: &Environment,
    changes: &mut Changes,
) -> Result<(), Failure> {
    let file = shared.get("PROJECT").map_or("", String::as_str);
    let file = ProjectFile::parse(file).map_err(|error| wrong_project(&error.into()))?;
    let NewKind {
        project,
        resource,
        kind,
    } = new;
    check_new(&file, resource)?;
    let made = Made::of(folder, kind, flags, environment)?;
    let options = usual_options();
    let definition = Definition::of_roles(kind, &made.roles, &options)
        .map_err(|error| wrong(error.to_string(), "set it with --group, --version or --kind"))?;
    let values = made.roles.first().map(|role| sample_of_role(role, &options));
    let values = values.unwrap_or_default();
    let content = match (made.has_playbook, made.has_role) {
        (true, _) => Content::Playbook { values: &values },
        (false, true) => Content::Role { values: &values },
        (false, false) => Content::Open,
    };
    let api = Api {
        kind,
        group: &resource.group,
        content,
        definition: &definition.to_yaml(),
        rules: &rbac::write::run_block(kind),
    };
    layout::register(shared, project, &api).map_err(|error| wrong_project(&error))?;
    for (path, text) in api_files(project, &api).into_iter().chain(made.files) {
        changes.write(path, text);
    }
    for notice in definition.notices() {
        say(&format!("note: {notice}"));
    }
    if content == Content::Open {
        say(
            "note: watches.yaml does not say yet what makes the kind: name a role or a playbook where it says FIXME",
        );
    }
    Ok(())
}

/// Adds what the files of a project lack for a kind of the other plugin, and names those that may be overwritten for it.
/// Files that somebody has edited stay; a note says what they lack.
pub(in crate::cli) fn plan_other(
    folder: &Path,
    project: &Project,
    plugin: Plugin,
    changes: &mut Changes,
) -> Vec<&'static str> {
    let switched = match plugin {
        Plugin::Helm => {
            for (path, text) in layout::additions(project) {
                if folder.join(&path).symlink_metadata().is_err() {
                    changes.write(path, text);
                }
            }
            layout::switched(project)
        }
        Plugin::Ansible => vec![layout::dockerfile_with_charts(project)],
    };
    let mut overwritten = Vec::new();
    for Switched { path, before, after } in switched {
        let found = fs::read_to_string(folder.join(path)).unwrap_or_default();
        if found == before {
            changes.write(path, after);
            overwritten.push(path);
        } else if found != after {
            let lack = lack(path, plugin);
            say(&format!(
                "note: {path} is not as it was made and stays as it is: {lack}"
            ));
        }
    }
    overwritten
}

/// What a file needs for kinds of the other plugin.
fn lack(path: &str, plugin: Plugin) -> &'static str {
    match (plugin, path) {
        (Plugin::Ansible, _) => "charts go into the image by `COPY helm-charts ${HOME}/helm-charts`",
        (Plugin::Helm, "Dockerfile") => {
            "roles need Python, Ansible and the collections of requirements.yml in the image"
        }
        (Plugin::Helm, "config/manager/manager.yaml") => {
            "runs need 256Mi and more of memory, and emptyDirs at /tmp and /opt/ansible/.ansible"
        }
        (Plugin::Helm, _) => "`steersman init --plugins ansible` in a new folder shows what roles need there",
    }
}
