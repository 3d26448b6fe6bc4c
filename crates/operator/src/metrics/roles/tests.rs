use expect_test::{Expect, expect};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::{LONGEST_HELP, LONGEST_NAME, MOST_FAMILIES};
use crate::metrics::Metrics;

fn metrics() -> Metrics {
    let gvk = GroupVersionKind::gvk("cache.example.com", "v1", "Memcached");
    let metrics = Metrics::new([(&gvk, 1)]).unwrap();
    metrics.start_ansible(&[gvk]).unwrap();
    metrics
}

fn take(metrics: &Metrics, request: &Value) -> Result<(), String> {
    let taken = metrics.take_role_metric(request.to_string().as_bytes());
    taken.map_err(|error| error.to_string())
}

fn page(metrics: &Metrics) -> String {
    String::from_utf8(metrics.encode().unwrap()).unwrap()
}

/// What the page has of a family after these requests.
fn check(requests: &[Value], expect: &Expect) {
    let metrics = metrics();
    let refused = requests
        .iter()
        .filter_map(|request| take(&metrics, request).err());
    let mut lines: Vec<String> = refused.collect();
    let page = page(&metrics);
    let shown = page.lines().filter(|line| line.contains("backup"));
    lines.extend(shown.map(str::to_owned));
    expect.assert_eq(&lines.iter().flat_map(|line| [line, "\n"]).collect::<String>());
}

fn of(kind: &str, value: Value) -> Value {
    json!({"name": "backup", "description": "Backups.", kind: value})
}

#[test]
fn counters_go_up() {
    check(
        &[
            of("counter", json!({"increment": true})),
            of("counter", json!({"add": 2.5})),
            of("counter", json!({"increment": true, "add": 7})),
            of("counter", json!({})),
            of("counter", json!({"add": -1})),
            json!({"name": "backup", "counter": {"increment": true}, "unknown": [{}]}),
        ],
        &expect![[r"
            `backup` is a counter, from which nothing can be taken
            # HELP backup Backups.
            # TYPE backup counter
            backup 5.5
        "]],
    );
    let first = of("counter", json!({"add": -1}));
    check(
        &[first],
        &expect![[r"
        `backup` is a counter, from which nothing can be taken
    "]],
    );
}

#[test]
fn gauges_go_anywhere_and_to_zero() {
    let gauge = |change: Value| of("gauge", change);
    check(
        &[gauge(json!({"set": 7})), gauge(json!({"set": 0}))],
        &expect![[r"
            # HELP backup Backups.
            # TYPE backup gauge
            backup 0
        "]],
    );
    check(
        &[
            gauge(json!({"add": 10})),
            gauge(json!({"subtract": 2.5})),
            gauge(json!({"increment": true})),
            gauge(json!({"decrement": true})),
            gauge(json!({"decrement": true, "set": 100})),
        ],
        &expect![[r"
            # HELP backup Backups.
            # TYPE backup gauge
            backup 6.5
        "]],
    );
    let metrics = metrics();
    take(&metrics, &gauge(json!({"set_to_current_time": true}))).unwrap();
    let page = page(&metrics);
    let line = page.lines().find(|line| line.starts_with("backup ")).unwrap();
    let seconds: f64 = line.trim_start_matches("backup ").parse().unwrap();
    assert!(seconds > 1.7e9, "{line}");
}

#[test]
fn histograms_and_summaries_take_each_others_values() {
    check(
        &[
            of("summary", json!({"observe": 1.5})),
            of("histogram", json!({"observe": 2})),
        ],
        &expect![[r"
            # HELP backup Backups.
            # TYPE backup summary
            backup_sum 3.5
            backup_count 2
        "]],
    );
    check(
        &[
            of("histogram", json!({"observe": 0.02})),
            of("summary", json!({"observe": 3})),
        ],
        &expect![[r#"
            # HELP backup Backups.
            # TYPE backup histogram
            backup_bucket{le="0.005"} 0
            backup_bucket{le="0.01"} 0
            backup_bucket{le="0.025"} 1
            backup_bucket{le="0.05"} 1
            backup_bucket{le="0.1"} 1
            backup_bucket{le="0.25"} 1
            backup_bucket{le="0.5"} 1
            backup_bucket{le="1"} 1
            backup_bucket{le="2.5"} 1
            backup_bucket{le="5"} 2
            backup_bucket{le="10"} 2
            backup_bucket{le="+Inf"} 2
            backup_sum 3.02
            backup_count 2
        "#]],
    );
}

#[test]
fn what_is_no_value_of_one_metric_is_refused() {
    check(
        &[
            json!([]),
            json!({"name": "backup"}),
            json!({"name": "backup", "counter": {}, "gauge": {}}),
            json!({"name": "backup", "counter": {"add": "1"}}),
            json!({"counter": {}}),
            json!({"name": "a b", "counter": {}}),
            json!({"name": "0backup", "counter": {}}),
            of("counter", json!({})),
            of("gauge", json!({"set": 1})),
            of("histogram", json!({"observe": 1})),
        ],
        &expect![[r#"
            failed to read the value of a metric: invalid length 1, expected struct Request with 6 elements at line 1 column 2
            expected one of `counter`, `gauge`, `histogram` and `summary`, found 0
            expected one of `counter`, `gauge`, `histogram` and `summary`, found 2
            failed to read the value of a metric: invalid type: string "1", expected f64 at line 1 column 21
            "" is not the name of a metric: at most 200 letters, digits, `_` and `:`, of which no digit comes first
            "a b" is not the name of a metric: at most 200 letters, digits, `_` and `:`, of which no digit comes first
            "0backup" is not the name of a metric: at most 200 letters, digits, `_` and `:`, of which no digit comes first
            `backup` is a counter, and stays one
            `backup` is a counter, and stays one
            # HELP backup Backups.
            # TYPE backup counter
            backup 0
        "#]],
    );
    let metrics = metrics();
    let error = metrics
        .take_role_metric(br#"{"name": "backup", "gauge": {"set": 1e999}}"#)
        .unwrap_err();
    assert!(error.to_string().contains("number out of range"), "{error}");
    let error = metrics
        .take_role_metric(br#"{"name": "backup", "gauge": {"set": NaN}}"#)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to read the value of a metric"),
        "{error}"
    );
}

#[test]
fn no_family_of_the_operator_can_be_changed_or_imitated() {
    let metrics = metrics();
    let before = page(&metrics);
    let families = before
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let lines = before.lines().filter_map(|line| line.split(['{', ' ']).next());
    let mut names: Vec<&str> = families
        .chain(lines)
        .filter(|name| !name.starts_with('#'))
        .collect();
    // They are shown with the first value.
    names.extend([
        "steersman_release_revision",
        "resource_created_at_seconds",
        "rest_client_requests_total",
    ]);
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        for kind in ["counter", "gauge", "histogram", "summary"] {
            let error = take(&metrics, &json!({"name": name, kind: {}})).unwrap_err();
            assert!(
                error.starts_with("there is a metric of the name"),
                "{name}: {error}"
            );
        }
    }
    assert!(take(&metrics, &json!({"name": "ansible_operator", "histogram": {}})).is_ok());
}

#[test]
fn lines_of_two_metrics_are_never_called_the_same() {
    let metrics = metrics();
    take(&metrics, &json!({"name": "backup_count", "counter": {}})).unwrap();
    assert!(take(&metrics, &json!({"name": "backup", "summary": {}})).is_err());
    take(&metrics, &json!({"name": "backup", "gauge": {}})).unwrap();
    take(&metrics, &json!({"name": "copy", "histogram": {}})).unwrap();
    assert!(take(&metrics, &json!({"name": "copy_bucket", "gauge": {}})).is_err());
    take(&metrics, &json!({"name": "copy_max", "gauge": {}})).unwrap();
}

#[test]
fn what_roles_make_is_bounded() {
    let metrics = metrics();
    let long = "x".repeat(LONGEST_NAME + 1);
    assert!(take(&metrics, &json!({"name": long, "gauge": {}})).is_err());
    let help = "x".repeat(LONGEST_HELP + 1);
    assert!(take(&metrics, &json!({"name": "a", "description": help, "gauge": {}})).is_err());
    for number in 0..MOST_FAMILIES {
        take(
            &metrics,
            &json!({"name": format!("role_{number}"), "gauge": {"set": number}}),
        )
        .unwrap();
    }
    let error = take(&metrics, &json!({"name": "one_more", "gauge": {}})).unwrap_err();
    expect!["there are 200 metrics of roles already, which is the most"].assert_eq(&error);
    take(&metrics, &json!({"name": "role_7", "gauge": {"set": 1}})).expect("it is there already");
}

#[test]
fn a_help_text_is_one_line() {
    let metrics = metrics();
    take(
        &metrics,
        &json!({"name": "backup", "description": "a\nforged 1\\", "gauge": {}}),
    )
    .unwrap();
    let page = page(&metrics);
    assert!(page.contains("# HELP backup a\\nforged 1\\\\\n"), "{page}");
}
