//! The proxy before a real API server, and kubectl before the proxy.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod access;
mod marking;
mod passing;
mod world;
