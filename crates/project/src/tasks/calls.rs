//! What a task asks the API server for.

use std::sync::Arc;

use steersman_chart::survey::Place;
use steersman_yaml::{Content as Yaml, Node};

use super::jinja::{self, LookupArguments, is_template};
use super::module::{self, Module, State};
use super::objects::{self, Defaults, Found, Object, Source};
use super::search::Search;
use super::task::{Arguments, Task};
use super::walk::{Scope, Walk};
use super::{KindUse, UseScope, files};

/// Arguments by which a task goes to the API server on a way of its own.
const WAYS: [&str; 4] = ["kubeconfig", "host", "context", "api_key"];
/// Arguments with definitions of objects.
const DEFINITIONS: &[&str] = &["resource_definition", "definition", "inline", "src", "template"];
/// Programs that ask the API server.
const CLIENTS: [&str; 3] = ["kubectl", "oc", "helm"];

impl Walk<'_> {
    /// Notes what the module of a task asks for.
    pub(super) fn call(&mut self, task: &Task<'_>, scope: &Scope) {
        let arguments = task.arguments(&scope.bound);
        let place = scope.place(task.line);
        let Some(module) = Module::named(task.module) else {
            return self.command(task, &arguments, place);
        };
        if let Some(way) = WAYS.iter().find(|way| arguments.get(&[**way]).is_some()) {
            let message = format!("names its own way to an API server (`{way}`): no rule");
            return self.unknown(place, message);
        }
        for request in module::requests(module, &arguments) {
            let scope = if request.is_of_all {
                UseScope::All
            } else {
                module::scope(module, &arguments)
            };
            self.found.uses.push(KindUse {
                api_version: request.api_version.to_owned(),
                kind: request.kind.to_owned(),
                subresource: request.subresource,
                verbs: request.verbs.to_vec(),
                scope,
                is_made: false,
                place: place.clone(),
            });
        }
        match module {
            Module::Helm => {
                let message =
                    "releases a chart with Helm: what that asks for is in the chart, and not known here";
                self.unknown(place, message);
            }
            Module::Objects
            | Module::Info
            | Module::Scale
            | Module::JsonPatch
            | Module::Rollback
            | Module::Status
            | Module::Service => self.objects(module, &arguments, scope, place),
            Module::Log if arguments.get(&["kind"]).is_some() => {
                self.objects(module, &arguments, scope, place);
            }
            Module::Event => self.involved(&arguments, scope, place),
            _ => {}
        }
    }

    /// Programs run by a shell are seen, but not understood.
    fn command(&mut self, task: &Task<'_>, arguments: &Arguments, place: Place) {
        if !matches!(task.module, "command" | "shell" | "raw" | "script") {
            return;
        }
        let line = arguments.text(&["cmd"]).or_else(|| arguments.free());
        let line = line.unwrap_or_else(|| {
            let words = arguments.get(&["argv"]).map(|list| &list.value);
            match words {
                Some(Yaml::Sequence(words)) => words
                    .iter()
                    .filter_map(jinja::scalar)
                    .collect::<Vec<_>>()
                    .join(" "),
                _ => String::new(),
            }
        });
        let is_client = |word: &&str| {
            let name = word.rsplit('/').next().unwrap_or(word);
            CLIENTS.contains(&name)
        };
        if let Some(client) = line.split([' ', '\n', '\t', '(', ';', '|', '&']).find(is_client) {
            let message = format!("runs `{client}`: what that asks for is not known here");
            self.unknown(place, message);
        }
    }

    fn objects(&mut self, module: Module, arguments: &Arguments, scope: &Scope, place: Place) {
        if module::state(arguments) == State::Unknown {
            let message = "a template decides whether objects are made or deleted: taken for both";
            self.unknown(place.clone(), message);
        }
        let default = if module == Module::Log { "Pod" } else { "" };
        let defaults = Defaults {
            api_version: arguments
                .text(&["api_version", "api", "version"])
                .or(Some("v1".to_owned())),
            kind: match module {
                Module::Service => Some("Service".to_owned()),
                _ => arguments
                    .text(&["kind"])
                    .or(Some(default.to_owned()).filter(|kind| !kind.is_empty())),
            },
        };
        let mut found = self.defined(arguments, &defaults, scope, &place);
        if arguments.get(DEFINITIONS).is_none() {
            // The arguments alone name the object.
            let node = Node {
                value: Yaml::Mapping(Vec::new()),
                line: u32::try_from(place.line).unwrap_or_default(),
                column: 0,
            };
            found = objects::of_node(&node, &defaults, &source(scope));
        }
        for found in found {
            match found {
                Found::Unknown(place, message) => self.unknown(place, message),
                Found::Object(object) => self.object(module, arguments, *object),
            }
        }
    }

    /// What `definition`, `src` and `template` have; nothing where none of them is given.
    fn defined(
        &mut self,
        arguments: &Arguments,
        defaults: &Defaults,
        scope: &Scope,
        place: &Place,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        if let Some(node) = arguments.get(&["resource_definition", "definition", "inline"]) {
            let looked_up = node
                .as_str()
                .and_then(jinja::expression)
                .and_then(|expression| jinja::looked_up_file(expression, &scope.bound));
            match looked_up {
                Some((folder, name)) => found.extend(self.of_file(&name, folder, defaults, scope, place)),
                None => found.extend(objects::of_node(node, defaults, &source(scope))),
            }
        }
        if let Some(name) = arguments.text(&["src"]) {
            found.extend(self.of_file(&name, "files", defaults, scope, place));
        }
        for name in arguments.get(&["template"]).map(templates).unwrap_or_default() {
            found.extend(self.of_file(&name, "templates", defaults, scope, place));
        }
        found
    }

    fn of_file(
        &mut self,
        name: &str,
        folder: &str,
        defaults: &Defaults,
        scope: &Scope,
        place: &Place,
    ) -> Vec<Found> {
        let unknown = |message: String| vec![Found::Unknown(place.clone(), message)];
        if is_template(name) {
            return unknown(format!(
                "a template decides which file has the definition: `{name}`"
            ));
        }
        if name.contains("://") {
            return unknown(format!("the definition is at `{name}`, and was not fetched"));
        }
        let Some(path) = Search::file(name, folder, &scope.spot) else {
            let message = format!("`{name}` was not found in {folder}/");
            // A task may write the file before this one reads it.
            if folder == "files" {
                return unknown(message);
            }
            self.problem(place.clone(), message, None);
            return Vec::new();
        };
        let source = Source {
            file: Arc::from(self.search.shown(&path)),
            line: 0,
        };
        match files::text(&path) {
            Ok(text) => {
                self.lookups_of_text(&text, &source);
                objects::of_text(&text, defaults, &source)
            }
            Err(unread) => unknown(format!("`{name}` {}", unread.message)),
        }
    }

    fn object(&mut self, module: Module, arguments: &Arguments, object: Object) {
        let is_written = matches!(module, Module::Objects | Module::Service);
        let is_made = is_written && matches!(module::state(arguments), State::Present | State::Unknown);
        if is_made {
            self.found.note_grants(&object);
        }
        let scope = match object.namespace.as_deref() {
            Some(name) if !is_template(name) => UseScope::Named(name.to_owned()),
            Some(_) => UseScope::Own,
            None => module::scope(module, arguments),
        };
        let one = KindUse {
            api_version: object.api_version,
            kind: object.kind,
            subresource: None,
            verbs: module::verbs(module, arguments),
            scope,
            is_made,
            place: object.place,
        };
        let subresource = match module {
            Module::Scale if one.kind.eq_ignore_ascii_case("job") => None,
            Module::Scale => Some("scale"),
            Module::Status => Some("status"),
            _ => None,
        };
        if subresource.is_some() || module == Module::Scale {
            self.found.uses.push(KindUse {
                subresource,
                verbs: vec!["patch"],
                ..one.clone()
            });
        }
        self.found.uses.push(one);
    }

    /// The object that an event is about is read.
    fn involved(&mut self, arguments: &Arguments, scope: &Scope, place: Place) {
        let Some(node) = arguments.get(&["involvedObject"]) else {
            return;
        };
        for found in objects::of_node(node, &Defaults::default(), &source(scope)) {
            if let Found::Object(object) = found {
                self.found.uses.push(KindUse {
                    api_version: object.api_version,
                    kind: object.kind,
                    subresource: None,
                    verbs: vec!["get"],
                    scope: UseScope::Own,
                    is_made: false,
                    place: place.clone(),
                });
            }
        }
    }

    /// Notes the objects that templates of a task look up.
    pub(super) fn lookups(&mut self, node: &Node, scope: &Scope) {
        match &node.value {
            Yaml::String(text) => {
                let mut source = source(scope);
                source.line = node.line as usize;
                self.lookups_of_text(text, &source);
            }
            Yaml::Sequence(items) => items.iter().for_each(|item| self.lookups(item, scope)),
            Yaml::Mapping(pairs) => pairs.iter().for_each(|(_, value)| self.lookups(value, scope)),
            _ => {}
        }
    }

    fn lookups_of_text(&mut self, text: &str, source: &Source) {
        for arguments in jinja::object_lookups(text) {
            let place = Place {
                file: Arc::clone(&source.file),
                line: source.line,
            };
            self.lookup(&arguments, place);
        }
    }

    fn lookup(&mut self, arguments: &LookupArguments, place: Place) {
        if arguments.contains_key("cluster_info") {
            return;
        }
        let Some(Some(kind)) = arguments.get("kind") else {
            return self.unknown(place, "looks up an object whose kind can't be read");
        };
        let api_version = match arguments.get("api_version") {
            None => "v1".to_owned(),
            Some(Some(version)) => version.clone(),
            Some(None) => return self.unknown(place, "looks up an object whose API version can't be read"),
        };
        let has_name = arguments.contains_key("resource_name");
        let scope = match arguments.get("namespace") {
            Some(Some(name)) => UseScope::Named(name.clone()),
            Some(None) => UseScope::Own,
            None if has_name => UseScope::Own,
            None => UseScope::All,
        };
        self.found.uses.push(KindUse {
            api_version,
            kind: kind.clone(),
            subresource: None,
            verbs: vec![if has_name { "get" } else { "list" }],
            scope,
            is_made: false,
            place,
        });
    }
}

fn source(scope: &Scope) -> Source {
    Source {
        file: Arc::clone(&scope.file),
        line: 0,
    }
}

/// The files of the argument `template`: a name, a map with its `path`, or a list of these.
fn templates(node: &Node) -> Vec<String> {
    match &node.value {
        Yaml::Sequence(items) => items.iter().flat_map(templates).collect(),
        Yaml::Mapping(_) => node.get("path").and_then(jinja::scalar).into_iter().collect(),
        _ => jinja::scalar(node).into_iter().collect(),
    }
}
