//! The HTTP proxy between Ansible roles and the API server.
//!
//! ```text
//! role -- kubeconfig, credential --> Port -- whose run? --> Exchange --> API server
//!                                     401 without one         |  who asks is said by us alone
//!                                                             |  objects that are made are marked as the owner's
//!                                                             |  no write without the lease
//!                                                             `-> Observer: what was asked, of what, with which answer
//! ```
//!
//! - A [`Run`] is let in with a credential of its own ([`Proxy::admit`]). The owner, the account and the marks are what the
//!   caller said then; a client can change none of it.
//! - Creations, replacements and applies get the marks of the owner: an owner reference, or annotations where Kubernetes
//!   allows none, and the label by which watches select. What another owner has stays that one's, and what nobody owns stays
//!   nobody's ([`Unowned`]). Other patches pass as they are; what of the owner's lacks the label is labelled after the run
//!   ([`Admission::finish`]).
//! - All else passes as it is: reads, watches, logs, sessions in pods, what the server refuses. Nothing is cached or repeated.
//! - Secrets are in no log and in no error; an [`Observer`] is told their values before a client has them.
//!
//! The example at [`Proxy`] shows all of it together.

mod body;
mod connections;
mod credential;
mod exchange;
mod kinds;
mod kubeconfig;
mod mark;
mod observe;
mod port;
mod proxy;
mod refusal;
mod request;
mod run;
mod secrets;
mod upstream;

pub use credential::{Credential, CredentialError};
pub use exchange::Fence;
pub use kubeconfig::kubeconfig;
pub use mark::{Marks, Standing, Unowned, names_in_annotations};
pub use observe::{Observer, Origin, Seen, SeenObject};
pub use port::{BindError, Port};
pub use proxy::{Admission, Proxy, Settings};
pub use request::{ResourcePath, Verb};
pub use run::{AdmitError, Run, RunId};
pub use upstream::{Upstream, UpstreamError};
