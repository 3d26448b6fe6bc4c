//! Folders of `fixtures`, built and compared with what `kubectl kustomize` prints: its recorded output, and where
//! there is a kubectl on this machine, what it says now. `kubectl kustomize fixtures/NAME > fixtures/NAME.yaml` records it.

mod kubectl;

use std::path::{Path, PathBuf};
use steersman_testkit::skip;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixtures())
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable folder"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("a name in UTF-8"))
        .collect();
    names.sort();
    assert!(names.len() > 10);
    names
}

/// What `kubectl kustomize` prints, unless there is no kubectl.
fn judged(folder: &Path) -> Option<String> {
    let said = kubectl::judged(&["kustomize", folder.to_str().expect("a path in UTF-8")])?;
    Some(said.unwrap_or_else(|error| panic!("{}: {error}", folder.display())))
}

#[test]
fn folders_become_what_kubectl_prints() {
    for name in names() {
        let objects = steersman_kustomize::build(&fixtures().join(&name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = steersman_kustomize::to_yaml(&objects).unwrap();
        let recorded = fixtures().join(format!("{name}.yaml"));
        let judged = judged(&fixtures().join(&name));
        assert_eq!(
            text,
            std::fs::read_to_string(&recorded).unwrap(),
            "{name}: recorded"
        );
        match judged {
            Some(judged) => assert_eq!(text, judged, "{name}: kubectl"),
            None => skip::not_judged("a kustomization", "there is no kubectl"),
        }
    }
}

/// What is said of a `kustomization.yaml` that is refused, with its hint.
fn refused(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let error = steersman_kustomize::build_within(folder.path(), &folder.path().join("inner"))
        .expect_err("a refusal");
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let root = folder.path().canonicalize().expect("a folder");
    format!("{error}{hint}").replace(&root.display().to_string(), "ROOT")
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (text, expect) in [
        (
            "resources:\n- https://example.com/base?ref=v1\n",
            "resources in `ROOT/inner/kustomization.yaml`: `https://example.com/base?ref=v1` is not on this machine, \
             and nothing is downloaded (download it, and name the folder or file)",
        ),
        (
            "vars:\n- name: A\n",
            "vars in `ROOT/inner/kustomization.yaml`: is not supported (use `replacements`)",
        ),
        (
            "openapi: {path: schema.json}\n",
            "openapi in `ROOT/inner/kustomization.yaml`: is not supported (patch lists of custom resources with a JSON \
             patch, which needs no schema)",
        ),
        (
            "resources: [../secret.yaml]\n",
            "resources in `ROOT/inner/kustomization.yaml`: `../secret.yaml` is not in `ROOT/inner` or below (name its \
             folder instead, with a `kustomization.yaml` in it)",
        ),
        (
            "resources: [..]\n",
            "resources in `ROOT/inner/kustomization.yaml`: `..` contains the folder that names it",
        ),
        (
            "resources: [/]\n",
            "resources in `ROOT/inner/kustomization.yaml`: `/` contains the folder that names it",
        ),
        ("resources: [/usr]\n", "`/usr` is outside of `ROOT`"),
        (
            "patches:\n- patch: '[{\"op\": \"remove\", \"path\": \"/x\"}]'\n",
            "patches in `ROOT/inner/kustomization.yaml`: a JSON patch needs a `target`",
        ),
        (
            "replicas:\n- name: nothing\n  count: 2\n",
            "replicas in `ROOT/inner/kustomization.yaml`: nothing that has replicas is called `nothing`",
        ),
        (
            "images: [{name: '(a', newTag: b}]\nresources: []\n",
            "images in `ROOT/inner/kustomization.yaml`: `^(a(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$` is no \
             regular expression",
        ),
    ] {
        let said = refused(&[
            ("kustomization.yaml", "resources: []\n"),
            (
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
            ),
            ("inner/kustomization.yaml", text),
        ]);
        assert!(said.starts_with(expect), "{said}");
    }
    let unknown = refused(&[("inner/kustomization.yaml", "namePrefx: my-\n")]);
    assert!(unknown.contains("unknown field `namePrefx`"), "{unknown}");
}

#[test]
fn two_objects_of_one_name_are_refused() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n";
    let said = refused(&[
        ("inner/kustomization.yaml", "resources: [a.yaml, b.yaml]\n"),
        ("inner/a.yaml", map),
        ("inner/b.yaml", map),
    ]);
    assert!(said.ends_with("ConfigMap `one` is there already"), "{said}");
}

#[test]
fn hostile_kustomizations_come_to_an_end() {
    // Each component names the next one twice.
    let component = |next: usize| {
        format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncomponents: [../c{next}, ../c{next}]\n"
        )
    };
    let mut files = vec![(
        "inner/kustomization.yaml".to_owned(),
        "components: [../c0]\n".to_owned(),
    )];
    files.extend((0..40).map(|index| (format!("c{index}/kustomization.yaml"), component(index + 1))));
    files.push((
        "c40/kustomization.yaml".to_owned(),
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n".to_owned(),
    ));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let said = refused(&files);
    assert!(said.ends_with("more than 1000 folders are named"), "{said}");

    // Each operation doubles the object.
    let copies: Vec<String> = (0..40)
        .map(|index| format!("{{op: copy, from: /data, path: /data/k{index}}}"))
        .collect();
    let operations = format!("[{}]", copies.join(","));
    let text = format!(
        "resources: [map.yaml]\npatches:\n- target: {{kind: ConfigMap}}\n  patch: |-\n    {operations}\n"
    );
    let said = refused(&[
        ("inner/kustomization.yaml", &text),
        (
            "inner/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n",
        ),
    ]);
    assert!(said.ends_with("an object has more than 1000000 values"), "{said}");
}
