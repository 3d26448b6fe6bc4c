//! From a role or playbook through everything that it includes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use steersman_chart::survey::{Place, Undetermined};
use steersman_yaml::{Content as Yaml, Node};

use super::jinja::{self, Bound, is_template};
use super::search::{Search, Spot, part};
use super::task::Task;
use super::{Content, ModuleUse, Problem, TaskSurvey, files};

/// How many files are read, one that is included twice counting twice.
const MAX_FILES: usize = 2000;
/// How many tasks are looked at, each round of a loop counting.
const MAX_TASKS: usize = 50_000;
/// How deep files include each other, and blocks lie in each other.
const MAX_DEPTH: usize = 60;

/// Reads tasks, and notes what they do.
pub(super) struct Walk<'a> {
    pub(super) search: &'a Search,
    pub(super) found: TaskSurvey,
    /// What was read already, and what was known then.
    seen: BTreeSet<(PathBuf, String)>,
    tasks: usize,
    is_exhausted: bool,
}

/// What is known while a file is read.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) spot: Spot,
    /// The file as people see it.
    pub(super) file: Arc<str>,
    pub(super) bound: Bound,
    depth: usize,
}

impl Scope {
    pub(super) fn place(&self, line: u32) -> Place {
        Place {
            file: Arc::clone(&self.file),
            line: line as usize,
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(search: &'a Search) -> Self {
        Self {
            search,
            found: TaskSurvey::default(),
            seen: BTreeSet::new(),
            tasks: 0,
            is_exhausted: false,
        }
    }

    pub(super) fn content(&mut self, content: &Content) {
        let (Content::Role(path) | Content::Playbook(path)) = content;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let scope = Scope {
            spot: Spot {
                playbook: folder.clone(),
                role: None,
                folder,
            },
            file: Arc::from(self.search.shown(path)),
            bound: Bound::new(),
            depth: 0,
        };
        match content {
            Content::Role(path) => self.role(path, &RoleParts::default(), &scope),
            Content::Playbook(path) => self.playbook(path, &scope),
        }
    }

    pub(super) fn unknown(&mut self, place: Place, message: impl Into<String>) {
        self.found.undetermined.push(Undetermined {
            place,
            message: message.into(),
        });
    }

    pub(super) fn problem(&mut self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.found.problems.push(Problem {
            place,
            message: message.into(),
            hint,
        });
    }

    fn playbook(&mut self, path: &Path, outer: &Scope) {
        let mut scope = outer.clone();
        path.parent()
            .unwrap_or(Path::new("/"))
            .clone_into(&mut scope.spot.playbook);
        let Some((documents, scope)) = self.read(path, &scope) else {
            return;
        };
        for play in documents.iter().flat_map(items) {
            let imported = ["import_playbook", "ansible.builtin.import_playbook"];
            let imported = imported.iter().find_map(|key| play.get(key));
            if let Some(name) = imported {
                self.import_playbook(name, &scope);
            }
            for role in play.get("roles").into_iter().flat_map(items) {
                self.role_entry(role, &scope);
            }
            for key in ["pre_tasks", "tasks", "post_tasks", "handlers"] {
                if let Some(tasks) = play.get(key) {
                    self.tasks(tasks, &scope);
                }
            }
        }
    }

    fn import_playbook(&mut self, node: &Node, scope: &Scope) {
        let name = node.as_str().unwrap_or_default();
        let path = scope.spot.folder.join(name);
        if is_template(name) {
            self.unknown(
                scope.place(node.line),
                format!("a template decides which playbook is imported: `{name}`"),
            );
        } else if path.is_file() {
            self.playbook(&path, scope);
        } else {
            self.problem(
                scope.place(node.line),
                format!("playbook `{name}` was not found"),
                None,
            );
        }
    }

    /// An item of `roles` or `dependencies`.
    fn role_entry(&mut self, node: &Node, scope: &Scope) {
        let name = node
            .as_str()
            .or_else(|| node.get("role").or_else(|| node.get("name"))?.as_str());
        if let Some(name) = name {
            let parts = RoleParts::of(|key| node.get(key).and_then(jinja::scalar));
            self.named_role(name, &parts, node.line, scope);
        }
    }

    fn named_role(&mut self, name: &str, parts: &RoleParts, line: u32, scope: &Scope) {
        let Some(name) = jinja::filled(name, &scope.bound) else {
            let message = format!("a template decides which role is included: `{name}`");
            return self.unknown(scope.place(line), message);
        };
        match self.search.role(&name, &scope.spot) {
            Ok(folder) => self.role(&folder, parts, scope),
            Err(places) => {
                let places = places.iter().map(|place| self.search.shown(place));
                let hint = format!("it was looked for at {}", places.collect::<Vec<_>>().join(", "));
                self.problem(
                    scope.place(line),
                    format!("role `{name}` was not found"),
                    Some(hint),
                );
            }
        }
    }

    fn role(&mut self, folder: &Path, parts: &RoleParts, outer: &Scope) {
        self.found.roles_read.insert(folder.to_owned());
        let mut scope = outer.clone();
        scope.spot.role = Some(folder.to_owned());
        folder.clone_into(&mut scope.spot.folder);
        let role_path = Node {
            value: Yaml::String(folder.display().to_string()),
            line: 0,
            column: 0,
        };
        scope.bound.insert("role_path".to_owned(), role_path);
        if let Some(meta) = part(folder, "meta", "main")
            && let Some((documents, scope)) = self.read(&meta, &scope)
        {
            let dependencies = documents
                .iter()
                .filter_map(|document| document.get("dependencies"));
            for role in dependencies.flat_map(items) {
                self.role_entry(role, &scope);
            }
        }
        let main = parts.tasks.as_deref().unwrap_or("main");
        for (folder_of, name, is_needed) in [
            ("tasks", main, parts.tasks.is_some()),
            (
                "handlers",
                parts.handlers.as_deref().unwrap_or("main"),
                parts.handlers.is_some(),
            ),
        ] {
            if is_template(name) {
                let message =
                    format!("a template decides which {folder_of} of the role are included: `{name}`");
                self.unknown(outer.place(0), message);
            } else if let Some(file) = part(folder, folder_of, name) {
                self.task_file(&file, &scope);
            } else if is_needed {
                let message = format!(
                    "{folder_of}/{name} of role {} was not found",
                    self.search.shown(folder)
                );
                self.problem(outer.place(0), message, None);
            }
        }
    }

    /// The documents of a file, unless it was read before with the same things known.
    fn read(&mut self, path: &Path, outer: &Scope) -> Option<(Vec<Node>, Scope)> {
        let mut scope = outer.clone();
        scope.file = Arc::from(self.search.shown(path));
        scope.depth += 1;
        path.parent().unwrap_or(path).clone_into(&mut scope.spot.folder);
        let known = format!("{:?} {:?}", scope.bound, scope.spot.role);
        if !self.seen.insert((path.to_owned(), known)) {
            return None;
        }
        if self.seen.len() > MAX_FILES || scope.depth > MAX_DEPTH {
            self.exhausted(scope.place(0));
            return None;
        }
        match files::documents(path) {
            Ok(documents) => Some((documents, scope)),
            Err(unread) => {
                self.problem(scope.place(unread.line), unread.message, None);
                None
            }
        }
    }

    fn exhausted(&mut self, place: Place) {
        if !std::mem::replace(&mut self.is_exhausted, true) {
            self.unknown(place, "there are too many tasks to be followed");
        }
    }

    fn task_file(&mut self, path: &Path, scope: &Scope) {
        if let Some((documents, scope)) = self.read(path, scope) {
            for tasks in &documents {
                self.tasks(tasks, &scope);
            }
        }
    }

    fn tasks(&mut self, list: &Node, scope: &Scope) {
        if scope.depth > MAX_DEPTH {
            return self.exhausted(scope.place(list.line));
        }
        for node in items(list) {
            let inner = Scope {
                depth: scope.depth + 1,
                ..scope.clone()
            };
            let mut is_block = false;
            for key in ["block", "rescue", "always"] {
                if let Some(tasks) = node.get(key) {
                    is_block = true;
                    self.tasks(tasks, &inner);
                }
            }
            if let (false, Some(task)) = (is_block, Task::read(node)) {
                self.task(&task, node, scope);
            }
        }
    }

    fn task(&mut self, task: &Task<'_>, node: &Node, scope: &Scope) {
        self.note_module(task, scope);
        self.lookups(node, scope);
        for bound in task.rounds(&scope.bound) {
            self.tasks += 1;
            if self.tasks > MAX_TASKS {
                return self.exhausted(scope.place(task.line));
            }
            let round = Scope {
                bound,
                ..scope.clone()
            };
            match task.module {
                "include_tasks" | "import_tasks" | "include" => self.included_tasks(task, &round),
                "include_role" | "import_role" => self.included_role(task, &round),
                _ => self.call(task, &round),
            }
        }
    }

    fn note_module(&mut self, task: &Task<'_>, scope: &Scope) {
        if !self.found.modules.iter().any(|known| known.name == task.written) {
            self.found.modules.push(ModuleUse {
                name: task.written.to_owned(),
                place: scope.place(task.line),
            });
        }
    }

    fn included_tasks(&mut self, task: &Task<'_>, scope: &Scope) {
        let arguments = task.arguments(&scope.bound);
        let Some(name) = arguments.text(&["file"]).or_else(|| arguments.free()) else {
            return;
        };
        let place = scope.place(task.line);
        if is_template(&name) {
            let message = format!("a template decides which tasks are included: `{name}`");
            return self.unknown(place, message);
        }
        match Search::file(&name, "tasks", &scope.spot) {
            Some(path) => self.task_file(&path, scope),
            None => self.problem(place, format!("tasks `{name}` were not found"), None),
        }
    }

    fn included_role(&mut self, task: &Task<'_>, scope: &Scope) {
        let arguments = task.arguments(&scope.bound);
        if let Some(name) = arguments.text(&["name", "role"]) {
            let parts = RoleParts::of(|key| arguments.text(&[key]));
            self.named_role(&name, &parts, task.line, scope);
        }
    }
}

/// Which files of a role are meant, where it is not `main`.
#[derive(Default)]
struct RoleParts {
    tasks: Option<String>,
    handlers: Option<String>,
}

impl RoleParts {
    fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            tasks: get("tasks_from"),
            handlers: get("handlers_from"),
        }
    }
}

/// The items of a list; none of anything else.
fn items(node: &Node) -> &[Node] {
    match &node.value {
        Yaml::Sequence(items) => items,
        _ => &[],
    }
}
