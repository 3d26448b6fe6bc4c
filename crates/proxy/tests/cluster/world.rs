//! A proxy, a run of it, and kubectl as that run's client.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use steersman_cluster::PrimaryResource;
use steersman_cluster::client::ServiceAccount;
use steersman_proxy::{
    Admission, Fence, Observer, Origin, Port, Proxy, Run, RunId, Seen, SeenObject, Settings, Upstream,
    kubeconfig,
};
use steersman_testkit::cluster::TestCluster;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinHandle;

/// What the observer was told, as one line for each answer.
#[derive(Default)]
pub(crate) struct Log {
    lines: Mutex<Vec<String>>,
    objects: Mutex<Vec<SeenObject>>,
    secrets: Mutex<Vec<String>>,
}

impl Log {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }

    pub(crate) fn objects(&self) -> Vec<SeenObject> {
        self.objects.lock().unwrap().clone()
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        self.secrets.lock().unwrap().clone()
    }
}

impl Observer for Log {
    fn answered(&self, seen: &Seen<'_>) {
        let target = seen.resource.map_or(seen.path.to_owned(), |resource| {
            let part = |part: &Option<String>| part.as_ref().map_or(String::new(), |part| format!("/{part}"));
            format!(
                "{}{}{}",
                resource.resource,
                part(&resource.name),
                part(&resource.subresource)
            )
        });
        let mut line = format!("{} {target} {}", seen.verb, seen.status);
        if seen.origin == Origin::Proxy {
            line.insert_str(0, "proxy: ");
        }
        self.lines.lock().unwrap().push(line);
        self.objects.lock().unwrap().extend(seen.object.cloned());
    }

    fn secret(&self, _: RunId, value: &[u8]) {
        self.secrets
            .lock()
            .unwrap()
            .push(String::from_utf8_lossy(value).into_owned());
    }
}

/// A fence that a test closes.
#[derive(Default)]
pub(crate) struct Gate(AtomicBool);

impl Gate {
    pub(crate) fn close(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Fence for Gate {
    fn may_write(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// A namespace with an owner in it, and a proxy for its runs.
pub(crate) struct World {
    pub(crate) cluster: &'static TestCluster,
    pub(crate) namespace: String,
    pub(crate) owner: PrimaryResource,
    pub(crate) proxy: Proxy,
    pub(crate) port: u16,
    pub(crate) log: Arc<Log>,
    pub(crate) gate: Arc<Gate>,
    serving: JoinHandle<()>,
    folder: TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl World {
    pub(crate) async fn or_skip(test: &str) -> Option<Self> {
        let cluster = TestCluster::shared_or_skip(test)?;
        let namespace = cluster.unique_namespace("proxy").await.unwrap();
        let configuration = cluster
            .operator("proxy-operator")
            .await
            .unwrap()
            .config()
            .await
            .unwrap();
        let (log, gate) = (Arc::<Log>::default(), Arc::<Gate>::default());
        let settings = Settings {
            field_manager: "steersman-roles".to_owned(),
            fence: Arc::clone(&gate) as Arc<dyn Fence>,
            observer: Arc::clone(&log) as Arc<dyn Observer>,
        };
        let proxy = Proxy::new(Upstream::new(&configuration).unwrap(), settings);
        let port = Port::bind(0).await.unwrap();
        let number = port.number();
        let serving = tokio::spawn(port.serve(proxy.clone()));
        let owner = owner(cluster, &namespace, "toys").await;
        let folder = tempfile::tempdir().unwrap();
        Some(Self {
            cluster,
            namespace,
            owner,
            proxy,
            port: number,
            log,
            gate,
            serving,
            folder,
        })
    }

    /// A run of the owner's, with kubectl.
    pub(crate) fn client(&self) -> Client<'_> {
        self.client_of(Run::new(self.owner.clone(), None))
    }

    pub(crate) fn client_as(&self, account: &str) -> Client<'_> {
        let account = ServiceAccount {
            namespace: self.namespace.clone(),
            name: account.to_owned(),
        };
        self.client_of(Run::new(self.owner.clone(), Some(account)))
    }

    pub(crate) fn client_of(&self, run: Run) -> Client<'_> {
        let admission = self.proxy.admit(run).unwrap();
        let path = self.folder.path().join(&admission.credential().secret()[..8]);
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .unwrap();
        file.write_all(kubeconfig(self.port, admission.credential()).as_bytes())
            .unwrap();
        Client {
            world: self,
            admission,
            kubeconfig: path,
        }
    }

    /// What the server has, read by who is not a client of the proxy.
    pub(crate) async fn live(&self, target: &str) -> Value {
        self.live_in(&self.namespace, target).await
    }

    pub(crate) async fn live_in(&self, namespace: &str, target: &str) -> Value {
        let arguments = [
            "-n",
            namespace,
            "get",
            target,
            "-o",
            "json",
            "--show-managed-fields",
        ];
        let text = self.cluster.kubectl(&arguments).await.unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Makes an object without the proxy.
    pub(crate) async fn make(&self, object: Value) {
        self.cluster.apply_object(&object).await.unwrap();
    }

    /// A `ConfigMap` in the namespace, with this much more in its metadata.
    pub(crate) fn map(&self, name: &str, more: Value) -> Value {
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": name, "namespace": self.namespace}});
        for (key, value) in more.as_object().unwrap() {
            map["metadata"][key] = value.clone();
        }
        map
    }
}

/// Another resource that can own things: any object will do.
pub(crate) async fn owner(cluster: &TestCluster, namespace: &str, name: &str) -> PrimaryResource {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}});
    cluster.apply_object(&object).await.unwrap();
    let target = format!("configmap/{name}");
    let uid = cluster
        .kubectl(&["-n", namespace, "get", &target, "-o", "jsonpath={.metadata.uid}"])
        .await;
    PrimaryResource {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
        uid: uid.unwrap(),
    }
}

/// kubectl, and others, with the credential of a run.
pub(crate) struct Client<'a> {
    world: &'a World,
    pub(crate) admission: Admission,
    kubeconfig: PathBuf,
}

impl Client<'_> {
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.cluster.kubectl_command(self.world.cluster.admin());
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .args(["-n", &self.world.namespace])
            .args(arguments);
        // By WebSocket it takes no address with a user.
        for feature in [
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS",
            "KUBECTL_PORT_FORWARD_WEBSOCKETS",
        ] {
            command.env(feature, "false");
        }
        let mut command = Command::from(command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn try_kubectl(&self, arguments: &[&str], input: &Value) -> Output {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // kubectl may have ended before it has read all of it.
        let _ = stdin.write_all(input.to_string().as_bytes()).await;
        drop(stdin);
        child.wait_with_output().await.unwrap()
    }

    /// What kubectl prints, which is to succeed.
    pub(crate) async fn kubectl(&self, arguments: &[&str], input: &Value) -> String {
        let output = self.try_kubectl(arguments, input).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What kubectl says where it fails.
    pub(crate) async fn refused(&self, arguments: &[&str], input: &Value) -> String {
        let output = self.try_kubectl(arguments, input).await;
        assert!(!output.status.success(), "kubectl {arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// A request of the run as bytes, and all of its answer.
    pub(crate) async fn raw(&self, request_line: &str, headers: &[&str], body: &str) -> String {
        let bearer = format!("Authorization: Bearer {}", self.admission.credential().secret());
        let mut all = vec![bearer.as_str()];
        all.extend(headers);
        ask(self.world.port, request_line, &all, body).await
    }
}

/// A request as bytes, and all of its answer.
pub(crate) async fn ask(port: u16, request_line: &str, headers: &[&str], body: &str) -> String {
    use tokio::io::AsyncReadExt as _;
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut head = format!(
        "{request_line} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|header| header.starts_with("Connection")) {
        head.push_str("Connection: close\r\n");
    }
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}
