//! What the flags of `run` and the environment mean together.

use std::num::NonZeroUsize;
use std::time::Duration;

use steersman_model::{Environment, parse_duration};
use steersman_operator::config::{
    Config, ConfigError, ConfigProblem, LeaderElection, LeaseTimes, MetricsAccess, Place, parse_address,
};
use steersman_operator::namespaces::Namespaces;
use steersman_operator::release::ReleasePolicy;
use steersman_operator::telemetry::traces::{are_wanted, notice};
use steersman_operator::telemetry::{Encoder, LogOptions, TimeEncoding, Verbosity};
use steersman_watches::is_service_account;

use super::defaults::Defaults;
use super::flags::Args;
use crate::cli::program::Program;
use crate::cli::style::is_forbidden;

impl Args {
    /// What the flags and the environment mean together.
    pub(super) fn into_config(
        self,
        environment: &Environment,
        is_terminal: bool,
        program: Program,
    ) -> Result<Config, ConfigError> {
        let mut problems = Problems::default();
        let mut notices = Vec::new();
        let place = place(environment);
        let defaults = Defaults::of(program, place);
        let given = self.reconcile_period(&mut problems);
        let period = |default| Some(given.unwrap_or(default)).filter(|period| !period.is_zero());
        let config = Config {
            reconcile_period: period(defaults.reconcile_period),
            max_concurrent_reconciles: self.max_concurrent_reconciles(),
            max_concurrent_in_all: NonZeroUsize::new(self.max_concurrent_reconciles_in_all),
            metrics_address: self.metrics_address(&defaults, &mut problems, &mut notices),
            metrics_access: self.metrics_access(&mut problems),
            health_address: problems
                .check(
                    "--health-probe-bind-address",
                    parse_address(
                        self.health_probe_bind_address
                            .as_deref()
                            .unwrap_or(defaults.health_address),
                    ),
                )
                .flatten(),
            leader_election: self.leader_election(environment, &mut problems, &mut notices),
            releases: self.releases(&mut problems),
            runs: self.ansible.runs(environment, &mut problems, &mut notices),
            ansible: self.ansible.config(&defaults, period(defaults.run_period)),
            dry_run: self.dry_run,
            default_service_account: self.default_service_account(&mut problems),
            suppress_override_values: self.suppress_override_values,
            namespaces: problems
                .check(
                    "WATCH_NAMESPACE",
                    Namespaces::parse(environment.get("WATCH_NAMESPACE")),
                )
                .unwrap_or(Namespaces::All),
            place,
            own_namespace: Some(self.leader_election_namespace.clone())
                .filter(|namespace| !namespace.is_empty()),
            shutdown_grace: self.shutdown_grace(&mut problems),
            follow_files: self.watch_files.unwrap_or(place == Place::Outside),
            log: self.log(is_terminal, environment),
            watches_file: self.watches_file,
            kubeconfig: self.kubeconfig.filter(|path| !path.as_os_str().is_empty()),
            notices: Vec::new(),
        };
        if are_wanted(environment) {
            notices.extend(notice(environment));
        }
        for word in &self.ignored {
            notices.push(format!(
                "argument `{}` is ignored; a value belongs to its flag with `=`",
                word.escape_debug()
            ));
        }
        problems.or(Config { notices, ..config })
    }

    /// What the flag says, where it was given; zero is never.
    fn reconcile_period(&self, problems: &mut Problems) -> Option<Duration> {
        problems.duration("--reconcile-period", self.reconcile_period.as_deref()?)
    }

    /// Never less than a second, so that the lease can be given back.
    fn shutdown_grace(&self, problems: &mut Problems) -> Duration {
        let grace = problems.duration("--graceful-shutdown-timeout", &self.graceful_shutdown_timeout);
        grace.unwrap_or_default().max(Duration::from_secs(1))
    }

    /// An empty name is a mistake, and no way to say that there is none: rights would be more than was meant.
    fn default_service_account(&self, problems: &mut Problems) -> Option<String> {
        let name = self.default_service_account.clone()?;
        let checked = if is_service_account(&name) {
            Ok(name)
        } else {
            Err(format!(
                "`{}` is not the name of a ServiceAccount",
                name.escape_debug()
            ))
        };
        problems.check("--default-service-account", checked)
    }

    fn releases(&self, problems: &mut Problems) -> ReleasePolicy {
        ReleasePolicy {
            history_max: NonZeroUsize::new(self.history_max),
            hook_timeout: problems
                .duration("--hook-timeout", &self.hook_timeout)
                .filter(|timeout| !timeout.is_zero()),
            rollback_on_failure: self.rollback_on_failure,
        }
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
        defaults: &Defaults,
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
            (new, None) => (
                "--metrics-bind-address",
                new.as_deref().unwrap_or(defaults.metrics_address),
            ),
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
        if self.leader_elect_resource_lock.is_some() {
            notices.push(
                "flag `--leader-elect-resource-lock` is deprecated; a Lease is the only kind of lock"
                    .to_owned(),
            );
        }
        let times = self.lease_times(problems);
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
            times,
        })
    }

    fn lease_times(&self, problems: &mut Problems) -> LeaseTimes {
        let duration = problems.duration("--leader-elect-lease-duration", &self.leader_elect_lease_duration);
        let deadline = problems.duration("--leader-elect-renew-deadline", &self.leader_elect_renew_deadline);
        let (Some(duration), Some(deadline)) = (duration, deadline) else {
            return LeaseTimes::default();
        };
        let times = LeaseTimes::new(duration, deadline);
        problems
            .check("--leader-elect-lease-duration", times)
            .unwrap_or_default()
    }

    fn log(&self, is_terminal: bool, environment: &Environment) -> LogOptions {
        let (encoder, time) = if is_terminal {
            let coloured = !is_forbidden(environment);
            (Encoder::Terminal { coloured }, TimeEncoding::Clock)
        } else if self.zap_devel {
            (Encoder::Console, TimeEncoding::default())
        } else {
            (Encoder::Json, TimeEncoding::default())
        };
        let verbosity = if self.zap_devel {
            Verbosity::Debug
        } else {
            Verbosity::Info
        };
        LogOptions {
            encoder: self.zap_encoder.unwrap_or(encoder),
            verbosity: self.zap_log_level.unwrap_or(verbosity),
            time: self.zap_time_encoding.unwrap_or(match self.zap_encoder {
                Some(_) => TimeEncoding::default(),
                None => time,
            }),
        }
    }
}

/// In a pod, files change with the image alone.
fn place(environment: &Environment) -> Place {
    let host = environment.get("KUBERNETES_SERVICE_HOST").unwrap_or_default();
    if host.is_empty() {
        Place::Outside
    } else {
        Place::Pod
    }
}

/// What is wrong so far.
#[derive(Default)]
pub(super) struct Problems(Vec<ConfigProblem>);

impl Problems {
    fn add(&mut self, name: &str, message: impl Into<String>) {
        self.0.push(ConfigProblem {
            name: name.to_owned(),
            message: message.into(),
        });
    }

    pub(super) fn check<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.add(name, message)).ok()
    }

    pub(super) fn duration(&mut self, name: &str, text: &str) -> Option<Duration> {
        self.check(name, parse_duration(text).map_err(|error| error.to_string()))
    }

    fn or(self, config: Config) -> Result<Config, ConfigError> {
        if self.0.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::new(self.0))
        }
    }
}
