//! Starting, using and stopping one control plane.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use serde_json::Value;

use super::assets::Assets;
use super::audit::{AuditLog, AuditMark, AuditReader};
use super::certificates::Authority;
use super::component::{self, Component, Ports};
use super::error::{ControlPlaneError, io_failed};
use super::kubeconfig::{self, User};
use super::readiness;
use super::supervisor::Supervisor;
use crate::ports::free_port;

/// How often a start is tried when another process takes a port between its choice and its use.
const PORT_ATTEMPTS: usize = 3;

/// How long a component may take until it serves. A loaded machine with two cores needs a tenth of it.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// A Kubernetes API: one that was started here, or one that exists already.
///
/// One that was started here stops when this value is dropped or when the process ends, in whatever way;
/// no process and no file is left behind.
#[derive(Debug)]
pub struct ControlPlane {
    admin: User,
    assets: Option<Assets>,
    /// For kubeconfigs and the caches of kubectl and helm.
    folder: PathBuf,
    users_made: AtomicU32,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Started(Box<Started>),
    Existing { _folder: tempfile::TempDir },
}

#[derive(Debug)]
struct Started {
    authority: Authority,
    server: String,
    supervisor: Supervisor,
}

impl ControlPlane {
    /// Starts etcd, kube-apiserver and kube-controller-manager on free loopback ports and waits until all serve.
    ///
    /// It blocks for about 4 s and may be called in and outside of an async runtime.
    ///
    /// # Errors
    ///
    /// A program can't be run, ends, or does not serve in time: then the error quotes its log.
    pub fn start(assets: &Assets) -> Result<Self, ControlPlaneError> {
        let mut attempt = 1;
        loop {
            match Self::start_on(free_ports()?, assets) {
                Err(ControlPlaneError::Component { log, .. })
                    if attempt < PORT_ATTEMPTS && log.contains("address already in use") => {}
                result => return result,
            }
            attempt += 1;
        }
    }

    /// Uses a cluster that exists, with the current context of a kubeconfig as the admin. Nothing of it is stopped.
    ///
    /// Users are impersonated there; the audit log and the components are out of reach.
    ///
    /// # Errors
    ///
    /// The system gives no temporary folder.
    pub fn existing(kubeconfig: &Path) -> Result<Self, ControlPlaneError> {
        let folder = temporary_folder()?;
        Ok(Self {
            admin: User::new("admin", kubeconfig.to_path_buf()),
            assets: Assets::find().ok(),
            folder: folder.path().to_path_buf(),
            users_made: AtomicU32::new(0),
            backing: Backing::Existing { _folder: folder },
        })
    }

    /// A user who may do everything.
    #[must_use]
    pub fn admin(&self) -> &User {
        &self.admin
    }

    /// A client that may do everything, for the async runtime it is asked for in.
    ///
    /// # Errors
    ///
    /// The kubeconfig of an existing cluster is unreadable or incomplete.
    pub async fn client(&self) -> Result<Client, ControlPlaneError> {
        self.admin.client().await
    }

    /// A user of that name in those groups, who may do nothing until RBAC says so. RBAC and the audit log see
    /// the name. With more than one group, and on an existing cluster, the admin impersonates the user.
    ///
    /// # Errors
    ///
    /// The certificate or kubeconfig can't be written.
    pub fn user(&self, name: &str, groups: &[&str]) -> Result<User, ControlPlaneError> {
        let number = self.users_made.fetch_add(1, Ordering::Relaxed);
        let file = format!("user-{number}");
        if let (Backing::Started(started), [] | [_]) = (&self.backing, groups) {
            return issue_user(
                &started.authority,
                &started.server,
                &file,
                name,
                groups.first().copied(),
            );
        }
        let path = self.folder.join(file).with_extension("kubeconfig");
        kubeconfig::write_impersonating(&path, self.admin.kubeconfig(), name, groups)?;
        Ok(User::new(name, path))
    }

    /// A folder for files of the caller, removed with the control plane.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The end of the audit log now, for [`ControlPlane::audit_since`]: behind every request that was answered before the call.
    ///
    /// # Errors
    ///
    /// See [`ControlPlane::audit_since`].
    pub async fn audit_mark(&self) -> Result<AuditMark, ControlPlaneError> {
        let path = self.audit_path()?;
        let end = fs::metadata(&path).map_err(io_failed("read", &path))?.len();
        let (reader, _) = self.audit_until_now(&path, AuditMark(end)).await?;
        Ok(reader.end())
    }

    /// All requests so far, one entry for each.
    ///
    /// # Errors
    ///
    /// See [`ControlPlane::audit_since`].
    pub async fn audit(&self) -> Result<AuditLog, ControlPlaneError> {
        self.audit_since(AuditMark::default()).await
    }

    /// The requests that ended after a mark, and the watches opened since. Every request that was answered before
    /// the call is in it.
    ///
    /// # Errors
    ///
    /// The log can't be read, the API server does not answer, or the cluster is not ours.
    pub async fn audit_since(&self, mark: AuditMark) -> Result<AuditLog, ControlPlaneError> {
        let path = self.audit_path()?;
        let (reader, last) = self.audit_until_now(&path, mark).await?;
        let mut log = reader.log()?;
        log.requests.retain(|request| request.uri != last);
        Ok(log)
    }

    /// The log from a mark on, to a request of our own, and its URI: an event is written shortly after its answer was sent.
    async fn audit_until_now<'a>(
        &self,
        path: &'a Path,
        mark: AuditMark,
    ) -> Result<(AuditReader<'a>, String), ControlPlaneError> {
        let number = self.users_made.fetch_add(1, Ordering::Relaxed);
        let last = format!("/version?audit={number}");
        readiness::get(&self.client().await?, &last).await?;
        let mut reader = AuditReader::open(path, mark)?;
        while !reader.has_come(&last)? {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok((reader, last))
    }

    /// `kubectl` as a user, ready to get arguments and be run.
    #[must_use]
    pub fn kubectl_command(&self, user: &User) -> Command {
        let mut command = self.command("kubectl", user);
        command.env("KUBECACHEDIR", self.folder.join("kubectl-cache"));
        command
    }

    /// Helm as a user, ready to get arguments and be run. It sees no plugins or repositories of the machine.
    #[must_use]
    pub fn helm_command(&self, user: &User) -> Command {
        let mut command = self.command("helm", user);
        for kind in ["CACHE", "CONFIG", "DATA"] {
            command.env(
                format!("HELM_{kind}_HOME"),
                self.folder.join("helm").join(kind.to_lowercase()),
            );
        }
        command
    }

    /// Runs `kubectl` as the admin and returns its standard output.
    ///
    /// # Errors
    ///
    /// It can't be run, or its status is not 0: then the error has its standard error.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String, ControlPlaneError> {
        super::command::run(self.kubectl_command(&self.admin), arguments, "").await
    }

    /// Runs Helm as the admin and returns its standard output.
    ///
    /// # Errors
    ///
    /// It can't be run, or its status is not 0: then the error has its standard error.
    pub async fn helm(&self, arguments: &[&str]) -> Result<String, ControlPlaneError> {
        super::command::run(self.helm_command(&self.admin), arguments, "").await
    }

    /// Applies YAML documents server-side as the admin.
    ///
    /// # Errors
    ///
    /// `kubectl` refuses them.
    pub async fn apply(&self, yaml: &str) -> Result<String, ControlPlaneError> {
        // The server judges; kubectl would read a description of all kinds first.
        let arguments = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--validate=false",
            "-f",
            "-",
        ];
        super::command::run(self.kubectl_command(&self.admin), &arguments, yaml).await
    }

    /// Applies an object, or those of a `List`, server-side as the admin, in the namespace `default` if it names none: what
    /// [`ControlPlane::apply`] does, without a start of kubectl, which costs more than the request.
    ///
    /// # Errors
    ///
    /// It is no object, its kind is not served, or the API server refuses it.
    pub async fn apply_object(&self, object: &Value) -> Result<(), ControlPlaneError> {
        super::apply::apply(&self.client().await?, object).await
    }

    /// Stops a component in order and returns when it has ended. What it kept stays.
    ///
    /// # Errors
    ///
    /// The cluster is not ours, or its supervisor was ended.
    pub fn stop_component(&self, component: Component) -> Result<(), ControlPlaneError> {
        self.supervisor()?.stop_component(component, false)
    }

    /// Ends a component at once, as a crash would.
    ///
    /// # Errors
    ///
    /// The cluster is not ours, or its supervisor was ended.
    pub fn kill_component(&self, component: Component) -> Result<(), ControlPlaneError> {
        self.supervisor()?.stop_component(component, true)
    }

    /// Starts a component that was stopped or killed, on its old port, and waits until it serves.
    ///
    /// # Errors
    ///
    /// It does not serve in time, or the cluster is not ours.
    pub fn start_component(&self, component: Component) -> Result<(), ControlPlaneError> {
        let supervisor = self.supervisor()?;
        supervisor.start_component(component)?;
        readiness::wait(&self.admin, supervisor, component, READY_WITHIN)
    }

    /// Stops what was started and returns when every process has ended and every file is gone.
    ///
    /// # Errors
    ///
    /// A file can't be removed.
    pub fn stop(self) -> Result<(), ControlPlaneError> {
        match &self.backing {
            Backing::Started(started) => started
                .supervisor
                .finish()
                .map_err(io_failed("remove", &self.folder)),
            Backing::Existing { .. } => Ok(()),
        }
    }

    fn start_on(ports: Ports, assets: &Assets) -> Result<Self, ControlPlaneError> {
        // From here on the folder is the supervisor's to remove.
        let folder = temporary_folder()?.keep();
        let supervisor = Supervisor::start(&folder)?;
        let authority = Authority::create(&folder)?;
        let server = format!("https://127.0.0.1:{}", ports.api_server);
        let admin = issue_user(&authority, &server, "admin", "admin", Some("system:masters"))?;
        let manager = Component::ControllerManager.name();
        let manager = issue_user(
            &authority,
            &server,
            manager,
            "system:kube-controller-manager",
            None,
        )?;
        write(
            &folder.join("audit-policy.yaml"),
            include_str!("audit-policy.yaml"),
        )?;
        for (component, arguments) in [
            (Component::Etcd, component::etcd_arguments(ports)),
            (
                Component::ApiServer,
                component::api_server_arguments(ports, &authority.issue_server()?),
            ),
            (
                Component::ControllerManager,
                component::controller_manager_arguments(manager.kubeconfig()),
            ),
        ] {
            let script = component::script(component, assets, &arguments);
            write(&folder.join(format!("{component}.sh")), &script)?;
        }

        let begun = Instant::now();
        supervisor.start_component(Component::Etcd)?;
        supervisor.start_component(Component::ApiServer)?;
        readiness::wait(&admin, &supervisor, Component::ApiServer, READY_WITHIN)?;
        // It gives up when the API server does not answer soon, so it comes last.
        supervisor.start_component(Component::ControllerManager)?;
        let left = READY_WITHIN.saturating_sub(begun.elapsed());
        readiness::wait(&admin, &supervisor, Component::ControllerManager, left)?;
        Ok(Self {
            admin,
            assets: Some(assets.clone()),
            folder,
            users_made: AtomicU32::new(0),
            backing: Backing::Started(Box::new(Started {
                authority,
                server,
                supervisor,
            })),
        })
    }

    fn command(&self, program: &str, user: &User) -> Command {
        let path = self
            .assets
            .as_ref()
            .map_or_else(|| PathBuf::from(program), |assets| assets.program(program));
        let mut command = Command::new(path);
        command.env("KUBECONFIG", user.kubeconfig());
        command
    }

    fn supervisor(&self) -> Result<&Supervisor, ControlPlaneError> {
        match &self.backing {
            Backing::Started(started) => Ok(&started.supervisor),
            Backing::Existing { .. } => Err(ControlPlaneError::NotOurs("start or stop a component")),
        }
    }

    fn audit_path(&self) -> Result<PathBuf, ControlPlaneError> {
        match &self.backing {
            Backing::Started(_) => Ok(self.folder.join("audit.log")),
            Backing::Existing { .. } => Err(ControlPlaneError::NotOurs("read the audit log")),
        }
    }
}

/// A certificate and a kubeconfig, both named by `file`, in the authority's folder.
fn issue_user(
    authority: &Authority,
    server: &str,
    file: &str,
    name: &str,
    group: Option<&str>,
) -> Result<User, ControlPlaneError> {
    let credentials = authority.issue_client(file, name, group)?;
    let path = credentials.certificate.with_extension("kubeconfig");
    kubeconfig::write_with_certificate(&path, server, &authority.certificate_file(), name, &credentials)?;
    Ok(User::new(name, path))
}

fn temporary_folder() -> Result<tempfile::TempDir, ControlPlaneError> {
    tempfile::Builder::new()
        .prefix("steersman-control-plane-")
        // It holds the keys of the control plane.
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(io_failed("create a folder in", &std::env::temp_dir()))
}

fn free_ports() -> Result<Ports, ControlPlaneError> {
    let port = || free_port().map_err(io_failed("listen on", Path::new("127.0.0.1")));
    Ok(Ports {
        etcd: port()?,
        etcd_peer: port()?,
        api_server: port()?,
    })
}

fn write(path: &Path, text: &str) -> Result<(), ControlPlaneError> {
    fs::write(path, text).map_err(io_failed("write", path))
}
