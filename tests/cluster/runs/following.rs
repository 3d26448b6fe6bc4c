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

/// Two kinds, each with a role, and a resource of one name in each: both run at once, each in a folder of its own.
#[tokio::test]
async fn resources_of_one_name_in_two_kinds_do_not_meet() {
    let test = "resources_of_one_name_in_two_kinds_do_not_meet";
    let met = "
- ansible.builtin.shell: until test $(sort -u {{ runs_file }}.met | wc -l) = 2; do echo {{ role_name }} >> {{ runs_file }}.met; sleep 0.1; done
";
    let Some(roles) = Roles::new(test, &format!("{met}{MAP}"), "").await else {
        return;
    };
    let bench = &roles.bench;
    bench.define("Site", "sites").await;
    let of_site = MAP.replace("-made", "-of-site");
    roles.write(
        "roles/site/tasks/main.yml",
        &format!("{}{met}{of_site}", super::COUNT),
    );
    let watches = std::fs::read_to_string(roles.path("watches.yaml")).unwrap();
    let of_site = watches.replace("kind: Web, role: web", "kind: Site, role: site");
    assert_ne!(of_site, watches);
    bench.watches(&format!("{watches}{of_site}"));
    let operator = roles.operator().await;
    bench.apply_web("shop", says("web")).await;
    bench.apply_cr("Site", "sites", "shop", says("site")).await;
    roles.wait_map("shop", "web").await;
    roles.wait_done("shop").await;
    let sites = bench.kind_api("Site", "sites");
    let done = |site: &Value| condition(site, "Ready").filter(|(status, ..)| status == "True");
    bench.wait("the success", &sites, "shop", done).await;
    let map = bench.config_maps().get("shop-of-site").await.unwrap();
    let site = sites.get("shop").await.unwrap();
    assert_eq!(map.data["data"]["message"], "site");
    assert_eq!(
        map.metadata.owner_references.unwrap()[0].uid,
        site.metadata.uid.unwrap()
    );
    roles.stays_at(2).await;
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
