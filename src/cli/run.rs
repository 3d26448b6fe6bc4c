//! `run`: the operator.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::ArgAction;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::arguments::parse_bool;
use crate::config::{
    Config, ConfigError, ConfigProblem, Environment, LeaderElection, MetricsAccess, Namespaces, parse_address,
};
use crate::controller;
use crate::duration::parse_duration;
use crate::telemetry::{self, Encoder, LogOptions, TimeEncoding, Verbosity};
use crate::watches::Watches;

const EXAMPLES: &str = "\
Examples:
  # Use ./watches.yaml and the cluster of KUBECONFIG, the pod or ~/.kube/config
  steersman run

  # Only two namespaces, and a log for people
  WATCH_NAMESPACE=team-a,team-b steersman run --zap-devel

  # Several replicas, of which one acts
  steersman run --leader-elect --leader-election-id=my-operator

Environment:
  WATCH_NAMESPACE  namespaces to watch, with commas; all if it is empty or not set
  KUBECONFIG       kubeconfig files; before the service account of the pod and ~/.kube/config
  OPERATOR_NAME    deprecated: the lease's name where --leader-election-id is not given

Exit codes:
  0  asked to stop by SIGTERM or SIGINT, and stopped
  1  stopped by a failure: port in use, API server not reached, lease lost
  2  the flags, the environment or watches.yaml are wrong";

/// What `run` takes: the flags of `helm-operator run`.
///
/// A boolean flag can be given a value as in Go, `--leader-elect=false`; a flag that is given twice counts as given
/// last.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "these are helm-operator's flags")]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub(super) struct Args {
    /// The watches.yaml to use
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,

    /// How often every custom resource is reconciled without a change; 0 is never
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    reconcile_period: String,

    /// How many custom resources of a kind are reconciled at a time [default: the number of CPUs]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    max_concurrent_reconciles: Option<i64>,

    /// The kubeconfig to use, before KUBECONFIG, the pod and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Where /metrics is served; 0 turns it off [default: :8080]
    #[arg(long, value_name = "ADDRESS")]
    metrics_bind_address: Option<String>,

    /// Deprecated: use --metrics-bind-address
    #[arg(long, value_name = "ADDRESS", hide = true)]
    metrics_addr: Option<String>,

    /// Serve /metrics over TLS, with a new self-signed certificate at every start
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, value_parser = parse_bool)]
    metrics_secure: bool,

    /// Serve /metrics only to bearers of a token whose user may get that path by RBAC; needs --metrics-secure
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    metrics_require_rbac: bool,

    /// Accepted for helm-operator's sake: the ports speak HTTP/1.1 either way
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    enable_http2: bool,

    /// Where /healthz and /readyz are served; 0 turns them off
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    health_probe_bind_address: String,

    /// Reconcile only while holding a Lease, so that several replicas can run
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = parse_bool)]
    leader_elect: Option<bool>,

    /// Deprecated: use --leader-elect
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = parse_bool, hide = true)]
    enable_leader_election: Option<bool>,

    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    leader_election_id: String,

    /// The namespace of the Lease [default: that of the pod]
    #[arg(long, value_name = "NAMESPACE", default_value = "", hide_default_value = true)]
    leader_election_namespace: String,

    /// Do not show override values in events
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    suppress_override_values: bool,

    /// Log for people and from `debug` on, unless other flags say otherwise
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true,
          value_parser = parse_bool)]
    zap_devel: bool,

    /// The shape of the log: json or console [default: console on a terminal, else json]
    #[arg(long, value_name = "ENCODER")]
    zap_encoder: Option<Encoder>,

    /// The least severe level that is logged: debug, info, error, or a number above zero
    #[arg(long, value_name = "LEVEL")]
    zap_log_level: Option<Verbosity>,

    /// Accepted for helm-operator's sake: there are no stack traces to log
    #[arg(long, value_name = "LEVEL", value_parser = ["info", "error", "panic"], ignore_case = true)]
    zap_stacktrace_level: Option<String>,

    /// How the log writes times: epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano [default: rfc3339]
    #[arg(long, value_name = "ENCODING")]
    zap_time_encoding: Option<TimeEncoding>,

    /// Words that are no flags; helm-operator takes them and does nothing about them
    #[arg(hide = true)]
    ignored: Vec<String>,
}

/// Runs the operator until a signal, or until it cannot go on.
pub(super) fn exec(arguments: Args, environment: &Environment) -> Result<(), Failure> {
    let is_terminal = std::io::stderr().is_terminal();
    let config = arguments.into_config(environment, is_terminal).map_err(|error| {
        Failure::usage(
            error,
            Some("`steersman run --help` explains the flags".to_owned()),
        )
    })?;
    let watches = Watches::load(&config.watches_file, environment).map_err(|error| {
        let hint = error.hint();
        Failure::usage(error, hint)
    })?;
    telemetry::start(config.log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the threads of the operator")?;
    let result = runtime.block_on(async {
        let shutdown = CancellationToken::new();
        stop_on_signals(shutdown.clone()).context("failed to listen for signals")?;
        let running = crate::run::run(config, environment, watches, shutdown, controller::run);
        running.await.map_err(|error| {
            let hint = error.hint().map(str::to_owned);
            Failure::failed(error, hint)
        })
    });
    // Work that blocks, such as a look-up of a template, is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}

/// Cancels the token at the first SIGTERM or SIGINT, and ends the process at the second.
fn stop_on_signals(shutdown: CancellationToken) -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        for count in 1.. {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if count > 1 {
                std::process::exit(1);
            }
            shutdown.cancel();
        }
    });
    Ok(())
}

impl Args {
    /// What the flags and the environment mean together.
    fn into_config(self, environment: &Environment, is_terminal: bool) -> Result<Config, ConfigError> {
        let mut problems = Problems::default();
        let mut notices = Vec::new();
        let config = Config {
            reconcile_period: self.reconcile_period(&mut problems),
            max_concurrent_reconciles: self.max_concurrent_reconciles(),
            metrics_address: self.metrics_address(&mut problems, &mut notices),
            metrics_access: self.metrics_access(&mut problems),
            health_address: problems
                .check(
                    "--health-probe-bind-address",
                    parse_address(&self.health_probe_bind_address),
                )
                .flatten(),
            leader_election: self.leader_election(environment, &mut problems, &mut notices),
            suppress_override_values: self.suppress_override_values,
            namespaces: problems
                .check(
                    "WATCH_NAMESPACE",
                    Namespaces::parse(environment.get("WATCH_NAMESPACE")),
                )
                .unwrap_or(Namespaces::All),
            log: self.log(is_terminal),
            watches_file: self.watches_file,
            kubeconfig: self.kubeconfig.filter(|path| !path.as_os_str().is_empty()),
            notices: Vec::new(),
        };
        for word in &self.ignored {
            notices.push(format!(
                "argument `{}` is ignored; a value belongs to its flag with `=`",
                word.escape_debug()
            ));
        }
        problems.or(Config { notices, ..config })
    }

    fn reconcile_period(&self, problems: &mut Problems) -> Option<Duration> {
        let period = parse_duration(&self.reconcile_period).map_err(|error| error.to_string());
        problems
            .check("--reconcile-period", period)
            .filter(|period| !period.is_zero())
    }

    /// controller-runtime takes everything below one as one.
    fn max_concurrent_reconciles(&self) -> NonZeroUsize {
        match self.max_concurrent_reconciles {
            Some(number) => usize::try_from(number)
                .ok()
                .and_then(NonZeroUsize::new)
                .unwrap_or(NonZeroUsize::MIN),
            None => std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }

    fn metrics_address(
        &self,
        problems: &mut Problems,
        notices: &mut Vec<String>,
    ) -> Option<std::net::SocketAddr> {
        let (name, text) = match (&self.metrics_bind_address, &self.metrics_addr) {
            (Some(_), Some(_)) => {
                problems.add(
                    "--metrics-addr",
                    "is an old name of --metrics-bind-address; give only that one",
                );
                return None;
            }
            (None, Some(old)) => {
                notices.push("flag `--metrics-addr` is deprecated; use `--metrics-bind-address`".to_owned());
                ("--metrics-addr", old.as_str())
            }
            (new, None) => ("--metrics-bind-address", new.as_deref().unwrap_or(":8080")),
        };
        problems.check(name, parse_address(text)).flatten()
    }

    fn metrics_access(&self, problems: &mut Problems) -> MetricsAccess {
        match (self.metrics_secure, self.metrics_require_rbac) {
            (false, false) => MetricsAccess::Plain,
            (true, false) => MetricsAccess::Tls,
            (true, true) => MetricsAccess::TlsWithRbac,
            (false, true) => {
                problems.add(
                    "--metrics-require-rbac",
                    "needs --metrics-secure: a token must not be sent in the clear",
                );
                MetricsAccess::Plain
            }
        }
    }

    fn leader_election(
        &self,
        environment: &Environment,
        problems: &mut Problems,
        notices: &mut Vec<String>,
    ) -> Option<LeaderElection> {
        if self.enable_leader_election.is_some() {
            if self.leader_elect.is_some() {
                problems.add(
                    "--enable-leader-election",
                    "is an old name of --leader-elect; give only that one",
                );
                return None;
            }
            notices.push("flag `--enable-leader-election` is deprecated; use `--leader-elect`".to_owned());
        }
        let old_name = environment.get("OPERATOR_NAME").unwrap_or_default();
        if !old_name.is_empty() {
            let effect = if self.leader_election_id.is_empty() {
                ""
            } else {
                " and ignored"
            };
            notices.push(format!(
                "OPERATOR_NAME is deprecated{effect}; use `--leader-election-id`"
            ));
        }
        if !self
            .leader_elect
            .or(self.enable_leader_election)
            .unwrap_or_default()
        {
            return None;
        }
        let id = if self.leader_election_id.is_empty() {
            old_name
        } else {
            &self.leader_election_id
        };
        if id.is_empty() {
            problems.add(
                "--leader-elect",
                "needs --leader-election-id, the name of the Lease",
            );
        }
        let namespace =
            Some(self.leader_election_namespace.clone()).filter(|namespace| !namespace.is_empty());
        Some(LeaderElection {
            id: id.to_owned(),
            namespace,
        })
    }

    fn log(&self, is_terminal: bool) -> LogOptions {
        let for_people = self.zap_devel || is_terminal;
        let (encoder, verbosity) = (
            if for_people {
                Encoder::Console
            } else {
                Encoder::Json
            },
            if self.zap_devel {
                Verbosity::Debug
            } else {
                Verbosity::Info
            },
        );
        LogOptions {
            encoder: self.zap_encoder.unwrap_or(encoder),
            verbosity: self.zap_log_level.unwrap_or(verbosity),
            time: self.zap_time_encoding.unwrap_or_default(),
        }
    }
}

/// What is wrong so far.
#[derive(Default)]
struct Problems(Vec<ConfigProblem>);

impl Problems {
    fn add(&mut self, name: &str, message: impl Into<String>) {
        self.0.push(ConfigProblem {
            name: name.to_owned(),
            message: message.into(),
        });
    }

    fn check<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.add(name, message)).ok()
    }

    fn or(self, config: Config) -> Result<Config, ConfigError> {
        if self.0.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::new(self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Args;
    use crate::config::{Config, Environment};
    use clap::Parser;
    use expect_test::{Expect, expect};

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Args,
    }

    fn config(flags: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let words = ["steersman", "run"]
            .into_iter()
            .chain(flags.split_whitespace())
            .map(Into::into)
            .collect();
        let words = super::super::arguments::normalize(words).into_iter().skip(1);
        let program = Program::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().to_owned()
        })?;
        let environment: Environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        program
            .arguments
            .into_config(&environment, false)
            .map_err(|error| error.to_string())
    }

    /// What the flags mean, as far as it differs from the defaults.
    fn check(flags: &str, variables: &[(&str, &str)], expect: &Expect) {
        let default = format!("{:#?}", config("--max-concurrent-reconciles=2", &[]).unwrap());
        let said = match config(&format!("--max-concurrent-reconciles=2 {flags}"), variables) {
            Err(error) => format!("{error}\n"),
            Ok(config) => {
                let config = format!("{config:#?}");
                let lines = config.lines().map(str::trim);
                let new = lines.filter(|line| !default.lines().any(|other| other.trim() == *line));
                new.flat_map(|line| [line, "\n"]).collect()
            }
        };
        expect.assert_eq(&said);
    }

    #[test]
    fn the_defaults_are_those_of_helm_operator() {
        expect![[r#"
            Config {
                watches_file: "./watches.yaml",
                reconcile_period: Some(
                    60s,
                ),
                max_concurrent_reconciles: 2,
                metrics_address: Some(
                    [::]:8080,
                ),
                metrics_access: Plain,
                health_address: Some(
                    [::]:8081,
                ),
                leader_election: None,
                suppress_override_values: false,
                namespaces: All,
                kubeconfig: None,
                log: LogOptions {
                    encoder: Json,
                    verbosity: Info,
                    time: Rfc3339,
                },
                notices: [],
            }
        "#]]
        .assert_eq(&format!(
            "{:#?}\n",
            config("--max-concurrent-reconciles=2", &[]).unwrap()
        ));
    }

    #[test]
    fn flags_are_written_as_in_go() {
        check(
            "--watches-file=a.yaml --reconcile-period 30s",
            &[],
            &expect![[r#"
                watches_file: "a.yaml",
                30s,
            "#]],
        );
        check(
            "-watches-file=a.yaml -suppress-override-values",
            &[],
            &expect![[r#"
                watches_file: "a.yaml",
                suppress_override_values: true,
            "#]],
        );
        check("--suppress-override-values=false", &[], &expect![[""]]);
        check(
            "--suppress-override-values=T",
            &[],
            &expect![[r"
            suppress_override_values: true,
        "]],
        );
        check(
            "--suppress-override-values=yes",
            &[],
            &expect![[r"
            error: invalid value 'yes' for '--suppress-override-values[=<BOOL>]': expected true or false
        "]],
        );
        check(
            "--reconcile-period 1s --reconcile-period 0",
            &[],
            &expect![[r"
            reconcile_period: None,
        "]],
        );
        check(
            "--leader-elect true --leader-election-id=x",
            &[],
            &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "x",
            namespace: None,
            notices: [
            "argument `true` is ignored; a value belongs to its flag with `=`",
            ],
        "#]],
        );
        check(
            "--no-such-flag",
            &[],
            &expect![[r"
            error: unexpected argument '--no-such-flag' found
        "]],
        );
        check(
            "--config=x",
            &[],
            &expect![[r"
            error: unexpected argument '--config' found
        "]],
        );
    }

    #[test]
    fn wrong_values_are_named_all_at_once() {
        check(
            "--reconcile-period=60 --metrics-bind-address=8080 --health-probe-bind-address=x:y",
            &[("WATCH_NAMESPACE", ",")],
            &expect![[r"
                --reconcile-period: `60` has no unit; write `60s`, `60m` or `60h`
                --metrics-bind-address: `8080` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)
                --health-probe-bind-address: `x:y` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)
                WATCH_NAMESPACE: `,` names no namespace; leave it empty to watch all namespaces
            "]],
        );
        check(
            "--max-concurrent-reconciles=many",
            &[],
            &expect![[r"
            error: invalid value 'many' for '--max-concurrent-reconciles <NUMBER>': invalid digit found in string
        "]],
        );
        check(
            "--zap-log-level=loud",
            &[],
            &expect![[r"
            error: invalid value 'loud' for '--zap-log-level <LEVEL>': `loud` is none of `debug`, `info`, `error`, `panic` and the numbers above zero
        "]],
        );
        check(
            "--zap-encoder=xml",
            &[],
            &expect![[r"
            error: invalid value 'xml' for '--zap-encoder <ENCODER>': `xml` is none of `json`, `console`
        "]],
        );
        check(
            "--zap-time-encoding=moon",
            &[],
            &expect![[r"
            error: invalid value 'moon' for '--zap-time-encoding <ENCODING>': `moon` is none of `epoch`, `millis`, `nanos`, `iso8601`, `rfc3339`, `rfc3339nano`
        "]],
        );
    }

    #[test]
    fn old_names_work_and_exclude_the_new_ones() {
        check(
            "--metrics-addr=:9090",
            &[],
            &expect![[r#"
            [::]:9090,
            notices: [
            "flag `--metrics-addr` is deprecated; use `--metrics-bind-address`",
            ],
        "#]],
        );
        check(
            "--metrics-addr=:9090 --metrics-bind-address=:9091",
            &[],
            &expect![[r"
                --metrics-addr: is an old name of --metrics-bind-address; give only that one
            "]],
        );
        check(
            "--enable-leader-election --leader-election-id=x",
            &[],
            &expect![[r#"
                leader_election: Some(
                LeaderElection {
                id: "x",
                namespace: None,
                notices: [
                "flag `--enable-leader-election` is deprecated; use `--leader-elect`",
                ],
            "#]],
        );
        check(
            "--enable-leader-election --leader-elect --leader-election-id=x",
            &[],
            &expect![[r"
                --enable-leader-election: is an old name of --leader-elect; give only that one
            "]],
        );
    }

    #[test]
    fn addresses_can_be_turned_off() {
        check(
            "--metrics-bind-address=0 --health-probe-bind-address=0",
            &[],
            &expect![[r"
                metrics_address: None,
                health_address: None,
            "]],
        );
    }

    #[test]
    fn metrics_can_be_guarded() {
        check(
            "--metrics-secure",
            &[],
            &expect![[r"
            metrics_access: Tls,
        "]],
        );
        check(
            "--metrics-secure --metrics-require-rbac",
            &[],
            &expect![[r"
            metrics_access: TlsWithRbac,
        "]],
        );
    }

    #[test]
    fn rbac_for_metrics_needs_tls() {
        check(
            "--metrics-require-rbac",
            &[],
            &expect![[r"
            --metrics-require-rbac: needs --metrics-secure: a token must not be sent in the clear
        "]],
        );
    }

    #[test]
    fn a_leader_needs_the_name_of_a_lease() {
        check(
            "--leader-elect",
            &[],
            &expect![[r"
            --leader-elect: needs --leader-election-id, the name of the Lease
        "]],
        );
        check(
            "--leader-elect",
            &[("OPERATOR_NAME", "old")],
            &expect![[r#"
            leader_election: Some(
            LeaderElection {
            id: "old",
            namespace: None,
            notices: [
            "OPERATOR_NAME is deprecated; use `--leader-election-id`",
            ],
        "#]],
        );
        check(
            "--leader-elect --leader-election-id=new --leader-election-namespace=ops",
            &[("OPERATOR_NAME", "old")],
            &expect![[r#"
                leader_election: Some(
                LeaderElection {
                id: "new",
                namespace: Some(
                "ops",
                notices: [
                "OPERATOR_NAME is deprecated and ignored; use `--leader-election-id`",
                ],
            "#]],
        );
    }

    #[test]
    fn namespaces_come_from_the_environment() {
        check(
            "",
            &[("WATCH_NAMESPACE", "b, a")],
            &expect![[r#"
            namespaces: Listed(
            {
            "a",
            "b",
        "#]],
        );
    }

    #[test]
    fn the_log_is_for_people_where_people_are() {
        check(
            "--zap-devel",
            &[],
            &expect![[r"
            encoder: Console,
            verbosity: Debug,
        "]],
        );
        check(
            "--zap-devel --zap-encoder=JSON --zap-log-level=error --zap-time-encoding=epoch",
            &[],
            &expect![[r"
                verbosity: Error,
                time: Epoch,
            "]],
        );
        check(
            "--zap-log-level=5 --zap-stacktrace-level=Error",
            &[],
            &expect![[r"
                verbosity: Trace,
            "]],
        );
    }

    #[test]
    fn fewer_than_one_at_a_time_is_one() {
        for flags in [
            "--max-concurrent-reconciles=0",
            "--max-concurrent-reconciles=-3",
            "--max-concurrent-reconciles -1",
        ] {
            assert_eq!(
                config(flags, &[]).unwrap().max_concurrent_reconciles.get(),
                1,
                "{flags}"
            );
        }
    }
}
