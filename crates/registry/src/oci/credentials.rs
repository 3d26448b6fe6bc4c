//! Who we are for a registry.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::client::Access;
use crate::settings::Settings;

/// The credentials that flags give for every registry, and those that files have for some.
#[derive(Default)]
pub(super) struct Credentials {
    given: Option<Login>,
    stored: BTreeMap<String, Login>,
}

/// A user of a registry.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) username: String,
    pub(super) password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct File {
    auths: Option<BTreeMap<String, Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl Credentials {
    /// What flags and files say. Files that cannot be read have nothing to say.
    pub(super) fn new(access: &Access, settings: &Settings) -> Self {
        let given = Login {
            username: access.username.clone(),
            password: access.password.clone(),
        };
        let mut stored = BTreeMap::new();
        // Helm's own file counts before Docker's.
        for file in [&settings.docker_config, &settings.registry_config] {
            stored.extend(read(file));
        }
        Self {
            given: Some(given).filter(|login| !login.username.is_empty() || !login.password.is_empty()),
            stored,
        }
    }

    /// The credentials for the registry at this host.
    pub(super) fn of(&self, host: &str) -> Option<Login> {
        let name = match host {
            "docker.io" | "registry-1.docker.io" => "index.docker.io",
            host => host,
        };
        self.given
            .as_ref()
            .or_else(|| self.stored.get(host))
            .or_else(|| self.stored.get(name))
            .cloned()
    }
}

fn read(path: &Path) -> BTreeMap<String, Login> {
    let file: Option<File> = std::fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let entries = file.and_then(|file| file.auths).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(server, entry)| Some((host(&server).to_owned(), entry.login()?)))
        .collect()
}

/// The host that an entry is for; Docker writes some with scheme and path.
fn host(server: &str) -> &str {
    let server = server.split_once("://").map_or(server, |(_, rest)| rest);
    server.split('/').next().unwrap_or(server)
}

impl Entry {
    fn login(self) -> Option<Login> {
        if let (Some(username), Some(password)) = (self.username, self.password) {
            return Some(Login { username, password });
        }
        let text = String::from_utf8(STANDARD.decode(self.auth?).ok()?).ok()?;
        let (username, password) = text.split_once(':')?;
        Some(Login {
            username: username.to_owned(),
            password: password.trim_end_matches('\0').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_for_the_host_that_they_were_stored_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        let auth = STANDARD.encode("user:secret");
        let text = serde_json::json!({"auths": {
            "registry.example.com:5000": {"auth": auth},
            "https://index.docker.io/v1/": {"username": "me", "password": "mine"},
        }});
        std::fs::write(&file, text.to_string()).unwrap();
        let settings = Settings {
            registry_config: file,
            ..Settings::default()
        };
        let stored = Credentials::new(&Access::default(), &settings);
        let user = |credentials: &Credentials, host: &str| credentials.of(host).map(|login| login.username);
        assert_eq!(
            user(&stored, "registry.example.com:5000").as_deref(),
            Some("user")
        );
        assert_eq!(user(&stored, "registry.example.com"), None);
        assert_eq!(user(&stored, "docker.io").as_deref(), Some("me"));
        let given = Access {
            username: "flag".to_owned(),
            ..Access::default()
        };
        assert_eq!(
            user(&Credentials::new(&given, &settings), "docker.io").as_deref(),
            Some("flag")
        );
    }
}
