//! The page: resources of all kinds that an operator serves, the worst first, and each release down to its pods.
//!
//! ```text
//! resources --watches--> Feed: a row of each --Query--> List --+
//!                                                              +--> pages, and their changes as server-sent events
//! resource + release + objects + pods --steersman-tree--> Release
//! ```
//!
//! It reads with the rights of the client that it is given, writes nothing, and stores nothing. What strangers have written is
//! escaped, bounded, and never code: [`Ui`] says what else holds.

mod access;
mod answers;
mod app;
mod assets;
mod feed;
mod guards;
mod page;
mod rows;
mod server;

pub use server::{Config, Ui, UiError};
