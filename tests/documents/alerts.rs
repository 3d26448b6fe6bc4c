//! Alerts and the dashboard: what promtool says of them, and that each is explained.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;
use steersman_testkit::prometheus::PrometheusPrograms;

use crate::{markdown, read};

const OF_PROJECTS: &str = "crates/project/src/layout/files/config/prometheus/rules.yaml";
const RUNBOOKS: &str = "docs/how-to/alerts.md";

/// What is below `spec` of a file of rules, which is what Prometheus itself reads.
fn rules(path: &str) -> Value {
    let text = read(path).replace("%project%", "shop");
    steersman_yaml::to_json(&text).unwrap()["spec"].take()
}

fn alerts() -> Vec<Value> {
    let rules = rules(OF_PROJECTS);
    let groups = rules["groups"].as_array().unwrap();
    let alerts = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap().clone());
    alerts.collect()
}

/// The queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("deploy/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    queries.collect()
}

#[test]
fn promtool_finds_that_alerts_fire_where_they_should() {
    let Some(programs) = PrometheusPrograms::find_or_skip() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("rules.yaml", &rules(OF_PROJECTS).to_string());
    put("alerts_test.yaml", &read("tests/prometheus/alerts_test.yaml"));
    for arguments in [
        ["check", "rules", "rules.yaml"],
        ["test", "rules", "alerts_test.yaml"],
    ] {
        let said = programs.tool(folder.path(), &arguments);
        let words = [said.stdout, said.stderr].concat();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&words));
    }
}

#[test]
fn each_alert_has_a_runbook_and_is_tried() {
    let tried = read("tests/prometheus/alerts_test.yaml");
    let mut expected = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().unwrap();
        let anchor = name.to_lowercase();
        assert_eq!(alert["annotations"]["runbook"], format!("{RUNBOOKS}#{anchor}"));
        assert!(
            tried.contains(&format!("alertname: {name}\n        exp_alerts:\n")),
            "{name}"
        );
        expected.insert(anchor);
    }
    assert!(expected.len() > 10, "{expected:?}");
    let anchors = markdown::parse(&read(RUNBOOKS)).anchors();
    let found: BTreeSet<String> = anchors
        .into_iter()
        .filter(|anchor| anchor.starts_with("steersman"))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn rules_are_the_same_wherever_they_are() {
    assert_eq!(rules("deploy/rules.yaml"), rules(OF_PROJECTS));
}

#[test]
fn rules_and_the_dashboard_ask_for_families_that_there_are() {
    let rows = markdown::parse(&read("docs/reference/metrics.md")).rows("family");
    let known: BTreeSet<String> = rows
        .iter()
        .map(|row| row[0].trim_matches('`').to_owned())
        .collect();
    let family = Regex::new(
        r"\b((?:steersman|controller_runtime|workqueue|process|rest_client|leader_election|ansible_operator|resource)_[a-z_]+)",
    )
    .unwrap();
    let asked = alerts()
        .into_iter()
        .map(|alert| alert["expr"].as_str().unwrap().to_owned());
    let mut count = 0;
    for query in asked.chain(queries()) {
        for found in family.captures_iter(&query) {
            let name = &found[1];
            let parts = ["_bucket", "_count", "_sum"];
            let whole = parts
                .iter()
                .find_map(|part| name.strip_suffix(part))
                .unwrap_or(name);
            assert!(known.contains(name) || known.contains(whole), "{name} in {query}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
