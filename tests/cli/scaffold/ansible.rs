//! Projects of Ansible, and projects of charts and roles.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use steersman_testkit::ansible::Ansible;
use steersman_testkit::program::operator_sdk_or_say;

use super::layout::{markers, targets_and_variables};
use super::{Place, built, files, names, run};

const MEMCACHED: &[&str] = &[
    "init",
    "--plugins=ansible.sdk.operatorframework.io/v1",
    "--domain=example.com",
    "--group=cache",
    "--version=v1alpha1",
    "--kind=Memcached",
    "--generate-role",
    "--generate-playbook",
];

/// A project with a role of its own.
const ROLE: &[&str] = &[
    "init",
    "--plugins=ansible",
    "--domain=example.com",
    "--group=cache",
    "--kind=Memcached",
    "--generate-role",
];

#[test]
fn the_memcached_example_of_ansible_is_laid_out_as_by_operator_sdk() {
    let place = Place::new();
    let said = place.succeed(MEMCACHED);
    for line in [
        "wrote roles/memcached\n",
        "wrote molecule/local\n",
        "next: write the tasks",
    ] {
        assert!(said.stderr.contains(line), "no `{line}` in {}", said.stderr);
    }
    let files = files(&place.project());
    let ours: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    let theirs: BTreeSet<&str> = UPSTREAM.iter().copied().collect();
    assert_eq!(theirs.difference(&ours).count(), 0, "{ours:?}");
    let more: Vec<&str> = ours.difference(&theirs).copied().collect();
    assert_eq!(more, MORE);
    assert_eq!(
        files["watches.yaml"],
        "---\n# yaml-language-server: $schema=.steersman/watches.schema.json\n# Use the 'create api' subcommand to add watches to this file.\n- version: v1alpha1\n  group: \
         cache.example.com\n  kind: Memcached\n  playbook: playbooks/memcached.yml\n# +kubebuilder:scaffold:watch\n"
    );
    let text = |path: &str| files[path].as_str();
    assert!(text("PROJECT").contains("layout:\n- ansible.sdk.operatorframework.io/v1\n"));
    assert!(text("requirements.yml").contains("name: kubernetes.core\n    version: \"3.2.0\"\n"));
    assert!(
        text("playbooks/memcached.yml").ends_with("  tasks:\n    - import_role:\n        name: memcached\n")
    );
    assert!(text("molecule/default/tasks/memcached_test.yml").contains("/cache_v1alpha1_memcached.yaml"));
    assert_eq!(
        text("config/samples/cache_v1alpha1_memcached.yaml"),
        "apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata:\n  name: memcached-sample\nspec: {}\n"
    );
    assert_eq!(
        markers(&files),
        BTreeSet::from_iter(
            [
                "config/crd/kustomization.yaml: # +kubebuilder:scaffold:crdkustomizeresource",
                "config/rbac/role.yaml: # +kubebuilder:scaffold:rules",
                "config/samples/kustomization.yaml: # +kubebuilder:scaffold:manifestskustomizesamples",
                "config/scorecard/kustomization.yaml: # +kubebuilder:scaffold:patches",
                "watches.yaml: # +kubebuilder:scaffold:watch",
            ]
            .map(str::to_owned)
        )
    );
}

#[test]
fn the_operator_of_ansible_is_deployed_with_what_runs_need() {
    let place = Place::new();
    place.succeed(MEMCACHED);
    for folder in ["crd", "manager", "network-policy", "rbac", "samples", "testing"] {
        built(&place.project(), folder);
    }
    let objects = built(&place.project(), "default");
    let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    let container = &find("Deployment")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        serde_json::json!([
            "--metrics-require-rbac",
            "--metrics-secure",
            "--metrics-bind-address=:8443",
            "--leader-elect",
            "--leader-election-id=memcached-operator",
            "--health-probe-bind-address=:6789",
        ])
    );
    assert_eq!(container["livenessProbe"]["httpGet"]["port"], 6789);
    let memory = |bound: &str| container["resources"][bound]["memory"].clone();
    assert_eq!(
        (memory("requests"), memory("limits")),
        ("256Mi".into(), "768Mi".into())
    );
    assert_eq!(
        container["env"][1],
        serde_json::json!({"name": "ANSIBLE_GATHERING", "value": "explicit"})
    );
    // The root file system can't be written, so runs get folders of their own.
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mounts: Vec<&str> = mounts
        .iter()
        .filter_map(|mount| mount["mountPath"].as_str())
        .collect();
    assert_eq!(mounts, ["/tmp", "/opt/ansible/.ansible"]);
    let ports = &find("NetworkPolicy")["spec"]["ingress"];
    assert_eq!(ports[1]["ports"][0]["port"], 6789);
    // Nothing that its tasks do not say, and no Secrets of releases.
    let role = objects.iter().find(|object| {
        object["kind"] == "ClusterRole" && object["metadata"]["name"] == "memcached-operator-manager-role"
    });
    let rules = role.unwrap()["rules"].to_string();
    for (word, is_there) in [
        ("events", true),
        ("memcacheds/status", true),
        ("secrets", false),
        ("pods", false),
    ] {
        assert_eq!(rules.contains(word), is_there, "{word}: {rules}");
    }
}

#[test]
fn operator_sdk_writes_the_same_for_ansible() {
    let Some(sdk) = operator_sdk_or_say("the layout of a project of Ansible") else {
        return;
    };
    let (place, sdk_place) = (Place::new(), Place::new());
    place.succeed(MEMCACHED);
    let said = run(&sdk, &sdk_place.project(), MEMCACHED);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let (ours, theirs) = (files(&place.project()), files(&sdk_place.project()));
    let missing: Vec<&String> = theirs.keys().filter(|path| !ours.contains_key(*path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(ours["watches.yaml"], theirs["watches.yaml"]);
    assert_eq!(markers(&ours), markers(&theirs));
    let (own, other) = (
        targets_and_variables(&ours["Makefile"]),
        targets_and_variables(&theirs["Makefile"]),
    );
    assert_eq!(other.difference(&own).count(), 0, "{other:?}");
    let (own, other) = (
        names(&built(&place.project(), "default")),
        names(&built(&sdk_place.project(), "default")),
    );
    assert_eq!(other.difference(&own).count(), 0, "{other:?}");
    // operator-sdk goes on with our project.
    let arguments = [
        "create",
        "api",
        "--group=cache",
        "--version=v1alpha1",
        "--kind=Other",
        "--generate-role",
    ];
    let said = run(&sdk, &place.project(), &arguments);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn a_kind_is_made_by_what_is_generated_or_there() {
    let place = Place::new();
    place.succeed(&["init", "--plugins", "ansible", "--domain", "example.com"]);
    place.refuse(&["create", "api"], "--kind needs to be provided");
    place.refuse(
        &["create", "api", "--kind", "Shop", "--update", "--generate-role"],
        "--update takes a newer chart",
    );
    let entry = |kind: &str| {
        let watches = steersman_yaml::to_json(&place.read("watches.yaml")).unwrap();
        let entries = watches.as_array().unwrap().clone();
        entries.into_iter().find(|entry| entry["kind"] == kind).unwrap()
    };

    let said = place.succeed(&["create", "api", "--kind", "Open"]);
    assert!(said.stderr.contains("where it says FIXME"), "{}", said.stderr);
    let open = entry("Open");
    assert_eq!((&open["group"], open.get("role")), (&"example.com".into(), None));

    place.succeed(&["create", "api", "--kind", "Shop", "--generate-role"]);
    assert_eq!(entry("Shop")["role"], "shop");
    assert!(
        place
            .read("roles/shop/meta/main.yml")
            .contains("- kubernetes.core\n")
    );
    place.succeed(&["create", "api", "--kind", "Stall", "--generate-playbook"]);
    assert_eq!(entry("Stall")["playbook"], "playbooks/stall.yml");
    assert!(place.read("playbooks/stall.yml").ends_with("  tasks: []\n"));

    // What is there is taken, and is not written over.
    place.write(
        "memcached-operator/roles/museum/defaults/main.yml",
        "---\n# How many\nroom_count: 3\n",
    );
    place.succeed(&["create", "api", "--kind", "Museum"]);
    assert_eq!(entry("Museum")["role"], "museum");
    assert!(
        place
            .read("config/samples/v1alpha1_museum.yaml")
            .ends_with("  # How many\n  roomCount: 3\n")
    );
    let definition = place.read("config/crd/bases/example.com_museums.yaml");
    assert!(
        definition.contains("description: \"How many (default: 3)\""),
        "{definition}"
    );
    place.refuse(
        &[
            "create",
            "api",
            "--kind",
            "Museum",
            "--version",
            "v2",
            "--generate-role",
        ],
        "roles/museum/defaults/main.yml",
    );
    place.write(
        "memcached-operator/playbooks/fair.yml",
        "- hosts: localhost\n  tasks:\n  - include_role: {name: museum}\n",
    );
    place.succeed(&["create", "api", "--kind", "Fair"]);
    assert_eq!(entry("Fair")["playbook"], "playbooks/fair.yml");
    assert!(
        place
            .read("config/crd/bases/example.com_fairs.yaml")
            .contains("roomCount:\n")
    );

    place.refuse(
        &["create", "api", "--kind", "Shop"],
        "the API resource already exists",
    );
    let said = place.run(&[
        "create",
        "api",
        "--kind",
        "New",
        "--generate-role",
        "--helm-chart",
        "../charts/memcached",
    ]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    built(&place.project(), "default");
}

#[test]
fn projects_begin_with_one_plugin() {
    let place = Place::new();
    for (arguments, expect) in [
        (&["--plugins=go"][..], "the plugins `go` are not known"),
        (&["--plugins=helm,ansible"], "a project begins with one plugin"),
        (&["--generate-role", "--kind=Shop"], "of projects of Ansible"),
        (
            &["--plugins=ansible", "--helm-chart=../charts/memcached"],
            "begins with a role or a playbook",
        ),
        (
            &["--plugins=ansible", "--generate-role"],
            "--kind needs to be provided",
        ),
    ] {
        place.refuse(&[&["init", "--domain=example.com"], arguments].concat(), expect);
    }
    assert_eq!(fs::read_dir(place.project()).unwrap().count(), 0);
    // Roles that are there before the project are no obstacle.
    place.write("memcached-operator/roles/shop/tasks/main.yml", "---\n");
    place.succeed(&["init", "--plugins=ansible", "--kind=Shop"]);
    assert!(place.read("watches.yaml").contains("  role: shop\n"));
}

#[test]
fn a_role_comes_into_a_project_of_charts() {
    let place = Place::new();
    place.succeed(super::MEMCACHED);
    place.edit("config/manager/manager.yaml", "cpu: 500m", "cpu: 900m");
    let said = place.succeed(&[
        "create",
        "api",
        "--group=cache",
        "--kind=Redis",
        "--generate-role",
    ]);
    for line in [
        "note: config/manager/manager.yaml is not as it was made and stays as it is: runs need 256Mi",
        "wrote Dockerfile\n",
        "wrote Makefile\n",
        "wrote requirements.yml\n",
        "wrote molecule/local\n",
    ] {
        assert!(said.stderr.contains(line), "no `{line}` in {}", said.stderr);
    }
    let watches = steersman_yaml::to_json(&place.read("watches.yaml")).unwrap();
    assert_eq!(watches[0]["chart"], "helm-charts/memcached");
    assert_eq!(watches[1]["role"], "redis");
    let dockerfile = place.read("Dockerfile");
    for copied in ["roles ", "playbooks ", "helm-charts "] {
        assert!(
            dockerfile.contains(&format!("\nCOPY {copied}")),
            "{copied}: {dockerfile}"
        );
    }
    assert!(place.read("config/manager/manager.yaml").contains("cpu: 900m"));
    assert!(
        place
            .read("PROJECT")
            .contains("- helm.sdk.operatorframework.io/v1\n")
    );
    built(&place.project(), "default");
    // Another one finds everything as it needs it, but for what was edited.
    let said = place.succeed(&[
        "create",
        "api",
        "--group=cache",
        "--kind=Valkey",
        "--generate-role",
    ]);
    assert_eq!(
        said.stderr.matches("stays as it is").count(),
        1,
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("wrote Dockerfile"), "{}", said.stderr);
    let said = place.succeed(&["crd"]);
    assert_eq!(said.stdout.matches("kind: CustomResourceDefinition\n").count(), 3);
    place.refuse(
        &[
            "create",
            "api",
            "--update",
            "--kind=Redis",
            "--helm-chart=../charts/memcached",
        ],
        "no chart makes Redis",
    );
}

#[test]
fn a_chart_comes_into_a_project_of_ansible() {
    let place = Place::new();
    place.succeed(ROLE);
    let chart = [
        "create",
        "api",
        "--group=cache",
        "--kind=Store",
        "--helm-chart=../charts/memcached",
    ];
    place.succeed(&chart);
    let watches = steersman_yaml::to_json(&place.read("watches.yaml")).unwrap();
    assert_eq!(watches[0]["role"], "memcached");
    assert_eq!(watches[1]["chart"], "helm-charts/memcached");
    assert!(place.read("Dockerfile").contains("\nCOPY helm-charts "));
    let role = place.read("config/rbac/role.yaml");
    assert!(role.contains("## Rules for releases of charts\n"), "{role}");
    assert!(
        role.contains("  - secrets\n") && role.contains("  - deployments\n"),
        "{role}"
    );
    built(&place.project(), "default");

    let place = Place::new();
    place.succeed(ROLE);
    place.edit("Dockerfile", "python:3.12-slim", "python:3.13-slim");
    let said = place.succeed(&chart);
    assert!(
        said.stderr.contains("note: Dockerfile is not as it was made"),
        "{}",
        said.stderr
    );
    assert!(!place.read("Dockerfile").contains("COPY helm-charts"));
}

#[test]
fn every_target_of_ansible_is_explained() {
    let place = Place::new();
    place.succeed(ROLE);
    let said = run("make".as_ref(), &place.project(), &["help"]);
    let makefile = place.read("Makefile");
    let own = ["all", "base", "kustomize ansible-operator operator-sdk opm"];
    for target in makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: ")) {
        let is_told = said.stdout.contains(&format!("\u{1b}[36m{target} "));
        assert!(is_told || own.contains(&target), "{target}: {}", said.stdout);
    }
    let said = run(
        "make".as_ref(),
        &place.project(),
        &["-n", "run", "STEERSMAN=true"],
    );
    assert!(said.stdout.contains("ANSIBLE_ROLES_PATH="), "{}", said.stdout);
    let said = run(
        "make".as_ref(),
        &place.project(),
        &["docker-buildx", "STEERSMAN=true"],
    );
    assert!(
        said.stderr.contains("name an image with Python and Ansible"),
        "{}",
        said.stderr
    );
    let with_image = [
        "-n",
        "docker-build",
        "STEERSMAN=steersman",
        "PYTHON_IMAGE=example.com/python",
    ];
    let said = run("make".as_ref(), &place.project(), &with_image);
    assert!(
        said.stdout
            .contains("steersman build --from example.com/python -t "),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains("docker"), "{}", said.stdout);
}

#[test]
fn ansible_takes_every_playbook_of_a_project() {
    let Some(ansible) = Ansible::find_or_skip("the playbooks of a project") else {
        return;
    };
    let place = Place::new();
    place.succeed(MEMCACHED);
    let project = place.project();
    let playbooks = files(&project).into_keys().filter(|path| {
        let is_playbook = |folder: &str| {
            let name = path.strip_prefix(folder);
            name.is_some_and(|name| name.rsplit('.').next() == Some("yml") && !name.contains("/tasks/"))
        };
        let is_other = ["molecule.yml", "kustomize.yml"]
            .iter()
            .any(|name| path.ends_with(name));
        (is_playbook("playbooks/") || is_playbook("molecule/")) && !is_other
    });
    let mut judged = 0;
    for playbook in playbooks {
        let output = Command::new(ansible.program("ansible-playbook"))
            .args(["--syntax-check", "-e", "state=present", &playbook])
            .current_dir(&project)
            .env("PATH", ansible.path())
            .env("HOME", place.path("home"))
            .env("ANSIBLE_ROLES_PATH", project.join("roles"))
            .env("ANSIBLE_COLLECTIONS_PATH", ansible.collections())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{playbook}: {said}");
        assert!(!said.contains("ERROR"), "{playbook}: {said}");
        judged += 1;
    }
    assert_eq!(judged, 12);
}

/// What operator-sdk writes for the example: the files of ansible-operator-plugins' templates, and of the plugins that
/// operator-sdk runs beside them (kustomize, manifests, scorecard).
const UPSTREAM: &[&str] = &[
    ".gitignore",
    "Dockerfile",
    "Makefile",
    "PROJECT",
    "config/crd/bases/cache.example.com_memcacheds.yaml",
    "config/crd/kustomization.yaml",
    "config/default/kustomization.yaml",
    "config/default/manager_metrics_patch.yaml",
    "config/default/metrics_service.yaml",
    "config/manager/kustomization.yaml",
    "config/manager/manager.yaml",
    "config/manifests/kustomization.yaml",
    "config/network-policy/allow-metrics-traffic.yaml",
    "config/network-policy/kustomization.yaml",
    "config/prometheus/kustomization.yaml",
    "config/prometheus/monitor.yaml",
    "config/prometheus/rules.yaml",
    "config/rbac/kustomization.yaml",
    "config/rbac/leader_election_role.yaml",
    "config/rbac/leader_election_role_binding.yaml",
    "config/rbac/memcached_admin_role.yaml",
    "config/rbac/memcached_editor_role.yaml",
    "config/rbac/memcached_viewer_role.yaml",
    "config/rbac/metrics_auth_role.yaml",
    "config/rbac/metrics_auth_role_binding.yaml",
    "config/rbac/metrics_reader_role.yaml",
    "config/rbac/role.yaml",
    "config/rbac/role_binding.yaml",
    "config/rbac/service_account.yaml",
    "config/samples/cache_v1alpha1_memcached.yaml",
    "config/samples/kustomization.yaml",
    "config/scorecard/bases/config.yaml",
    "config/scorecard/kustomization.yaml",
    "config/scorecard/patches/basic.config.yaml",
    "config/scorecard/patches/olm.config.yaml",
    "config/testing/debug_logs_patch.yaml",
    "config/testing/kustomization.yaml",
    "config/testing/manager_image.yaml",
    "config/testing/pull_policy/Always.yaml",
    "config/testing/pull_policy/IfNotPresent.yaml",
    "config/testing/pull_policy/Never.yaml",
    "molecule/default/converge.yml",
    "molecule/default/create.yml",
    "molecule/default/destroy.yml",
    "molecule/default/kustomize.yml",
    "molecule/default/molecule.yml",
    "molecule/default/prepare.yml",
    "molecule/default/tasks/memcached_test.yml",
    "molecule/default/verify.yml",
    "molecule/kind/converge.yml",
    "molecule/kind/create.yml",
    "molecule/kind/destroy.yml",
    "molecule/kind/molecule.yml",
    "playbooks/.placeholder",
    "playbooks/memcached.yml",
    "requirements.yml",
    "roles/.placeholder",
    "roles/memcached/README.md",
    "roles/memcached/defaults/main.yml",
    "roles/memcached/files/.placeholder",
    "roles/memcached/handlers/main.yml",
    "roles/memcached/meta/main.yml",
    "roles/memcached/tasks/main.yml",
    "roles/memcached/templates/.placeholder",
    "roles/memcached/vars/main.yml",
    "watches.yaml",
];

/// What is in our projects besides.
const MORE: &[&str] = &[
    ".steersman/watches.schema.json",
    "config/manager/pod_disruption_budget.yaml",
    "config/rbac/signing_keys_role.yaml",
    "config/rbac/signing_keys_role_binding.yaml",
    "molecule/local/converge.yml",
    "molecule/local/destroy.yml",
    "molecule/local/molecule.yml",
    "molecule/local/prepare.yml",
];
