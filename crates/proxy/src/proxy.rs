//! The proxy, and the runs that it lets in.

use std::fmt;
use std::sync::Arc;

use crate::body::Budget;
use crate::credential::Credential;
use crate::exchange::{Exchange, Fence};
use crate::kinds::Kinds;
use crate::observe::Observer;
use crate::run::{ActiveRun, AdmitError, Run, RunId, Runs};
use crate::upstream::Upstream;

/// What all runs of a proxy have in common.
#[derive(Clone)]
pub struct Settings {
    /// Whose the fields are that are written by clients that do not say.
    pub field_manager: String,
    /// Asked before each write; `()` allows all of them.
    pub fence: Arc<dyn Fence>,
    /// Told of what passes; `()` does not listen.
    pub observer: Arc<dyn Observer>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("field_manager", &self.field_manager)
            .finish_non_exhaustive()
    }
}

/// Stands between the roles that reconcile resources and the API server: it knows for each request which run has sent it, sends
/// it on as that may, and marks what is made as the resource's.
///
/// Clones share everything. Where it listens is a [`Port`](crate::Port).
///
/// ```
/// use std::sync::Arc;
/// use steersman_cluster::PrimaryResource;
/// use steersman_proxy::{Port, Proxy, Run, Settings, Upstream, kubeconfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let upstream = Upstream::new(&kube::Config::new("https://10.0.0.1".parse()?))?;
/// let settings = Settings { field_manager: "steersman".to_owned(), fence: Arc::new(()), observer: Arc::new(()) };
/// let proxy = Proxy::new(upstream, settings);
/// let port = Port::bind(0).await?;
/// let number = port.number();
/// tokio::spawn(port.serve(proxy.clone()));
///
/// let owner = PrimaryResource {
///     api_version: "example.com/v1".to_owned(),
///     kind: "Shop".to_owned(),
///     namespace: Some("team-a".to_owned()),
///     name: "toys".to_owned(),
///     uid: "0b53".to_owned(),
/// };
/// let admission = proxy.admit(Run::new(owner, None))?;
/// let file = kubeconfig(number, admission.credential());
/// assert!(file.contains("server: http://"));
/// // ... write the file with mode 0600, run the role, and then:
/// admission.finish().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Proxy {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) runs: Arc<Runs>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").finish_non_exhaustive()
    }
}

impl Proxy {
    /// A proxy that lets nobody in yet.
    pub fn new(upstream: Upstream, settings: Settings) -> Self {
        let exchange = Exchange {
            upstream,
            kinds: Kinds::default(),
            bodies: Budget::default(),
            answers: Budget::default(),
            field_manager: settings.field_manager,
            fence: settings.fence,
            observer: settings.observer,
        };
        Self {
            exchange: Arc::new(exchange),
            runs: Arc::default(),
        }
    }

    /// Lets a run in, until what is returned is dropped.
    ///
    /// # Errors
    /// There is no credential for it, or it can't have the account that it names.
    pub fn admit(&self, run: Run) -> Result<Admission, AdmitError> {
        let (credential, run) = self.runs.admit(run, self.exchange.upstream.may_impersonate())?;
        Ok(Admission {
            proxy: self.clone(),
            credential,
            run,
        })
    }
}

/// A run that is let in. It ends with this value, and with it each connection that it has open: watches, logs, sessions.
///
/// # Guarantees
/// When it is dropped, no request of the run is begun any more, and none is answered. What the API server has got already it
/// may still carry out.
#[derive(Debug)]
pub struct Admission {
    proxy: Proxy,
    credential: Credential,
    run: Arc<ActiveRun>,
}

impl Admission {
    /// What clients of the run show.
    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    /// By which an [`Observer`] is told of the run.
    pub fn id(&self) -> RunId {
        self.run.id
    }

    /// Ends the run, and labels objects of its owner that it has met without the label. The number of those is returned.
    ///
    /// # Cancellation
    /// Safe to drop: the run has ended then, and objects are left to the next one.
    pub async fn finish(self) -> usize {
        let (exchange, run) = (Arc::clone(&self.proxy.exchange), Arc::clone(&self.run));
        drop(self);
        exchange.label_all(&run).await
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.proxy.runs.revoke(&self.credential);
    }
}
