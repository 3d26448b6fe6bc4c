//! Prints what a folder builds to: `cargo run -p steersman-kustomize --example build FOLDER`.

use std::io::Write as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("a folder is needed")?;
    let objects = steersman_kustomize::build(folder.as_ref())?;
    std::io::stdout().write_all(steersman_kustomize::to_yaml(&objects)?.as_bytes())?;
    Ok(())
}
