//! kubectl, which judges.

use std::path::Path;
use std::process::Command;

/// A kubectl of the test programs, or else of this machine.
fn program() -> Command {
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(|folder| Path::new(&folder).join("kubectl"));
    let program = assets
        .filter(|path| path.exists())
        .unwrap_or_else(|| "kubectl".into());
    Command::new(program)
}

/// What it prints with these arguments; nothing where there is none.
pub(crate) fn judged(arguments: &[&str]) -> Option<Result<String, String>> {
    let output = program().args(arguments).output().ok()?;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Some(if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    })
}
