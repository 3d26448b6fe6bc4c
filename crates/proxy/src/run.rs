//! The runs that are let in, each by its credential.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;
use steersman_cluster::PrimaryResource;
use steersman_cluster::client::ServiceAccount;
use tokio_util::sync::CancellationToken;

use crate::credential::{Credential, CredentialDigest, CredentialError, presented};
use crate::mark::{Marks, Unowned};
use crate::upstream::Impersonated;

/// How many objects of a run are noted that lack the label: those of all others are found by the next run.
const MAX_UNLABELLED: usize = 1000;

/// A run: whose requests these are, and as whom they are sent. No client can change any of it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The resource that is reconciled.
    pub owner: PrimaryResource,
    /// The account by whose rights things are done; the operator's own where there is none.
    pub account: Option<ServiceAccount>,
    /// How objects are marked.
    pub marks: Marks,
    /// What becomes of objects of nobody.
    pub unowned: Unowned,
}

impl Run {
    /// A run with full marks that leaves objects of nobody alone.
    pub fn new(owner: PrimaryResource, account: Option<ServiceAccount>) -> Self {
        Self {
            owner,
            account,
            marks: Marks::default(),
            unowned: Unowned::default(),
        }
    }
}

/// Tells runs of one proxy apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(u64);

/// Why a run is not let in.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// There are no random numbers.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// No account can have this name.
    #[error("failed to admit a run as {account}: no header can have the name")]
    Name {
        /// The one that was to be impersonated.
        account: ServiceAccount,
    },
    /// The operator acts as another user itself.
    #[error(
        "failed to admit a run as {account}: the operator's own configuration acts as another user already"
    )]
    TwoUsers {
        /// The one that was to be impersonated.
        account: ServiceAccount,
    },
}

/// A run that was let in.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    pub(crate) id: RunId,
    pub(crate) run: Run,
    pub(crate) impersonated: Option<Impersonated>,
    pub(crate) end: CancellationToken,
    unlabelled: Mutex<Unlabelled>,
}

/// UIDs of the owner's objects without its label, by their paths.
pub(crate) type Unlabelled = BTreeMap<String, String>;

impl ActiveRun {
    /// Notes whether an object of the owner's lacks its label.
    pub(crate) fn note(&self, path: &str, uid: &str, is_labelled: bool) {
        let mut unlabelled = self.unlabelled();
        if is_labelled {
            unlabelled.remove(path);
        } else if unlabelled.len() < MAX_UNLABELLED {
            unlabelled.insert(path.to_owned(), uid.to_owned());
        }
    }

    pub(crate) fn take_unlabelled(&self) -> Unlabelled {
        std::mem::take(&mut *self.unlabelled())
    }

    fn unlabelled(&self) -> MutexGuard<'_, Unlabelled> {
        self.unlabelled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All runs that are let in now.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<Registry>);

#[derive(Debug, Default)]
struct Registry {
    admitted: u64,
    active: BTreeMap<CredentialDigest, Arc<ActiveRun>>,
}

impl Runs {
    pub(crate) fn admit(
        &self,
        run: Run,
        may_impersonate: bool,
    ) -> Result<(Credential, Arc<ActiveRun>), AdmitError> {
        let impersonated = match &run.account {
            Some(account) if !may_impersonate => {
                return Err(AdmitError::TwoUsers {
                    account: account.clone(),
                });
            }
            Some(account) => {
                let named = Impersonated::new(account);
                Some(named.map_err(|_| AdmitError::Name {
                    account: account.clone(),
                })?)
            }
            None => None,
        };
        let credential = Credential::draw()?;
        let mut registry = self.registry();
        registry.admitted += 1;
        let active = Arc::new(ActiveRun {
            id: RunId(registry.admitted),
            run,
            impersonated,
            end: CancellationToken::new(),
            unlabelled: Mutex::default(),
        });
        registry.active.insert(credential.digest(), Arc::clone(&active));
        Ok((credential, active))
    }

    /// The run whose credential a request shows.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<Arc<ActiveRun>> {
        let registry = self.registry();
        presented(headers)
            .iter()
            .find_map(|digest| registry.active.get(digest).cloned())
    }

    /// Ends a run: its credential is unknown from here on, and what is open for it is closed.
    pub(crate) fn revoke(&self, credential: &Credential) {
        let ended = self.registry().active.remove(&credential.digest());
        if let Some(run) = ended {
            run.end.cancel();
        }
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HeaderValue};

    use super::*;

    fn run(account: Option<&str>) -> Run {
        let owner = PrimaryResource {
            api_version: "example.com/v1".to_owned(),
            kind: "Shop".to_owned(),
            namespace: None,
            name: "toys".to_owned(),
            uid: "u-1".to_owned(),
        };
        let of_name = |name: &str| ServiceAccount {
            namespace: "a".to_owned(),
            name: name.to_owned(),
        };
        Run::new(owner, account.map(of_name))
    }

    #[test]
    fn a_credential_leads_to_its_run_until_it_is_revoked() {
        let runs = Runs::default();
        let (credential, active) = runs.admit(run(None), true).unwrap();
        let (other, _) = runs.admit(run(None), true).unwrap();
        let bearer = |credential: &Credential| {
            let value = HeaderValue::try_from(format!("Bearer {}", credential.secret())).unwrap();
            HeaderMap::from_iter([(AUTHORIZATION, value)])
        };
        assert_eq!(runs.of(&bearer(&credential)).unwrap().id, active.id);
        assert_ne!(runs.of(&bearer(&other)).unwrap().id, active.id);
        assert!(runs.of(&HeaderMap::new()).is_none());
        runs.revoke(&credential);
        assert!(runs.of(&bearer(&credential)).is_none());
        assert!(active.end.is_cancelled());
        assert!(runs.of(&bearer(&other)).is_some());
    }

    #[test]
    fn nobody_is_let_in_as_nobody_or_as_two() {
        let runs = Runs::default();
        assert!(matches!(
            runs.admit(run(Some("a\nb")), true),
            Err(AdmitError::Name { .. })
        ));
        assert!(matches!(
            runs.admit(run(Some("b")), false),
            Err(AdmitError::TwoUsers { .. })
        ));
        assert!(runs.admit(run(Some("b")), true).is_ok());
    }

    #[test]
    fn what_is_noted_of_a_run_is_bounded() {
        let (_, active) = Runs::default().admit(run(None), true).unwrap();
        for number in 0..2 * MAX_UNLABELLED {
            active.note(&number.to_string(), "u", false);
        }
        active.note("0", "u", true);
        assert_eq!(active.take_unlabelled().len(), MAX_UNLABELLED - 1);
        assert!(active.take_unlabelled().is_empty());
    }
}
