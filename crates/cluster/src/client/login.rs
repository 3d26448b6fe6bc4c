//! Who we are for the API server, as far as it is to be named.

use kube::client::RustlsTlsError;
use kube::config::{AuthInfo, Kubeconfig};
use steersman_model::{chain, old_certificate};

/// A configuration, and what names its credentials in messages. It holds none.
pub(super) struct Login {
    pub(super) config: kube::Config,
    /// Such as "user `me` of kubeconfig `~/.kube/config`"; empty where there is no kubeconfig.
    pub(super) user: String,
}

impl Login {
    /// Credentials that nothing names.
    pub(super) fn unnamed(config: kube::Config) -> Self {
        let user = String::new();
        Self { config, user }
    }

    /// The program that gives the credentials; empty where there is none.
    pub(super) fn plugin(&self) -> String {
        let exec = self.config.auth_info.exec.as_ref();
        exec.and_then(|exec| exec.command.clone()).unwrap_or_default()
    }

    /// The client certificate by its file, or by the entry that holds it.
    pub(super) fn certificate(&self) -> String {
        let AuthInfo {
            client_certificate,
            client_certificate_data,
            ..
        } = &self.config.auth_info;
        let of_user = match self.user.as_str() {
            "" => String::new(),
            user => format!(" of {user}"),
        };
        match (client_certificate_data, client_certificate) {
            (Some(_), _) => format!("the client certificate{of_user} (`client-certificate-data`)"),
            (None, Some(file)) => format!("the client certificate `{file}`{of_user}"),
            (None, None) => format!(
                "the client certificate of the credential plugin `{}`",
                self.plugin()
            ),
        }
    }
}

/// The user of a context, by the name that the kubeconfig has for it.
pub(super) fn user_of(config: &Kubeconfig, context: Option<&str>, files: &str) -> String {
    let context = context.or(config.current_context.as_deref());
    let found = config
        .contexts
        .iter()
        .find(|named| Some(named.name.as_str()) == context);
    let user = found.and_then(|named| named.context.as_ref()?.user.clone());
    let user = user.unwrap_or_default();
    format!("user `{user}` of kubeconfig {files}")
}

/// What is wrong with a client certificate, which the library says of its key; `None` for another error.
pub(super) fn certificate_fault(error: &kube::Error, certificate: &str) -> Option<String> {
    let kube::Error::RustlsTls(RustlsTlsError::InvalidPrivateKey(error)) = error else {
        return None;
    };
    let said = chain(error);
    let reason = old_certificate(&said).map_or_else(|| said.clone(), str::to_owned);
    Some(format!("{certificate} can't be used with its key: {reason}"))
}
