//! What can go wrong with a control plane.

use std::io;
use std::path::{Path, PathBuf};

use super::component::Component;

/// Why a control plane does not start, or does not do what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    /// The programs of the control plane are not there.
    #[error("the programs of the control plane are missing: {0}")]
    AssetsMissing(String),
    /// The system refused something.
    #[error("cannot {attempt} {path}")]
    Io {
        /// A verb, such as `run`: the path follows.
        attempt: &'static str,
        /// On which file, folder or program.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A key or certificate can't be made.
    #[error("cannot make a certificate for {subject}")]
    Certificate {
        /// Whom it was meant for.
        subject: String,
        /// What the library says.
        source: rcgen::Error,
    },
    /// A component ended, or did not become ready in time.
    #[error("{component} {what}; its log ends with:\n{log}")]
    Component {
        /// Shown as its program, `kube-apiserver`.
        component: Component,
        /// What happened to it.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// The process that supervises the components ended.
    #[error("the supervisor of the control plane is gone; its log: {0}")]
    SupervisorGone(String),
    /// An existing cluster was asked for something that needs a control plane of our own.
    #[error("cannot {0} on an existing cluster")]
    NotOurs(&'static str),
    /// A kubeconfig can't be read or gives no client.
    #[error("cannot use kubeconfig {path}")]
    Kubeconfig {
        /// Where it was looked for.
        path: PathBuf,
        /// What the client library says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server refused a request of the testkit itself.
    #[error("cannot {attempt}")]
    Request {
        /// As it follows `cannot`.
        attempt: String,
        /// The API server's answer.
        source: Box<kube::Error>,
    },
    /// A user is not allowed what roles and bindings were to allow.
    #[error("{user} was not allowed to {action} within 30 s")]
    NeverAllowed {
        /// As role bindings have it.
        user: String,
        /// Verb and resource.
        action: String,
    },
    /// A program such as kubectl or helm failed.
    #[error("{command} failed: {message}")]
    Command {
        /// The program with its arguments.
        command: String,
        /// Its standard error, and standard output where that says more.
        message: String,
    },
    /// An operator under test did not behave as a process.
    #[error("the operator {what}; its log ends with:\n{log}")]
    Operator {
        /// What it did.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// A line of the audit log can't be read.
    #[error("cannot read the audit log {path}")]
    Audit {
        /// Where kube-apiserver writes it.
        path: PathBuf,
        /// No JSON, or not the fields of an event.
        source: serde_json::Error,
    },
}

/// Attaches the attempt and the path to an error of the system.
pub(super) fn io_failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ControlPlaneError {
    let path = path.to_path_buf();
    move |source| ControlPlaneError::Io {
        attempt,
        path,
        source,
    }
}
