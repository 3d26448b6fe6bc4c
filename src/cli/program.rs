//! The name that the program was called by.

use std::ffi::OsString;
use std::path::Path;

/// What the program is called, and thereby whose place it takes: images and scripts of other operators call it by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// By its own name, or by one that nobody knows.
    Steersman,
    /// In the place of operator-sdk's operator for charts.
    HelmOperator,
    /// In the place of operator-sdk's operator for roles and playbooks.
    AnsibleOperator,
}

impl Program {
    /// By the first argument of the process, which is the path of a file.
    pub(super) fn of(argument: Option<&OsString>) -> Self {
        let name = argument.map(Path::new).and_then(Path::file_stem);
        let known = [Self::HelmOperator, Self::AnsibleOperator];
        let called = known
            .into_iter()
            .find(|program| name.is_some_and(|name| name == program.name()));
        called.unwrap_or(Self::Steersman)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Steersman => "steersman",
            Self::HelmOperator => "helm-operator",
            Self::AnsibleOperator => "ansible-operator",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::Program;

    #[test]
    fn the_name_of_the_program_is_that_of_its_file() {
        for (path, expect) in [
            ("/usr/local/bin/helm-operator", "helm-operator"),
            ("helm-operator", "helm-operator"),
            ("/usr/local/bin/ansible-operator", "ansible-operator"),
            ("target/debug/steersman", "steersman"),
            ("operator", "steersman"),
            ("", "steersman"),
        ] {
            assert_eq!(Program::of(Some(&OsString::from(path))).name(), expect, "{path}");
        }
        assert_eq!(Program::of(None), Program::Steersman);
    }
}
