//! Where the address of the API server and the credentials for it come from.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use steersman_model::{Environment, chain};

use super::ConnectError;
use super::login::{Login, user_of};

/// Where the address and the credentials come from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    Files(Vec<PathBuf>),
    Pod,
}

impl Source {
    /// controller-runtime's order: `--kubeconfig`, `KUBECONFIG`, the pod, `~/.kube/config`.
    pub(super) fn find(flag: Option<&Path>, environment: &Environment) -> Option<Self> {
        if let Some(path) = flag {
            return Some(Self::Files(vec![path.to_owned()]));
        }
        let listed: Vec<PathBuf> = std::env::split_paths(environment.get("KUBECONFIG").unwrap_or_default())
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        if !listed.is_empty() {
            return Some(Self::Files(listed));
        }
        if environment
            .get("KUBERNETES_SERVICE_HOST")
            .is_some_and(|host| !host.is_empty())
        {
            return Some(Self::Pod);
        }
        let home = PathBuf::from(environment.get("HOME")?).join(".kube/config");
        home.is_file().then(|| Self::Files(vec![home]))
    }

    pub(super) async fn load(&self) -> Result<Login, ConnectError> {
        match self {
            Self::Pod => {
                let config = kube::Config::incluster().map_err(|error| ConnectError::ServiceAccount {
                    reason: chain(&error),
                })?;
                Ok(Login::unnamed(config))
            }
            Self::Files(paths) => load_files(paths, None).await,
        }
    }
}

/// The configuration that the files give, for a context of theirs or else for the current one.
pub(super) async fn load_files(paths: &[PathBuf], context: Option<&str>) -> Result<Login, ConnectError> {
    let names = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect::<Vec<_>>()
        .join(", ");
    let failed = |source_name: &str, reason: String| ConnectError::Kubeconfig {
        source_name: source_name.to_owned(),
        reason,
    };
    let merged = merge_files(paths)?;
    if context.is_none() && merged.current_context.as_ref().is_none_or(String::is_empty) {
        let hint = "it names no current context; choose one with `kubectl config use-context NAME`";
        return Err(failed(&names, hint.to_owned()));
    }
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let user = user_of(&merged, context, &names);
    let config = kube::Config::from_custom_kubeconfig(merged, &options).await;
    let config = config.map_err(|error| failed(&names, chain(&error)))?;
    Ok(Login { config, user })
}

/// The files as one kubeconfig, of which the first that names something counts.
fn merge_files(paths: &[PathBuf]) -> Result<Kubeconfig, ConnectError> {
    let failed = |source_name: &str, reason: String| ConnectError::Kubeconfig {
        source_name: source_name.to_owned(),
        reason,
    };
    let mut merged = Kubeconfig::default();
    for path in paths {
        let name = format!("`{}`", path.display());
        let read = read_file(path).map_err(|reason| failed(&name, reason))?;
        merged = merged.merge(read).map_err(|error| failed(&name, chain(&error)))?;
    }
    Ok(merged)
}

/// Reads one file. What is wrong with its text is said without quoting from it: it is full of credentials.
fn read_file(path: &Path) -> Result<Kubeconfig, String> {
    match Kubeconfig::read_from(path) {
        Ok(config) => Ok(config),
        Err(KubeconfigError::ReadConfig(error, _)) => Err(error.to_string()),
        Err(_) => {
            let text = std::fs::read(path).map_err(|error| error.to_string())?;
            match steersman_yaml::parse_bytes(&text) {
                Err(error) => Err(format!("line {} is not valid YAML", error.line())),
                Ok(_) => Err("it is YAML, but not a kubeconfig".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use steersman_model::Environment;

    use super::Source;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn kubeconfigs_are_looked_for_in_the_order_of_controller_runtime() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".kube/config");
        std::fs::create_dir(home.path().join(".kube")).unwrap();
        std::fs::write(&file, "").unwrap();
        let home = home.path().to_str().unwrap();
        let files = |path: &str| Some(Source::Files(vec![path.into()]));
        let everything = [
            ("KUBECONFIG", "/from-env"),
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("HOME", home),
        ];
        assert_eq!(
            Source::find(Some(Path::new("/from-flag")), &environment(&everything)),
            files("/from-flag")
        );
        assert_eq!(Source::find(None, &environment(&everything)), files("/from-env"));
        assert_eq!(
            Source::find(None, &environment(&everything[1..])),
            Some(Source::Pod)
        );
        assert_eq!(
            Source::find(None, &environment(&everything[2..])),
            files(file.to_str().unwrap())
        );
        assert_eq!(Source::find(None, &environment(&[("HOME", "/nowhere")])), None);
        let empty = [("KUBECONFIG", ""), ("KUBERNETES_SERVICE_HOST", "10.0.0.1")];
        assert_eq!(Source::find(None, &environment(&empty)), Some(Source::Pod));
    }
}
