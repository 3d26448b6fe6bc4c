//! What this build is.

/// The product's version.
pub const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The commit of the build, where whoever built it said so (`STEERSMAN_COMMIT`).
pub const COMMIT: &str = match option_env!("STEERSMAN_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// The version of Kubernetes whose API this build knows.
pub const KUBERNETES_VERSION: &str = "v1.36";

/// The line that `version` prints: helm-operator's, with what stands in for Go.
pub fn version_line(program: &str) -> String {
    format!(
        "{program} version: \"{VERSION}\", commit: \"{COMMIT}\", kubernetes version: \"{KUBERNETES_VERSION}\", \
         rust version: \"{rust}\", OS: \"{os}\", ARCH: \"{arch}\"",
        rust = env!("CARGO_PKG_RUST_VERSION"),
        os = std::env::consts::OS,
        arch = std::env::consts::ARCH,
    )
}
