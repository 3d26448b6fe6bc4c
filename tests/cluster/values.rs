//! What becomes of the values of a resource, beside Helm.

use serde_json::{Value, json};

use crate::bench::{Bench, condition};

const SHOWN: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: shown}
data:
  {{- range $key := list "dropped" "big" "exact" "ratio" "small" "default" "nested" "list" "flag" "text" }}
  {{ $key }}: {{ get $.Values $key | quote }}
  {{ $key }}-kind: {{ get $.Values $key | kindOf }}
  {{ $key }}-json: {{ get $.Values $key | toJson | quote }}
  {{- end }}
"#;

const DEFAULTS: &str = "
dropped: default
default: 1000000
nested: {dropped: 1, kept: 2000000, ratio: 0.5}
list: [1, 2]
big: 1
exact: 1
";

/// A bench whose chart shows its values.
async fn bench() -> Option<Bench> {
    let bench = Bench::with_kind("values").await?;
    bench.add_template("shown.yaml", SHOWN);
    let file = bench.folder.path().join("web/values.yaml");
    let defaults = std::fs::read_to_string(&file).unwrap() + DEFAULTS;
    std::fs::write(file, defaults).unwrap();
    Some(bench)
}

/// What Helm shows for the same values.
async fn by_helm(bench: &Bench, flags: &[&str]) -> Value {
    let chart = bench.folder.path().join("web");
    let arguments = [
        "template",
        "shop",
        chart.to_str().unwrap(),
        "--show-only",
        "templates/shown.yaml",
    ];
    let text = bench
        .cluster
        .helm(&[&arguments[..], flags].concat())
        .await
        .unwrap();
    steersman_yaml::to_json(&text).unwrap()["data"].clone()
}

#[tokio::test]
async fn values_come_out_as_in_helm() {
    let Some(bench) = bench().await else { return };
    let operator = bench.ready_operator().await;
    let spec = json!({"dropped": null, "ratio": 1.5, "small": 12, "nested": {"dropped": null}, "list": [null, 1.25, "a"],
        "flag": false, "text": "1000000"});
    bench.apply_web("shop", spec.clone()).await;
    bench.wait_revision("shop", 1).await;
    let file = bench.folder.path().join("spec.yaml");
    std::fs::write(&file, spec.to_string()).unwrap();
    let mut expected = by_helm(&bench, &["-f", file.to_str().unwrap()]).await;
    // A file's numbers are floats for Helm, those of a resource keep their type, as with `--set`.
    expected["small-kind"] = "int64".into();
    let shown = bench.config_maps().get("shown").await.unwrap();
    assert_eq!(shown.data["data"], expected);

    bench
        .apply_web(
            "shop",
            json!({"big": 1_000_000, "exact": 9_007_199_254_740_993_i64, "dropped": null}),
        )
        .await;
    bench.wait_revision("shop", 2).await;
    let expected = by_helm(
        &bench,
        &["--set", "big=1000000,exact=9007199254740993,dropped=null"],
    )
    .await;
    assert_eq!(expected["exact"], "9007199254740993");
    let shown = bench.config_maps().get("shown").await.unwrap();
    assert_eq!(shown.data["data"], expected);
    operator.stop().await.unwrap();
}

/// Values of two files, of which the second changes each sort of value of the first and of the chart.
const FILES: [&str; 2] = [
    "{dropped: file, ratio: 1.5, small: 12, nested: {dropped: null, more: {a: 1, b: 2}}, list: [1, {a: b}], flag: true}",
    "{dropped: null, small: '12', nested: {kept: 3000000, more: {a: null, c: 3}}, list: [null, x], flag: {a: b}, text: a}",
];

#[tokio::test]
async fn files_of_values_are_merged_as_helm_merges_them() {
    let Some(bench) = bench().await else { return };
    let mut flags = Vec::new();
    for (index, text) in FILES.iter().enumerate() {
        let path = bench.folder.path().join(format!("{index}.yaml"));
        std::fs::write(&path, text).unwrap();
        flags.extend(["-f".to_owned(), path.display().to_string()]);
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    for count in 1..=FILES.len() {
        let names: Vec<String> = (0..count).map(|index| format!("{index}.yaml")).collect();
        bench.watches(&format!(
            "- {{group: {}, version: v1, kind: Web, chart: web, valueFiles: [{}]}}\n",
            bench.group,
            names.join(", ")
        ));
        let operator = bench.ready_operator().await;
        bench.apply_web("shop", json!({})).await;
        bench.wait_revision("shop", count as u64).await;
        let shown = bench.config_maps().get("shown").await.unwrap();
        let expected = by_helm(&bench, &flags[..2 * count]).await;
        assert_eq!(shown.data["data"], expected, "{count}");
        operator.stop().await.unwrap();
    }
}

#[tokio::test]
async fn values_that_a_schema_refuses_are_named() {
    let Some(bench) = bench().await else { return };
    let schema =
        r#"{"properties": {"replicas": {"type": "integer", "minimum": 1}}, "required": ["replicas"]}"#;
    std::fs::write(bench.folder.path().join("web/values.schema.json"), schema).unwrap();
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({"replicas": "many"})).await;
    let (_, reason, message) = bench.wait_failed("shop", "Ready").await;
    assert_eq!(reason, "RenderFailed");
    assert!(
        message.contains("web: - at '/replicas': got string, want integer"),
        "{message}"
    );
    let web = bench.webs().get("shop").await.unwrap();
    let stalled = condition(&serde_json::to_value(web).unwrap(), "Stalled");
    assert_eq!(stalled.map(|(status, ..)| status).as_deref(), Some("True"));
    bench.apply_web("shop", json!({"replicas": 0})).await;
    bench
        .wait("the next failure", &bench.webs(), "shop", |web| {
            let (_, _, message) = condition(web, "Stalled")?;
            message.contains("at '/replicas': minimum: want 1").then_some(())
        })
        .await;
    bench.apply_web("shop", json!({"replicas": 1})).await;
    bench.wait_revision("shop", 1).await;
    operator.stop().await.unwrap();
}
