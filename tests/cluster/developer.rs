//! Somebody who runs commands of the program beside an operator.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};
use steersman_testkit::cluster::{AuditMark, User};

use crate::bench::Bench;

/// The program in the bench's folder, run by somebody else than the operator.
pub(crate) struct Developer<'a> {
    bench: &'a Bench,
    user: User,
}

pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl<'a> Developer<'a> {
    pub(crate) async fn of(bench: &'a Bench) -> Self {
        let name = format!("developer-{}", bench.namespace);
        let user = bench.cluster.operator(&name).await.unwrap();
        Self { bench, user }
    }

    /// The name by which the API server knows them.
    pub(crate) fn name(&self) -> &str {
        self.user.name()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(env!("CARGO_BIN_EXE_steersman"))
            .arg(arguments[0])
            .args(["-n", &self.bench.namespace])
            .args(&arguments[1..])
            .env("KUBECONFIG", self.user.kubeconfig())
            .current_dir(self.bench.folder.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// Runs the program and gives what it prints, with the namespace's name replaced.
    pub(crate) fn check(&self, arguments: &[&str], code: i32) -> String {
        let said = self.run(arguments);
        assert_eq!(
            said.code,
            Some(code),
            "{arguments:?}\n{}{}",
            said.stdout,
            said.stderr
        );
        said.stdout.replace(&self.bench.namespace, "NS")
    }

    /// Whether it has written to the cluster since `mark`; what it tried without keeping it does not count.
    pub(crate) async fn has_written(&self, mark: AuditMark) -> bool {
        let audit = self.bench.cluster.audit_since(mark).await.unwrap();
        let writes = audit.by_user(self.user.name()).writes();
        assert!(!writes.is_empty(), "nothing was tried");
        let kept = writes.filter(|request| !request.uri.contains("dryRun=All"));
        !kept.is_empty()
    }

    /// Writes the resource `shop` into `shop.yaml`.
    pub(crate) fn write_resource(&self, spec: &Value) {
        let group = &self.bench.group;
        let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Web", "metadata": {"name": "shop"}, "spec": spec});
        fs::write(self.bench.folder.path().join("shop.yaml"), object.to_string()).unwrap();
    }
}

/// Fails unless all parts are in the text.
pub(crate) fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}
