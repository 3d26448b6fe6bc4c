//! Signatures of revisions: which of them the operator has written itself.
//!
//! ```text
//! revision, owner    --SignedContent--> bytes --SigningKeys--> Signature   pure; beside the record in its Secret
//! Secret of the keys --Signer---------> SigningKeys                        once per process, and when a key is not known
//! ```
//!
//! Who may write the Secrets of a namespace may write any manifest into a revision. What is applied, run or restored from
//! one is therefore only what carries a signature that nobody else can make.

mod content;
mod keys;
mod signer;

pub(in crate::release) use content::KeptContent;
pub use content::{Signable, SignedContent, feed_field};
pub use keys::{Signature, SigningKeys};
pub use signer::{Signer, SignerError};
