//! The proxy before servers that do what a real API server can't be made to do, and clients that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod clients;
mod failures;
mod server;
mod sessions;
