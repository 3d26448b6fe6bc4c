//! The flags of `run` for roles and playbooks, and what they mean together with the environment.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use steersman_ansible::Inventory;
use steersman_model::Environment;
use steersman_operator::config::{AnsibleConfig, RoleMetricsPort, RunLimit};
use steersman_operator::runs::{LogEvents, Marks, RunDefaults, TaskLogOptions};

use super::config::Problems;
use super::defaults::Defaults;
use crate::cli::arguments::parse_bool;

const ROLES_PATH: &str = "ANSIBLE_ROLES_PATH";
const COLLECTIONS_PATH: &str = "ANSIBLE_COLLECTIONS_PATH";

/// The most that ansible-playbook knows.
const MOST_VERBOSE: u8 = 7;

/// The flags of `ansible-operator run`, and some of our own.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Roles and playbooks")]
pub(super) struct AnsibleFlags {
    /// How much Ansible says, from 0 to 7; `ANSIBLE_VERBOSITY_KIND_GROUP` and an annotation go before it
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 2,
        allow_negative_numbers = true
    )]
    ansible_verbosity: i64,

    /// Folders of roles, with colons; before `ANSIBLE_ROLES_PATH`
    #[arg(long, value_name = "PATHS")]
    ansible_roles_path: Option<String>,

    /// Folders that have collections in `ansible_collections`, with colons; before `ANSIBLE_COLLECTIONS_PATH`
    #[arg(long, value_name = "PATHS")]
    ansible_collections_path: Option<String>,

    /// Further arguments of ansible-playbook, as one word
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    ansible_args: Option<String>,

    /// Which events of Ansible are logged: tasks, everything or nothing
    #[arg(long, value_name = "EVENTS", default_value = "tasks")]
    ansible_log_events: String,

    /// How long a run may take; 0 is as long as it likes
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    ansible_run_timeout: String,

    /// How many runs of all kinds are made at a time, besides one for a deletion; where there are several kinds and at least two
    /// turns, each kind leaves one to the others. 0 sets no limit [default: as many as the memory has room for]
    #[arg(long, value_name = "NUMBER")]
    max_concurrent_runs: Option<usize>,

    /// Mark what roles make as owned by its resource, so that it goes with that
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value = "true", default_missing_value = "true", hide_possible_values = true,
          value_parser = parse_bool)]
    inject_owner_ref: bool,

    /// The port of the proxy between roles and the API server; 0 is any that is free [default: 8888 in a pod, else 0]
    #[arg(long, value_name = "PORT")]
    proxy_port: Option<u16>,

    /// The port on which `osdk_metric` leaves values for metrics; 0 turns it off [default: 5050]
    #[arg(long, value_name = "PORT")]
    role_metrics_port: Option<u16>,

    /// Write down in this file what runs ask the API server for: `rbac generate --recorded` makes rules of it
    #[arg(long, value_name = "FILE")]
    record_permissions: Option<PathBuf>,
}

impl AnsibleFlags {
    /// The environment with what flags say instead of it.
    pub(super) fn merged(&self, environment: &Environment) -> Environment {
        let set = |environment: Environment, (name, value): (String, String)| environment.with(&name, &value);
        self.paths().into_iter().fold(environment.clone(), set)
    }

    /// The variables that flags say.
    fn paths(&self) -> BTreeMap<String, String> {
        let flags = [
            (ROLES_PATH, &self.ansible_roles_path),
            (COLLECTIONS_PATH, &self.ansible_collections_path),
        ];
        let given = flags.into_iter().filter_map(|(name, paths)| {
            let paths = paths.as_ref().filter(|paths| !paths.is_empty())?;
            Some((name.to_owned(), paths.clone()))
        });
        given.collect()
    }

    pub(super) fn runs(
        &self,
        environment: &Environment,
        problems: &mut Problems,
        notices: &mut Vec<String>,
    ) -> RunDefaults {
        RunDefaults {
            verbosity: self.verbosity(notices),
            command_line: self.ansible_args.clone().unwrap_or_default(),
            time_limit: problems
                .duration("--ansible-run-timeout", &self.ansible_run_timeout)
                .filter(|timeout| !timeout.is_zero()),
            gathers_facts: environment.get("ANSIBLE_GATHERING") != Some("explicit"),
            inventory: inventory(environment),
            marks: if self.inject_owner_ref {
                Marks::Full
            } else {
                Marks::Label
            },
            log: TaskLogOptions {
                events: self.log_events(notices),
                is_verbose: is_verbose(environment, notices),
                shows_output: shows_output(environment, notices),
            },
            permissions_file: self.record_permissions.clone(),
            environment: self.paths(),
        }
    }

    /// What the process needs for all of them.
    pub(super) fn config(&self, defaults: &Defaults, reconcile_period: Option<Duration>) -> AnsibleConfig {
        AnsibleConfig {
            reconcile_period,
            max_runs: match self.max_concurrent_runs {
                None => RunLimit::OfMemory,
                Some(number) => NonZeroUsize::new(number).map_or(RunLimit::OfKinds, RunLimit::Of),
            },
            proxy_port: self.proxy_port.unwrap_or(defaults.proxy_port),
            metrics_port: match self.role_metrics_port {
                None => defaults.role_metrics_port,
                Some(0) => RoleMetricsPort::Off,
                Some(port) => RoleMetricsPort::Needed(port),
            },
        }
    }

    fn verbosity(&self, notices: &mut Vec<String>) -> u8 {
        let number = self.ansible_verbosity.clamp(0, i64::from(MOST_VERBOSE));
        if number != self.ansible_verbosity {
            notices.push(format!(
                "--ansible-verbosity is from 0 to {MOST_VERBOSE}; {} counts as {number}",
                self.ansible_verbosity
            ));
        }
        u8::try_from(number).unwrap_or(MOST_VERBOSE)
    }

    /// ansible-operator goes on with a word that it does not know.
    fn log_events(&self, notices: &mut Vec<String>) -> LogEvents {
        self.ansible_log_events.parse().unwrap_or_else(|_| {
            notices.push(format!(
                "--ansible-log-events: `{}` is none of `tasks`, `everything` and `nothing`; it counts as `tasks`",
                self.ansible_log_events.escape_debug()
            ));
            LogEvents::default()
        })
    }
}

/// Where a playbook finds its hosts.
fn inventory(environment: &Environment) -> Inventory {
    let set = |value: Option<&str>| value.filter(|path| !path.is_empty()).map(PathBuf::from);
    match set(environment.get("ANSIBLE_INVENTORY")) {
        Some(path) => Inventory::At(path),
        None => Inventory::Localhost {
            interpreter: set(environment.get("VIRTUAL_ENV")).map(|folder| folder.join("bin/python3")),
        },
    }
}

/// Ansible reads it, too.
fn is_verbose(environment: &Environment, notices: &mut Vec<String>) -> bool {
    let text = environment.get("ANSIBLE_VERBOSITY").unwrap_or_default();
    match text.parse::<i64>() {
        Ok(number) => number > 0,
        Err(_) if text.is_empty() => false,
        Err(_) => {
            notices.push("ANSIBLE_VERBOSITY is no whole number, and ignored by the operator".to_owned());
            false
        }
    }
}

fn shows_output(environment: &Environment, notices: &mut Vec<String>) -> bool {
    let Some(text) = environment.get("ANSIBLE_DEBUG_LOGS") else {
        return false;
    };
    parse_bool(text).unwrap_or_else(|_| {
        notices.push("ANSIBLE_DEBUG_LOGS is neither true nor false, and ignored".to_owned());
        false
    })
}
