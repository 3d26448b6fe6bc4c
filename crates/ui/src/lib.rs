//! The page: resources of all kinds that an operator serves, the worst first, and each release down to its pods.
//!
//! ```text
//! resources --watches--> Feed: a row of each --Query--> List --------+
//! resource + release + objects + pods --steersman-tree--> Release ---+--> pages, and their changes as server-sent events
//! revisions, dry runs, values, events, logs --steersman-tree---------+
//! form --Action--> an annotation, a spec, or a run of a procedure
//! ```
//!
//! It reads and writes with the rights of the client or the token that it is given, writes nothing without a form that somebody
//! has sent, and stores nothing. What strangers have written is escaped, bounded, and never code: [`Ui`] says what else holds.

mod access;
mod actions;
mod address;
mod answers;
mod app;
mod assets;
mod feed;
mod guards;
mod pages;
mod rows;
mod scope;
mod server;
mod site;

pub use server::{Config, Login, Ui, UiError};
