//! What the flags and the environment mean.
//!
//! The rules are those of operator-sdk's `helm-operator run`. Everything here is checked: nothing behind it looks
//! at a flag or at the environment again.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::namespaces::Namespaces;
use crate::release::ReleasePolicy;
use crate::runs::RunDefaults;
use crate::telemetry::LogOptions;

/// How the operator is to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The watches.yaml to load.
    pub watches_file: PathBuf,
    /// How often each custom resource is reconciled without a change; `None` is never. An annotation of the
    /// resource and an entry of watches.yaml override it.
    pub reconcile_period: Option<Duration>,
    /// How many custom resources of a kind are reconciled at a time. An entry of watches.yaml overrides it.
    pub max_concurrent_reconciles: NonZeroUsize,
    /// How many custom resources of all kinds are reconciled at a time; `None` is as many as the kinds allow.
    pub max_concurrent_in_all: Option<NonZeroUsize>,
    /// Where `/metrics` is served, if anywhere.
    pub metrics_address: Option<SocketAddr>,
    /// How `/metrics` is guarded.
    pub metrics_access: MetricsAccess,
    /// Where `/healthz` and `/readyz` are served, if anywhere.
    pub health_address: Option<SocketAddr>,
    /// The lease without which nothing is reconciled, if one is wanted.
    pub leader_election: Option<LeaderElection>,
    /// What releases keep, wait for, and do when they fail.
    pub releases: ReleasePolicy,
    /// What roles and playbooks are run with.
    pub runs: RunDefaults,
    /// How often runs are made, how many at a time, and the ports for them.
    pub ansible: AnsibleConfig,
    /// Whether what would be done is only said.
    pub dry_run: bool,
    /// As which ServiceAccount, in the namespace of each, releases are made for which watches.yaml names none; `None` is the
    /// operator itself.
    pub default_service_account: Option<String>,
    /// Whether events hide the override values of watches.yaml.
    pub suppress_override_values: bool,
    /// The namespaces whose custom resources are reconciled.
    pub namespaces: Namespaces,
    /// Where the operator runs.
    pub place: Place,
    /// The namespace of its lease and of the keys that sign releases; its own where that is not given.
    pub own_namespace: Option<String>,
    /// How long running reconciles may take to end once the process is asked to stop.
    pub shutdown_grace: Duration,
    /// Whether changes of watches.yaml and of charts are taken at once.
    pub follow_files: bool,
    /// The kubeconfig of `--kubeconfig`, before all other ways to find the API server.
    pub kubeconfig: Option<PathBuf>,
    /// The `--zap-…` flags.
    pub log: LogOptions,
    /// What the user should know about the flags and the environment although they can be obeyed.
    pub notices: Vec<String>,
}

/// Where an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a pod, as the one that the cluster's releases belong to.
    Pod,
    /// Outside of a cluster, as a developer's, beside which another one may be at work.
    Outside,
}

/// What an operator with roles and playbooks needs besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsibleConfig {
    /// How often a run is made for each custom resource without a change; `None` is never. An annotation of the resource and
    /// an entry of watches.yaml override it.
    pub reconcile_period: Option<Duration>,
    /// How many runs of all kinds are made at a time.
    pub max_runs: RunLimit,
    /// Where the proxy between runs and the API server listens on the loopback address; 0 is any port that is free.
    pub proxy_port: u16,
    /// Where values for metrics are taken from roles.
    pub metrics_port: RoleMetricsPort,
}

/// How many runs are made at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLimit {
    /// As many as the memory has room for.
    OfMemory,
    /// Whatever memory there is.
    Of(NonZeroUsize),
    /// As many as the kinds allow.
    OfKinds,
}

/// The port of the loopback address at which the module `osdk_metric` leaves values for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleMetricsPort {
    /// There is none.
    Off,
    /// Without it the operator does not start.
    Needed(u16),
    /// Without it the operator starts with a warning: on a developer's machine another operator may have it.
    Wanted(u16),
}

/// How `/metrics` is guarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Plain HTTP, for everybody.
    #[default]
    Plain,
    /// TLS with a certificate of our own, for everybody.
    Tls,
    /// TLS, and only for who may `get` the path `/metrics` by RBAC.
    TlsWithRbac,
}

/// The lease that the acting replica holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// The lease's name.
    pub id: String,
    /// The lease's namespace; the operator's own where it is not given.
    pub namespace: Option<String>,
    /// How long it is valid, and how long renewing it may fail.
    pub times: LeaseTimes,
}

/// How long a lease is valid, and how long renewing it may fail.
///
/// ```
/// use std::time::Duration;
///
/// use steersman_operator::config::LeaseTimes;
///
/// let seconds = Duration::from_secs;
/// assert_eq!(LeaseTimes::new(seconds(15), seconds(10)), Ok(LeaseTimes::default()));
/// assert!(LeaseTimes::new(seconds(10), seconds(10)).is_err(), "two would hold it for a moment");
/// assert!(LeaseTimes::new(seconds(10), seconds(2)).is_err(), "there would be no time for an attempt");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    duration: Duration,
    renew_deadline: Duration,
}

impl LeaseTimes {
    /// How often a lease is looked at and renewed.
    pub(crate) const RETRY_PERIOD: Duration = Duration::from_secs(2);

    /// Times that keep two processes from holding a lease at once, by the rules of client-go.
    ///
    /// # Errors
    /// They do not; the text says why.
    pub fn new(duration: Duration, renew_deadline: Duration) -> Result<Self, String> {
        // client-go spreads its attempts by a factor of up to 1.2.
        let attempts = Self::RETRY_PERIOD * 6 / 5;
        if duration <= renew_deadline {
            return Err("a lease has to be valid for longer than renewing it may fail".to_owned());
        }
        if renew_deadline <= attempts {
            return Err(format!(
                "renewing a lease has to be tried for longer than {attempts:?}, as there is an attempt every {:?}",
                Self::RETRY_PERIOD
            ));
        }
        if duration > Duration::from_hours(1) || duration.subsec_nanos() != 0 {
            return Err("a lease is valid for whole seconds, and for an hour at most".to_owned());
        }
        Ok(Self {
            duration,
            renew_deadline,
        })
    }

    /// How long a lease is valid after a renewal.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// After so long without a renewal it counts as lost: less than it is valid, so that nobody else can hold it by then.
    pub fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
        }
    }
}

/// Everything that is wrong with the flags and the environment.
///
/// ```
/// use steersman_operator::config::{ConfigError, ConfigProblem};
///
/// let problem = |name: &str, message: &str| ConfigProblem { name: name.to_owned(), message: message.to_owned() };
/// let error = ConfigError::new(vec![
///     problem("--reconcile-period", "`soon` is not a duration"),
///     problem("WATCH_NAMESPACE", "`,` names no namespace"),
/// ]);
/// assert_eq!(error.to_string().lines().count(), 2, "one for each, so that all are mended at once");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

/// One thing that is wrong with the flags or the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The flag or variable, such as `--reconcile-period`.
    pub name: String,
    /// What is wrong with it.
    pub message: String,
}

impl ConfigError {
    /// An error made of at least one problem.
    pub fn new(problems: Vec<ConfigProblem>) -> Self {
        Self { problems }
    }

    /// The problems, in the order of the flags.
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{}: {}", problem.name, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Reads an address in Go's notation: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
/// `0` and nothing at all mean that nothing is served.
///
/// ```
/// use steersman_operator::config::parse_address;
///
/// let everywhere = parse_address(":8080")?.unwrap();
/// assert!(everywhere.ip().is_unspecified() && everywhere.port() == 8080);
/// assert_eq!(parse_address("localhost:8081")?.unwrap().to_string(), "127.0.0.1:8081");
/// assert_eq!(parse_address("0")?, None);
/// assert!(parse_address("8080").is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// The text is another; the error says what is expected.
pub fn parse_address(text: &str) -> Result<Option<SocketAddr>, String> {
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let expected =
        || format!("`{text}` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)");
    let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
    let port: u16 = port.parse().map_err(|_| expected())?;
    let host = match host {
        // Go listens on both families where the kernel has both; this address does the same.
        "" => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(host) => IpAddr::V6(host.parse().map_err(|_| expected())?),
            None => IpAddr::V4(host.parse().map_err(|_| expected())?),
        },
    };
    Ok(Some(SocketAddr::new(host, port)))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::parse_address;

    fn check_address(text: &str, expect: &Expect) {
        expect.assert_eq(&match parse_address(text) {
            Ok(Some(address)) => address.to_string(),
            Ok(None) => "off".to_owned(),
            Err(message) => message,
        });
    }

    #[test]
    fn addresses_are_written_as_in_go() {
        check_address(":8080", &expect!["[::]:8080"]);
        check_address("0", &expect!["off"]);
        check_address("", &expect!["off"]);
        check_address("127.0.0.1:0", &expect!["127.0.0.1:0"]);
        check_address("localhost:8443", &expect!["127.0.0.1:8443"]);
        check_address("[::1]:1", &expect!["[::1]:1"]);
        check_address(
            "8080",
            &expect!["`8080` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)"],
        );
        check_address(
            ":99999",
            &expect!["`:99999` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)"],
        );
        check_address(
            "example.com:80",
            &expect![
                "`example.com:80` is not an address such as `:8080` or `127.0.0.1:8080` (`0` turns it off)"
            ],
        );
    }
}
