//! What Helm's global flags and its variables mean.

use std::path::PathBuf;

use steersman_chart::Notice;
use steersman_cluster::client::{Overrides, Target};
use steersman_model::Environment;

use super::flags::GlobalFlags;
use crate::cli::Failure;
use crate::cli::arguments::parse_bool;

/// The settings of one command.
#[derive(Debug)]
pub(in crate::cli) struct Settings {
    /// Whether the user wants to see more.
    pub(in crate::cli) debug: bool,
    /// Helm's files about repositories and registries.
    pub(in crate::cli) repository: steersman_registry::Settings,
    /// The way to the cluster, for commands that ask one.
    pub(in crate::cli) target: Target,
}

impl Settings {
    /// Reads flags and, where they are not given, variables.
    ///
    /// # Errors
    /// `--color` is none of Helm's modes.
    pub(in crate::cli) fn new(flags: &GlobalFlags, environment: &Environment) -> Result<Self, Failure> {
        let variable = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        // A flag goes before its variable also where it is empty; then there is nothing.
        let text = |flag: &Option<String>, name| {
            let given = flag.clone().or_else(|| variable(name).map(str::to_owned));
            given.filter(|text| !text.is_empty())
        };
        let path = |flag: &Option<PathBuf>, name| {
            let given = flag.clone().or_else(|| variable(name).map(PathBuf::from));
            given.filter(|path| !path.as_os_str().is_empty())
        };
        let switch = |name| variable(name).is_some_and(|value| parse_bool(value) == Ok(true));
        check_color(flags)?;
        let groups = variable("HELM_KUBEASGROUPS").unwrap_or_default();
        let groups = groups.trim_matches([',', ' ']).split(',').map(str::to_owned);
        let mut repository = steersman_registry::Settings::of(environment);
        for (flag, place) in [
            (&flags.repository_config, &mut repository.repository_config),
            (&flags.repository_cache, &mut repository.repository_cache),
            (&flags.registry_config, &mut repository.registry_config),
        ] {
            if let Some(path) = flag {
                place.clone_from(path);
            }
        }
        Ok(Self {
            repository,
            debug: flags.debug || switch("HELM_DEBUG"),
            target: Target {
                kubeconfig: flags.kubeconfig.clone(),
                overrides: Overrides {
                    namespace: text(&flags.namespace, "HELM_NAMESPACE"),
                    context: text(&flags.kube_context, "HELM_KUBECONTEXT"),
                    server: text(&flags.kube_apiserver, "HELM_KUBEAPISERVER"),
                    token: text(&flags.kube_token, "HELM_KUBETOKEN"),
                    certificate_authority: path(&flags.kube_ca_file, "HELM_KUBECAFILE"),
                    tls_server_name: text(&flags.kube_tls_server_name, "HELM_KUBETLS_SERVER_NAME"),
                    insecure: flags.kube_insecure_skip_tls_verify
                        || switch("HELM_KUBEINSECURE_SKIP_TLS_VERIFY"),
                    user: text(&flags.kube_as_user, "HELM_KUBEASUSER"),
                    groups: if flags.kube_as_group.is_empty() {
                        groups.filter(|group| !group.is_empty()).collect()
                    } else {
                        flags.kube_as_group.clone()
                    },
                },
            },
        })
    }

    /// The namespace of the release: the one that is given, else that of the kubeconfig's context.
    pub(in crate::cli) fn namespace(&self, environment: &Environment) -> String {
        self.target.namespace(environment)
    }
}

fn check_color(flags: &GlobalFlags) -> Result<(), Failure> {
    match flags.color.as_deref() {
        None | Some("never" | "auto" | "always") => Ok(()),
        Some(mode) => {
            let message = format!("invalid color mode {mode:?}: must be one of: never, auto, always");
            super::log(&Notice::warning("command failed").with("error", message));
            Err(Failure::Silent)
        }
    }
}
