//! The three programs of the control plane, and how each is run.

use std::fmt;
use std::path::Path;

use super::assets::Assets;
use super::certificates::KeyFiles;

/// A program of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// Keeps the objects.
    Etcd,
    /// kube-apiserver: what everybody talks to.
    ApiServer,
    /// Collects garbage, empties namespaces, makes `ReplicaSets` out of Deployments and so on.
    ControllerManager,
}

impl Component {
    /// The program's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The loopback ports of one control plane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) etcd: u16,
    pub(super) etcd_peer: u16,
    pub(super) api_server: u16,
}

pub(super) fn etcd_arguments(ports: Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        "--data-dir=etcd".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // The objects live as long as the tests; a power failure may take them.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ]
}

pub(super) fn api_server_arguments(ports: Ports, serving: &KeyFiles) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.api_server),
        "--cert-dir=apiserver".to_owned(),
        format!("--tls-cert-file={}", serving.certificate.display()),
        format!("--tls-private-key-file={}", serving.key.display()),
        "--client-ca-file=ca.crt".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        "--service-account-key-file=service-account.pub".to_owned(),
        "--service-account-signing-key-file=service-account.key".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        // No kubelet runs, so no pod needs the token that this plugin mounts.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--audit-policy-file=audit-policy.yaml".to_owned(),
        "--audit-log-path=audit.log".to_owned(),
        // One file for the whole run: 0 would mean rotation at 100 MB.
        "--audit-log-maxsize=100000".to_owned(),
    ]
}

pub(super) fn controller_manager_arguments(kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--use-service-account-credentials=true".to_owned(),
        "--leader-elect=false".to_owned(),
        "--service-account-private-key-file=service-account.key".to_owned(),
        "--root-ca-file=ca.crt".to_owned(),
        "--cluster-signing-cert-file=ca.crt".to_owned(),
        "--cluster-signing-key-file=ca.key".to_owned(),
        // There are no nodes, no cloud, and nobody to be sent to.
        "--controllers=*,-cloud-node-lifecycle-controller,-node-ipam-controller,-node-lifecycle-controller,\
         -node-route-controller,-service-lb-controller,-taint-eviction-controller,-device-taint-eviction-controller,\
         -ttl-controller,-persistentvolume-attach-detach-controller,-endpoints-controller,-endpointslice-controller,\
         -endpointslice-mirroring-controller"
            .to_owned(),
        "--secure-port=0".to_owned(),
        // Garbage collection and the emptying of namespaces wait for these limits otherwise.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ]
}

/// A shell script that becomes the component. `STEERSMAN_RUN` is the supervisor's prefix.
pub(super) fn script(component: Component, assets: &Assets, arguments: &[String]) -> String {
    // Where as much garbage may lie about as is live, one sixth of an API server's time goes into its collection; up to two
    // gigabytes it is left alone for longer. And each request of its own needs a deeper stack than a goroutine has at first:
    // one that is copied until it is deep enough.
    let mut script =
        "export GOGC=400 GOMEMLIMIT=2GiB GODEBUG=adaptivestackstart=1\nexec ${STEERSMAN_RUN:-} ".to_owned();
    script.push_str(&quoted(&assets.program(component.name()).display().to_string()));
    for argument in arguments {
        script.push_str(" \\\n  ");
        script.push_str(&quoted(argument));
    }
    script.push('\n');
    script
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
