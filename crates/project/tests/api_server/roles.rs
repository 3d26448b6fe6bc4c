//! The definition of a role, judged by an API server: it is taken, and resources are judged by what the role says.

use serde_json::{Value, json};
use steersman_project::check::judge;
use steersman_project::definition::{Definition, RoleOptions};
use steersman_project::{CustomKind, Role};
use steersman_testkit::cluster::TestCluster;

use crate::server::Server;

const ARGUMENT_SPECS: &str = "
argument_specs:
  main:
    short_description: Runs a store
    options:
      size: {type: int, required: true, description: How many}
      mode: {choices: [plain, sasl], default: plain}
      token: {no_log: true, default: hunter2}
      users:
        type: list
        elements: dict
        options:
          name: {required: true}
          quota: {type: bytes, default: 64M}
      disk:
        type: dict
        options:
          kind: {choices: [ssd, hdd]}
          ratio: {type: float, default: 0.5}
      hooks: {type: dict}
      extra: {type: raw}
";

const DEFAULTS: &str = "
mode: sasl
labels: {team: a}
ports: [80, 443]
url: '{{ host }}/store'
enabled: yes
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_takes_the_definition_of_a_role() {
    let Some(cluster) = TestCluster::shared_or_skip("definitions of roles") else {
        return;
    };
    let server = Server::new(cluster.client().await.unwrap());
    let role = Role {
        name: "store".to_owned(),
        argument_specs: Some(ARGUMENT_SPECS.to_owned()),
        defaults: Some(DEFAULTS.to_owned()),
    };
    for (kind, defaults, manages_status) in [
        ("Store", false, true),
        ("Shop", true, true),
        ("Stall", false, false),
    ] {
        let kind = CustomKind::new("roles.example.com", "v1", kind);
        let options = RoleOptions {
            defaults,
            manages_status,
            ..RoleOptions::default()
        };
        let definition = Definition::of_roles(&kind, std::slice::from_ref(&role), &options).unwrap();
        let name = kind.definition_name();
        server.define(&name, definition.value()).await.unwrap();
        for (spec, is_taken) in specs() {
            let resource = json!({
                "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "one"}, "spec": spec,
            });
            let answer = server.try_create(&kind, &resource).await;
            assert_eq!(answer.is_ok(), is_taken, "{} {spec}: {answer:?}", kind.kind);
            let verdict = judge(definition.schema(), &resource).unwrap();
            let is_fine = verdict.refused.is_empty() && verdict.dropped.is_empty();
            assert_eq!(is_fine, is_taken, "{} {spec}: {verdict:?}", kind.kind);
            if let Ok(created) = answer {
                assert_eq!(
                    created["spec"].get("mode").is_some(),
                    defaults || spec.get("mode").is_some()
                );
                assert_eq!(
                    created["spec"].get("token"),
                    spec.get("token"),
                    "a secret is no default"
                );
                let is_new = created["status"] == json!({"observedGeneration": -1});
                assert_eq!(is_new, manages_status);
            }
        }
        server.forget(&name).await;
    }
}

/// Specs, and whether the role takes them.
fn specs() -> Vec<(Value, bool)> {
    vec![
        (json!({"size": 1}), true),
        (
            json!({
                "size": 1, "mode": "plain", "token": "t", "labels": {"any": "thing"}, "ports": [80], "url": 5,
                "users": [{"name": "a"}, {"name": "b", "quota": "1G"}, {"name": "c", "quota": 7}],
                "disk": {"kind": "ssd", "ratio": 1}, "hooks": {"a": {"b": 1}}, "extra": [1, {"a": 2}],
                "unsaid": {"stays": true},
            }),
            true,
        ),
        (json!({}), false),
        (json!({"size": "1"}), false),
        (json!({"size": 1, "mode": "tls"}), false),
        (json!({"size": 1, "users": [{"quota": 1}]}), false),
        (json!({"size": 1, "disk": {"kind": "tape"}}), false),
        (json!({"size": 1, "disk": {"speed": 1}}), false),
        (json!({"size": 1, "enabled": "yes"}), false),
    ]
}
