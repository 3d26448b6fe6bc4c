//! `template --dry-run=server`, beside Helm's, on a real API server.

use std::process::Command;

use steersman_testkit::cluster::{ControlPlane, TestCluster};

/// A chart that shows what templates see of the cluster, apart from the kinds that other tests define meanwhile.
const CHART: [(&str, &str); 3] = [
    ("Chart.yaml", "apiVersion: v2\nname: seen\nversion: 1.0.0\n"),
    ("crds/a.yaml", "kind: CustomResourceDefinition\n"),
    (
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name | default \"dry-run\" }}}\ndata:\n  version: \
         {{ .Capabilities.KubeVersion | quote }}\n  plain: {{ .Capabilities.KubeVersion }}\n  apis: \"{{ \
         range .Capabilities.APIVersions | toStrings | sortAlpha }}{{ if not (contains \".\" (. | replace \".k8s.io\" \"\")) \
         }} {{ . }}{{ end }}{{ end }}\"\n  found: {{ (lookup \"v1\" \
         \"Namespace\" \"\" \"default\").metadata.name }}\n  missing: {{ lookup \"v1\" \"Pod\" \"default\" \"none\" | toJson \
         | quote }}\n{{ if .Values.kind }}---\napiVersion: example.com/v1\nkind: {{ .Values.kind }}\nmetadata: {name: \
         x}\n{{ end }}",
    ),
];

#[tokio::test]
async fn a_chart_is_rendered_for_the_server_as_by_helm() {
    let Some(cluster) = TestCluster::shared_or_skip(file!()) else {
        return;
    };
    let plane: &ControlPlane = cluster;
    let namespace = cluster.unique_namespace("dry-run").await.unwrap();
    plane
        .apply(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: taken, namespace: {namespace}}}\n"
        ))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in CHART {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let chart = folder.path().to_str().unwrap();
    for extra in [
        vec!["--dry-run=server"],
        vec!["--validate"],
        vec![
            "--dry-run=server",
            "--skip-crds",
            "--kube-version",
            "1.20",
            "-a",
            "x/v1",
        ],
        vec!["--dry-run=server", "--set", "kind=Unknown"],
        vec!["--dry-run=server", "--set", "name=taken"],
        vec!["--dry-run=server", "--set", "name=taken", "--is-upgrade"],
        vec!["--dry-run=server", "--set", "name=taken", "--take-ownership"],
    ] {
        let arguments = [&["template", "demo", chart, "-n", &namespace], extra.as_slice()].concat();
        let expect = plane
            .helm_command(plane.admin())
            .args(&arguments)
            .output()
            .unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .args(&arguments)
            .arg("--kubeconfig")
            .arg(plane.admin().kubeconfig())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&ended.stdout), text(&expect.stdout), "{extra:?}");
        assert_eq!(text(&ended.stderr), text(&expect.stderr), "{extra:?}");
        assert_eq!(ended.status.code(), expect.status.code(), "{extra:?}");
    }
}
