//! The flags of `run`, as they are written.

use std::path::PathBuf;

use clap::ArgAction;
use steersman_operator::telemetry::{Encoder, TimeEncoding, Verbosity};

use super::ansible::AnsibleFlags;
use crate::cli::arguments::parse_bool;

const EXAMPLES: &str = "\
Examples:
  # Use ./watches.yaml and the cluster of KUBECONFIG, the pod or ~/.kube/config
  steersman run

  # Work on the charts: what is saved is released at once
  steersman run --watch-files

  # Only two namespaces, and a log for people
  WATCH_NAMESPACE=team-a,team-b steersman run --zap-devel

  # Several replicas, of which one acts
  steersman run --leader-elect --leader-election-id=my-operator

Environment:
  WATCH_NAMESPACE  namespaces to watch, with commas; all if it is empty or not set
  KUBECONFIG       kubeconfig files; before the service account of the pod and ~/.kube/config
  OTEL_EXPORTER_OTLP_ENDPOINT
                   where traces are sent, by OTLP over HTTP; none if it is not set. Other
                   variables OTEL_… are obeyed, too
  OPERATOR_NAME    deprecated: the lease's name where --leader-election-id is not given
  ANSIBLE_…        ANSIBLE_ROLES_PATH, ANSIBLE_COLLECTIONS_PATH, ANSIBLE_INVENTORY,
                   ANSIBLE_GATHERING, ANSIBLE_VERBOSITY, ANSIBLE_DEBUG_LOGS, and what Ansible
                   itself reads

Exit codes:
  0  asked to stop by SIGTERM or SIGINT, and stopped
  1  stopped by a failure: port in use, API server not reached, lease lost
  2  the flags, the environment or watches.yaml are wrong, or there is no Ansible for its roles";

/// What `run` takes: the flags of `helm-operator run` and of `ansible-operator run`.
///
/// A boolean flag can be given a value as in Go, `--leader-elect=false`; a flag that is given twice counts as given
/// last.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "these are helm-operator's flags")]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(in crate::cli) struct Args {
    /// The watches.yaml to use
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    pub(super) watches_file: PathBuf,

    /// Take changes of watches.yaml and of the charts at once [default: true outside of a pod]
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true, value_parser = parse_bool)]
    pub(super) watch_files: Option<bool>,

    /// Say in the log and in the status of each resource what would be done, and do nothing
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, value_parser = parse_bool)]
    pub(super) dry_run: bool,

    /// How often every custom resource is reconciled without a change; 0 is never [default: 1m, with a role or playbook 10h]
    #[arg(long, value_name = "DURATION")]
    pub(super) reconcile_period: Option<String>,

    /// How many custom resources of a kind are reconciled at a time [default: the number of CPUs]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(super) max_concurrent_reconciles: Option<i64>,

    /// How many custom resources of all kinds together are reconciled at a time; 0 sets no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) max_concurrent_reconciles_in_all: usize,

    /// The kubeconfig to use, before KUBECONFIG, the pod and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Where /metrics is served; 0 turns it off [default: :8080, as ansible-operator :8443]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics_bind_address: Option<String>,

    /// Deprecated: use --metrics-bind-address
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pub(super) metrics_addr: Option<String>,

    /// Serve /metrics over TLS, with a new self-signed certificate at every start
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, value_parser = parse_bool)]
    pub(super) metrics_secure: bool,

    /// Serve /metrics only to bearers of a token whose user may get that path by RBAC; needs --metrics-secure
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    pub(super) metrics_require_rbac: bool,

    /// Accepted for helm-operator's sake: the ports speak HTTP/1.1 either way
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    pub(super) enable_http2: bool,

    /// Where /healthz and /readyz are served; 0 turns them off [default: :8081, as ansible-operator :6789]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) health_probe_bind_address: Option<String>,

    /// Reconcile only while holding a Lease, so that several replicas can run
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = parse_bool)]
    pub(super) leader_elect: Option<bool>,

    /// Deprecated: use --leader-elect
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = parse_bool, hide = true)]
    pub(super) enable_leader_election: Option<bool>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(super) leader_election_id: String,

    /// The namespace of the Lease, and of the keys that sign releases [default: that of the pod; for the keys, else that of the
    /// kubeconfig's context]
    #[arg(long, value_name = "NAMESPACE", default_value = "", hide_default_value = true)]
    pub(super) leader_election_namespace: String,

    /// How long the Lease is valid after a renewal
    #[arg(long, value_name = "DURATION", default_value = "15s")]
    pub(super) leader_elect_lease_duration: String,

    /// How long renewing the Lease may fail before it counts as lost
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(super) leader_elect_renew_deadline: String,

    /// Deprecated: a Lease is the only kind of lock
    #[arg(long, value_name = "KIND", hide = true)]
    pub(super) leader_elect_resource_lock: Option<String>,

    /// How long running reconciles may take to end when the process is asked to stop
    #[arg(long, value_name = "DURATION", default_value = "9s")]
    pub(super) graceful_shutdown_timeout: String,

    /// How many revisions of each release are kept; 0 is all of them
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(super) history_max: usize,

    /// How long a hook may take; 0 is as long as it likes
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub(super) hook_timeout: String,

    /// Go back to the deployed revision when an upgrade fails, and uninstall what a failed installation left
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    pub(super) rollback_on_failure: bool,

    /// Render, apply and delete releases as this ServiceAccount of their namespace, unless watches.yaml names another
    #[arg(long, value_name = "NAME")]
    pub(super) default_service_account: Option<String>,

    /// Do not show override values in events
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    pub(super) suppress_override_values: bool,

    /// Log in columns and from `debug` on, unless other flags say otherwise
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    pub(super) zap_devel: bool,

    /// The shape of the log: json or console [default: for people on a terminal, else json]
    #[arg(long, value_name = "ENCODER")]
    pub(super) zap_encoder: Option<Encoder>,

    /// The least severe level that is logged: debug, info, error, or a number above zero
    #[arg(long, value_name = "LEVEL")]
    pub(super) zap_log_level: Option<Verbosity>,

    /// Accepted for helm-operator's sake: there are no stack traces to log
    #[arg(long, value_name = "LEVEL", value_parser = ["info", "error", "panic"], ignore_case = true)]
    pub(super) zap_stacktrace_level: Option<String>,

    /// How the log writes times: epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano [default: rfc3339]
    #[arg(long, value_name = "ENCODING")]
    pub(super) zap_time_encoding: Option<TimeEncoding>,

    #[command(flatten)]
    pub(super) ansible: AnsibleFlags,

    /// Words that are no flags; helm-operator takes them and does nothing about them
    #[arg(hide = true)]
    pub(super) ignored: Vec<String>,
}
