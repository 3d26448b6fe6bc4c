//! What the tooling makes of procedures: definitions of their runs, permissions, what is wrong, bundles.

use std::fs;

use serde_json::Value;
use steersman_testkit::bundle_judge::BundleJudge;

use crate::bundle::{SERVICE_VERSION, read, run};
use crate::program::Project;

const ENTRY: &str = "\
- group: example.com
  version: v1
  kind: Web
  chart: charts/web
  procedures:
  - name: backup
    job: procedures/backup.yaml
  - name: restore
    kind: WebRestoration
    parameters:
      snapshot: {required: true, description: Which one}
      mode: {enum: [fast, safe], default: fast}
    steps:
    - job: procedures/backup.yaml
    - wait: ready
";

fn project() -> Project {
    let project = Project::new();
    project.write(
        "charts/web/templates/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n",
    );
    project.write(
        "charts/web/procedures/backup.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: backup}\n",
    );
    project.write("watches.yaml", ENTRY);
    project
}

/// The project with its definitions in files.
fn defined() -> Project {
    let project = project();
    let ended = project.run(&["crd", "--output-dir", "config/crd/bases"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ended.stdout,
        "config/crd/bases/example.com_webs.yaml\nconfig/crd/bases/example.com_webbackups.yaml\n\
         config/crd/bases/example.com_webrestorations.yaml\n"
    );
    project
}

fn checked(project: &Project, code: i32) -> String {
    let ended = project.run(&["check", "--strict"]);
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// Changes a definition of the project.
fn edit(project: &Project, plural: &str, from: &str, to: &str) {
    let path = format!("config/crd/bases/example.com_{plural}.yaml");
    let before = fs::read_to_string(project.path().join(&path)).unwrap();
    assert!(before.contains(from), "{path}: {from}\n{before}");
    project.write(&path, &before.replace(from, to));
}

#[test]
fn runs_of_each_procedure_have_a_definition() {
    let project = project();
    let kinds = |flags: &[&str]| -> Vec<String> {
        let ended = project.run(&[&["crd", "-o", "json"], flags].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
        let one = [printed.clone()];
        let items = printed["items"].as_array().map_or(&one[..], Vec::as_slice);
        let names = items.iter().map(|item| &item["spec"]["names"]);
        names
            .map(|names| format!("{} {}", names["kind"], names["categories"]))
            .collect()
    };
    let runs = [
        r#""WebBackup" ["procedures","webs-backup"]"#,
        r#""WebRestoration" ["procedures","webs-restore"]"#,
    ];
    let all = [&[r#""Web" ["steersman"]"#], &runs[..]].concat();
    assert_eq!(kinds(&[]), all);
    assert_eq!(kinds(&["--kind=web"]), all);
    assert_eq!(kinds(&["--kind=WebBackup"]), [runs[0]]);
    // Runs are found by what the resources are called.
    let renamed = kinds(&["--kind=Web", "--plural=webz"]);
    assert_eq!(renamed[1], r#""WebBackup" ["procedures","webz-backup"]"#);
    let of_web = || project.run(&["crd", "--kind=Web"]).stdout;
    assert!(of_web().contains("lastSuccess:"));
    project.write("watches.yaml", ENTRY.split("  procedures:").next().unwrap());
    assert!(!of_web().contains("lastSuccess:"));
}

#[test]
fn a_role_lets_the_operator_carry_procedures_out() {
    let project = defined();
    fs::create_dir_all(project.path().join("config/rbac")).unwrap();
    let role = "config/rbac/role.yaml";
    let written = project.run(&["rbac", "generate", "--output", role]);
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""));
    let text = fs::read_to_string(project.path().join(role)).unwrap();
    assert!(
        text.contains("# jobs: procedure backup, procedure restore\n"),
        "{text}"
    );
    let check = ["rbac", "check", "--role", role];
    assert_eq!(project.run(&check).code, Some(0));
    assert_eq!(checked(&project, 0), "nothing is wrong\n");
    project.write(role, &text.replace("  - webrestorations\n", "  - others\n"));
    let missing = "missing  webrestorations.example.com";
    let differs = project.run(&check);
    assert_eq!(differs.code, Some(1));
    assert!(differs.stdout.contains(missing), "{}", differs.stdout);
    let text = checked(&project, 1);
    let expect = "manager-role may not create, delete, get, list, patch, update, watch webrestorations.example.com, which \
                  example.com/v1 Web needs\n";
    assert!(text.contains(expect), "{text}");
}

#[test]
fn runs_without_a_definition_that_fits_are_found() {
    let project = defined();
    fs::remove_file(
        project
            .path()
            .join("config/crd/bases/example.com_webbackups.yaml"),
    )
    .unwrap();
    edit(&project, "webrestorations", "scope: Namespaced", "scope: Cluster");
    edit(&project, "webrestorations", "webs-restore", "restorations");
    edit(&project, "webrestorations", "snapshot", "picture");
    let text = checked(&project, 1);
    let file = "config/crd/bases/example.com_webrestorations.yaml";
    for expect in [
        "watches.yaml:1: warning: the project has no definition of example.com/v1, kind WebBackup\n",
        &format!("{file}:1: error: spec.snapshot is dropped in runs of procedure restore\n"),
        &format!(
            "{file}:1: error: spec is refused in runs of procedure restore: missing properties 'picture'\n"
        ),
        "error: Web are in namespaces, and these runs of theirs are not\n",
        "warning: the category webs-restore is missing, by which runs of procedure restore are found\n",
        "hint: `steersman crd` prints a definition that fits the procedure\n",
    ] {
        assert!(text.contains(expect), "{expect}\n{text}");
    }
}

#[test]
fn a_procedure_whose_name_is_too_long_for_its_runs_is_found() {
    let project = project();
    for (length, why) in [(59, "the category"), (60, "the plural")] {
        let long = "a".repeat(length);
        project.write(
            "watches.yaml",
            &ENTRY.replace("name: backup", &format!("name: {long}")),
        );
        let text = checked(&project, 1);
        let expect = format!("watches.yaml:1: error: procedure {long} can have no runs: {why} ");
        assert!(text.contains(&expect), "{text}");
    }
}

#[test]
fn bounds_without_jobs_leave_a_procedure_nothing_to_do() {
    let project = defined();
    for (bounds, why) in [
        (
            "deny: [Job.batch]",
            "`confine.kinds.deny` of the watch has `Job.batch`",
        ),
        (
            "allow: [Service]",
            "`confine.kinds.allow` of the watch has no `Job.batch`",
        ),
    ] {
        project.write(
            "watches.yaml",
            &format!("{ENTRY}  confine: {{kinds: {{{bounds}}}}}\n"),
        );
        let text = checked(&project, 1);
        let expect = format!("watches.yaml:1: error: procedure restore makes Jobs, and {why}\n");
        assert!(text.contains(&expect), "{expect}\n{text}");
    }
}

#[test]
fn a_bundle_owns_the_runs() {
    let project = project();
    run(
        &project,
        &[
            "--version=0.0.1",
            "--package=web-operator",
            "--image=registry.example.com/web:v1",
        ],
    );
    let stdout = run(&project, &["validate"]);
    assert!(stdout.contains("`bundle` is sound"), "{stdout}");
    assert!(!stdout.contains("there is no example"), "{stdout}");
    let version = read(&project, SERVICE_VERSION);
    assert_eq!(
        version["metadata"]["annotations"]["capabilities"],
        "Full Lifecycle"
    );
    let owned = version["spec"]["customresourcedefinitions"]["owned"]
        .as_array()
        .unwrap();
    let described = |kind: &str| {
        let entry = owned.iter().find(|entry| entry["kind"] == kind).unwrap();
        entry["description"].as_str().unwrap()
    };
    assert_eq!(
        described("WebRestoration"),
        "WebRestoration is a run of the procedure restore of Web"
    );
    let rules = version["spec"]["install"]["spec"]["clusterPermissions"][0]["rules"].to_string();
    assert!(rules.contains(r#""webbackups/status""#), "{rules}");
    if let Some(judge) = BundleJudge::find_or_skip() {
        let findings = judge.bundle(&project.path().join("bundle"));
        assert!(
            findings.iter().all(|finding| finding.level != "Error"),
            "{findings:?}"
        );
    }
}
