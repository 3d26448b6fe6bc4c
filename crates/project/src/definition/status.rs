//! The status that the operator writes, as a schema.

use serde_json::{Value, json};

use crate::AddedStatus;

/// The schema of `status`: what the operator writes, with room for what others keep there, such as helm-operator, which
/// may have the resource before or after. By its default kstatus knows that nobody has seen a new resource; without a word
/// it would take that for settled.
pub(super) fn status(has_procedures: bool, added: &AddedStatus) -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    let mut status = json!({
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
            "drift": drift(),
            "stages": stages(),
            "lastHandledReconcileAt": text("The last `steersman.dev/reconcile-at` that was acted on"),
            "dryRun": {
                "description": "What a reconcile would do, while the resource asks for no more than that",
                "type": "object",
                PRESERVE: true,
            },
        },
    });
    if has_procedures {
        status["properties"]["procedures"] = procedures();
        status["properties"]["overlay"] = json!({
            "description": "Values that procedures have put over those of the resource",
            PRESERVE: true,
        });
    }
    added.describe(&mut status["properties"]);
    status
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

pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

pub(super) fn observed_generation() -> Value {
    json!({
        "description": "The generation of the resource that the conditions are about",
        "type": "integer",
        "format": "int64",
    })
}

pub(super) fn conditions(description: &str) -> Value {
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

fn drift() -> Value {
    json!({
        "description": "Objects that differ from what the release wants, and are not put back at once; absent where none do",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "total": {"description": "Number of these objects", "type": "integer", "format": "int64"},
            "objects": {"description": "The first of them", "type": "array", "items": {"type": "string"}},
            "message": {"description": "Why they are not put back", "type": "string"},
        },
    })
}

/// By the names of procedures, what has become of each.
fn procedures() -> Value {
    let text = |description: &str| json!({"description": description, "type": "string"});
    let time =
        |description: &str| json!({"description": description, "type": "string", "format": "date-time"});
    json!({
        "description": "What has become of each procedure last, by its name",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "lastRun": text("Name of the last run"),
                "phase": text("How far that is"),
                "lastStart": time("When it was begun"),
                "lastEnd": time("When a run came to its end last"),
                "lastSuccess": time("When one succeeded last"),
                "lastSchedule": text("The last time that a run was made for"),
                "lastRequest": text("The last word of the resource's annotations that a run was made for"),
                "result": {
                    "description": "What the steps of the last run that succeeded have said",
                    "x-kubernetes-preserve-unknown-fields": true,
                },
                "message": text("Why it has failed, or what it waits for"),
            },
        },
    })
}
