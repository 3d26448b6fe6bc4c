//! Which hooks run for an event, in which order, and what their policies say.

use steersman_chart::HookEvent;

use super::event::{event_name, is_run};
use crate::release::HookRecord;

/// The policy of a hook that is deleted before it runs.
pub(in crate::apply) const BEFORE_CREATION: &str = "before-hook-creation";
/// The policy of a hook that is deleted when it has succeeded.
pub(in crate::apply) const SUCCEEDED: &str = "hook-succeeded";
/// The policy of a hook that is deleted when it has failed.
pub(in crate::apply) const FAILED: &str = "hook-failed";

/// Whether the operator runs the hook at any time.
pub fn is_ours_to_run(hook: &HookRecord) -> bool {
    hook.events.iter().any(|name| is_run(name))
}

/// Helm's order: by weight, then by name; the stored order is by kind.
pub fn hooks_in_order(hooks: &[HookRecord], event: HookEvent) -> Vec<&HookRecord> {
    let mut chosen: Vec<_> = hooks
        .iter()
        .filter(|hook| hook.events.iter().any(|name| name == event_name(event)))
        .collect();
    chosen.sort_by(|a, b| (a.weight, &a.name).cmp(&(b.weight, &b.name)));
    chosen
}

/// A hook without a policy is deleted before it is created again.
pub(in crate::apply) fn has_policy(hook: &HookRecord, policy: &str) -> bool {
    if hook.delete_policies.is_empty() {
        return policy == BEFORE_CREATION;
    }
    hook.delete_policies.iter().any(|given| given == policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook(name: &str, weight: i64, events: &[&str], policies: &[&str]) -> HookRecord {
        HookRecord {
            name: name.to_owned(),
            kind: "Job".to_owned(),
            path: format!("web/templates/{name}.yaml"),
            manifest: String::new(),
            events: events.iter().map(|&event| event.to_owned()).collect(),
            weight,
            delete_policies: policies.iter().map(|&policy| policy.to_owned()).collect(),
            last_run: json!({}),
        }
    }

    #[test]
    fn hooks_of_an_event_run_by_weight_and_name() {
        let hooks = [
            hook("c", 0, &["pre-install"], &[]),
            hook("b", 5, &["pre-install", "pre-upgrade"], &[]),
            hook("a", 0, &["pre-install"], &[]),
            hook("d", -1, &["post-install"], &[]),
        ];
        let names = |event| {
            hooks_in_order(&hooks, event)
                .iter()
                .map(|hook| hook.name.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(HookEvent::PreInstall), ["a", "c", "b"]);
        assert_eq!(names(HookEvent::PreUpgrade), ["b"]);
        assert_eq!(names(HookEvent::PostDelete), [""; 0]);
    }

    #[test]
    fn a_hook_without_a_policy_is_deleted_before_it_is_created() {
        assert!(has_policy(&hook("a", 0, &[], &[]), BEFORE_CREATION));
        assert!(!has_policy(&hook("a", 0, &[], &[SUCCEEDED]), BEFORE_CREATION));
    }
}
