//! Entries, roles and accounts.

use serde_json::{Value, json};

use super::{MAP, Roles, says};
use crate::bench::condition;

#[tokio::test]
async fn a_role_that_is_saved_runs_again() {
    let test = "a_role_that_is_saved_runs_again";
    let Some(roles) = Roles::new(test, MAP, "").await else {
        return;
    };
    let operator = roles.operator().await;
    roles.bench.apply_web("shop", json!({})).await;
    roles.wait_map("shop", "none").await;
    roles.wait_done("shop").await;
    let saved = MAP.replace("'none'", "'saved'");
    roles.write("roles/web/tasks/main.yml", &format!("{}{saved}", super::COUNT));
    roles.wait_map("shop", "saved").await;
    roles.wait_done("shop").await;
    roles.stays_at(2).await;
    operator.stop().await.unwrap();
}

/// Charts and roles in one operator, whose resources have one name.
#[tokio::test]
async fn a_chart_and_a_role_stand_in_one_file() {
    let test = "a_chart_and_a_role_stand_in_one_file";
    let Some(roles) = Roles::new(test, MAP, "").await else {
        return;
    };
    let bench = &roles.bench;
    bench.define("Site", "sites").await;
    let watches = std::fs::read_to_string(roles.path("watches.yaml")).unwrap();
    let chart = format!(
        "- {{group: {}, version: v1, kind: Site, chart: web}}\n",
        bench.group
    );
    bench.watches(&format!("{watches}{chart}"));
    let operator = roles.operator().await;
    bench.apply_web("shop", says("one")).await;
    bench.apply_cr("Site", "sites", "shop", json!({})).await;
    let deployed = |site: &Value| condition(site, "Deployed").filter(|(status, ..)| status == "True");
    bench
        .wait("the release", &bench.kind_api("Site", "sites"), "shop", deployed)
        .await;
    roles.wait_map("shop", "one").await;
    roles.wait_done("shop").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn runs_write_as_the_account_of_their_entry() {
    let test = "runs_write_as_the_account_of_their_entry";
    let Some(roles) = Roles::new(test, MAP, ", serviceAccountName: deployer").await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator().await;
    bench.apply_web("shop", says("one")).await;
    let failed = |web: &Value| condition(web, "Ready").filter(|(_, reason, _)| reason == "RunFailed");
    let (_, _, message) = bench.wait("the refusal", &bench.webs(), "shop", failed).await;
    let user = format!("system:serviceaccount:{}:deployer", bench.namespace);
    assert!(
        message.contains(&user) && message.contains("configmaps"),
        "{message}"
    );
    operator.stop().await.unwrap();
}
