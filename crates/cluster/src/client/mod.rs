//! The way to the API server.

mod answers;
mod bounded;
mod cut_json;
mod deadline;
mod depth;
mod fence;
mod gate;
mod impersonate;
mod list;
mod login;
mod source;
mod target;
mod tenure;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use answers::AnswerLayer;
pub use answers::OnAnswer;
use bounded::Bounded;
pub use bounded::{AnswerLimits, SharedMemory, weight_of_cut};
use deadline::Deadline;
use depth::Flatten;
use fence::Fence;
use gate::Gate;
use hyper::http::uri::Authority;
use impersonate::OneUser;
pub use impersonate::ServiceAccount;
use kube::Client;
use kube::client::{AuthError, ClientBuilder};
pub use list::{Pages, list_all};
use login::{Login, certificate_fault};
use source::{Source, load_files};
use steersman_model::{Environment, chain, old_certificate};
pub use target::{Overrides, Target};
pub use tenure::Tenure;

/// How long the API server may take to answer the first request.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// How many objects a watch asks for at a time when it begins: all of a page are in memory at once.
pub const PAGE: u32 = 25;

/// How long the API server may take to answer. It gives up itself after a minute.
const ANSWER: Duration = Duration::from_secs(75);

/// How long a connection may be silent. The server ends a watch after 290 seconds, as it is asked to.
const SILENCE: Duration = Duration::from_mins(5);

/// The namespace of the pod that we run in.
const POD_NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Why the API server cannot be talked to. No text of these holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is neither a kubeconfig nor a service account.
    #[error("found no way to a Kubernetes API server")]
    NoConfiguration,
    /// A kubeconfig cannot be used.
    #[error("failed to read kubeconfig {source_name}: {reason}")]
    Kubeconfig {
        /// The file or files.
        source_name: String,
        /// What is wrong.
        reason: String,
    },
    /// The service account of the pod cannot be used.
    #[error("failed to read the service account of this pod: {reason}")]
    ServiceAccount {
        /// What is wrong.
        reason: String,
    },
    /// The credentials cannot be had or sent.
    #[error("failed to log in to the API server at {address}: {reason}")]
    Credentials {
        /// The server.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The server does not answer.
    #[error("failed to reach the API server at {address}: {reason}")]
    Unreachable {
        /// The server.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The server answers, and refuses us.
    #[error("the API server at {address} refuses us: {reason}")]
    Refused {
        /// The server.
        address: String,
        /// What it says.
        reason: String,
    },
}

impl ConnectError {
    /// What the user can do about it, where that is not plain from the message.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoConfiguration => Some(
                "set KUBECONFIG or --kubeconfig to a kubeconfig, have one at ~/.kube/config, or run in a pod with a \
                 service account",
            ),
            Self::Unreachable { .. } => {
                Some("is the cluster running, and is this the server that the kubeconfig should name?")
            }
            Self::Refused { .. } => Some("are the credentials of the kubeconfig still valid?"),
            Self::Kubeconfig { .. } | Self::ServiceAccount { .. } | Self::Credentials { .. } => None,
        }
    }
}

/// What a client does besides sending requests: it reports answers, gives those up that are too large, and writes only while
/// the lease is held.
pub struct ClientOptions {
    /// Called for every answer.
    pub on_answer: OnAnswer,
    /// Until when anything may be written.
    pub tenure: Tenure,
    /// How large answers may be.
    pub limits: AnswerLimits,
}

/// What becomes of requests and answers on their way.
struct Options {
    on_answer: OnAnswer,
    tenure: Tenure,
    bounded: Bounded,
}

impl Default for Options {
    /// For commands, which do one thing, as long as they like.
    fn default() -> Self {
        Self::bounded(Bounded::of_text(usize::MAX))
    }
}

impl Options {
    fn bounded(bounded: Bounded) -> Self {
        Self {
            on_answer: Arc::new(|_, _, _| {}),
            tenure: Tenure::default(),
            bounded,
        }
    }

    fn of_operator(options: ClientOptions) -> Self {
        Self {
            on_answer: options.on_answer,
            tenure: options.tenure,
            bounded: Bounded::new(options.limits),
        }
    }
}

impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientOptions").finish_non_exhaustive()
    }
}

/// Connects to the API server that flag, environment, pod or home directory name, and has it answer once.
///
/// # Errors
/// There is none to connect to, it is not reached within ten seconds, or it does not let us in.
pub async fn connect(
    kubeconfig: Option<&Path>,
    environment: &Environment,
    options: Option<ClientOptions>,
) -> Result<Client, ConnectError> {
    let source = Source::find(kubeconfig, environment).ok_or(ConnectError::NoConfiguration)?;
    let options = options.map_or_else(Options::default, Options::of_operator);
    Box::pin(open(source.load().await?, options)).await
}

/// The configuration that [`connect`] connects by, for who makes a client of another kind. The server is not asked.
///
/// # Errors
/// There is no configuration, or it can't be read.
pub async fn configuration(
    kubeconfig: Option<&Path>,
    environment: &Environment,
) -> Result<kube::Config, ConnectError> {
    let source = Source::find(kubeconfig, environment).ok_or(ConnectError::NoConfiguration)?;
    Ok(source.load().await?.config)
}

/// A client of the server that `config` names, known by this token alone: whom the configuration names does not count. Its answers
/// have part of a memory that others share.
///
/// # Errors
/// The server is not reached within ten seconds, or does not take the token.
pub async fn connect_by_token(
    config: &kube::Config,
    token: String,
    memory: &SharedMemory,
) -> Result<Client, ConnectError> {
    let mut config = config.clone();
    config.auth_info = kube::config::AuthInfo::default();
    config.auth_info.token = Some(token.into());
    open(Login::unnamed(config), Options::bounded(Bounded::sharing(memory))).await
}

/// A client that the API server has answered once.
async fn open(login: Login, options: Options) -> Result<Client, ConnectError> {
    let (plugin, certificate) = (login.plugin(), login.certificate());
    let mut config = login.config;
    config.connect_timeout = Some(FIRST_ANSWER);
    config.read_timeout = Some(SILENCE);
    let address = address(&config);
    let host = config.cluster_url.authority().map_or_else(String::new, host_of);
    let is_another = config.auth_info.impersonate.is_some() || config.auth_info.impersonate_groups.is_some();
    let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError::Credentials {
        address: address.clone(),
        reason: certificate_fault(&error, &certificate).unwrap_or_else(|| client_error(&error, &plugin)),
    })?;
    let Options {
        on_answer,
        tenure,
        bounded,
    } = options;
    // All clients are of one type, as each takes a hundred kilobytes of the program. Inside of what counts answers: one that does not
    // come is counted as an error.
    let client = builder
        .with_layer(&Flatten)
        .with_layer(&bounded)
        .with_layer(&Deadline(ANSWER))
        .with_layer(&Gate(OneUser { is_another }))
        .with_layer(&AnswerLayer {
            host: host.into(),
            on_answer,
        })
        .with_layer(&Gate(Fence(tenure)))
        .build();
    match tokio::time::timeout(FIRST_ANSWER, client.apiserver_version()).await {
        Ok(Ok(version)) => {
            tracing::debug!(server = %address, version = %version.git_version, "Connected to the API server");
            Ok(client)
        }
        Ok(Err(kube::Error::Api(status))) => Err(ConnectError::Refused {
            address,
            reason: format!("{} {}", status.code, status.message),
        }),
        Ok(Err(error @ kube::Error::Auth(_))) => Err(ConnectError::Credentials {
            address,
            reason: client_error(&error, &plugin),
        }),
        Ok(Err(error)) => Err(ConnectError::Unreachable {
            address,
            reason: client_error(&error, &plugin),
        }),
        Err(_) => {
            let reason = format!("no answer within {} seconds", FIRST_ANSWER.as_secs());
            Err(ConnectError::Unreachable { address, reason })
        }
    }
}

/// The namespace of the pod that we run in, if we run in one.
pub fn pod_namespace() -> Option<String> {
    let text = std::fs::read_to_string(POD_NAMESPACE_FILE).ok()?;
    Some(text.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}

/// The server without what a URL can hold besides: user, password, query.
fn address(config: &kube::Config) -> String {
    let url = &config.cluster_url;
    let port = url.port_u16().map_or_else(String::new, |port| format!(":{port}"));
    format!(
        "{}://{}{port}",
        url.scheme_str().unwrap_or("https"),
        url.host().unwrap_or_default()
    )
}

/// Host and port, without what else can stand there: user and password.
fn host_of(authority: &Authority) -> String {
    let port = authority
        .port_u16()
        .map_or_else(String::new, |port| format!(":{port}"));
    format!("{}{port}", authority.host())
}

/// An error of the client in words, without what a credential plugin prints, and without the environment that kube
/// shows as part of its command.
fn client_error(error: &kube::Error, plugin: &str) -> String {
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            format!("the credential plugin `{plugin}` failed: {}", out.status)
        }
        kube::Error::Auth(AuthError::AuthExecStart(error)) => {
            format!("the credential plugin `{plugin}` cannot be started: {error}")
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            format!("the credential plugin `{plugin}` printed something that is no ExecCredential")
        }
        kube::Error::Service(cause) => {
            let text = chain(cause.as_ref());
            match old_certificate(&text) {
                Some(reason) => format!("its certificate can't be used: {reason}"),
                None => text,
            }
        }
        other => chain(other),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use steersman_model::Environment;

    use super::connect;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    async fn check(text: Option<&str>, expect: &Expect) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let error = connect(Some(&path), &environment(&[]), None).await.err().unwrap();
        expect.assert_eq(&error.to_string().replace(folder.path().to_str().unwrap(), "DIR"));
    }

    fn with_user(server: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: u, user: {user}}}]\n"
        )
    }

    #[tokio::test]
    async fn a_broken_kubeconfig_is_named_without_quoting_from_it() {
        check(
            None,
            &expect!["failed to read kubeconfig `DIR/config`: No such file or directory (os error 2)"],
        )
        .await;
        check(
            Some("token: [canary\nx: {"),
            &expect!["failed to read kubeconfig `DIR/config`: line 2 is not valid YAML"],
        )
        .await;
        check(
            Some("users: canary"),
            &expect!["failed to read kubeconfig `DIR/config`: it is YAML, but not a kubeconfig"],
        )
        .await;
        check(Some(""), &expect!["failed to read kubeconfig `DIR/config`: it names no current context; choose one with `kubectl config use-context NAME`"]).await;
        check(
            Some("current-context: gone"),
            &expect!["failed to read kubeconfig `DIR/config`: failed to load current context: gone"],
        )
        .await;
    }

    #[tokio::test]
    async fn an_unreachable_server_is_named_without_its_credentials() {
        let config = with_user("http://user:canary@127.0.0.1:1/x?canary", "{token: canary}");
        check(Some(&config), &expect!["failed to reach the API server at http://127.0.0.1:1: client error (Connect): tcp connect error: Connection refused (os error 111)"]).await;
    }

    #[tokio::test]
    async fn what_a_credential_plugin_prints_is_not_shown() {
        let exec = |script: &str| {
            format!(
                "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: ['-c', '{script}']}}}}"
            )
        };
        let config = with_user("http://127.0.0.1:1", &exec("echo canary; exit 3"));
        check(Some(&config), &expect!["failed to log in to the API server at http://127.0.0.1:1: the credential plugin `sh` failed: exit status: 3"]).await;
        let config = with_user("http://127.0.0.1:1", &exec("echo canary"));
        check(Some(&config), &expect!["failed to log in to the API server at http://127.0.0.1:1: the credential plugin `sh` printed something that is no ExecCredential"]).await;
    }
}
