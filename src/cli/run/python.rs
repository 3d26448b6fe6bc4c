//! Whether there is the Ansible that the roles and playbooks of watches.yaml need.

use std::path::Path;

use anyhow::anyhow;
use steersman_ansible::{AnsibleEnvironment, Missing};
use steersman_model::Environment;
use steersman_operator::config::Config;
use steersman_watches::Watches;

use crate::cli::Failure;

const HINT: &str = "roles and playbooks are run by Python 3.9 or newer with ansible-core, ansible-runner and ansible-runner-http";

/// What is missing that a role can do without: collections. Where nothing is to be run, nothing is missing.
///
/// # Errors
/// Something is missing without which nothing runs. Each thing is named with what to install.
pub(super) fn check_ansible(
    watches: &Watches,
    config: &Config,
    environment: &Environment,
) -> Result<Vec<Missing>, Failure> {
    if watches.ansible().is_empty() {
        return Ok(Vec::new());
    }
    let python = AnsibleEnvironment::interpreter(environment.get("PATH").unwrap_or_default());
    let found = AnsibleEnvironment::find(&python, &config.runs.environment)
        .map_err(|error| Failure::usage(error, Some(HINT.to_owned())))?;
    tracing::debug!(python = %python.display(), version = found.python, "Found Python");
    sort_out(found.missing(), &python)
}

fn sort_out(missing: Vec<Missing>, python: &Path) -> Result<Vec<Missing>, Failure> {
    let (collections, needed): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(AnsibleEnvironment::is_collection);
    if needed.is_empty() {
        return Ok(collections);
    }
    let lines = needed.iter().map(|missing| format!("\n  {missing}"));
    let text = format!(
        "failed to find what runs the roles and playbooks of watches.yaml, with `{}`:{}",
        python.display(),
        lines.collect::<String>()
    );
    Err(Failure::usage(anyhow!(text), None))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;
    use steersman_ansible::AnsibleEnvironment;

    use super::sort_out;
    use crate::cli::Failure;

    fn missing(core: &str) -> Vec<steersman_ansible::Missing> {
        let found = format!(
            r#"{{
                "python": "3.12.1",
                "packages": {{
                    "ansible-core": {core}, "ansible-runner": "2.4.0", "ansible-runner-http": "1.0.0",
                    "requests-unixsocket": "0.4.1", "kubernetes": "33.1.0"
                }},
                "collections": {{"kubernetes.core": null}},
                "programs": {{"ansible-runner": "/bin/ansible-runner", "ansible-playbook": null}}
            }}"#
        );
        let mut missing = AnsibleEnvironment::parse(&found).unwrap().missing();
        if core != "null" {
            missing.retain(|missing| missing.what != "the program ansible-playbook");
        }
        missing
    }

    #[test]
    fn a_collection_is_worth_a_warning() {
        let Ok(warnings) = sort_out(missing("\"2.18.1\""), Path::new("python3")) else {
            panic!("a collection stops the operator");
        };
        let lines: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        expect![[r"
            kubernetes.core is missing (it has the modules for objects): ansible-galaxy collection install 'kubernetes.core:>=2.4'"]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn without_ansible_nothing_starts_and_all_is_named_at_once() {
        let Err(Failure::Usage(error)) = sort_out(missing("null"), Path::new("/opt/python3")) else {
            panic!("it starts without Ansible");
        };
        expect![[r"
            failed to find what runs the roles and playbooks of watches.yaml, with `/opt/python3`:
              ansible-core is missing (it runs playbooks): pip install 'ansible-core>=2.15'
              the program ansible-playbook is missing (runs are made with it): put the folder of its package's programs on PATH"]]
        .assert_eq(&error.to_string());
    }
}
