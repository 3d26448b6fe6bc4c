//! The modules for Kubernetes: what each asks the API server for.

use super::task::Arguments;
use super::{UseScope, jinja};

/// Collections that have had modules of these names.
const COLLECTIONS: [&str; 5] = [
    "kubernetes.core.",
    "community.kubernetes.",
    "community.okd.",
    "redhat.openshift.",
    "operator_sdk.util.",
];

/// What a module does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    /// Makes, changes or deletes objects of a definition.
    Objects,
    Info,
    Scale,
    Exec,
    Log,
    Copy,
    Drain,
    JsonPatch,
    Rollback,
    Service,
    Taint,
    Status,
    Event,
    /// Asks for what everybody may know.
    Nothing,
    /// Does whatever a chart says.
    Helm,
}

impl Module {
    /// `None` for one that has nothing to do with Kubernetes.
    pub(super) fn named(name: &str) -> Option<Self> {
        let short = COLLECTIONS.iter().find_map(|prefix| name.strip_prefix(prefix));
        Some(match short.unwrap_or(name) {
            "k8s" => Self::Objects,
            "k8s_info" | "k8s_facts" => Self::Info,
            "k8s_scale" => Self::Scale,
            "k8s_exec" => Self::Exec,
            "k8s_log" => Self::Log,
            "k8s_cp" => Self::Copy,
            "k8s_drain" => Self::Drain,
            "k8s_json_patch" => Self::JsonPatch,
            "k8s_rollback" => Self::Rollback,
            "k8s_service" => Self::Service,
            "k8s_taint" => Self::Taint,
            "k8s_status" => Self::Status,
            "k8s_event" => Self::Event,
            "k8s_cluster_info" | "osdk_metric" | "requeue_after" => Self::Nothing,
            "helm_pull" | "helm_template" | "helm_repository" | "helm_plugin" | "helm_plugin_info" => {
                Self::Nothing
            }
            "helm" | "helm_info" => Self::Helm,
            _ => return None,
        })
    }
}

/// One request of a module that needs no definition to be known.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) subresource: Option<&'static str>,
    pub(super) verbs: &'static [&'static str],
    pub(super) is_of_all: bool,
}

const fn core(
    kind: &'static str,
    subresource: Option<&'static str>,
    verbs: &'static [&'static str],
) -> Request {
    Request {
        api_version: "v1",
        kind,
        subresource,
        verbs,
        is_of_all: false,
    }
}

/// `exec` is opened by a GET that becomes a stream, for which servers from 1.35 on want `create`, too.
const EXEC: &[Request] = &[
    core("Pod", None, &["get"]),
    core("Pod", Some("exec"), &["get", "create"]),
];
const NODE: Request = core("Node", None, &["get", "patch"]);

/// What a module asks for whatever its definition is.
pub(super) fn requests(module: Module, arguments: &Arguments) -> Vec<Request> {
    match module {
        Module::Exec | Module::Copy => EXEC.to_vec(),
        Module::Taint => vec![NODE],
        Module::Drain => drain(arguments),
        Module::Log => vec![
            core("Pod", None, &["get", "list"]),
            core("Pod", Some("log"), &["get"]),
        ],
        Module::Rollback => {
            let is_daemon_set = arguments.text(&["kind"]).is_some_and(|kind| kind == "DaemonSet");
            let kind = if is_daemon_set {
                "ControllerRevision"
            } else {
                "ReplicaSet"
            };
            vec![Request {
                api_version: "apps/v1",
                ..core(kind, None, &["list"])
            }]
        }
        Module::Event => vec![core("Event", None, event_verbs(arguments))],
        _ => Vec::new(),
    }
}

fn event_verbs(arguments: &Arguments) -> &'static [&'static str] {
    match state(arguments) {
        State::Absent => &["get", "delete"],
        State::Unknown => &["get", "create", "patch", "delete"],
        State::Present | State::Patched => &["get", "create", "patch"],
    }
}

fn drain(arguments: &Arguments) -> Vec<Request> {
    let state = arguments.text(&["state"]);
    if matches!(state.as_deref(), Some("cordon" | "uncordon")) {
        return vec![NODE];
    }
    let pods = |subresource, verbs| Request {
        is_of_all: true,
        ..core("Pod", subresource, verbs)
    };
    vec![
        NODE,
        pods(None, &["get", "list", "delete"]),
        pods(Some("eviction"), &["create"]),
    ]
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Present,
    Patched,
    Absent,
    /// A template decides.
    Unknown,
}

pub(super) fn state(arguments: &Arguments) -> State {
    match arguments.text(&["state"]).as_deref() {
        None | Some("present") => State::Present,
        Some("patched") => State::Patched,
        Some("absent") => State::Absent,
        Some(text) if jinja::is_template(text) => State::Unknown,
        Some(_) => State::Present,
    }
}

/// How objects of a definition are asked for.
pub(super) fn verbs(module: Module, arguments: &Arguments) -> Vec<&'static str> {
    let reads = reads(arguments);
    let with = |more: &[&'static str]| [&reads[..], more].concat();
    match module {
        Module::Objects | Module::Service => {
            let mut verbs = match state(arguments) {
                State::Present => with(&["create", "patch"]),
                State::Patched => with(&["patch"]),
                State::Absent => with(&["delete"]),
                State::Unknown => with(&["create", "patch", "delete"]),
            };
            if arguments.may_be_on("force") && verbs.contains(&"create") {
                verbs.push("update");
            }
            // Each of those that are found is read again.
            if arguments.may_be_on("delete_all") && !verbs.contains(&"get") {
                verbs.push("get");
            }
            verbs
        }
        Module::Info => {
            let mut verbs = reads;
            if arguments.may_be_on("wait") && !verbs.contains(&"get") {
                verbs.push("get");
            }
            verbs
        }
        // Beside its subresource; those that are found are read one by one.
        Module::Scale if reads.contains(&"get") => reads,
        Module::Scale => with(&["get"]),
        Module::JsonPatch | Module::Rollback => with(&["patch"]),
        _ => vec!["get"],
    }
}

/// One object is read by its name, and others are listed.
fn reads(arguments: &Arguments) -> Vec<&'static str> {
    let name = arguments.text(&["name"]);
    let has_definition = arguments
        .get(&["resource_definition", "definition", "inline", "src", "template"])
        .is_some();
    match name {
        // A variable without a value leaves the name out.
        Some(name) if name.contains("omit") => vec!["get", "list"],
        Some(_) => vec!["get"],
        None if has_definition && arguments.get(&["label_selectors"]).is_none() => vec!["get"],
        None if has_definition => vec!["get", "list"],
        None if arguments.get(&["generate_name"]).is_some() => vec!["get"],
        None => vec!["list"],
    }
}

/// Where objects are whose definition names no namespace.
pub(super) fn scope(module: Module, arguments: &Arguments) -> UseScope {
    match arguments.text(&["namespace"]) {
        Some(name) if !jinja::is_template(&name) => UseScope::Named(name),
        Some(name) if module == Module::Info && name.contains("omit") => UseScope::All,
        None if module == Module::Info && arguments.get(&["name"]).is_none() => UseScope::All,
        _ => UseScope::Own,
    }
}
