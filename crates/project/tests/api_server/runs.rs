//! Definitions of the runs of procedures: what the server takes for a run, and what it lets change.

use serde_json::{Value, json};
use steersman_project::definition::Definition;
use steersman_project::{CustomKind, Parameter, Procedure};
use steersman_testkit::cluster::TestCluster;

use crate::server::Server;

fn parameter(name: &str, type_name: &'static str) -> Parameter {
    Parameter {
        name: name.to_owned(),
        type_name,
        required: false,
        default: None,
        description: None,
        allowed: Vec::new(),
    }
}

fn restore() -> Procedure {
    let mut parameters = vec![
        Parameter {
            required: true,
            ..parameter("snapshot", "string")
        },
        Parameter {
            default: Some("fast".into()),
            allowed: vec!["fast".into(), "safe".into()],
            ..parameter("mode", "string")
        },
        Parameter {
            default: Some(2.into()),
            ..parameter("ratio", "number")
        },
        parameter("members", "integer"),
        parameter("force", "boolean"),
    ];
    // The rule for the whole spec has to be affordable whatever it is made of.
    parameters.extend((0..100).map(|number| parameter(&format!("text{number}"), "string")));
    Procedure {
        name: "restore".to_owned(),
        runs: CustomKind::new("runs.example.com", "v1", "EtcdRestore"),
        parameters,
        makes_jobs: true,
    }
}

#[tokio::test]
async fn a_run_is_for_one_resource_and_does_not_change() {
    let Some(cluster) = TestCluster::shared_or_skip("definitions of runs") else {
        return;
    };
    let server = Server::new(cluster.client().await.unwrap());
    let restore = restore();
    let of = CustomKind::new("runs.example.com", "v1", "Etcd");
    let definition = Definition::of_procedure(&of, &restore).unwrap();
    let name = restore.runs.definition_name();
    server.define(&name, definition.value()).await.unwrap();

    let mut run = restore.sample("museum");
    let made = server.try_create(&restore.runs, &run).await.unwrap();
    let defaulted = json!({"resource": "museum", "snapshot": "snapshot", "mode": "fast", "ratio": 2});
    assert_eq!(made["spec"], defaulted);
    assert_eq!(made["status"], json!({"observedGeneration": -1}));
    let refused = [
        ("/spec/resource", json!(""), "at least 1 chars"),
        ("/spec/mode", json!("slow"), "Unsupported value"),
        (
            "/spec/snapshot",
            json!("x".repeat(4097)),
            "may not be more than 4096",
        ),
        ("/spec/force", json!("yes"), "must be of type boolean"),
        ("/spec/other", json!(1), "unknown field \"spec.other\""),
    ];
    for (place, value, why) in refused {
        let mut other = run.clone();
        let (above, key) = place.rsplit_once('/').unwrap();
        other.pointer_mut(above).unwrap()[key] = value;
        let error = server.try_create(&restore.runs, &other).await.unwrap_err();
        assert!(error.contains(why), "{place}: {error}");
    }
    let mut without = run.clone();
    without.as_object_mut().unwrap().remove("spec");
    assert!(server.try_create(&restore.runs, &without).await.is_err());

    let path = "/apis/runs.example.com/v1/namespaces/default/etcdrestores";
    let made = server.create(path, &run).await.unwrap();
    let path = format!("{path}/etcdrestore-sample");
    run["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    run["spec"]["resource"] = "another".into();
    let error = server.replace(&path, &run).await.unwrap_err();
    assert!(
        error.contains("a run does not change: make another one"),
        "{error}"
    );
    let status = json!({"phase": "Finishing", "result": [1], "record": {"a": {"b": 1}}, "other": true});
    let with_status: Value = json!({"status": status, "metadata": made["metadata"], "spec": made["spec"],
        "apiVersion": made["apiVersion"], "kind": made["kind"]});
    let written = server.replace(&format!("{path}/status"), &with_status).await;
    assert_eq!(written.unwrap()["status"], status);
    server.forget(&name).await;
}
