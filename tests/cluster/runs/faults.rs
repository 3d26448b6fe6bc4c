//! Requests of runs, and of the operator around them, that fail.

use serde_json::Value;
use steersman_testkit::cluster::{Fault, FaultProxy};

use super::{MAP, Roles, says};
use crate::bench::{PATIENCE, condition, wait_until};
use crate::watched::Watched;

/// Each ends as if there had been none: one object, and a resource that says so.
#[tokio::test]
async fn no_fault_at_a_request_of_a_run_loses_or_doubles_anything() {
    let test = "no_fault_at_a_request_of_a_run_loses_or_doubles_anything";
    let Some(mut roles) = Roles::new(test, MAP, "").await else {
        return;
    };
    let proxy = FaultProxy::start(roles.bench.cluster, &roles.bench.user)
        .await
        .unwrap();
    roles.bench.user = proxy.user().clone();
    let mut operator = roles.operator().await;
    proxy.attach(operator.id().await);
    let map = |name: &str| Fault::on("create", "configmaps").name(&format!("{name}-made"));
    let status = |name: &str, nth| Fault::on("patch", "webs/status").name(name).nth(nth);
    let faults = [
        ("cut", map("cut")),
        ("lost", map("lost").lose_answer()),
        ("refused", map("refused").refuse(503)),
        ("killed-before", map("killed-before").kill_before()),
        ("killed-after", map("killed-after").kill_after()),
        ("unannounced", status("unannounced", 1).refuse(500)),
        ("unsaid", status("unsaid", 2).refuse(500)),
        ("killed-at-its-end", status("killed-at-its-end", 2).kill_before()),
        ("killed-when-said", status("killed-when-said", 2).kill_after()),
    ];
    for (name, fault) in faults {
        let fault = proxy.inject(fault);
        roles.bench.apply_web(name, says(name)).await;
        let begun = std::time::Instant::now();
        while proxy.struck(fault) == 0 {
            assert!(begun.elapsed() < PATIENCE, "nothing has struck {name}");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        if name.starts_with("killed") {
            while operator.ended().await.unwrap().is_none() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            operator = roles.operator().await;
            proxy.attach(operator.id().await);
        }
        let map = roles.wait_map(name, name).await;
        let web: Value = roles.wait_done(name).await;
        assert_eq!(
            map["metadata"]["ownerReferences"][0]["uid"], web["metadata"]["uid"],
            "{name}"
        );
    }
    let runs = roles.runs();
    roles.stays_at(runs).await;
    operator.stop().await.unwrap();
    assert_eq!(roles.processes(), Vec::<String>::new());
    let maps = roles
        .bench
        .config_maps()
        .list(&kube::api::ListParams::default())
        .await
        .unwrap();
    let made = maps
        .items
        .iter()
        .filter(|map| map.metadata.name.as_ref().unwrap().ends_with("-made"));
    assert_eq!(made.count(), 9);
}

/// What the resource says meanwhile is not what has succeeded.
#[tokio::test]
async fn a_success_that_is_said_late_is_that_of_its_generation() {
    let test = "a_success_that_is_said_late_is_that_of_its_generation";
    let slow = "- ansible.builtin.shell: sleep 2\n  when: message_text == 'two'\n";
    let Some(mut roles) = Roles::new(test, &format!("{slow}{MAP}"), "").await else {
        return;
    };
    let proxy = FaultProxy::start(roles.bench.cluster, &roles.bench.user)
        .await
        .unwrap();
    roles.bench.user = proxy.user().clone();
    let operator = roles.operator().await;
    let unsaid = Fault::on("patch", "webs/status").nth(2).always().refuse(500);
    let unsaid = proxy.inject(unsaid);
    roles.bench.apply_web("shop", says("one")).await;
    wait_until("the report", || proxy.struck(unsaid) > 0).await;
    roles.bench.apply_web("shop", says("two")).await;
    let webs = roles.bench.webs();
    let mut watched = Watched::new(&webs, "shop");
    watched.look(PATIENCE).await;
    proxy.take_back(unsaid);
    // The first that says that the run has succeeded was about what the resource had said.
    let generation = loop {
        let web = watched.look(PATIENCE).await;
        let ready = condition(web, "Ready").filter(|(status, ..)| status == "True");
        if ready.is_some() {
            break web["status"]["observedGeneration"].clone();
        }
    };
    assert_eq!(generation, 1);
    roles.wait_map("shop", "two").await;
    roles.wait_done("shop").await;
    roles.stays_at(2).await;
    operator.stop().await.unwrap();
}
