//! Helm itself, as the judge of what our commands print.

use std::path::PathBuf;
use std::time::Duration;

use steersman_testkit::cluster::Assets;
use steersman_testkit::skip::skipped;

use crate::program::{Ended, Project};

/// How long Helm may take for one command on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program.
pub(crate) struct Helm(PathBuf);

impl Helm {
    /// The program that `HELM` names, or that of the control plane; none and a line that says why the test is skipped.
    pub(crate) fn find_or_skip() -> Option<Self> {
        if let Some(program) = std::env::var_os("HELM") {
            return Some(Self(program.into()));
        }
        match Assets::find() {
            Ok(assets) => Some(Self(assets.program("helm"))),
            Err(error) => {
                skipped("a comparison with Helm", error);
                None
            }
        }
    }

    /// What Helm does with these arguments in this project, with our name in place of its own.
    pub(crate) fn run(&self, project: &Project, arguments: &[&str]) -> Ended {
        let mut ended = project.start_program(&self.0, arguments).wait(PATIENCE);
        ended.stderr = ended
            .stderr
            .replace("\"helm ", "\"steersman ")
            .replace("Usage:  helm ", "Usage:  steersman ");
        ended
    }

    /// Has Helm do something that a test needs.
    #[track_caller]
    pub(crate) fn must(&self, project: &Project, arguments: &[&str]) {
        let ended = self.run(project, arguments);
        assert_eq!(ended.code, Some(0), "helm {arguments:?}: {}", ended.stderr);
    }

    /// Runs a command with Helm and with us, and holds both outputs and the exit code against each other.
    #[track_caller]
    pub(crate) fn compare(&self, project: &Project, arguments: &[&str]) {
        let (expect, ended) = self.run_both(project, arguments);
        assert_eq!(ended.stderr, expect.stderr, "standard error of {arguments:?}");
    }

    /// As [`compare`](Self::compare), but for standard error.
    #[track_caller]
    pub(crate) fn compare_output(&self, project: &Project, arguments: &[&str]) {
        self.run_both(project, arguments);
    }

    #[track_caller]
    fn run_both(&self, project: &Project, arguments: &[&str]) -> (Ended, Ended) {
        let expect = self.run(project, arguments);
        let ended = project.start(arguments).wait(PATIENCE);
        assert_eq!(
            ended.stdout, expect.stdout,
            "standard output of {arguments:?}; on standard error: {}",
            ended.stderr
        );
        assert_eq!(
            ended.code, expect.code,
            "exit code of {arguments:?}: {}",
            ended.stderr
        );
        (expect, ended)
    }
}
