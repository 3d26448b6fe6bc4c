//! Kinds that run pods.

use serde_json::Value;

use super::{Health, View};

impl View<'_> {
    pub(super) fn deployment(&self) -> Health {
        if let Some(unseen) = self.unseen() {
            return unseen;
        }
        if let Some(reason) = self.condition("Progressing", "False") {
            return Health::Failed(reason);
        }
        let wanted = self.replicas();
        let updated = self.number("/status/updatedReplicas");
        match counted(&[
            ("pods updated", updated, wanted),
            ("pods available", self.number("/status/availableReplicas"), wanted),
        ]) {
            Health::Progressing(counts) => match self.condition("ReplicaFailure", "True") {
                Some(reason) => Health::Progressing(format!("{counts}; {reason}")),
                None => Health::Progressing(counts),
            },
            Health::Ready if self.number("/status/replicas") > updated => {
                Health::Progressing("old pods are still there".to_owned())
            }
            Health::Ready => Health::Ready,
            other @ (Health::Failed(_) | Health::Unseen | Health::Unsaid) => other,
        }
    }

    pub(super) fn stateful_set(&self) -> Health {
        if let Some(unseen) = self.unseen() {
            return unseen;
        }
        let wanted = self.replicas();
        let on_delete = self
            .object
            .pointer("/spec/updateStrategy/type")
            .and_then(Value::as_str)
            == Some("OnDelete");
        let partition = self.number("/spec/updateStrategy/rollingUpdate/partition");
        let updated = if on_delete { 0 } else { (wanted - partition).max(0) };
        counted(&[
            ("pods ready", self.number("/status/readyReplicas"), wanted),
            ("pods updated", self.number("/status/updatedReplicas"), updated),
        ])
    }

    pub(super) fn daemon_set(&self) -> Health {
        if let Some(unseen) = self.unseen() {
            return unseen;
        }
        let wanted = self.number("/status/desiredNumberScheduled");
        counted(&[
            (
                "pods updated",
                self.number("/status/updatedNumberScheduled"),
                wanted,
            ),
            ("pods available", self.number("/status/numberAvailable"), wanted),
        ])
    }

    pub(super) fn replica_set(&self) -> Health {
        if let Some(unseen) = self.unseen() {
            return unseen;
        }
        counted(&[(
            "pods available",
            self.number("/status/availableReplicas"),
            self.replicas(),
        )])
    }

    pub(super) fn job(&self) -> Health {
        if let Some(reason) = self.condition("Failed", "True") {
            return Health::Failed(reason);
        }
        // A job does its work by running; waiting for its end is what hooks are for.
        let suspended = self.object.pointer("/spec/suspend") == Some(&Value::Bool(true));
        if suspended || self.condition("Complete", "True").is_some() || self.number("/status/active") > 0 {
            return Health::Ready;
        }
        Health::Progressing("it has not started".to_owned())
    }

    pub(super) fn pod(&self) -> Health {
        match self.phase() {
            "Succeeded" => Health::Ready,
            "Failed" => Health::Failed(self.condition("Ready", "False").unwrap_or_default()),
            _ if self.condition("Ready", "True").is_some() => Health::Ready,
            "" => Health::Progressing("it has no phase yet".to_owned()),
            phase => Health::Progressing(phase.to_owned()),
        }
    }
}

/// Ready when every count is what is wanted.
fn counted(steps: &[(&str, i64, i64)]) -> Health {
    match steps.iter().find(|(_, actual, wanted)| actual < wanted) {
        Some((what, actual, wanted)) => Health::Progressing(format!("{actual} of {wanted} {what}")),
        None => Health::Ready,
    }
}
