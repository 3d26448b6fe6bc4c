//! What a Kubernetes API server says of definitions, and of what is known here of Kubernetes itself.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test says what it found"
)]

mod corpus;
mod kinds;
mod roles;
mod runs;
mod schemas;
mod server;
mod values;
