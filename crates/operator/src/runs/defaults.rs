//! What flags and environment say of each run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use steersman_ansible::Inventory;
use steersman_proxy::Marks;

use super::task_log::TaskLogOptions;

/// What flags and environment say of each run.
#[derive(Clone, Debug)]
pub struct RunDefaults {
    /// How much Ansible says, where neither the environment nor an annotation says so for the kind.
    pub verbosity: u8,
    /// Further arguments of ansible-playbook.
    pub command_line: String,
    /// After so long a run is ended.
    pub time_limit: Option<Duration>,
    /// Whether a role begins with facts about its host.
    pub gathers_facts: bool,
    /// Where hosts are found.
    pub inventory: Inventory,
    /// How what a run makes is marked as its resource's.
    pub marks: Marks,
    /// What the log says of tasks.
    pub log: TaskLogOptions,
    /// Where it is written down what runs ask the API server for.
    pub permissions_file: Option<PathBuf>,
    /// Variables of its environment, on top of those of this process.
    pub environment: BTreeMap<String, String>,
}

impl Default for RunDefaults {
    /// Those of ansible-operator, and an hour for each run.
    fn default() -> Self {
        Self {
            verbosity: 2,
            command_line: String::new(),
            time_limit: Some(Duration::from_hours(1)),
            gathers_facts: true,
            inventory: Inventory::default(),
            marks: Marks::Full,
            log: TaskLogOptions::default(),
            permissions_file: None,
            environment: BTreeMap::new(),
        }
    }
}
