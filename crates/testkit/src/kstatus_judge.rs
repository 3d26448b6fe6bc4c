//! What kstatus says about objects: whether they are as they are to be, on the way, or past help.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

use crate::program;
use crate::skip::skipped;

/// The program that `build/control-plane.sh --of kstatus-judge` builds.
#[derive(Debug, Clone)]
pub struct KstatusJudge {
    program: PathBuf,
}

/// What kstatus makes of an object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Kstatus {
    /// `Current`, `InProgress`, `Failed`, `Terminating`, `NotFound` or `Unknown`.
    pub status: String,
    /// Why, for people.
    pub message: String,
}

impl KstatusJudge {
    /// The judge, or none and a line that says why the test is skipped.
    ///
    /// # Panics
    ///
    /// It is not built, and `CI=true`.
    #[must_use]
    pub fn find_or_skip() -> Option<Self> {
        match program::find("kstatus-judge", "kstatus-judge") {
            Ok(program) => Some(Self { program }),
            Err(error) => {
                skipped("the judge of statuses", error);
                None
            }
        }
    }

    /// What kstatus makes of an object, as the API server shows it.
    ///
    /// # Panics
    ///
    /// The judge does not answer.
    #[must_use]
    pub fn judge(&self, object: &Value) -> Kstatus {
        let mut judge = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()));
        if let Some(mut question) = judge.stdin.take() {
            question
                .write_all(object.to_string().as_bytes())
                .unwrap_or_else(|error| panic!("the judge of statuses does not listen: {error}"));
        }
        let output = judge
            .wait_with_output()
            .unwrap_or_else(|error| panic!("cannot wait for {}: {error}", self.program.display()));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the judge of statuses failed: {message}");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("the judge of statuses answers in an unknown form: {error}"))
    }
}
