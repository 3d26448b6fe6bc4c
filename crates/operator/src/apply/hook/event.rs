//! Helm's hook events, by their names in the annotation `helm.sh/hook`.

use steersman_chart::HookEvent;

/// The events for which the operator runs hooks: all but `test`, which is for `helm test`.
const RUN: [HookEvent; 8] = [
    HookEvent::PreInstall,
    HookEvent::PostInstall,
    HookEvent::PreUpgrade,
    HookEvent::PostUpgrade,
    HookEvent::PreDelete,
    HookEvent::PostDelete,
    HookEvent::PreRollback,
    HookEvent::PostRollback,
];

/// As a chart and Helm's records name an event, such as `pre-install`.
pub fn event_name(event: HookEvent) -> &'static str {
    match event {
        HookEvent::PreInstall => "pre-install",
        HookEvent::PostInstall => "post-install",
        HookEvent::PreDelete => "pre-delete",
        HookEvent::PostDelete => "post-delete",
        HookEvent::PreUpgrade => "pre-upgrade",
        HookEvent::PostUpgrade => "post-upgrade",
        HookEvent::PreRollback => "pre-rollback",
        HookEvent::PostRollback => "post-rollback",
        HookEvent::Test => "test",
    }
}

/// Whether the operator runs hooks for the event of this name.
pub(super) fn is_run(name: &str) -> bool {
    RUN.iter().any(|event| event_name(*event) == name)
}
