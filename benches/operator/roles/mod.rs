//! Runs of roles: Steersman beside the Go ansible-operator.

mod drift;
mod phases;
mod rows;
mod runs;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use steersman_testkit::ansible::Ansible;

use crate::Common;
use crate::candidate::{Candidate, Kind};
use crate::cluster::Rig;
use crate::others::{self, CONFIG_MAP, SECRET};
use crate::report::{self, Page};
use phases::Figures;

/// Made by five tasks of `kubernetes.core.k8s`.
const WEB: Kind = Kind {
    kind: "Web",
    plural: "webs",
};

/// Made by one.
const SETTINGS: Kind = Kind {
    kind: "Settings",
    plural: "settings",
};

/// What both operators say of a resource whose run has succeeded.
const CONDITION: &str = "Successful";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    /// How many resources are installed by the role of five tasks
    #[arg(long, default_value_t = 50)]
    installs: usize,
    /// How many of their objects are deleted
    #[arg(long, default_value_t = 10)]
    deletions: usize,
    /// How many objects of others there are, of 10 kB each, half of them Secrets and half config maps
    #[arg(long, default_value_t = 10_000)]
    foreign: usize,
}

/// Measures one operator after the other, first alone and then beside objects of others, and gives the page that says what
/// came out.
pub(crate) async fn measure(rig: &Rig, arguments: &Arguments) -> Result<String> {
    let Common {
        steersman,
        peer,
        resources,
        settled,
        ..
    } = &arguments.common;
    let ansible = Ansible::find_or_skip("bench-ansible").context("there is no environment of Python")?;
    let binaries = [
        ("steersman", Some(steersman)),
        ("ansible-operator", peer.as_ref()),
    ];
    let mut all = Vec::new();
    for (name, binary) in binaries {
        let Some(binary) = binary else { continue };
        let candidate = prepare(rig, name, binary, &ansible)
            .await
            .with_context(|| format!("failed to prepare {name}"))?;
        let mut figures = Figures::default();
        phases::install(rig, &candidate, arguments, &mut figures).await?;
        all.push((candidate, figures));
    }
    if arguments.foreign > 0 {
        others::make(rig, &[SECRET, CONFIG_MAP], arguments.foreign / 2).await?;
    }
    for (candidate, figures) in &mut all {
        let settled = Duration::from_secs(*settled);
        phases::settle(rig, candidate, *resources, settled, figures).await?;
    }

    let Arguments {
        installs, foreign, ..
    } = arguments;
    let page = Page {
        title: "The operator with roles, measured",
        target: "bench-ansible",
        peer: "ansible-operator",
        variable: "ANSIBLE_OPERATOR",
        conditions: format!(
            "Kubernetes {}, ansible-core {}; two runs at a time. {installs} resources of a role of five tasks of \
             `kubernetes.core.k8s` are installed; {resources} of a role of one are settled for {settled} s beside {foreign} \
             Secrets and ConfigMaps of others, of 10 kB.",
            rig.kubernetes().await?,
            version_of_core(&ansible)?,
        ),
    };
    let figures: Vec<&Figures> = all.iter().map(|(_, figures)| figures).collect();
    Ok(report::page(&page, &rows::ROWS, &figures))
}

/// A candidate that has the roles, and what they need of Python.
async fn prepare(rig: &Rig, name: &'static str, binary: &Path, ansible: &Ansible) -> Result<Candidate> {
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/roles");
    let role = |name: &str| format!("role: {}", roles.join(name).display());
    let kinds = [(WEB, role("web")), (SETTINGS, role("settings"))];
    let mut candidate = Candidate::prepare(rig, name, binary, &kinds).await?;
    // What Python keeps of the API server between tasks is in the folder for temporary files: each operator has its own.
    let temporary = candidate.folder.join("tmp");
    fs::create_dir_all(&temporary)?;
    let path = |path: &Path| path.display().to_string();
    let variables = [
        ("PATH", ansible.path()),
        ("VIRTUAL_ENV", path(ansible.folder())),
        ("ANSIBLE_COLLECTIONS_PATH", path(&ansible.collections())),
        ("ANSIBLE_GATHERING", "explicit".to_owned()),
        ("TMPDIR", path(&temporary)),
        // Empty is unset: a shell that forbids bytecode must not make Ansible compile itself for each task.
        ("PYTHONDONTWRITEBYTECODE", String::new()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    candidate.environment.extend(variables);
    Ok(candidate)
}

/// The version of ansible-core, as pip has installed it.
fn version_of_core(ansible: &Ansible) -> Result<String> {
    let program = ansible.program("ansible-playbook");
    let output = std::process::Command::new(&program).arg("--version").output();
    let output = output.with_context(|| format!("failed to run {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text
        .split_once("[core ")
        .and_then(|(_, rest)| rest.split(']').next());
    Ok(version.unwrap_or("of unknown version").to_owned())
}
