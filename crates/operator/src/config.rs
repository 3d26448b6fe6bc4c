//! What the flags and the environment mean.
//!
//! The rules are those of operator-sdk's `helm-operator run`. Everything here is checked: nothing behind it looks
//! at a flag or at the environment again.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

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

/// What releases keep, wait for, and do when they fail. The words are those of Helm's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleasePolicy {
    /// How many revisions of a release are kept; `None` is all of them.
    pub history_max: Option<NonZeroUsize>,
    /// How long a hook may take; `None` is as long as it likes.
    pub hook_timeout: Option<Duration>,
    /// Whether a failed upgrade goes back to the deployed revision, and a failed installation is
    /// uninstalled. An annotation of the resource overrides it.
    pub rollback_on_failure: bool,
}

impl Default for ReleasePolicy {
    /// Helm's own numbers.
    fn default() -> Self {
        Self {
            history_max: NonZeroUsize::new(10),
            hook_timeout: Some(Duration::from_mins(5)),
            rollback_on_failure: false,
        }
    }
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
}

/// The namespaces whose custom resources are reconciled (`WATCH_NAMESPACE`).
///
/// ```
/// use steersman_operator::config::Namespaces;
///
/// let two = Namespaces::parse(Some("shop, blog"))?;
/// assert!(two.includes(Some("shop")) && !two.includes(Some("kube-system")));
/// assert!(!two.includes(None), "cluster-scoped resources are for operators of all namespaces");
/// assert_eq!(Namespaces::parse(None)?, Namespaces::All);
/// assert!(Namespaces::parse(Some("Shop")).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace, and cluster-scoped custom resources.
    All,
    /// These, of which there is at least one.
    Listed(BTreeSet<String>),
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

impl Namespaces {
    /// Reads `WATCH_NAMESPACE`: a list with commas, spaces around names ignored. Nothing means all namespaces.
    ///
    /// # Errors
    /// The list has only commas, or a name that no namespace can have; the text says which.
    pub fn parse(list: Option<&str>) -> Result<Self, String> {
        let list = list.map(str::trim).unwrap_or_default();
        if list.is_empty() {
            return Ok(Self::All);
        }
        let names: BTreeSet<String> = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Err(format!(
                "`{list}` names no namespace; leave it empty to watch all namespaces"
            ));
        }
        match names.iter().find(|name| !is_dns_label(name)) {
            Some(name) => Err(format!(
                "`{}` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)",
                name.escape_debug()
            )),
            None => Ok(Self::Listed(names)),
        }
    }

    /// The names of the list; none where all namespaces are meant.
    pub fn names(&self) -> BTreeSet<String> {
        match self {
            Self::All => BTreeSet::new(),
            Self::Listed(names) => names.clone(),
        }
    }

    /// Whether custom resources of this namespace are meant; `None` is the scope of the cluster.
    pub fn includes(&self, namespace: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Listed(names) => namespace.is_some_and(|namespace| names.contains(namespace)),
        }
    }
}

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

/// Whether a text can be the name of a namespace (RFC 1123).
fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Namespaces, parse_address};

    fn check_namespaces(list: Option<&str>, expect: &Expect) {
        expect.assert_eq(&match Namespaces::parse(list) {
            Ok(namespaces) => format!("{namespaces:?}"),
            Err(message) => message,
        });
    }

    #[test]
    fn watch_namespace_is_a_list_with_commas() {
        check_namespaces(None, &expect!["All"]);
        check_namespaces(Some(""), &expect!["All"]);
        check_namespaces(Some("  "), &expect!["All"]);
        check_namespaces(Some("a"), &expect![[r#"Listed({"a"})"#]]);
        check_namespaces(Some(" b , a,a,"), &expect![[r#"Listed({"a", "b"})"#]]);
        check_namespaces(
            Some(","),
            &expect!["`,` names no namespace; leave it empty to watch all namespaces"],
        );
        check_namespaces(
            Some("a,B"),
            &expect!["`B` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)"],
        );
        check_namespaces(
            Some("a\nb"),
            &expect![[
                r"`a\nb` is not the name of a namespace (at most 63 lower-case letters, digits and `-`)"
            ]],
        );
    }

    #[test]
    fn listed_namespaces_leave_the_cluster_scope_out() {
        let listed = Namespaces::parse(Some("a")).unwrap();
        assert!(listed.includes(Some("a")) && !listed.includes(Some("b")) && !listed.includes(None));
        assert!(Namespaces::All.includes(None));
    }

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
