//! What roles and playbooks do with objects, as far as their tasks say it: they are read, and not run.
//!
//! All tasks are read, whatever their conditions: blocks, what is included or imported, the roles that a role depends on.
//! Loops over a list that is written down are followed item by item. What only a variable decides is reported as
//! [`Undetermined`], with its place, and not guessed.
//!
//! ```text
//! walk.rs      plays, roles, tasks; search.rs and files.rs find and read their files
//! task.rs      one task: which module it calls, with which arguments
//! module.rs    what the modules for Kubernetes ask the API server for
//! calls.rs     the module calls of tasks; lookups of objects in templates
//! objects.rs   the objects of a definition, a file or a template; grants.rs: roles, bindings and definitions among them
//! jinja.rs     texts with templates in them
//! ```

mod calls;
mod files;
mod grants;
mod jinja;
mod module;
mod objects;
mod search;
mod task;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use search::Search;
pub(crate) use search::part as role_part;
use steersman_chart::survey::{Binding, Definition, Place, Role, Undetermined};
use steersman_yaml::Node;

/// What Ansible runs. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// The folder of a role.
    Role(PathBuf),
    /// The file of a playbook.
    Playbook(PathBuf),
}

/// Everything that tasks do with objects.
///
/// ```
/// use steersman_project::tasks::{Content, Search, TaskSurvey};
///
/// let folder = tempfile::tempdir()?;
/// let tasks = folder.path().join("roles/web/tasks");
/// std::fs::create_dir_all(&tasks)?;
/// std::fs::write(
///     tasks.join("main.yml"),
///     "- kubernetes.core.k8s:\n    definition: {apiVersion: v1, kind: Service, metadata: {name: web}}\n",
/// )?;
/// let search = Search::below(folder.path());
/// let survey = TaskSurvey::of(&[Content::Role(folder.path().join("roles/web"))], &search);
/// assert_eq!(survey.uses[0].kind, "Service");
/// assert_eq!(survey.uses[0].place.to_string(), "roles/web/tasks/main.yml:2");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TaskSurvey {
    /// What is asked for, task by task.
    pub uses: Vec<KindUse>,
    /// The modules that tasks call, each with the first place where it is called.
    pub modules: Vec<ModuleUse>,
    /// The folders of the roles that were read.
    pub roles_read: BTreeSet<PathBuf>,
    /// What stays unknown before a run.
    pub undetermined: Vec<Undetermined>,
    /// What is named and not there, or can't be read.
    pub problems: Vec<Problem>,
    /// Kinds that tasks define.
    pub definitions: Vec<Definition>,
    /// Roles of Kubernetes that tasks make.
    pub roles: Vec<Role>,
    /// Bindings of such roles.
    pub bindings: Vec<Binding>,
}

/// What a task asks the API server for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindUse {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// Such as `Deployment`; the plural or a short name where the task has that.
    pub kind: String,
    /// Such as `scale`.
    pub subresource: Option<&'static str>,
    /// In lower case, as rules have them.
    pub verbs: Vec<&'static str>,
    /// Where its objects are, if its kind has namespaces.
    pub scope: UseScope,
    /// Whether objects are made, which are the resource's then.
    pub is_made: bool,
    /// The task, or the file that the object is in.
    pub place: Place,
}

/// In which namespaces objects are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UseScope {
    /// In that of the custom resource, or in one that a variable names.
    Own,
    /// `namespace: NAME`, without a template.
    Named(String),
    /// The module lists without a namespace.
    All,
}

/// A call of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleUse {
    /// A template may be part of it.
    pub name: String,
    /// File and line.
    pub place: Place,
}

/// Something that is named and not there, or that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it is named, or the file.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    pub hint: Option<String>,
}

impl TaskSurvey {
    /// Reads what runs for a kind: its role or playbook, and that of its finalizer.
    pub fn of(contents: &[Content], search: &Search) -> Self {
        let mut walk = walk::Walk::new(search);
        for content in contents {
            walk.content(content);
        }
        let mut survey = walk.found;
        survey.undetermined.sort();
        survey.undetermined.dedup();
        survey.problems.sort();
        survey.problems.dedup();
        survey
    }
}

/// The documents of a file of a role, or the line and what is wrong there.
pub(crate) fn read_documents(path: &Path) -> Result<Vec<Node>, (u32, String)> {
    files::documents(path).map_err(|unread| (unread.line, unread.message))
}

#[cfg(test)]
mod tests;
