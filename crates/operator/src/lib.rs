//! The running operator.
//!
//! ```text
//! Config, Watches    --run--> Context                    run.rs         ports, client, lease, signals
//! Context, Watches   --supervisor--> controllers         supervisor.rs  others when the files have changed (follow/)
//! Context, Watch     --controller--> reconciles          controller/    one controller for each watched kind
//! resource, cache    --reconcile--> Action               reconcile/     observe, decide, act, report
//! Action             --apply, release, status--> writes  apply/         objects; release/: revisions; status/: what became of it
//! ```
//!
//! The operator of a watches.yaml, until its caller cancels `stop`:
//!
//! ```no_run
//! use steersman_model::Environment;
//! use steersman_operator::config::Config;
//! use steersman_operator::run::{RunError, run};
//! use steersman_operator::supervisor;
//! use steersman_watches::{Watches, WatchesError};
//! use tokio_util::sync::CancellationToken;
//!
//! async fn operate(config: Config, stop: CancellationToken) -> Result<Result<(), RunError>, WatchesError> {
//!     let environment = Environment::of_process();
//!     let watches = Watches::load(&config.watches_file, &environment)?;
//!     let controllers = |context, watches| supervisor::run(context, watches, None);
//!     Ok(run(config, &environment, watches, stop, controllers).await)
//! }
//! ```

pub mod apply;
pub mod budget;
pub mod config;
pub mod context;
pub mod controller;
mod coordination;
pub mod dependents;
pub mod follow;
mod job_pods;
mod job_secrets;
pub mod leader;
pub mod metrics;
pub mod namespaces;
pub mod procedures;
pub mod reconcile;
pub mod references;
pub mod release;
pub mod run;
pub mod runs;
pub mod schedule;
pub mod server;
pub mod status;
pub mod supervisor;
pub mod telemetry;

pub use job_secrets::secrets_named;
