//! The flags that commands after Helm share.

use std::path::PathBuf;

use steersman_chart::template::ValueSources;

/// Flags of every command, as Helm's global flags.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Global")]
pub(in crate::cli) struct GlobalFlags {
    /// Namespace of the release [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
    /// The kubeconfig to use, before KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    pub(super) kube_context: Option<String>,
    /// Address of the API server, instead of the kubeconfig's
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(super) kube_apiserver: Option<String>,
    /// Bearer token for the API server
    #[arg(long, value_name = "TOKEN", hide_short_help = true)]
    pub(super) kube_token: Option<String>,
    /// Certificate authority of the API server
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) kube_ca_file: Option<PathBuf>,
    /// User to act as
    #[arg(long, value_name = "USER", hide_short_help = true)]
    pub(super) kube_as_user: Option<String>,
    /// Group to act as; can be repeated
    #[arg(long, value_name = "GROUP", hide_short_help = true)]
    pub(super) kube_as_group: Vec<String>,
    /// Do not check the certificate of the API server
    #[arg(long, hide_short_help = true)]
    pub(super) kube_insecure_skip_tls_verify: bool,
    /// Name that the certificate of the API server must have
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) kube_tls_server_name: Option<String>,
    /// The file of repositories that `helm repo add` keeps
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) repository_config: Option<PathBuf>,
    /// The folder of repository indexes
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(super) repository_cache: Option<PathBuf>,
    /// The file of credentials that `helm registry login` keeps
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) registry_config: Option<PathBuf>,
    /// Say more on standard error; `template` prints what it can of a chart that fails
    #[arg(long)]
    pub(super) debug: bool,
    /// Accepted without effect: there is no colour
    #[arg(long, alias = "colour", value_name = "MODE", hide = true)]
    pub(super) color: Option<String>,
    /// Accepted without effect: charts that were fetched are not kept
    #[arg(long, value_name = "DIR", hide = true)]
    pub(super) content_cache: Option<PathBuf>,
    /// Accepted without effect
    #[arg(long, value_name = "NUMBER", hide = true, value_parser = super::values::number)]
    pub(super) burst_limit: Option<i64>,
    /// Accepted without effect
    #[arg(long, value_name = "NUMBER", hide = true, value_parser = super::values::float)]
    pub(super) qps: Option<f32>,
}

/// Where values come from besides the chart.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values")]
pub(in crate::cli) struct ValueFlags {
    /// Values in a YAML file or at a URL (`-` for standard input); later ones override earlier ones
    #[arg(short = 'f', long, value_name = "FILE", value_delimiter = ',')]
    values: Vec<String>,
    /// Set values: key1=val1,key2=val2
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Set texts: key1=val1,key2=val2
    #[arg(long, value_name = "KEY=VALUE")]
    set_string: Vec<String>,
    /// Set values to the contents of files: key1=path1,key2=path2
    #[arg(long, value_name = "KEY=FILE")]
    set_file: Vec<String>,
    /// Set JSON values: key1=jsonval1, or one object
    #[arg(long, value_name = "KEY=JSON")]
    set_json: Vec<String>,
    /// Set one key to all that follows, as it is
    #[arg(long, value_name = "KEY=TEXT")]
    set_literal: Vec<String>,
}

impl ValueFlags {
    /// The files, if nothing is set besides.
    pub(in crate::cli) fn files_alone(&self) -> Option<&[String]> {
        let sets = [
            &self.set,
            &self.set_string,
            &self.set_file,
            &self.set_json,
            &self.set_literal,
        ];
        sets.into_iter().all(Vec::is_empty).then_some(&self.values)
    }

    /// The sources in the order in which they override each other.
    pub(in crate::cli) fn sources(&self) -> ValueSources {
        ValueSources {
            files: self.values.clone(),
            json: self.set_json.clone(),
            typed: self.set.clone(),
            text: self.set_string.clone(),
            from_files: self.set_file.clone(),
            literal: self.set_literal.clone(),
        }
    }
}

/// Where a chart comes from that is not a path.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Chart")]
pub(in crate::cli) struct ChartFlags {
    /// Version of the chart, or a range of versions [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub(super) version: Option<String>,
    /// Consider versions before a release, too: as --version '>0.0.0-0'
    #[arg(long)]
    pub(super) devel: bool,
    /// The repository that has the chart
    #[arg(long, value_name = "URL")]
    pub(super) repo: Option<String>,
    #[command(flatten)]
    pub(super) connection: ConnectionFlags,
    /// Send credentials to other hosts than the repository's, too
    #[arg(long)]
    pub(super) pass_credentials: bool,
    /// Refused: there is no PGP here to check a signature with
    #[arg(long, hide = true)]
    pub(super) verify: bool,
    /// Accepted without effect
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) keyring: Option<PathBuf>,
}

impl ChartFlags {
    /// A version of a chart, in a repository where one is given.
    pub(in crate::cli) fn of(
        version: Option<String>,
        repo: Option<String>,
        connection: ConnectionFlags,
    ) -> Self {
        Self {
            version,
            repo,
            connection,
            ..Self::default()
        }
    }
}

/// How repositories and registries are talked to.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct ConnectionFlags {
    /// User name for the repository or registry
    #[arg(long, value_name = "NAME")]
    pub(super) username: Option<String>,
    /// Password for the repository or registry
    #[arg(long, value_name = "PASSWORD")]
    pub(super) password: Option<String>,
    /// Certificate to show to the server
    #[arg(long, value_name = "FILE")]
    pub(super) cert_file: Option<PathBuf>,
    /// Key of that certificate
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// Certificate authority of the server
    #[arg(long, value_name = "FILE")]
    pub(super) ca_file: Option<PathBuf>,
    /// Do not check the certificate of the server
    #[arg(long)]
    pub(super) insecure_skip_tls_verify: bool,
    /// Talk to registries without TLS
    #[arg(long)]
    pub(super) plain_http: bool,
}
