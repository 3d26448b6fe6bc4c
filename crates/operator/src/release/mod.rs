//! A release: its name, its revisions, and where they are kept.
//!
//! Revisions are Helm's own Secrets, so that `helm list`, `history`, `get` and a Go helm-operator
//! read them. A revision is written *before* its first object is applied: the manifests of the
//! stored revisions are the inventory from which [`crate::apply`] prunes, and a crash at any point
//! leaves nothing that they do not name.
//!
//! Revisions are signed. One that was not written by the operator as it is names objects that may be the release's; nothing
//! of it is applied or run.

mod codec;
mod history;
mod hook_mark;
mod index;
mod journal;
mod locate;
mod parts;
mod policy;
mod record;
mod secret;
mod signature;
mod stage;
mod stored;

pub use codec::{CodecError, MAX_DECODED_BYTES};
pub use history::{History, HistoryError, Updated, surplus};
pub use hook_mark::{has_come_to, is_of_undone};
pub use index::{ReleaseIndex, Written};
pub use journal::Journal;
pub use locate::namespace_of;
pub use parts::Parts;
pub use policy::ReleasePolicy;
pub(crate) use record::never_run;
pub use record::{ChartRecord, HookRecord, InfoRecord, ReleaseRecord};
pub use signature::{Signable, Signature, SignedContent, Signer, SignerError, SigningKeys, feed_field};
pub use stage::{Position, StageRecord, has_begun, passed_over};
pub use stored::{
    FinishedHook, KeptUp, RecordOwner, Snapshot, SnapshotObject, Stored, StoredSource, TestOutcome,
    TestRecord, Verdict,
};
