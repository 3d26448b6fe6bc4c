//! A release as a tree: the resource with its conditions, its revision, the objects of that, and below workloads what controllers
//! have made of them, down to pods. Each is judged by its health.
//!
//! ```text
//! resource + newest revision + live objects + pods --observe--> ReleaseView
//! ```
//!
//! Everything is read with the rights of the client that is given. What that may not read is said, or fails.

mod compare;
mod container;
mod error;
mod events;
mod labelled;
mod logs;
mod object;
mod observe;
mod owners;
mod plan;
mod pod;
mod rights;
mod runs;
mod secrets;
mod text;
mod values;
mod view;
mod workload;

pub use compare::{ObjectChange, RevisionChanges, compare, redactor_of};
pub use container::{ContainerView, containers};
pub use error::TreeError;
pub use events::{EventView, events};
pub use logs::{LastLines, last_lines};
pub use observe::{Resources, checks_of, conditions, revision_view, stages};
pub use owners::{OwnerView, owners};
pub use plan::{PlanView, dry_run};
pub use rights::{may, who};
pub use runs::{RunView, StepView, runs_of};
pub use secrets::{learn_secrets, learn_secrets_of_pod};
pub use text::{unified, unified_text, without_former, yaml};
pub use values::{ValueView, values_by_source};
pub use view::{
    Condition, DriftView, ObjectView, PodView, ReleaseView, RevisionView, StageView, Verdict, WaitingView,
};
