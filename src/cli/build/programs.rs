//! The programs that go into images.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use steersman_image::{Binary, Platform};

use crate::cli::Failure;

/// A program that a flag names.
#[derive(Clone, Debug)]
pub(super) struct ProgramFlag {
    platform: Option<Platform>,
    path: PathBuf,
}

impl FromStr for ProgramFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (platform, path) = match text.split_once('=') {
            Some((platform, path)) if !platform.contains('.') => {
                (Some(platform.parse().map_err(|error| format!("{error}"))?), path)
            }
            _ => (None, text),
        };
        if path.is_empty() {
            return Err("expected a file".to_owned());
        }
        Ok(Self {
            platform,
            path: PathBuf::from(path),
        })
    }
}

/// Reads the programs for these platforms; where none are named, for those of the programs. Without a program, the one
/// that runs now is taken.
pub(super) fn read(given: &[ProgramFlag], wanted: &[Platform]) -> Result<Vec<Binary>, Failure> {
    let mut binaries: Vec<Binary> = Vec::new();
    for one in given {
        let binary = read_one(&one.path)?;
        let platform = binary.platform();
        if one.platform.as_ref().is_some_and(|expected| expected != platform) {
            return Err(Failure::usage(
                anyhow!("`{}` is for {platform}", one.path.display()),
                None,
            ));
        }
        if binaries.iter().any(|known| known.platform() == platform) {
            let problem = anyhow!("`{}` is the second program for {platform}", one.path.display());
            return Err(Failure::usage(problem, None));
        }
        binaries.push(binary);
    }
    if given.is_empty() {
        binaries.push(read_one(&running()?)?);
    }
    if let Some(missing) = wanted
        .iter()
        .find(|wanted| binaries.iter().all(|binary| binary.platform() != *wanted))
    {
        return Err(Failure::usage(
            anyhow!("there is no program for {missing}"),
            Some(how_to_make(missing)),
        ));
    }
    binaries.retain(|binary| wanted.is_empty() || wanted.contains(binary.platform()));
    Ok(binaries)
}

fn running() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        let error = anyhow::Error::new(error).context("failed to find the program that runs");
        Failure::failed(error, Some("--binary names a file".to_owned()))
    })
}

fn read_one(path: &Path) -> Result<Binary, Failure> {
    let name = path.display();
    let content = std::fs::read(path).map_err(|error| {
        Failure::usage(
            anyhow::Error::new(error).context(format!("failed to read `{name}`")),
            None,
        )
    })?;
    Binary::new(content).map_err(|error| {
        let hint = "`make build-static` in Steersman's sources makes a static program for Linux; --binary names a file";
        let error = anyhow::Error::new(error).context(format!("`{name}` can't be put into an image"));
        Failure::usage(error, Some(hint.to_owned()))
    })
}

/// What makes the program for a platform. No toolchain for other processors is assumed to be here.
fn how_to_make(platform: &Platform) -> String {
    format!(
        "in Steersman's sources, `make build-static` on a machine with that processor makes it, or `make build-static \
         TARGET={}` where that target of Rust, a C compiler and a linker for it are installed; then --binary \
         {platform}=FILE",
        platform.rust_target()
    )
}

#[cfg(test)]
mod tests {
    use super::ProgramFlag;

    #[test]
    fn a_program_may_be_given_with_its_platform() {
        for (text, platform, path) in [
            ("linux/arm64=a=b", Some("linux/arm64"), "a=b"),
            ("./a=b", None, "./a=b"),
            ("target/steersman", None, "target/steersman"),
        ] {
            let given: ProgramFlag = text.parse().unwrap();
            assert_eq!(
                given.platform.map(|platform| platform.to_string()).as_deref(),
                platform
            );
            assert_eq!(given.path.to_str(), Some(path));
        }
        for text in ["", "linux/arm64=", "linux/vax=a"] {
            assert!(text.parse::<ProgramFlag>().is_err(), "{text}");
        }
    }
}
