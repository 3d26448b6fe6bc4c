//! Turns a Helm chart into a Kubernetes operator.
//!
//! ```text
//! flags, environment --cli--> Config                     config.rs    checked before anything else happens
//! watches.yaml       --Watches::load--> Watch            watches/     every problem at once, charts loaded
//! Config, Watches    --run--> Context                    run.rs       logs, ports, client, lease, signals
//! ```

pub mod apply;
pub mod config;
pub mod context;
pub mod controller;
pub mod dependents;
pub mod discovery;
pub mod duration;
pub mod lookup;
pub mod metrics;
pub mod reconcile;
pub mod release;
pub mod server;
pub mod status;
pub mod telemetry;
pub mod values;
pub mod version;
pub mod watches;
pub mod world;
