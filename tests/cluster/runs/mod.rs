//! Roles and playbooks as operators, with the real ansible-runner.

mod away;
mod deleting;
mod ending;
mod failing;
mod faults;
mod following;
mod full;
mod go_operator;
mod making;
mod meanwhile;
mod overtaking;
mod shown;
mod strangers;
mod traced;
mod visitors;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use steersman_testkit::ansible::Ansible;
use steersman_testkit::cluster::{OperatorCommand, OperatorProcess};
use steersman_testkit::processes;

use crate::bench::{Bench, PATIENCE, RUN_PATIENCE, condition, random, wait_until_within};

/// Makes a `ConfigMap` with what the spec says.
const MAP: &str = "
- kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: \"{{ ansible_operator_meta.name }}-made\"
        namespace: \"{{ ansible_operator_meta.namespace }}\"
      data: {message: \"{{ message_text | default('none') }}\"}
";

/// What begins each role of these tests: by its lines runs are counted.
const COUNT: &str = "- ansible.builtin.shell: echo {{ ansible_operator_meta.name }} >> {{ runs_file }}\n";

/// The annotation that says how often a run is made without a change.
const RECONCILE_PERIOD: &str = "ansible.sdk.operatorframework.io/reconcile-period";

/// How long nothing may happen where nothing is to happen.
const STILL: Duration = Duration::from_secs(4);

/// A bench whose kind is made by a role.
struct Roles {
    bench: Bench,
    ansible: Ansible,
    /// Further variables of operators.
    variables: Vec<(&'static str, String)>,
}

impl Roles {
    /// One with these tasks. `fields` are those of its entry, in YAML's flow style, each with a comma before it.
    async fn new(test: &str, tasks: &str, fields: &str) -> Option<Self> {
        let ansible = Ansible::find_or_skip(test)?;
        let bench = Bench::with_kind(test).await?;
        Some(Self::on(bench, ansible, tasks, fields))
    }

    /// The same on a bench whose kind is defined.
    fn on(mut bench: Bench, ansible: Ansible, tasks: &str, fields: &str) -> Self {
        bench.patience = RUN_PATIENCE;
        let roles = Self {
            bench,
            ansible,
            variables: Vec::new(),
        };
        roles.write("roles/web/tasks/main.yml", &format!("{COUNT}{tasks}"));
        roles.entry("role: web", fields);
        roles
    }

    fn entry(&self, content: &str, fields: &str) {
        self.entry_with(content, "", fields);
    }

    /// With more variables, too, each with a comma before it.
    fn entry_with(&self, content: &str, vars: &str, fields: &str) {
        let (group, runs) = (&self.bench.group, self.runs_file().display().to_string());
        self.bench.watches(&format!(
            "- {{group: {group}, version: v1, kind: Web, {content}, vars: {{runs_file: {runs}{vars}}}{fields}}}\n"
        ));
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.bench.folder.path().join(path)
    }

    fn runs_file(&self) -> PathBuf {
        self.path("runs")
    }

    /// `TMPDIR` of operators.
    fn temporary(&self) -> PathBuf {
        self.path("tmp")
    }

    /// How many runs have begun.
    fn runs(&self) -> usize {
        fs::read_to_string(self.runs_file()).map_or(0, |text| text.lines().count())
    }

    async fn wait_runs(&self, runs: usize) {
        let what = format!("run {runs}");
        wait_until_within(RUN_PATIENCE, &what, || self.runs() >= runs).await;
    }

    /// Looks whether no further run begins.
    async fn stays_at(&self, runs: usize) {
        tokio::time::sleep(STILL).await;
        assert_eq!(self.runs(), runs, "runs");
    }

    async fn operator(&self) -> OperatorProcess {
        self.operator_with(&[]).await
    }

    async fn operator_with(&self, flags: &[&str]) -> OperatorProcess {
        self.operator_by(Path::new(env!("CARGO_BIN_EXE_steersman")), flags)
            .await
    }

    /// The operator by a program that becomes it.
    async fn operator_by(&self, program: &Path, flags: &[&str]) -> OperatorProcess {
        let (path, collections) = (self.ansible.path(), self.ansible.collections());
        fs::create_dir_all(self.temporary()).unwrap();
        let temporary = self.temporary().display().to_string();
        let mut environment = vec![
            ("PATH", path.as_str()),
            ("TMPDIR", temporary.as_str()),
            ("ANSIBLE_COLLECTIONS_PATH", collections.to_str().unwrap()),
            ("ANSIBLE_GATHERING", "explicit"),
        ];
        environment.extend(self.variables.iter().map(|(name, value)| (*name, value.as_str())));
        let flags: Vec<&str> = ["--zap-log-level=debug"].iter().chain(flags).copied().collect();
        let folder = self.bench.folder.path();
        let operator = OperatorProcess::start(&OperatorCommand {
            binary: program,
            folder,
            kubeconfig: self.bench.user.kubeconfig(),
            arguments: &flags,
            environment: &environment,
            log: &folder.join(format!("operator-{}.log", random())),
        });
        let operator = operator.unwrap();
        operator.wait_until_ready(PATIENCE).await.unwrap();
        operator
    }

    /// Waits until a run of what the resource says now has succeeded.
    async fn wait_done(&self, name: &str) -> Value {
        let done = |web: &Value| {
            let is_seen = web.pointer("/status/observedGeneration") == web.pointer("/metadata/generation");
            let (status, ..) = condition(web, "Ready")?;
            let (_, reason, _) = condition(web, "Running")?;
            (is_seen && status == "True" && reason == "Successful").then(|| web.clone())
        };
        self.bench
            .wait("the success", &self.bench.webs(), name, done)
            .await
    }

    /// Waits until the map of a resource says this.
    async fn wait_map(&self, name: &str, text: &str) -> Value {
        let says = |map: &Value| (map.pointer("/data/message")? == text).then(|| map.clone());
        let maps = self.bench.config_maps();
        self.bench
            .wait("the map", &maps, &format!("{name}-made"), says)
            .await
    }

    fn namespaces(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        Api::all_with(
            self.bench.client.clone(),
            &ApiResource::from_gvk_with_plural(&kind, "namespaces"),
        )
    }

    /// The command lines of processes that name the folder of this bench, but for the operator's own.
    fn processes(&self) -> Vec<String> {
        self.process_ids().into_iter().map(processes::words).collect()
    }

    /// The numbers of these processes.
    fn process_ids(&self) -> Vec<u32> {
        let folder = self.bench.folder.path().display().to_string();
        // What has libraries loaded is of no run, nor is it below one.
        let is_of_run = |id: &u32| {
            let words = processes::words(*id);
            words.contains(&folder) && !words.contains("/preloaded.py")
        };
        processes::all().filter(is_of_run).collect()
    }
}

/// The spec of most tests.
fn says(text: &str) -> Value {
    json!({ "messageText": text })
}
