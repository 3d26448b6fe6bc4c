//! What the manifests of the workspace say, for each test that holds them against something.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each package of the workspace by its name, with the dependencies that it declares.
pub(crate) fn packages() -> Vec<(String, Vec<Value>)> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--offline",
            "--locked",
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON from cargo metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let declared = packages.iter().map(|package| {
        let name = package["name"].as_str().expect("a name").to_owned();
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        (name, dependencies.clone())
    });
    declared.collect()
}
