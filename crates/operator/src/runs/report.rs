//! The status of a resource that runs are made for. Pure.
//!
//! It speaks two vocabularies: ansible-operator's (`Running`, `Successful`, `Failure`, each as it leaves them) and kstatus'
//! (`Ready`, `Reconciling`, `observedGeneration`). Everything else in the status is the role's, or others', and stays.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::state::Cause;
use crate::status::second;

/// What is said of a resource. Secrets are masked in all of it.
#[derive(Clone, Debug, PartialEq)]
pub enum RunReport {
    /// A run is due, and others go before it.
    Waiting,
    /// A run has begun.
    Running {
        /// Why: a run of what is settled is no news to those who wait for the resource.
        cause: Cause,
    },
    /// It has ended, and nothing has failed.
    Succeeded {
        /// `ansibleResult`.
        result: Value,
    },
    /// Something has failed; another run follows.
    Failed {
        /// `ansibleResult`, where the playbook came to its end.
        result: Option<Value>,
        /// What the tasks say, a line for each.
        message: String,
        /// The first failure, with the task, its role, file and line.
        words: String,
        /// Whether only a change of the role or the cluster helps.
        is_stalled: bool,
    },
    /// An annotation or a flag keeps everything from being done.
    Held(Hold),
    /// Nothing is to be done: the last run has succeeded, and the resource says what it said then.
    Settled,
    /// The resource is being deleted, and its finalizer waits for something.
    Finalizing {
        /// The first failure, or what a deletion waits for; secrets masked.
        words: String,
    },
}

/// What keeps runs from being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// An annotation asks for a pause.
    Pause,
    /// A dry run is asked for, and a role can't be tried without effects.
    DryRun,
}

/// The status that follows from `current`, at this moment, for this generation of the resource. `record` is that of the last
/// run; a key of its own in the status, which goes where there is none.
pub fn next_status(
    current: &Value,
    report: &RunReport,
    generation: Option<i64>,
    record: Option<Value>,
    now: Timestamp,
) -> Value {
    let mut status = current.as_object().cloned().unwrap_or_default();
    let mut conditions = Conditions::of(&status, generation, now);
    conditions.report(report);
    status.insert("conditions".to_owned(), conditions.into_value());
    let is_of_generation = !matches!(report, RunReport::Held(_));
    if let Some(generation) = generation.filter(|_| is_of_generation) {
        status.insert("observedGeneration".to_owned(), generation.into());
    }
    // What a record says is about the run before until the next one has ended.
    let has_ended = matches!(
        report,
        RunReport::Succeeded { .. } | RunReport::Failed { .. } | RunReport::Settled
    );
    match record {
        // A deletion looks for what that says, and what the run that it has ended has left is in no other.
        Some(record) if has_ended || matches!(report, RunReport::Finalizing { .. }) => {
            status.insert(RECORD.to_owned(), record);
        }
        None if has_ended => {
            status.remove(RECORD);
        }
        _ => {}
    }
    Value::Object(status)
}

/// Whether a status with conditions of ours leaves nothing to be said of a settled resource of this generation.
pub(super) fn says_settled(status: &Value, generation: Option<i64>) -> bool {
    let seen = status["observedGeneration"].as_i64();
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let speaks_of_more = |condition: &Value| match condition["type"].as_str() {
        Some("Paused" | "Reconciling") => condition["status"] == "True",
        Some("Running") => condition["reason"] == "Running",
        _ => false,
    };
    let is_of_another = seen.is_some() && seen != generation;
    !is_of_another && !conditions.into_iter().any(speaks_of_more)
}

/// The key of the record in the status.
pub const RECORD: &str = "steersman";

/// Those of a status, of which one of each type is replaced.
struct Conditions {
    all: Vec<Value>,
    generation: Option<i64>,
    now: String,
}

impl Conditions {
    fn of(status: &Map<String, Value>, generation: Option<i64>, now: Timestamp) -> Self {
        let all = status.get("conditions").and_then(Value::as_array);
        Self {
            all: all.cloned().unwrap_or_default(),
            generation,
            now: second(now),
        }
    }

    fn report(&mut self, report: &RunReport) {
        if !matches!(report, RunReport::Held(_)) {
            self.remove("Paused");
        }
        match report {
            RunReport::Waiting => {
                let message = "a run is due, and waits for its turn";
                self.remove("Stalled");
                self.set_seen("Reconciling", true, "Progressing", message);
                self.set_seen("Ready", false, "Progressing", message);
            }
            RunReport::Running { cause } => {
                self.turn("Successful", false);
                self.set("Running", true, "Running", "Running reconciliation", None);
                if !matches!(cause, Cause::Due | Cause::Drift) {
                    self.remove("Stalled");
                    self.set_seen("Reconciling", true, "Progressing", "a run is under way");
                    self.set_seen("Ready", false, "Progressing", "a run is under way");
                }
            }
            RunReport::Succeeded { result } => self.succeed(Some(result)),
            RunReport::Settled => {
                let result = self
                    .find("Running")
                    .and_then(|running| running.get("ansibleResult"));
                self.succeed(result.cloned().as_ref());
            }
            RunReport::Failed {
                result,
                message,
                words,
                is_stalled,
            } => {
                self.turn("Running", false);
                self.set("Failure", true, "Failed", message, result.as_ref());
                self.set("Successful", false, "", "", None);
                if *is_stalled {
                    self.remove("Reconciling");
                    self.set_seen("Stalled", true, "RunFailed", words);
                } else {
                    self.remove("Stalled");
                    self.set_seen("Reconciling", true, "ProgressingWithRetry", words);
                }
                self.set_seen("Ready", false, "RunFailed", words);
            }
            RunReport::Held(hold) => self.hold(*hold),
            RunReport::Finalizing { words } => {
                self.turn("Running", false);
                self.set_seen("Reconciling", true, "Finalizing", words);
                self.set_seen("Ready", false, "Finalizing", words);
            }
        }
    }

    fn succeed(&mut self, result: Option<&Value>) {
        let (running, successful) = ("Awaiting next reconciliation", "Last reconciliation succeeded");
        self.set("Running", true, "Successful", running, result);
        self.set("Failure", false, "", "", None);
        self.set("Successful", true, "Successful", successful, None);
        self.remove("Reconciling");
        self.remove("Stalled");
        self.set_seen("Ready", true, "RunSucceeded", successful);
    }

    /// What is known stays as it is. A resource of which nothing is known, or only that something was about to be done, is not
    /// ready for this reason.
    fn hold(&mut self, hold: Hold) {
        let (reason, message) = match hold {
            Hold::Pause => (
                "PauseReconcileAnnotationTrue",
                "an annotation of the resource asks for a pause",
            ),
            Hold::DryRun => (
                "DryRun",
                "only a dry run is asked for, and a role can't be tried without effects",
            ),
        };
        self.remove("Reconciling");
        self.set("Paused", true, reason, message, None);
        let ready = self.find("Ready");
        if ready.is_none_or(|ready| ready["reason"] == "Progressing") {
            self.set("Ready", false, reason, message, None);
        }
    }

    fn find(&self, kind: &str) -> Option<&Value> {
        self.all.iter().find(|condition| condition["type"] == kind)
    }

    /// Changes only whether a condition holds that is there already.
    fn turn(&mut self, kind: &str, holds: bool) {
        if let Some(mut condition) = self.find(kind).cloned() {
            if condition["status"] != status_of(holds) {
                condition["lastTransitionTime"] = self.now.as_str().into();
            }
            condition["status"] = status_of(holds).into();
            self.put(kind, condition);
        }
    }

    /// One of ansible-operator's.
    fn set(&mut self, kind: &str, holds: bool, reason: &str, message: &str, result: Option<&Value>) {
        let mut condition = self.condition(kind, holds, reason, message);
        if let Some(result) = result {
            condition["ansibleResult"] = result.clone();
        }
        self.put(kind, condition);
    }

    /// One of kstatus'.
    fn set_seen(&mut self, kind: &str, holds: bool, reason: &str, message: &str) {
        let mut condition = self.condition(kind, holds, reason, message);
        if let Some(generation) = self.generation {
            condition["observedGeneration"] = generation.into();
        }
        self.put(kind, condition);
    }

    fn condition(&self, kind: &str, holds: bool, reason: &str, message: &str) -> Value {
        let before = self
            .find(kind)
            .filter(|before| before["status"] == status_of(holds));
        let since = before.and_then(|before| before["lastTransitionTime"].as_str());
        json!({
            "type": kind, "status": status_of(holds), "reason": reason, "message": message,
            "lastTransitionTime": since.unwrap_or(&self.now),
        })
    }

    /// In the place of the one of its type, so that nothing seems to move.
    fn put(&mut self, kind: &str, condition: Value) {
        match self.all.iter_mut().find(|before| before["type"] == kind) {
            Some(before) => *before = condition,
            None => self.all.push(condition),
        }
    }

    fn remove(&mut self, kind: &str) {
        self.all.retain(|condition| condition["type"] != kind);
    }

    fn into_value(self) -> Value {
        Value::Array(self.all)
    }
}

fn status_of(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn after(current: &Value, report: &RunReport, second: i64) -> Value {
        next_status(
            current,
            report,
            Some(2),
            Some(json!({"ended": "now"})),
            at(second),
        )
    }

    /// Each condition as a line: its type, status, reason and message, and since when it is so.
    fn lines(status: &Value) -> Vec<String> {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        conditions
            .map(|condition| {
                let [kind, status, reason, message, since] =
                    ["type", "status", "reason", "message", "lastTransitionTime"]
                        .map(|key| text(condition, key));
                format!(
                    "{kind} {status} {reason:?} {message:?} {}",
                    since.get(17..).unwrap_or_default()
                )
            })
            .collect()
    }

    fn failed() -> RunReport {
        RunReport::Failed {
            result: None,
            message: "no such image".to_owned(),
            words: "task \"pull\" of role web (main.yml:3): no such image".to_owned(),
            is_stalled: false,
        }
    }

    #[test]
    fn what_is_held_is_said_and_what_was_known_stays() {
        let new = after(&Value::Null, &RunReport::Held(Hold::DryRun), 1);
        assert!(
            lines(&new)
                .iter()
                .any(|line| line.starts_with("Ready False \"DryRun\""))
        );
        let done = after(&Value::Null, &RunReport::Succeeded { result: json!({}) }, 1);
        let held = after(&done, &RunReport::Held(Hold::Pause), 2);
        let held = lines(&held);
        assert!(held.iter().any(|line| line.starts_with("Ready True")), "{held:?}");
        assert!(
            held.iter().any(|line| line.starts_with("Paused True")),
            "{held:?}"
        );
        let held = after(&done, &RunReport::Held(Hold::Pause), 2);
        assert!(says_settled(&done, Some(2)) && !says_settled(&held, Some(2)));
        let settled = after(&held, &RunReport::Settled, 3);
        assert_eq!(settled, done);
    }

    #[test]
    fn who_waits_for_a_turn_says_so_until_it_is_held() {
        let waiting = after(&Value::Null, &RunReport::Waiting, 1);
        assert_eq!(
            lines(&waiting),
            [
                "Reconciling True \"Progressing\" \"a run is due, and waits for its turn\" 01Z",
                "Ready False \"Progressing\" \"a run is due, and waits for its turn\" 01Z",
            ]
        );
        let held = lines(&after(&waiting, &RunReport::Held(Hold::Pause), 2));
        assert!(held[0].starts_with("Ready False \"Pause"), "{held:?}");
    }

    #[test]
    fn what_is_settled_is_said_of_each_generation_and_what_was_announced_is_taken_back() {
        let result = json!({"ok": 3});
        let done = after(&Value::Null, &RunReport::Succeeded { result }, 1);
        assert!(!says_settled(&done, Some(3)));
        let settled = next_status(&done, &RunReport::Settled, Some(3), None, at(2));
        assert!(says_settled(&settled, Some(3)), "{settled:#}");
        assert_eq!(lines(&settled), lines(&done));
        assert_eq!(settled.pointer("/conditions/0/ansibleResult/ok"), Some(&json!(3)));
        for cause in [Cause::Resource, Cause::Due] {
            let running = after(&done, &RunReport::Running { cause }, 2);
            assert!(!says_settled(&running, Some(2)), "{running:#}");
            let settled = after(&running, &RunReport::Settled, 3);
            assert!(says_settled(&settled, Some(2)), "{settled:#}");
        }
        // A definition may know nothing of it.
        assert!(says_settled(&Value::Null, Some(2)));
    }

    #[test]
    fn what_only_a_change_helps_is_stalled() {
        let stalled = RunReport::Failed {
            result: None,
            message: "no role".to_owned(),
            words: "no role".to_owned(),
            is_stalled: true,
        };
        let said = lines(&after(&Value::Null, &stalled, 1));
        assert!(
            said.iter().any(|line| line.starts_with("Stalled True")),
            "{said:?}"
        );
        assert!(
            !said.iter().any(|line| line.starts_with("Reconciling")),
            "{said:?}"
        );
        let cause = Cause::Resource;
        let again = lines(&after(
            &after(&Value::Null, &stalled, 1),
            &RunReport::Running { cause },
            2,
        ));
        assert!(!again.iter().any(|line| line.starts_with("Stalled")), "{again:?}");
    }

    #[test]
    fn conditions_are_those_of_ansible_operator_and_of_kstatus() {
        let running = after(&Value::Null, &RunReport::Running { cause: Cause::New }, 1);
        assert_eq!(
            lines(&running),
            [
                "Running True \"Running\" \"Running reconciliation\" 01Z",
                "Reconciling True \"Progressing\" \"a run is under way\" 01Z",
                "Ready False \"Progressing\" \"a run is under way\" 01Z",
            ]
        );
        let result = json!({"ok": 3, "failures": 0});
        let done = after(
            &running,
            &RunReport::Succeeded {
                result: result.clone(),
            },
            2,
        );
        assert_eq!(
            lines(&done),
            [
                "Running True \"Successful\" \"Awaiting next reconciliation\" 01Z",
                "Ready True \"RunSucceeded\" \"Last reconciliation succeeded\" 02Z",
                "Failure False \"\" \"\" 02Z",
                "Successful True \"Successful\" \"Last reconciliation succeeded\" 02Z",
            ]
        );
        assert_eq!(done.pointer("/conditions/0/ansibleResult"), Some(&result));
        assert_eq!(done["observedGeneration"], 2);
        let bad = after(&done, &failed(), 3);
        assert_eq!(
            lines(&bad),
            [
                "Running False \"Successful\" \"Awaiting next reconciliation\" 03Z",
                "Ready False \"RunFailed\" \"task \\\"pull\\\" of role web (main.yml:3): no such image\" 03Z",
                "Failure True \"Failed\" \"no such image\" 03Z",
                "Successful False \"\" \"\" 03Z",
                "Reconciling True \"ProgressingWithRetry\" \"task \\\"pull\\\" of role web (main.yml:3): no such image\" 03Z",
            ]
        );
    }

    #[test]
    fn a_run_of_what_is_settled_leaves_it_ready() {
        let done = after(&Value::Null, &RunReport::Succeeded { result: json!({}) }, 1);
        for cause in [Cause::Due, Cause::Drift] {
            let running = lines(&after(&done, &RunReport::Running { cause }, 2));
            assert!(
                running.iter().any(|line| line.starts_with("Ready True")),
                "{running:?}"
            );
            assert!(
                !running.iter().any(|line| line.starts_with("Reconciling")),
                "{running:?}"
            );
        }
    }

    #[test]
    fn what_roles_and_others_have_written_stays() {
        let theirs = json!({"nodes": 3, "conditions": [{"type": "Backup", "status": "True"}]});
        let done = after(&theirs, &RunReport::Succeeded { result: json!({}) }, 1);
        assert_eq!(done["nodes"], 3);
        assert_eq!(done.pointer("/conditions/0/type"), Some(&json!("Backup")));
        assert_eq!(done[RECORD], json!({"ended": "now"}));
        let running = after(
            &done,
            &RunReport::Running {
                cause: Cause::Resource,
            },
            2,
        );
        assert_eq!(running[RECORD], json!({"ended": "now"}));
        assert!(
            next_status(&done, &failed(), None, None, at(3))
                .get(RECORD)
                .is_none()
        );
    }
}
