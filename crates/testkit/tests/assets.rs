//! How the programs of the control plane are found and built, with a stand-in for the Go compiler.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world should panic"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use steersman_testkit::cluster::{Assets, Component, ControlPlane, ControlPlaneError};

const PROGRAMS: [&str; 5] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "helm",
    "kubectl",
];

/// Compiles nothing: has one package to compile, writes what it was asked to build and appends the package to a list.
const STAND_IN: &str = r#"#!/bin/sh
[ "$1" != list ] || { echo a/package; exit; }
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
echo "$1" >> "$STAND_IN_LIST"
case $1 in */$STAND_IN_FAILS) echo "syntax error: no such thing"; exit 1 ;; esac
sleep "${STAND_IN_SECONDS:-0}"
printf '#!/bin/sh\n' > "$out"; chmod +x "$out"
"#;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        Self { folder }
    }

    fn with_go() -> Self {
        let world = Self::new();
        write_program(&world.path("bin/go"), STAND_IN);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The script as a user without kubectl runs it.
    fn script(&self) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // What the script needs of the system, and nothing else that this machine may have.
        for tool in [
            "bash", "cat", "chmod", "cksum", "cut", "dirname", "flock", "grep", "head", "mkdir", "mktemp",
        ]
        .into_iter()
        .chain(["ln", "mv", "rm", "sed", "sh", "sleep", "tail", "env"])
        {
            let _ = std::os::unix::fs::symlink(which(tool), self.path("bin").join(tool));
        }
        let mut command = Command::new(root.join("build/control-plane.sh"));
        command
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("STAND_IN_LIST", self.path("built"));
        command
    }

    fn built(&self) -> Vec<String> {
        let list = fs::read_to_string(self.path("built")).unwrap_or_default();
        list.lines().map(str::to_owned).collect()
    }
}

fn which(tool: &str) -> PathBuf {
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(tool))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{tool} is not installed"))
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn folder_of(output: &Output) -> PathBuf {
    assert!(output.status.success(), "{}", messages(output));
    PathBuf::from(String::from_utf8_lossy(&output.stdout).lines().last().unwrap())
}

fn messages(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn everything_missing_is_built_once_with_progress() {
    let world = World::with_go();
    let first = world.script().output().unwrap();
    let folder = folder_of(&first);
    for program in PROGRAMS {
        assert!(folder.join(program).exists(), "{program} is missing");
    }
    assert!(
        messages(&first).contains("2 of 5 kube-apiserver: built in"),
        "{}",
        messages(&first)
    );
    assert!(
        folder.starts_with(world.path("cache/steersman/control-plane")),
        "{}",
        folder.display()
    );
    assert_eq!(world.built().len(), 5);

    let second = world.script().output().unwrap();
    assert_eq!((folder_of(&second), messages(&second)), (folder, String::new()));
    assert_eq!(world.built().len(), 5, "nothing is built again");
}

#[test]
fn callers_at_the_same_time_build_once() {
    let world = World::with_go();
    let mut script = world.script();
    script.env("STAND_IN_SECONDS", "0.3");
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let run = |mut script: Command| scope.spawn(move || script.output().unwrap());
        let mut other = world.script();
        other.env("STAND_IN_SECONDS", "0.3");
        [run(script), run(other)]
            .map(|thread| thread.join().unwrap())
            .into()
    });
    assert_eq!(folder_of(&outputs[0]), folder_of(&outputs[1]));
    assert_eq!(world.built().len(), 5, "{:?}", world.built());
    assert!(
        outputs
            .iter()
            .any(|output| messages(output).contains("waiting for another build"))
    );
}

#[test]
fn a_build_that_fails_says_why_and_the_next_one_goes_on_from_there() {
    let world = World::with_go();
    let failed = world
        .script()
        .env("STAND_IN_FAILS", "kube-controller-manager")
        .output()
        .unwrap();
    assert!(!failed.status.success());
    let text = messages(&failed);
    assert!(text.contains("syntax error: no such thing"), "{text}");
    assert!(text.contains("cannot build kube-controller-manager"), "{text}");

    let folder = folder_of(&world.script().output().unwrap());
    assert_eq!(
        world
            .built()
            .iter()
            .filter(|package| package.ends_with("kube-apiserver"))
            .count(),
        1
    );
    let left: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with(".building")),
        "{left:?}"
    );
}

#[test]
fn without_go_the_message_names_what_to_install() {
    let world = World::new();
    let output = world.script().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = messages(&output);
    assert!(
        text.contains("go is not installed") && text.contains("install Go 1."),
        "{text}"
    );
    assert!(text.contains("KUBEBUILDER_ASSETS"), "{text}");
}

#[test]
fn finding_builds_nothing_and_says_how_to() {
    let world = World::with_go();
    let output = world.script().arg("--find").output().unwrap();
    assert_eq!((output.status.code(), world.built().len()), (Some(1), 0));
    assert!(
        messages(&output).contains("run build/control-plane.sh"),
        "{}",
        messages(&output)
    );
}

#[test]
fn complete_kubebuilder_assets_are_used_as_they_are() {
    let world = World::with_go();
    fs::create_dir(world.path("assets")).unwrap();
    for program in PROGRAMS {
        write_program(&world.path("assets").join(program), "");
    }
    let script = || {
        let mut script = world.script();
        script.env("KUBEBUILDER_ASSETS", world.path("assets"));
        script
    };
    assert_eq!(
        folder_of(&script().output().unwrap()),
        world.path("assets").canonicalize().unwrap()
    );
    assert_eq!(world.built().len(), 0);

    fs::remove_file(world.path("assets/kube-controller-manager")).unwrap();
    let output = script().output().unwrap();
    assert!(
        messages(&output).contains("lacks kube-controller-manager"),
        "{}",
        messages(&output)
    );
    assert!(folder_of(&output).starts_with(world.path("cache")));
}

#[test]
fn the_demo_needs_no_helm_and_the_tests_go_on_from_there() {
    let world = World::with_go();
    let demo = folder_of(&world.script().args(["--of", "demo"]).output().unwrap());
    assert_eq!(world.built().len(), 4, "{:?}", world.built());
    assert_eq!(folder_of(&world.script().output().unwrap()), demo);
    assert_eq!(
        world.built().last().map(String::as_str),
        Some("helm.sh/helm/v4/cmd/helm")
    );
    assert_eq!(world.built().len(), 5);
}

/// What setup-envtest downloads, with an API server of this version.
fn write_envtest(folder: &Path, version: &str) {
    fs::create_dir_all(folder).unwrap();
    write_program(
        &folder.join("kube-apiserver"),
        &format!("#!/bin/sh\necho Kubernetes v{version}\n"),
    );
    for program in ["etcd", "kubectl"] {
        write_program(&folder.join(program), "");
    }
}

#[test]
fn the_demo_runs_on_the_newest_envtest_that_is_here() {
    let world = World::with_go();
    for version in ["1.9.0", "1.99.2", "1.100.1"] {
        let folder = format!("data/kubebuilder-envtest/k8s/{version}-linux-amd64");
        write_envtest(&world.path(&folder), version);
    }
    let script = || {
        let mut script = world.script();
        script
            .args(["--of", "demo"])
            .env("XDG_DATA_HOME", world.path("data"));
        script
    };
    let folder = folder_of(&script().output().unwrap());
    assert_eq!(world.built(), ["k8s.io/kubernetes/cmd/kube-controller-manager"]);
    for program in PROGRAMS.into_iter().filter(|program| *program != "helm") {
        assert!(folder.join(program).exists(), "{program} is missing");
    }
    let server = fs::canonicalize(folder.join("kube-apiserver")).unwrap();
    assert!(
        server.to_string_lossy().contains("1.100.1-linux"),
        "{}",
        server.display()
    );
    let again = script().output().unwrap();
    assert_eq!((folder_of(&again), world.built().len()), (folder, 1));

    // Asked for by name, it goes before newer ones; the tests take nothing but the pinned version.
    let named = world.path("data/kubebuilder-envtest/k8s/1.99.2-linux-amd64");
    let folder = folder_of(&script().env("KUBEBUILDER_ASSETS", &named).output().unwrap());
    let server = fs::canonicalize(folder.join("kube-apiserver")).unwrap();
    assert_eq!(server, fs::canonicalize(named.join("kube-apiserver")).unwrap());
    let output = world.script().env("KUBEBUILDER_ASSETS", &named).output().unwrap();
    assert!(folder_of(&output).starts_with(world.path("cache/steersman/control-plane")));
}

#[test]
fn an_envtest_older_than_our_controllers_is_left_alone() {
    let world = World::with_go();
    write_envtest(&world.path("envtest"), "1.35.9");
    let mut script = world.script();
    script
        .args(["--of", "demo"])
        .env("KUBEBUILDER_ASSETS", world.path("envtest"));
    assert!(folder_of(&script.output().unwrap()).starts_with(world.path("cache/steersman/control-plane")));
    assert_eq!(world.built().len(), 4, "{:?}", world.built());
}

#[test]
fn progress_says_how_far_it_is_and_how_long_it_took_last_time() {
    let world = World::with_go();
    let folder = folder_of(&world.script().output().unwrap());
    fs::write(
        world.path("cache/steersman/durations"),
        "control-plane/etcd 71\ncontrol-plane/helm 5\n",
    )
    .unwrap();
    fs::remove_file(folder.join("etcd")).unwrap();
    let output = world.script().env("STAND_IN_SECONDS", "3").output().unwrap();
    let text = messages(&output);
    assert!(
        text.contains("control plane: 1 of 1 etcd: 0 of 1 packages, 2 s (last time 71 s)"),
        "{text}"
    );
    let durations = fs::read_to_string(world.path("cache/steersman/durations")).unwrap();
    let mut lines: Vec<_> = durations.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{durations}");
    assert!(
        !lines[0].ends_with(" 71") && lines[1] == "control-plane/helm 5",
        "{durations}"
    );
}

#[test]
fn a_component_that_ends_is_named_and_its_log_quoted() {
    let world = World::new();
    write_program(&world.path("etcd"), "#!/bin/sh\necho unknown flag >&2\nexit 2\n");
    write_program(&world.path("kube-apiserver"), "#!/bin/sh\nexec sleep 1000\n");
    let error = ControlPlane::start(&Assets::at(world.folder.path())).unwrap_err();
    assert_eq!(error.to_string(), "etcd ended; its log ends with:\nunknown flag");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let world = World::new();
    let error = ControlPlane::start(&Assets::at(world.folder.path())).unwrap_err();
    // etcd and kube-apiserver are started together; either may be the first that is seen to have ended.
    let ControlPlaneError::Component { component, log, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(
        matches!(component, Component::Etcd | Component::ApiServer) && log.contains(component.name()),
        "{log}"
    );
}
