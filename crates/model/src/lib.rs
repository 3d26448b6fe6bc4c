//! What an object of a release is, and what is told of it: identities, documents, digests, revisions, changes.
//!
//! ```text
//! text of several documents --objects_of_manifest--> RenderedObject --ObjectId--> what a release owns
//! inputs of a rendering     --digest_of_json-------> Digest         --Inputs----> whether an upgrade is due
//! ```
//!
//! Nothing here knows a cluster, a file or a clock. The environment is handed in as [`Environment`].

mod change;
mod definition;
mod digest;
mod documents;
mod duration;
mod environment;
mod error;
mod object;
mod release_name;
mod revision;
mod suggest;
pub mod version;

pub use change::{Applied, Change, ChangeSet};
pub use definition::{is_definition, kinds_defined_by};
pub use digest::{Digest, Inputs, digest_of_json};
pub use documents::{DocumentsError, objects_of_manifest, split, values_of_text};
pub use duration::{DurationError, parse_duration};
pub use environment::Environment;
pub use error::{chain, one_line};
pub use object::{ApiKind, DocumentError, FIELD_MANAGER, ObjectId, RESOURCE_POLICY, RenderedObject, is_keep};
pub use release_name::{InvalidReleaseName, ReleaseName};
pub use revision::{ReleaseStatus, Revision};
pub use suggest::suggest;
