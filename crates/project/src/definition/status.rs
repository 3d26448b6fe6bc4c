//! The status that the operator writes, as a schema.

use serde_json::{Value, json};

/// The schema of `status`: what the operator writes, with room for what others keep there, such as helm-operator, which
/// may have the resource before or after. By its default kstatus knows that nobody has seen a new resource; without a word
/// it would take that for settled.
pub(super) fn status() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    let preserved = "x-kubernetes-preserve-unknown-fields";
    json!({
        "description": "What the operator observed last",
        "type": "object",
        preserved: true,
        "default": {"observedGeneration": -1},
        "properties": {
            "observedGeneration": {
                "description": "The generation of the resource that the conditions are about",
                "type": "integer",
                "format": "int64",
            },
            "conditions": conditions(),
            "deployedRelease": {
                "description": "The release that is deployed",
                "type": "object",
                "nullable": true,
                preserved: true,
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
                preserved: true,
                "properties": {
                    "name": text("Name of the chart"),
                    "version": text("Version of the chart"),
                    "appVersion": text("Version of the application inside"),
                },
            },
            "health": health(),
            "lastHandledReconcileAt": text("The last `steersman.dev/reconcile-at` that was acted on"),
            "dryRun": {
                "description": "What a reconcile would do, while the resource asks for no more than that",
                "type": "object",
                preserved: true,
            },
        },
    })
}

fn conditions() -> Value {
    json!({
        "description": "The state of the release, in the vocabularies of helm-operator and of kstatus",
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
