//! An operator that takes changes of watches.yaml and charts as they are saved.

use std::fs;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use steersman_testkit::cluster::OperatorProcess;

use crate::bench::{Bench, wait_for_line};

const CONFIG: &str = "web/templates/configmap.yaml";

impl Bench {
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    /// Writes a file in place.
    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join(path), text).unwrap();
    }

    /// Writes a file as Vim does: a probe, a backup, a rename over the file, and the backup goes.
    fn save_like_vim(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        let folder = path.parent().unwrap();
        let backup = folder.join("configmap.yaml~");
        fs::write(folder.join("4913"), "").unwrap();
        fs::remove_file(folder.join("4913")).unwrap();
        fs::rename(&path, &backup).unwrap();
        fs::write(&path, "").unwrap();
        fs::write(&path, text).unwrap();
        fs::remove_file(backup).unwrap();
    }

    async fn wait_data(&self, map: &str, key: &str, value: &str) {
        self.wait(&format!("{key}={value}"), &self.config_maps(), map, |map| {
            (map["data"][key] == value).then_some(())
        })
        .await;
    }
}

fn count(operator: &OperatorProcess, line: &str) -> usize {
    operator.log_text().matches(line).count()
}

#[tokio::test]
async fn a_chart_is_released_as_it_is_saved_and_a_broken_one_is_not() {
    let Some(bench) = Bench::with_kind("a_chart_is_released_as_it_is_saved").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let good = bench.read(CONFIG);
    let edited = good.replace("  revision:", "  edited: \"1\"\n  revision:");

    bench.save_like_vim(CONFIG, &edited);
    bench.wait_data("shop-config", "edited", "1").await;
    bench.wait_revision("shop", 2).await;

    // A template that does not parse, saved twice.
    let broken = "Changed files can't be used";
    bench.write(
        CONFIG,
        &edited.replace("{{- if .Values.extra }}", "{{- if .Values.extra }"),
    );
    wait_for_line(&operator, broken).await;
    bench.write(CONFIG, &format!("{}\n", bench.read(CONFIG)));
    // The good chart is in charge: what is deleted comes back as it was.
    bench
        .config_maps()
        .delete("shop-config", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_data("shop-config", "edited", "1").await;
    bench.apply_web("second", json!({})).await;
    bench.wait_data("second-config", "edited", "1").await;
    let log = operator.log_text();
    assert!(
        log.contains("configmap.yaml:"),
        "the place is not named in:\n{log}"
    );
    assert_eq!(count(&operator, broken), 1, "{log}");

    bench.write(CONFIG, &edited.replace("\"1\"", "\"2\""));
    bench.wait_data("shop-config", "edited", "2").await;
    wait_for_line(&operator, "Watches and charts can be used again").await;
    let web = bench.wait_revision("shop", 3).await;
    assert_eq!(web["status"]["chart"]["name"], "web", "{web:#}");
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn a_chart_that_fails_for_a_resource_leaves_its_objects_and_says_so() {
    let Some(bench) = Bench::with_kind("a_chart_that_fails_for_a_resource").await else {
        return;
    };
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;
    let good = bench.read(CONFIG);
    bench.write(CONFIG, &format!("{good}{{{{ .Values.none.deeper }}}}\n"));
    wait_for_line(&operator, "nil pointer evaluating interface {}.deeper").await;
    bench.wait_data("shop-config", "message", "hello").await;

    bench.write(
        CONFIG,
        &good.replace("  message:", "  edited: yes please\n  message:"),
    );
    bench.wait_data("shop-config", "edited", "yes please").await;
    operator.stop().await.unwrap();
}

#[tokio::test]
async fn watches_start_and_stop_with_their_entries() {
    let Some(bench) = Bench::with_kind("watches_start_and_stop_with_their_entries").await else {
        return;
    };
    bench.define("Blog", "blogs").await;
    let operator = bench.ready_operator().await;
    bench.apply_web("shop", json!({})).await;
    bench.wait_revision("shop", 1).await;

    // Another kind with a chart of another name, so that its objects need watches of their own.
    let chart = bench.folder.path().join("blog");
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: blog\nversion: 1.0.0\n",
    )
    .unwrap();
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-posts}\ndata: {posts: none}\n";
    fs::write(chart.join("templates/map.yaml"), map).unwrap();
    let webs = bench.read("watches.yaml");
    let blogs = format!(
        "- group: {}\n  version: v1\n  kind: Blog\n  chart: blog\n",
        bench.group
    );
    bench.write("watches.yaml", &format!("{webs}{blogs}"));
    bench.apply_cr("Blog", "blogs", "news", json!({})).await;
    bench.wait_data("news-posts", "posts", "none").await;
    bench
        .config_maps()
        .delete("news-posts", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_data("news-posts", "posts", "none").await;
    let ready = operator.probe("/readyz?verbose").await.unwrap();
    assert!(ready.contains("[+]Blog"), "{ready}");

    // Without its entry, the kind is left alone.
    bench.write("watches.yaml", &blogs);
    wait_for_line(&operator, "Stopped watching resource").await;
    let written = Patch::Merge(json!({"data": {"message": "mine"}}));
    bench
        .config_maps()
        .patch("shop-config", &PatchParams::default(), &written)
        .await
        .unwrap();
    bench
        .config_maps()
        .delete("news-posts", &DeleteParams::default())
        .await
        .unwrap();
    bench.wait_data("news-posts", "posts", "none").await;
    bench.wait_data("shop-config", "message", "mine").await;
    let metrics = operator.metrics().await.unwrap();
    assert!(!metrics.contains("kind=\"Web\",name=\"shop\""), "{metrics}");
    assert!(bench.revisions().await.contains(&"1 deployed".to_owned()));

    bench.write("watches.yaml", &format!("{webs}{blogs}"));
    bench.wait_data("shop-config", "message", "hello").await;
    operator.stop().await.unwrap();
}
