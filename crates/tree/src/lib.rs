//! A release as a tree: the resource with its conditions, its revision, the objects of that, and below workloads what controllers
//! have made of them, down to pods. Each is judged by its health.
//!
//! ```text
//! resource + newest revision + live objects + pods --observe--> ReleaseView
//! ```
//!
//! Everything is read with the rights of the client that is given. What that may not read is said, or fails.

mod error;
mod object;
mod observe;
mod pod;
mod view;
mod workload;

pub use error::TreeError;
pub use observe::{Resources, checks_of, revision_view};
pub use view::{Condition, ObjectView, PodView, ReleaseView, RevisionView, StageView, Verdict, WaitingView};
