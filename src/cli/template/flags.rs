//! The flags of `template`.

use std::path::PathBuf;
use std::time::Duration;

use super::super::helm::values::duration;
use super::super::helm::{ChartFlags, GlobalFlags, ValueFlags};

const EXAMPLES: &str = "\
Examples:
  # Everything that the chart renders with its own values
  steersman template my-release helm-charts/visitors

  # One template, with other values, for another version of Kubernetes
  steersman template my-release helm-charts/visitors --set ingress.enabled=true \\
    --set ingress.host=visitors.example.com --kube-version 1.31 --show-only templates/ingress.yaml

  # A chart of a registry, and one of a repository
  steersman template my-release oci://registry.example.com/charts/web --version 1.2.3
  steersman template my-release web --repo https://charts.example.com

  # What the operator renders for a resource: with values and patches of its entry in watches.yaml
  steersman template --watch VisitorsSite -f site.yaml";

/// What `template` takes: the flags of `helm template`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "steersman template [NAME] <CHART> [OPTIONS]", after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The name of the release, and the chart: a directory, a `.tgz` file, a URL, `oci://…` or REPOSITORY/CHART; the
    /// chart alone for a release called `release-name`
    #[arg(value_names = ["NAME", "CHART"], num_args = 0..)]
    pub(super) name_and_chart: Vec<String>,
    #[command(flatten)]
    pub(super) release: ReleaseFlags,
    #[command(flatten)]
    pub(super) values: ValueFlags,
    #[command(flatten)]
    pub(super) watching: WatchFlags,
    #[command(flatten)]
    pub(super) rendering: RenderingFlags,
    #[command(flatten)]
    pub(super) output: OutputFlags,
    #[command(flatten)]
    pub(super) chart: ChartFlags,
    #[command(flatten)]
    pub(super) installing: InstallingFlags,
    #[command(flatten)]
    pub(super) global: GlobalFlags,
}

/// What the release is like.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Release")]
pub(super) struct ReleaseFlags {
    /// Name the release by what this Go template renders
    #[arg(long, value_name = "TEMPLATE")]
    pub(super) name_template: Option<String>,
    /// Make a name for the release from the chart's
    #[arg(short = 'g', long)]
    pub(super) generate_name: bool,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall
    #[arg(long)]
    pub(super) is_upgrade: bool,
}

/// What the operator renders.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "As the operator")]
pub(super) struct WatchFlags {
    /// Render what the entry of watches.yaml for this kind says, for the resource in -f; KIND.GROUP where there are several
    #[arg(long, value_name = "KIND")]
    pub(super) watch: Option<String>,
    /// The file with the entry
    #[arg(
        long,
        value_name = "FILE",
        default_value = "./watches.yaml",
        requires = "watch"
    )]
    pub(super) watches_file: PathBuf,
}

/// How the chart is rendered.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rendering")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct RenderingFlags {
    /// Version of Kubernetes for .Capabilities.KubeVersion
    #[arg(long, value_name = "VERSION")]
    pub(super) kube_version: Option<String>,
    /// API versions for .Capabilities.APIVersions, besides those that Helm knows
    #[arg(short, long, value_name = "VERSION", value_delimiter = ',')]
    pub(super) api_versions: Vec<String>,
    /// Do not check values against values.schema.json
    #[arg(long)]
    pub(super) skip_schema_validation: bool,
    /// Fetch dependencies that are missing into the chart's charts/ first
    #[arg(long)]
    pub(super) dependency_update: bool,
    /// Let `getHostByName` ask the network
    #[arg(long)]
    pub(super) enable_dns: bool,
    /// Render with the cluster's versions and `lookup`, and let it check the result
    #[arg(long, value_name = "client|server", num_args = 0..=1, require_equals = true,
          default_missing_value = "unset")]
    pub(super) dry_run: Option<String>,
    /// Deprecated: use --dry-run=server
    #[arg(long, hide = true)]
    pub(super) validate: bool,
    /// Accepted without effect: schemas are the server's business
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
}

/// What is shown, and where.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct OutputFlags {
    /// Show the files of crds/, too
    #[arg(long)]
    pub(super) include_crds: bool,
    /// Show only what these templates render, such as templates/service.yaml
    #[arg(short, long, value_name = "FILE")]
    pub(super) show_only: Vec<String>,
    /// Leave out tests
    #[arg(long)]
    pub(super) skip_tests: bool,
    /// Leave out hooks
    #[arg(long)]
    pub(super) no_hooks: bool,
    /// Write a file for each template into this directory instead
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<String>,
    /// Write into a directory of the release's name in --output-dir
    #[arg(long)]
    pub(super) release_name: bool,
    /// Refused: post-renderers are plugins of Helm
    #[arg(long, value_name = "PLUGIN", hide = true)]
    pub(super) post_renderer: Option<String>,
    /// Refused: an argument for --post-renderer
    #[arg(long, value_name = "ARGUMENT", hide = true)]
    pub(super) post_renderer_args: Vec<String>,
}

/// Flags of `helm install` that `helm template` takes, too, and that change nothing that is rendered.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct InstallingFlags {
    #[arg(long, hide = true)]
    atomic: bool,
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, value_name = "TEXT", hide = true)]
    description: Option<String>,
    #[arg(long, hide = true)]
    force: bool,
    #[arg(long, hide = true)]
    pub(super) force_conflicts: bool,
    #[arg(long, hide = true)]
    pub(super) force_replace: bool,
    #[arg(long, hide = true)]
    hide_notes: bool,
    #[arg(short, long, value_name = "KEY=VALUE", hide = true, value_delimiter = ',', value_parser = label)]
    pub(super) labels: Vec<String>,
    #[arg(long, hide = true)]
    render_subchart_notes: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true)]
    rollback_on_failure: bool,
    #[arg(long, hide = true)]
    server_side: bool,
    #[arg(long, hide = true)]
    pub(super) skip_crds: bool,
    #[arg(long, hide = true)]
    pub(super) take_ownership: bool,
    #[arg(long, value_name = "DURATION", hide = true, value_parser = duration)]
    timeout: Option<Duration>,
    #[arg(long, value_name = "STRATEGY", hide = true, num_args = 0..=1, require_equals = true,
          default_missing_value = "watcher", value_parser = wait)]
    pub(super) wait: Option<String>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
}

impl InstallingFlags {
    /// The flags that are used although Helm wants to be rid of them, with what it says then.
    pub(super) fn deprecated(&self) -> [(bool, &'static str, &'static str); 4] {
        let no_effect = "this flag has no effect for 'helm template' and will be removed in Helm 5";
        [
            (self.atomic, "atomic", "use --rollback-on-failure instead"),
            (self.force, "force", "use --force-replace instead"),
            (self.hide_notes, "hide-notes", no_effect),
            (self.render_subchart_notes, "render-subchart-notes", no_effect),
        ]
    }

    /// Whether `--force` or its successor is given together with what excludes it.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self {
            Self {
                force_conflicts: true,
                force_replace: true,
                ..
            } => Some("force-replace force-conflicts"),
            Self {
                force_conflicts: true,
                force: true,
                ..
            } => Some("force force-conflicts"),
            _ => None,
        }
    }
}

fn label(text: &str) -> Result<String, String> {
    if text.contains('=') {
        return Ok(text.to_owned());
    }
    Err(format!("{text} must be formatted as key=value"))
}

fn wait(text: &str) -> Result<String, String> {
    match text {
        "watcher" | "legacy" | "hookOnly" | "true" | "false" => Ok(text.to_owned()),
        _ => Err(format!(
            "invalid wait input {text:?}. Valid inputs are watcher, hookOnly, and legacy"
        )),
    }
}
