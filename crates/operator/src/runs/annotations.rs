//! What the annotations of a resource say of its runs.

use std::collections::BTreeMap;

/// How often a run is made without a change.
pub(crate) const RECONCILE_PERIOD: &str = "ansible.sdk.operatorframework.io/reconcile-period";
/// Of how many runs artifacts are kept; 0 is all of them.
const MAX_RUNNER_ARTIFACTS: &str = "ansible.sdk.operatorframework.io/max-runner-artifacts";
/// How much Ansible says.
const VERBOSITY: &str = "ansible.sdk.operatorframework.io/verbosity";

/// The most that ansible-playbook knows.
const MOST_VERBOSE: u8 = 7;

/// What the annotations of a resource say of each of its runs. What can't be understood counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunAnnotations {
    pub(super) kept_artifacts: Option<u32>,
    pub(super) verbosity: Option<u8>,
    /// What is wrong, a line for each.
    pub(super) complaints: Vec<String>,
}

impl RunAnnotations {
    pub(super) fn read(annotations: Option<&BTreeMap<String, String>>) -> Self {
        let mut read = Self::default();
        let text = |name: &str| annotations.and_then(|all| all.get(name));
        if let Some(text) = text(MAX_RUNNER_ARTIFACTS) {
            match text.parse() {
                Ok(number) => read.kept_artifacts = Some(number),
                Err(_) => read.complain(MAX_RUNNER_ARTIFACTS, &no_number(text)),
            }
        }
        if let Some(text) = text(VERBOSITY) {
            match text.parse::<u32>() {
                Ok(number) => {
                    let number = u8::try_from(number).unwrap_or(MOST_VERBOSE);
                    read.verbosity = Some(number.min(MOST_VERBOSE));
                }
                Err(_) => read.complain(VERBOSITY, &no_number(text)),
            }
        }
        read
    }

    fn complain(&mut self, name: &str, reason: &str) {
        self.complaints
            .push(format!("annotation {name} is ignored: {reason}"));
    }
}

fn no_number(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("{start:?} is not a whole number from 0 on")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::RunAnnotations;

    fn read(annotations: &[(&str, &str)]) -> RunAnnotations {
        let annotations = annotations.iter().map(|(name, text)| {
            let name = format!("ansible.sdk.operatorframework.io/{name}");
            (name, (*text).to_owned())
        });
        RunAnnotations::read(Some(&annotations.collect()))
    }

    #[test]
    fn annotations_are_those_of_ansible_operator() {
        assert_eq!(RunAnnotations::read(None), RunAnnotations::default());
        let all = [
            ("max-runner-artifacts", "0"),
            ("verbosity", "5"),
            ("unknown", "x"),
        ];
        let expect = RunAnnotations {
            kept_artifacts: Some(0),
            verbosity: Some(5),
            complaints: Vec::new(),
        };
        assert_eq!(read(&all), expect);
    }

    #[test]
    fn what_is_out_of_range_is_brought_into_it() {
        let verbosity = |text| read(&[("verbosity", text)]).verbosity;
        assert_eq!((verbosity("8"), verbosity("70000")), (Some(7), Some(7)));
    }

    #[test]
    fn what_can_t_be_understood_counts_as_absent_and_is_told() {
        let long = "9".repeat(1000);
        let read = read(&[("max-runner-artifacts", "-1"), ("verbosity", &long)]);
        assert_eq!((read.kept_artifacts, read.verbosity), (None, None));
        expect![[r#"
            annotation ansible.sdk.operatorframework.io/max-runner-artifacts is ignored: "-1" is not a whole number from 0 on
            annotation ansible.sdk.operatorframework.io/verbosity is ignored: "9999999999999999999999999999999999999999" is not a whole number from 0 on"#]]
        .assert_eq(&read.complaints.join("\n"));
    }
}
