//! What the tests of this workspace stand on.
//!
//! - [`corpus`]: public charts and what Helm renders for them.
//! - [`functions`]: template snippets and what Helm's engine makes of them.
//!
//! The recordings lie beside the checkout, not in it. Where they are missing a test says so on one line and
//! passes ([`skip`]); with `CI=true` it fails.

pub mod corpus;
mod environment;
pub mod functions;
pub mod skip;
