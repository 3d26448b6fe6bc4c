//! The command line of ansible-runner.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{Content, RunSpec};

/// The most that ansible-playbook knows.
const MOST_VERBOSE: u8 = 7;

/// The arguments for a run in a folder; the paths are absolute.
pub(super) fn arguments(folder: &Path, spec: &RunSpec) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["run".into(), folder.into()];
    arguments.extend([
        "--rotate-artifacts".into(),
        spec.kept_artifacts.to_string().into(),
    ]);
    match &spec.content {
        Content::Playbook(playbook) => arguments.extend(["-p".into(), playbook.into()]),
        Content::Role(role) => {
            let roles = role.parent().unwrap_or(Path::new("/"));
            let name = role.file_name().unwrap_or(OsStr::new(""));
            arguments.extend(["--role".into(), name.into()]);
            arguments.extend(["--roles-path".into(), roles.into()]);
            arguments.extend(["--hosts".into(), "localhost".into()]);
            if !spec.gathers_facts {
                // ansible-runner writes a play for the role, which does not ask the environment.
                arguments.push("--role-skip-facts".into());
            }
        }
    }
    arguments.extend(["-i".into(), OsString::from(&spec.ident)]);
    if spec.verbosity > 0 {
        let verbose = "v".repeat(spec.verbosity.min(MOST_VERBOSE).into());
        arguments.push(format!("-{verbose}").into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::{Content, RunSpec, arguments};
    use crate::ResourceId;

    fn check(change: impl FnOnce(&mut RunSpec), expect: &Expect) {
        let content = Content::Role("/opt/ansible/roles/web".into());
        let mut spec = RunSpec::new(ResourceId::default(), "17", content);
        change(&mut spec);
        let arguments = arguments(Path::new("/r"), &spec);
        let texts: Vec<_> = arguments.iter().map(|text| text.to_string_lossy()).collect();
        expect.assert_eq(&texts.join(" "));
    }

    #[test]
    fn arguments_are_those_of_ansible_operator() {
        check(
            |_| {},
            &expect![
                "run /r --rotate-artifacts 20 --role web --roles-path /opt/ansible/roles --hosts localhost -i 17"
            ],
        );
        check(
            |spec| {
                spec.gathers_facts = false;
                spec.verbosity = 2;
                spec.kept_artifacts = 0;
                spec.content = Content::Role("/web/".into());
            },
            &expect![
                "run /r --rotate-artifacts 0 --role web --roles-path / --hosts localhost --role-skip-facts -i 17 -vv"
            ],
        );
        check(
            |spec| {
                spec.content = Content::Playbook("/opt/ansible/site.yml".into());
                spec.gathers_facts = false;
                spec.verbosity = 200;
            },
            &expect!["run /r --rotate-artifacts 20 -p /opt/ansible/site.yml -i 17 -vvvvvvv"],
        );
    }
}
