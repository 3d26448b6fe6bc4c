//! Where the keys come from, and when they are read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, PostParams};
use steersman_cluster::RequestError;
use steersman_model::FIELD_MANAGER;
use steersman_project::rbac::SIGNING_KEYS;
use tokio::time::Instant;

use super::content::SignedContent;
use super::keys::{KEY_BYTES, Signature, SigningKeys};
use crate::release::stored::Verdict;

/// The type of the Secret with the keys.
const KEYS_TYPE: &str = "steersman.dev/signing-keys";
/// The name of the first key.
const FIRST_KEY: &str = "key-1";
/// How often at most the keys are read again: anybody can write down a key that nobody has.
const READ_INTERVAL: Duration = Duration::from_secs(2);

/// The keys can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    /// The server refused a request.
    #[error("failed to {attempt} Secret {namespace}/{SIGNING_KEYS} with the keys that sign releases")]
    Request {
        /// A verb: `read` or `create`.
        attempt: &'static str,
        /// The operator's.
        namespace: String,
        /// What the server said.
        source: RequestError,
    },
    /// There is a Secret of that name, and no key in it.
    #[error("Secret {namespace}/{SIGNING_KEYS} has no key of {KEY_BYTES} bytes or more")]
    NoKeys {
        /// The operator's.
        namespace: String,
    },
    /// The system has no randomness.
    #[error("failed to draw a key that signs releases")]
    Randomness,
}

/// Signs revisions, and says which were signed.
#[derive(Debug)]
pub struct Signer {
    keys: Mutex<Arc<SigningKeys>>,
    source: KeySource,
    /// Whether a revision that was signed with a key which is not here is another operator's.
    leaves_others: bool,
    /// When the Secret was read last.
    read: tokio::sync::Mutex<Instant>,
    has_warned: AtomicBool,
}

enum KeySource {
    /// A Secret in the operator's namespace.
    Secret {
        secrets: Box<Api<Secret>>,
        namespace: String,
    },
    /// This process alone.
    Process,
    /// Nothing is signed, and every signature is believed.
    Unchecked,
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Secret { namespace, .. } => write!(f, "Secret {namespace}/{SIGNING_KEYS}"),
            Self::Process => f.write_str("Process"),
            Self::Unchecked => f.write_str("Unchecked"),
        }
    }
}

impl SignerError {
    /// Whether the operator may not have the keys where it looks for them, or there is no such place.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Request { source, .. } if source.code == 403 || source.is_not_found())
    }

    /// Whether the same may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Request { source, .. } if source.is_transient())
    }
}

impl Signer {
    /// With the keys of `namespace`. Where there is none, the first one is created if it `may_create`, and is one of this
    /// process otherwise.
    ///
    /// # Guarantees
    /// Of several processes that find none, all get the same: a key is created, and never written over.
    ///
    /// # Errors
    /// They can't be read or created.
    pub async fn open(client: Client, namespace: &str, may_create: bool) -> Result<Self, SignerError> {
        let secrets: Api<Secret> = Api::namespaced(client, namespace);
        let keys = match read(&secrets, namespace).await? {
            Some(keys) => keys,
            None if !may_create => return Self::of_process(),
            None => create(&secrets, namespace).await?,
        };
        let source = KeySource::Secret {
            secrets: Box::new(secrets),
            namespace: namespace.to_owned(),
        };
        Ok(Self::new(keys, source))
    }

    /// With a key that ends with this process.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn of_process() -> Result<Self, SignerError> {
        let keys = SigningKeys::new([(FIRST_KEY.to_owned(), new_key()?)]);
        Ok(Self::new(keys, KeySource::Process))
    }

    /// For programs that only show what is there: they have no key, and believe every signature.
    pub fn unchecked() -> Self {
        Self::new(SigningKeys::default(), KeySource::Unchecked)
    }

    /// The same signer, which leaves revisions alone that were signed with a key which is not here. Otherwise that key counts
    /// as lost.
    #[must_use]
    pub fn leaving_others(self) -> Self {
        Self {
            leaves_others: true,
            ..self
        }
    }

    fn new(keys: SigningKeys, source: KeySource) -> Self {
        Self {
            keys: Mutex::new(Arc::new(keys)),
            source,
            leaves_others: false,
            read: tokio::sync::Mutex::new(Instant::now()),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Whether a revision with this signature is another operator's, which this process leaves alone. A key that ended with
    /// its process is nobody's.
    pub(crate) fn leaves_alone(&self, signature: &Signature) -> bool {
        self.leaves_others && !signature.is_of_process
    }

    /// Signs a revision, as it is about to be written.
    pub(crate) fn sign(&self, content: &SignedContent<'_>) -> Option<Signature> {
        let mut signature = self.keys().sign(content)?;
        signature.is_of_process = matches!(self.source, KeySource::Process);
        Some(signature)
    }

    /// What `signature` says of a revision. A key that is not known may have been added since the keys were read.
    pub(crate) async fn judge(&self, content: &SignedContent<'_>, signature: &Signature) -> Verdict {
        if matches!(self.source, KeySource::Unchecked) {
            return Verdict::Signed;
        }
        match self.keys().judge(content, signature) {
            Verdict::UnknownKey if self.read_again().await => self.keys().judge(content, signature),
            verdict => verdict,
        }
    }

    /// Says once that the keys lie where releases are: who may read Secrets there can sign whatever they like.
    pub fn warn_of_releases_in(&self, namespace: &str) {
        let KeySource::Secret { namespace: own, .. } = &self.source else {
            return;
        };
        if own == namespace && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %namespace,
                secret = SIGNING_KEYS,
                "the keys that sign releases are in a namespace with releases: whoever may read its Secrets can forge them; \
                 give the operator a namespace of its own"
            );
        }
    }

    /// The keys as they were read last.
    pub fn keys(&self) -> Arc<SigningKeys> {
        Arc::clone(&self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the Secret again, if that was not done lately; whether it was.
    pub async fn read_again(&self) -> bool {
        let KeySource::Secret { secrets, namespace } = &self.source else {
            return false;
        };
        let asked = Instant::now();
        let mut read_at = self.read.lock().await;
        if read_at.elapsed() < READ_INTERVAL {
            // Somebody else may have done it while this one waited.
            return *read_at > asked;
        }
        *read_at = Instant::now();
        match read(secrets, namespace).await {
            Ok(Some(keys)) => {
                *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
                true
            }
            // What this process has signed with stays good.
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(error = %steersman_model::chain(&error), "the keys can't be read again");
                false
            }
        }
    }
}

/// The keys of the Secret; `None` where it is not there.
async fn read(secrets: &Api<Secret>, namespace: &str) -> Result<Option<SigningKeys>, SignerError> {
    let found = secrets.get_opt(SIGNING_KEYS).await;
    let found = found.map_err(|error| request_failed("read", namespace, error.into()))?;
    found.map(|secret| keys_of(secret, namespace)).transpose()
}

fn keys_of(secret: Secret, namespace: &str) -> Result<SigningKeys, SignerError> {
    let data = secret.data.unwrap_or_default().into_iter();
    let keys = SigningKeys::new(data.map(|(name, key)| (name, key.0)));
    if keys.is_empty() {
        let namespace = namespace.to_owned();
        return Err(SignerError::NoKeys { namespace });
    }
    Ok(keys)
}

/// Makes the Secret with its first key, or reads the one that somebody else has made meanwhile.
async fn create(secrets: &Api<Secret>, namespace: &str) -> Result<SigningKeys, SignerError> {
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(SIGNING_KEYS.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        type_: Some(KEYS_TYPE.to_owned()),
        data: Some(BTreeMap::from([(FIRST_KEY.to_owned(), ByteString(new_key()?))])),
        ..Secret::default()
    };
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match secrets.create(&parameters, &secret).await {
        Ok(created) => {
            tracing::info!(%namespace, secret = SIGNING_KEYS, "Created the key that signs releases");
            keys_of(created, namespace)
        }
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = secrets.get(SIGNING_KEYS).await;
            keys_of(
                found.map_err(|error| request_failed("read", namespace, error.into()))?,
                namespace,
            )
        }
        Err(error) => Err(request_failed("create", namespace, error.into())),
    }
}

fn request_failed(attempt: &'static str, namespace: &str, source: RequestError) -> SignerError {
    SignerError::Request {
        attempt,
        namespace: namespace.to_owned(),
        source,
    }
}

fn new_key() -> Result<Vec<u8>, SignerError> {
    let mut key = vec![0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(|_| SignerError::Randomness)?;
    Ok(key)
}
