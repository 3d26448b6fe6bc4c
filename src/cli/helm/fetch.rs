//! What flags have to do with the network.

use std::future::Future;

use anyhow::anyhow;
use steersman_registry::{Access, Located, Locator, fetch_file};

use super::flags::{ChartFlags, ConnectionFlags};
use super::{Settings, log};
use crate::cli::{Failure, progress};

impl ConnectionFlags {
    /// How the flags say that servers are talked to.
    pub(in crate::cli) fn access(&self) -> Access {
        Access {
            username: self.username.clone().unwrap_or_default(),
            password: self.password.clone().unwrap_or_default(),
            pass_credentials: false,
            cert_file: self.cert_file.clone(),
            key_file: self.key_file.clone(),
            ca_file: self.ca_file.clone(),
            insecure: self.insecure_skip_tls_verify,
            plain_http: self.plain_http,
        }
    }
}

/// Runs what waits for the network to its end.
pub(in crate::cli) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(Failure::helm)?.block_on(future))
}

/// Finds the chart that a user names, and fetches it where it is not on this machine.
pub(in crate::cli) fn locate(
    name: &str,
    flags: &ChartFlags,
    settings: &Settings,
) -> Result<Located, Failure> {
    refuse_verification(flags.verify)?;
    block_on(locator(flags, settings).locate(name))?.map_err(|message| Failure::helm(anyhow!(message)))
}

/// As [`locate`]; where the chart is not found, the error has what is there instead, or `hint`.
pub(in crate::cli) fn locate_with_advice(
    name: &str,
    flags: &ChartFlags,
    settings: &Settings,
    hint: &str,
) -> Result<Located, Failure> {
    let locator = locator(flags, settings);
    let found = block_on(async {
        match locator.locate(name).await {
            Ok(found) => Ok(found),
            Err(message) => Err((message, locator.advice(name).await)),
        }
    });
    found?.map_err(|(message, advice)| {
        Failure::failed(anyhow!(message), Some(advice.unwrap_or_else(|| hint.to_owned())))
    })
}

fn locator<'a>(flags: &'a ChartFlags, settings: &'a Settings) -> Locator<'a> {
    let given = flags.version.as_deref().unwrap_or_default().trim();
    Locator {
        settings: &settings.repository,
        repository: flags.repo.as_deref().filter(|repository| !repository.is_empty()),
        version: if given.is_empty() && flags.devel {
            ">0.0.0-0"
        } else {
            given
        },
        access: Access {
            pass_credentials: flags.pass_credentials,
            ..flags.connection.access()
        },
        notice: &log,
        // Helm says this beside the output, too.
        say: &|text| progress::say(text.trim_end()),
    }
}

/// Refuses to check signatures: a check that is asked for and not made is worse than none.
pub(in crate::cli) fn refuse_verification(is_wanted: bool) -> Result<(), Failure> {
    if !is_wanted {
        return Ok(());
    }
    Err(Failure::helm_with_hint(
        anyhow!("--verify is not supported"),
        "there is no PGP here; `helm verify` checks the signature of an archive",
    ))
}

/// Reads a file that a flag names: `-` is standard input, and a URL is fetched. The error is Helm's.
pub(in crate::cli) fn read_file_or_url(path: &str) -> Result<Vec<u8>, String> {
    if !path.starts_with("http://") && !path.starts_with("https://") {
        return super::read_file(path);
    }
    match block_on(fetch_file(path)) {
        Ok(content) => content,
        Err(_) => Err(format!("failed to fetch {path}")),
    }
}
