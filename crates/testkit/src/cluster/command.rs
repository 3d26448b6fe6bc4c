//! Running programs such as kubectl and helm to their end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tokio::io::AsyncWriteExt as _;

use super::error::{ControlPlaneError, io_failed};

/// A command that the kernel kills when the thread that started it ends, however that comes about.
///
/// Where the system has no `setpriv --pdeathsig` (it is Linux' alone) this is an ordinary command.
pub(super) fn tied_to_this_thread(program: &Path) -> Command {
    static HAS_SETPRIV: OnceLock<bool> = OnceLock::new();
    let arguments = ["--pdeathsig", "KILL"];
    let has_setpriv = HAS_SETPRIV.get_or_init(|| {
        let tried = Command::new("setpriv")
            .args(arguments)
            .arg("true")
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    });
    if *has_setpriv {
        let mut command = Command::new("setpriv");
        command.args(arguments).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Runs a command with more arguments and an input, and returns its standard output.
pub(super) async fn run(
    command: Command,
    arguments: &[&str],
    input: &str,
) -> Result<String, ControlPlaneError> {
    let program = PathBuf::from(command.get_program());
    let mut child = tokio::process::Command::from(command)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(io_failed("run", &program))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says itself what it thinks of it.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child
        .wait_with_output()
        .await
        .map_err(io_failed("run", &program))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    Err(ControlPlaneError::Command {
        command: format!("{name} {}", arguments.join(" ")),
        message: format!(
            "{}{}{text}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .trim()
        .to_owned(),
    })
}
