//! Turns a Helm chart into a Kubernetes operator: the command line.
//!
//! ```text
//! flags, environment --cli--> Config                     cli/run/       checked before anything else happens
//! watches.yaml       --Watches::load--> Watch            steersman-watches   every problem at once, charts loaded
//! Config, Watches    --run--> the operator               steersman-operator
//! objects of a project --deploy--> a cluster             deploy/
//! ```

pub mod cli;
pub mod deploy;
