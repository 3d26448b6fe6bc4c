//! Programs of others that judge, and that `build/control-plane.sh` builds.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::environment::workspace_root;

/// The path of a program of a set, such as `crane` of `registry`.
///
/// # Errors
///
/// It was not built; the text is the script's and says what to do.
pub fn find(set: &str, program: &str) -> Result<PathBuf, String> {
    let folder = folder("control-plane.sh", &["--of", set, "--find"])?;
    Ok(folder.join(program))
}

/// The folder that a script of `build` prints. It owns the versions and thereby the name, so it is asked and not imitated.
pub(crate) fn folder(script: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let script = workspace_root().join("build").join(script);
    let output = Command::new(&script)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} does not run: {error}", script.display()))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    match folder.lines().last() {
        Some(folder) if output.status.success() => Ok(PathBuf::from(folder)),
        _ => {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(message.lines().last().unwrap_or("the script failed").to_owned())
        }
    }
}

/// operator-sdk, the program that `OPERATOR_SDK` names. `None` where it names none, which has been said on one line, with
/// the name of the test: nothing here builds it.
#[must_use]
pub fn operator_sdk_or_say(test: &str) -> Option<PathBuf> {
    let binary = crate::environment::path_variable("OPERATOR_SDK");
    if binary.is_none() {
        crate::skip::not_judged(test, "OPERATOR_SDK names no binary of operator-sdk");
    }
    binary
}
