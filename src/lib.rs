//! Turns a Helm chart into a Kubernetes operator.
//!
//! ```text
//! flags, environment --cli--> Config                     config.rs      checked before anything else happens
//! watches.yaml       --Watches::load--> Watch            watches/       every problem at once, charts loaded
//! Config, Watches    --run--> Context                    run.rs         logs, ports, client, lease, signals
//! Context, Watches   --supervisor--> controllers         supervisor.rs  others when the files have changed
//! Context, Watch     --controller--> reconciles          controller/    one controller for each watched kind
//! ```

pub mod apply;
pub mod cli;
pub mod config;
pub mod context;
pub mod controller;
pub mod controls;
pub mod dependents;
pub mod deploy;
pub mod discovery;
pub mod drift;
pub mod duration;
pub mod kubernetes;
pub mod leader;
pub mod lookup;
pub mod metrics;
pub mod permissions;
pub mod reconcile;
pub mod release;
pub mod repository;
pub mod resync;
pub mod run;
pub mod server;
pub mod status;
mod suggest;
pub mod supervisor;
pub mod telemetry;
pub mod values;
pub mod version;
pub mod watches;
pub mod world;
