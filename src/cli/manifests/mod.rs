//! `manifests`: what brings the operator of a project into a cluster.

mod source;

use clap::ValueEnum;
use serde_json::{Value, json};
pub(super) use source::{ManifestFlags, kustomization};
use steersman_model::Environment;

use super::Failure;
use super::report::print_text;

const EXAMPLES: &str = "\
Examples:
  # All objects of the project's operator, with the image to run
  steersman manifests --image registry.example.com/shop-operator:1.2.0

  # Only the definitions of its kinds
  steersman manifests --kustomize-dir config/crd | kubectl apply -f -

  # What would change in the cluster
  steersman manifests | kubectl diff -f -";

/// What `manifests` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    manifests: ManifestFlags,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Documents, as `kubectl kustomize` prints them
    Yaml,
    /// A list of objects
    Json,
}

/// Prints the objects.
pub(super) fn exec(arguments: &Args, environment: &Environment) -> Result<(), Failure> {
    let (_, objects) = arguments.manifests.read(environment)?;
    match arguments.output {
        Output::Yaml => print_text(&yaml(&objects)?),
        Output::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            print_text(&format!("{list:#}\n"))
        }
    }
}

fn yaml(objects: &[Value]) -> Result<String, Failure> {
    steersman_kustomize::to_yaml(objects).map_err(|error| Failure::failed(error, None))
}
