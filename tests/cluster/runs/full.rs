//! Disks without space for what runs write.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use steersman_testkit::cluster::OperatorProcess;
use steersman_testkit::skip::skipped;

use super::{MAP, Roles, says};
use crate::bench::condition;

/// How to see another `/tmp/ansible-operator` than the rest of the machine: as root, else as the root of a namespace.
const WAYS: [&str; 2] = ["unshare --mount", "unshare --map-root-user --mount"];

/// How a program gets a disk of its own for runs; none and a line that says why `test` is skipped.
fn way_or_skip(test: &str) -> Option<&'static str> {
    let mut reasons = Vec::new();
    for way in WAYS {
        let mut words = way.split(' ');
        let tried = Command::new(words.next().unwrap())
            .args(words)
            .args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"])
            .output();
        match tried {
            Ok(output) if output.status.success() => return Some(way),
            Ok(output) => reasons.push(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => reasons.push(error.to_string()),
        }
    }
    skipped(test, format!("no disk can be mounted: {}", reasons.join("; ")));
    None
}

impl Roles {
    /// An operator whose runs have a disk of eight megabytes.
    async fn operator_on_small_disk(&self, way: &str) -> OperatorProcess {
        let program = self.path("on-small-disk");
        let script = format!(
            "#!/bin/sh\nexec {way} sh -c 'mkdir -p {ROOT} && mount -t tmpfs -o size=8m tmpfs {ROOT} && exec \"$0\" \"$@\"' '{}' \"$@\"\n",
            env!("CARGO_BIN_EXE_steersman")
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        self.operator_by(&program, &[]).await
    }

    /// Waits until what is said of the resource names its folder and what is wrong with that.
    async fn wait_full(&self, name: &str) -> String {
        let folder = format!("`{ROOT}/runner/");
        let full = |web: &Value| {
            let (_, reason, message) = condition(web, "Ready")?;
            let is_said = message.to_lowercase().contains("no space left") && message.contains(&folder);
            (reason == "RunFailed" && is_said).then_some(message)
        };
        let bench = &self.bench;
        bench.wait("the failure", &bench.webs(), name, full).await
    }
}

/// Where files of runs are.
const ROOT: &str = "/tmp/ansible-operator";

/// Takes all the space that is left.
fn fill(file: &Path) {
    let mut file = fs::File::create(file).unwrap();
    std::io::copy(&mut std::io::repeat(0), &mut file).unwrap_err();
}

#[tokio::test]
async fn a_full_disk_is_named_and_runs_go_on_when_there_is_space() {
    let test = "a_full_disk_is_named_and_runs_go_on_when_there_is_space";
    let Some(way) = way_or_skip(test) else {
        return;
    };
    let filling = "- ansible.builtin.shell: |
    if test -e {{ runs_file }}.fill; then dd if=/dev/zero of=$TMPDIR/../../../fill bs=4k || true; fi
";
    let Some(roles) = Roles::new(test, &format!("{filling}{MAP}"), "").await else {
        return;
    };
    let bench = &roles.bench;
    let operator = roles.operator_on_small_disk(way).await;
    let disk = PathBuf::from(format!("/proc/{}/root{ROOT}", operator.id().await.unwrap()));
    let file = disk.join("fill");

    // Before a run.
    fill(&file);
    bench.apply_web("before", says("one")).await;
    let said = roles.wait_full("before").await;
    assert!(
        said.starts_with("failed to write the inputs of a run: "),
        "{said}"
    );
    assert_eq!(roles.runs(), 0);
    fs::remove_file(&file).unwrap();
    roles.wait_map("before", "one").await;
    let web = roles.wait_done("before").await;
    assert!(condition(&web, "Stalled").is_none(), "{web:#}");
    roles.stays_at(1).await;

    // In the middle of one.
    roles.write("runs.fill", "");
    bench.apply_web("middle", says("two")).await;
    let said = roles.wait_full("middle").await;
    let of_resource = format!("{}/v1/Web/{}/middle`", bench.group, bench.namespace);
    assert!(said.ends_with(&of_resource), "{said}");
    fs::remove_file(roles.path("runs.fill")).unwrap();
    fs::remove_file(&file).unwrap();
    roles.wait_map("middle", "two").await;
    let web = roles.wait_done("middle").await;
    assert!(condition(&web, "Stalled").is_none(), "{web:#}");
    let runs = roles.runs();
    roles.stays_at(runs).await;
    let left: Vec<_> = fs::read_dir(disk.join("runner")).unwrap().flatten().collect();
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    operator.stop().await.unwrap();
    assert_eq!(roles.processes(), Vec::<String>::new());
    // That of resources, and two that go with the operator: the collection, and what runs modules.
    assert_eq!(left.len(), 3, "{left:?}");
}
