//! The status that the operator writes, as a schema.

use serde_json::{Value, json};

/// The schema of `status`: what the operator writes, with room for what others keep there, such as helm-operator, which
/// may have the resource before or after. By its default kstatus knows that nobody has seen a new resource; without a word
/// it would take that for settled.
pub(super) fn status() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    json!({
        "description": "What the operator observed last",
        "type": "object",
        PRESERVE: true,
        "default": {"observedGeneration": -1},
        "properties": {
            "observedGeneration": observed_generation(),
            "conditions": conditions(
                "The state of the release, in the vocabularies of helm-operator and of kstatus"
            ),
            "deployedRelease": {
                "description": "The release that is deployed",
                "type": "object",
                "nullable": true,
                PRESERVE: true,
                "properties": {
                    "name": text("Name of the release"),
                    "manifest": text(
                        "What the release consists of; present only where the operator is told to publish it"
                    ),
                },
            },
            "revision": {"description": "Number of the deployed revision", "type": "integer", "format": "int64"},
            "lastDeployed": {
                "description": "When the deployed revision was written, as `helm list` shows it",
                "type": "string",
                "format": "date-time",
            },
            "chart": {
                "description": "Chart of the deployed revision",
                "type": "object",
                PRESERVE: true,
                "properties": {
                    "name": text("Name of the chart"),
                    "version": text("Version of the chart"),
                    "appVersion": text("Version of the application inside"),
                },
            },
            "health": health(),
            "stages": stages(),
            "lastHandledReconcileAt": text("The last `steersman.dev/reconcile-at` that was acted on"),
            "dryRun": {
                "description": "What a reconcile would do, while the resource asks for no more than that",
                "type": "object",
                PRESERVE: true,
            },
        },
    })
}

/// The schema of the status that the operator writes of runs, with room for what roles keep there.
pub(super) fn of_runs() -> Value {
    json!({
        "description": "What the operator and the role have observed last",
        "type": "object",
        PRESERVE: true,
        "default": {"observedGeneration": -1},
        "properties": {
            "observedGeneration": observed_generation(),
            "conditions": conditions("The state of the runs, in the vocabularies of ansible-operator and of kstatus"),
            "steersman": {
                "description": "What the last run has left, signed by the operator",
                "type": "object",
                PRESERVE: true,
            },
        },
    })
}

/// The schema of a status that others write. Nothing says that nobody has seen the resource: it might stay so.
pub(super) fn unmanaged() -> Value {
    json!({
        "description": "What the role has observed last",
        "type": "object",
        PRESERVE: true,
    })
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

fn observed_generation() -> Value {
    json!({
        "description": "The generation of the resource that the conditions are about",
        "type": "integer",
        "format": "int64",
    })
}

fn conditions(description: &str) -> Value {
    json!({
        "description": description,
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "required": ["type", "status"],
            "properties": {
                "type": {"description": "Which condition", "type": "string"},
                "status": {
                    "description": "Whether it holds",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "reason": {"description": "Why, in one word", "type": "string"},
                "message": {"description": "Why, for people", "type": "string"},
                "lastTransitionTime": {
                    "description": "Since when",
                    "type": "string",
                    "format": "date-time",
                    "nullable": true,
                },
                "observedGeneration": {
                    "description": "The generation of the resource that was looked at",
                    "type": "integer",
                    "format": "int64",
                },
            },
        },
    })
}

fn stages() -> Value {
    json!({
        "description": "The parts in which a revision comes into effect, one after the other",
        "type": "array",
        "items": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "name": {"type": "string"},
                "revision": {"description": "The revision that it is of", "type": "integer", "format": "int64"},
                "state": {"description": "How far it is", "type": "string"},
                "since": {"type": "string"},
                "message": {"description": "What it waits for", "type": "string"},
            },
        },
    })
}

fn health() -> Value {
    json!({
        "description": "How many objects of the release are ready",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "ready": {"description": "Objects that are ready", "type": "integer", "format": "int64"},
            "total": {"description": "Objects whose health is known", "type": "integer", "format": "int64"},
            "notReady": {
                "description": "The first of those that are not ready",
                "type": "array",
                "items": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "kind": {"type": "string"},
                        "namespace": {"type": "string"},
                        "name": {"type": "string"},
                        "message": {"type": "string"},
                    },
                },
            },
        },
    })
}
