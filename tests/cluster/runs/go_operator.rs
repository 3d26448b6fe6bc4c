//! The Go ansible-operator and this one hand resources to each other. `ANSIBLE_OPERATOR` names its binary; where it names
//! none, this says that it has judged nothing.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use steersman_testkit::cluster::ansible_operator_or_say;

use super::{MAP, Roles};
use crate::bench::condition;

/// Writes all variables that a run has of its resource and of watches.yaml.
const TELL: &str = "
- vars:
    of_ansible: '^(ansible_(?!operator_meta)|inventory_|groups?|hostvars|omit$|play|environment$|role|module_|gather|vars$|names$|of_ansible$|item$)'
    names: \"{{ query('varnames', '.') | reject('match', of_ansible) | sort }}\"
  ansible.builtin.copy:
    dest: \"{{ runs_file }}.{{ ansible_operator_meta.name }}.{{ 'end' if is_end | default(false) else 'run' }}\"
    content: \"{{ dict(names | zip(query('vars', *names))) | to_json }}\"
";

/// Names of all kinds, and texts that must not be evaluated.
fn spec() -> Value {
    json!({
        "messageText": "{{ 1 + 1 }}", "replicaCount": 3, "alreadySnake_case": true, "HTTPPort": 80, "none": null,
        "ingress.class": "a", "with-dashes": 0.5, "podIPs": [], "v2Beta": {},
        "deepMap": {"innerKey": "{% raw %}", "listOfThings": [{"aKey": "b"}, ["c", {"dKey": "{{ lookup('pipe', 'id') }}"}]]},
    })
}

#[tokio::test]
async fn the_go_operator_hands_resources_of_roles_over_and_takes_them_back() {
    let test = "the_go_operator_hands_resources_of_roles_over_and_takes_them_back";
    let Some(binary) = ansible_operator_or_say(test) else {
        return;
    };
    let fields = ", markUnsafe: true, finalizer: {name: example.com/end, vars: {is_end: true}}";
    let Some(roles) = Roles::new(test, &format!("{TELL}{MAP}"), fields).await else {
        return;
    };
    let bench = &roles.bench;
    let go = roles.operator_by(&binary, &[]).await;
    for name in ["shop", "leaves"] {
        bench.apply_web(name, spec()).await;
        done_by_go(&roles, name).await;
    }
    go.stop().await.unwrap();
    let theirs = told(&roles, "shop.run");
    let made = identity(&roles, "shop").await;
    assert_eq!(made["owners"].as_array().map(Vec::len), Some(1));
    let result = |web: &Value| {
        let result = web.pointer("/status/conditions")?.as_array()?.iter();
        let result = result.filter_map(|condition| condition["ansibleResult"].as_object());
        Some(result.flat_map(Map::keys).cloned().collect::<Vec<_>>())
    };
    let of_go = result(&json!(bench.webs().get("shop").await.unwrap())).unwrap();

    // Over: a role gets the same, and nothing that it has made is made anew.
    let operator = roles.operator().await;
    let web = roles.wait_done("shop").await;
    assert_eq!(told(&roles, "shop.run"), theirs);
    assert_eq!(identity(&roles, "shop").await, made);
    assert_eq!(result(&web).unwrap(), of_go);
    let is_ours = |map: &Value| map.pointer("/metadata/labels/steersman.dev~1owner-uid").cloned();
    let label = bench
        .wait("the label", &bench.config_maps(), "shop-made", is_ours)
        .await;
    assert_eq!(label, web["metadata"]["uid"]);
    roles.wait_done("leaves").await;
    bench.delete_web("leaves").await;
    bench.wait_gone(&bench.webs(), "leaves").await;
    bench.wait_gone(&bench.config_maps(), "leaves-made").await;
    bench.apply_web("ours", spec()).await;
    roles.wait_done("ours").await;
    let of_ours = identity(&roles, "ours").await;
    operator.stop().await.unwrap();

    // And back.
    for name in ["shop", "ours"] {
        fs::remove_file(file(&roles, &format!("{name}.run"))).unwrap();
    }
    let go = roles.operator_by(&binary, &[]).await;
    for (name, made) in [("shop", made), ("ours", of_ours)] {
        done_by_go(&roles, name).await;
        assert_eq!(identity(&roles, name).await, made);
        bench.delete_web(name).await;
        bench.wait_gone(&bench.webs(), name).await;
    }
    go.stop().await.unwrap();
    let named = |name: &str, told: &Value| {
        let mut told = told.clone();
        told["ansible_operator_meta"]["name"] = name.into();
        told
    };
    let end = told(&roles, "shop.end");
    assert_eq!(end["is_end"], true);
    for name in ["leaves", "ours"] {
        assert_eq!(
            named("shop", &told(&roles, &format!("{name}.end"))),
            end,
            "{name}"
        );
    }
}

fn file(roles: &Roles, name: &str) -> PathBuf {
    roles.path(&format!("runs.{name}"))
}

/// The variables of a run, without what each write of the resource changes.
fn told(roles: &Roles, name: &str) -> Value {
    let text = fs::read_to_string(file(roles, name)).unwrap();
    let mut told: Value = serde_json::from_str(&text).unwrap();
    let variables = told.as_object_mut().unwrap();
    assert!(variables.len() > 10, "{variables:#?}");
    for (_, whole) in variables
        .iter_mut()
        .filter(|(name, _)| name.starts_with('_') && name.ends_with("_web"))
    {
        whole.as_object_mut().unwrap().remove("status");
        let metadata = whole["metadata"].as_object_mut().unwrap();
        for field in [
            "name",
            "uid",
            "resourceVersion",
            "managedFields",
            "creationTimestamp",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(field);
        }
    }
    told
}

async fn done_by_go(roles: &Roles, name: &str) {
    let file = file(roles, &format!("{name}.run"));
    let done = |web: &Value| {
        let (status, ..) = condition(web, "Successful")?;
        let (_, reason, _) = condition(web, "Running")?;
        (status == "True" && reason == "Successful" && file.exists()).then_some(())
    };
    let bench = &roles.bench;
    bench
        .wait("the Go operator's run", &bench.webs(), name, done)
        .await;
}

/// What tells a map from another one of its name, and who owns it.
async fn identity(roles: &Roles, name: &str) -> Value {
    let map = roles
        .bench
        .config_maps()
        .get(&format!("{name}-made"))
        .await
        .unwrap();
    json!({"uid": map.metadata.uid, "data": map.data["data"], "owners": map.metadata.owner_references})
}
