//! What operator-sdk asks of helm-operator, case by case.
//!
//! Its end-to-end test of a project (`test/e2e/helm`), in its order; [`end_to_end`] walks it with the operator as a
//! process, and, where `HELM_OPERATOR` names it, with the Go operator, which says whether the test asks for what that
//! does. No node is here, so the test does for the pods of the release what a kubelet does, and what needs the operator
//! itself in a pod, from an image, is left to a cluster with nodes:
//!
//! | step | where |
//! |---|---|
//! | 1 the operator's pod runs | a cluster with nodes |
//! | 2, 3 `ServiceMonitor` and metrics Service of the project | a cluster with nodes: they are of a generated project |
//! | 4 to 9, 11 to 14 the release from its resource, and its end | `end_to_end::the_end_to_end_test_of_operator_sdk` |
//! | 10 /metrics with the token of a `ServiceAccount` and the role of `deploy/` | the same; `metrics::metrics_are_for_bearers_of_tokens_with_the_role` for those without |
//!
//! The cases of its unit tests, and of helm-operator-plugins':
//!
//! | case | test |
//! |---|---|
//! | watches: valid, in any case of the keys, every field, `watchDependentResources` set and unset | `src/watches/load/tests.rs::every_field_is_read`, `an_entry_without_anything_optional_has_the_defaults_of_helm_operator`, `keys_are_read_in_any_case` |
//! | watches: environment and template in overrides | `src/watches/load/tests.rs::every_field_is_read`, `src/watches/expand.rs::variables_are_replaced_as_go_replaces_them` |
//! | watches: several kinds, the same kind twice | `src/watches/load/tests.rs::one_kind_in_two_groups_and_versions_is_fine`, `a_duplicate_names_both_lines` |
//! | watches: no version, no kind, bad chart path, bad override template, invalid YAML | `src/watches/load/tests.rs::every_problem_is_reported_with_its_place`, `a_broken_chart_is_a_problem_of_its_line`, `override_values_are_checked`, `a_file_of_another_shape_is_refused`, `tests/cli/run.rs::a_broken_watches_file_is_reported_whole` |
//! | watches: `reconcilePeriod`, `selector` with labels and expressions | `src/watches/load/tests.rs::durations_are_checked`, `selectors_are_checked` |
//! | annotations: booleans | `src/controls.rs::booleans_are_those_of_helm_operator` |
//! | annotations: `reconcile-period`, its precedence and what can't be parsed | `src/controller/changes.rs::the_annotation_sets_the_period`, `a_watch_sets_the_period_before_the_flag` |
//! | annotations: descriptions, hooks left out | `controls::hooks_can_be_left_out_and_the_history_says_what_it_is_told` |
//! | annotations: `uninstall-wait` | `end_to_end::the_end_to_end_test_of_operator_sdk`, `uninstall::a_resource_that_asks_not_to_wait_goes_when_the_deletes_are_sent` |
//! | conditions: new, the same, changed, removed; status absent, a map, anything | `src/status/conditions.rs::the_transition_time_moves_with_the_status_alone`, `conditions_of_others_stay_and_ours_that_are_not_wanted_go`, `src/status/report.rs::a_status_of_any_shape_becomes_one` |
//! | drift: value replaced, missing one added, what is added stays, nothing to do | `drift::what_is_deleted_or_edited_comes_back`, `lifecycle::a_restart_writes_nothing` |
//! | drift: the same of custom resources, with nulls and annotations | `a_custom_resource_of_a_chart_is_put_back_where_the_chart_says_something` |
//! | ownership: whole cluster and namespaces, `keep`, lists | `src/apply/mark.rs::owner_references_are_set_where_kubernetes_allows_them`, `src/apply/object.rs::keep_is_read_as_helm_reads_it`, `lists_are_taken_apart` |
//! | reconcile: install, upgrade, unchanged | `lifecycle::a_resource_becomes_a_release_that_helm_reads`, `lifecycle::another_spec_is_another_revision_and_what_it_drops_is_pruned`, `a_release_that_needs_nothing_is_told_of_when_it_was_read_and_else_in_the_detailed_log` |
//! | reconcile: status failed or superseded | `crates/operator/src/reconcile/decide.rs::what_was_written_down_and_not_deployed_is_applied_again_if_it_is_still_wanted`, `a_revision_that_is_no_longer_deployed_is_followed_by_another` |
//! | reconcile: installation or upgrade fails, rollback | `failure::an_object_of_somebody_else_is_named_and_taken_when_it_is_free`, `rollback::a_failed_upgrade_goes_back_where_that_is_wanted`, `rollback::hooks_of_the_deployed_revision_run_before_and_after_a_rollback` |
//! | reconcile: object deleted, changed, in another namespace | `drift::what_is_deleted_or_edited_comes_back`, `drift::objects_in_other_namespaces_and_in_none_come_back` |
//! | reconcile: uninstallation without a release, under either finalizer | `uninstall::a_resource_without_a_release_is_let_go` |
//! | reconcile: pause | `controls::a_paused_resource_is_left_alone_until_the_pause_is_over` |
//! | selector: not labelled, labelled later, two managers | `selection::a_resource_that_stops_matching_is_let_go_and_taken_up_again`, `selection::an_operator_with_another_selector_takes_over_what_it_selects` |
//! | storage: round trip, parts, owner | `src/release/codec.rs::what_was_packed_is_unpacked`, `large::a_manifest_that_no_secret_holds_is_kept_in_parts`, `lifecycle::a_resource_becomes_a_release_that_helm_reads` |
//! | `WATCH_NAMESPACE` | `src/config.rs::watch_namespace_is_a_list_with_commas`, `watching::listed_namespaces_are_watched_whether_they_exist_or_come_or_go` |
//!
//! Charts of all kinds of sources and the rules of a generated role are cases of the command line's project commands.

mod end_to_end;

use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, PATIENCE, wait_for_line};

/// How often the log says at this level that a release was found as it should be.
fn reconciled(operator: &OperatorProcess, level: &str) -> usize {
    let level = format!(r#""level":"{level}""#);
    let log = operator.log_text();
    let lines = log
        .lines()
        .filter(|line| line.contains(&level) && line.contains("Reconciled release"));
    lines.count()
}

#[tokio::test]
async fn a_release_that_needs_nothing_is_told_of_when_it_was_read_and_else_in_the_detailed_log() {
    let Some(bench) = Bench::with_kind("contract").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    wait_for_line(&operator, "Installed release").await;
    assert_eq!(reconciled(&operator, "info"), 0);
    operator.stop().await.unwrap();

    let operator = bench.ready_operator().await;
    wait_for_line(&operator, "Reconciled release").await;
    let period =
        json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/reconcile-period": "200ms"}}});
    bench.patch_web("shop", period).await;
    let begun = Instant::now();
    while reconciled(&operator, "debug") < 3 {
        assert!(begun.elapsed() < PATIENCE, "{}", operator.log_text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(reconciled(&operator, "info"), 1);
    let again = json!({"metadata": {"annotations": {"steersman.dev/reconcile-at": "now"}}});
    bench.patch_web("shop", again).await;
    let begun = Instant::now();
    while reconciled(&operator, "info") < 2 {
        assert!(begun.elapsed() < PATIENCE, "{}", operator.log_text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_custom_resource_of_a_chart_is_put_back_where_the_chart_says_something() {
    let Some(bench) = Bench::with_kind("contract").await else {
        return;
    };
    bench.add_template(
        "thing.yaml",
        "apiVersion: fixtures.example.com/v1\nkind: Gadget\nmetadata:\n  name: thing\nspec:\n  size: 1\n  \
         color: null\n  shape: {kind: round, of: steel}\n",
    );
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let things = bench.api("fixtures.example.com", "v1", "Gadget", "gadgets");
    let thing = things.get("thing").await.unwrap();
    let rendered = json!({"size": 1, "color": null, "shape": {"kind": "round", "of": "steel"}});
    assert_eq!(thing.data["spec"], rendered);

    let annotations = json!({"theirs": "stays"});
    let edit = json!({"metadata": {"annotations": annotations},
        "spec": {"size": 2, "color": "red", "shape": {"kind": null}, "more": true}});
    things
        .patch("thing", &PatchParams::default(), &Patch::Merge(edit))
        .await
        .unwrap();
    let wanted = json!({"size": 1, "color": null, "shape": {"kind": "round", "of": "steel"}, "more": true});
    let thing = bench
        .wait("the spec", &things, "thing", |thing| {
            (thing["spec"] == wanted).then(|| thing.clone())
        })
        .await;
    assert_eq!(thing["metadata"]["annotations"]["theirs"], "stays");
    assert_eq!(bench.revisions().await, ["1 deployed"]);
    operator.stop().await.unwrap();
}
