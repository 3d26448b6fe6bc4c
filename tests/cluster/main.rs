//! The operator on a real Kubernetes API.
#![expect(
    clippy::unwrap_used,
    clippy::default_trait_access,
    reason = "a test ends where something is not as it must be, and the parameters of requests are beside the point"
)]

mod applying;
mod bad_inputs;
mod bench;
mod compat;
mod concurrency;
mod conflicts;
mod contract;
mod controls;
mod crds;
mod damaged;
mod deletion;
mod deploy;
mod developer;
mod diff;
mod drift;
mod dry_run;
mod entries;
mod failure;
mod faults;
mod follow;
mod go_charts;
mod go_operator;
mod handover;
mod health;
mod hook_policies;
mod hooks;
mod hooks_made;
mod hooks_under_way;
mod ignored_values;
mod immutable;
mod keep;
mod keeping;
mod kinds;
mod large;
mod leader;
mod lifecycle;
mod lists;
mod looked_up;
mod lookups;
mod many_releases;
mod masking;
mod memory;
mod metrics;
mod migrate;
mod moments;
mod node;
mod order;
mod own_secrets;
mod public_charts;
mod records;
mod refusals;
mod requests;
mod roles;
mod rollback;
mod scaffold;
mod secrets;
mod selection;
mod specs;
mod starting;
mod status;
mod takeover;
mod template;
mod tenants;
mod traces;
mod undoing;
mod uninstall;
mod values;
mod waiting;
mod watched;
mod watching;
mod while_waiting;
