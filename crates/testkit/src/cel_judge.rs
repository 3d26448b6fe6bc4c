//! What cel-go says about expressions.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Deserializer, Value, json};

use crate::program;
use crate::skip::skipped;

/// The program that `build/control-plane.sh --of cel-judge` builds.
#[derive(Debug, Clone)]
pub struct CelJudge {
    program: PathBuf,
}

/// What cel-go makes of an expression.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Judged {
    /// What it gives; null where there is an error.
    pub value: Value,
    /// Why there is no value.
    pub error: Option<String>,
    /// `parse` or `evaluate`, where there is an error.
    pub step: Option<String>,
}

impl CelJudge {
    /// The judge, or none and a line that says why the test is skipped.
    ///
    /// # Panics
    ///
    /// It is not built, and `CI=true`.
    #[must_use]
    pub fn find_or_skip() -> Option<Self> {
        match program::find("cel-judge", "cel-judge") {
            Ok(program) => Some(Self { program }),
            Err(error) => {
                skipped("the judge of expressions", error);
                None
            }
        }
    }

    /// What cel-go makes of expressions, each with its variables, in their order.
    ///
    /// # Panics
    ///
    /// The judge does not answer.
    #[must_use]
    pub fn judge(&self, questions: &[(&str, &Value)]) -> Vec<Judged> {
        let mut judge = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()));
        let asked = questions.iter().map(|(expression, variables)| {
            let question = json!({"expression": expression, "variables": variables});
            format!("{question}\n")
        });
        let asked: String = asked.collect();
        let output = std::thread::scope(|scope| {
            // The answers are read meanwhile: neither side waits for the other's pipe.
            if let Some(mut question) = judge.stdin.take() {
                scope.spawn(move || question.write_all(asked.as_bytes()));
            }
            judge
                .wait_with_output()
                .unwrap_or_else(|error| panic!("cannot wait for {}: {error}", self.program.display()))
        });
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the judge of expressions failed: {message}"
        );
        let answers = Deserializer::from_slice(&output.stdout).into_iter();
        let answers = answers.collect::<Result<Vec<Judged>, _>>();
        answers.unwrap_or_else(|error| panic!("the judge of expressions answers in an unknown form: {error}"))
    }
}
