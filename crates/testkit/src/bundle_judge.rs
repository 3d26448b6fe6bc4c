//! What the libraries of the Operator Framework say about bundles and catalogs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::program;
use crate::skip::skipped;

/// The program that `build/control-plane.sh --of bundle-judge` builds.
#[derive(Debug, Clone)]
pub struct BundleJudge {
    program: PathBuf,
}

/// What one of the validators finds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Finding {
    /// The validator, such as `csv`; `load` where the bundle can't be read.
    pub validator: String,
    /// `Error` or `Warning`.
    pub level: String,
    /// In the words of the validator.
    pub detail: String,
}

/// What `opm render` takes from a bundle.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Properties {
    /// Properties with `type` and `value`.
    pub properties: Vec<serde_json::Value>,
    /// Every image, the bundle's own included.
    pub images: Vec<String>,
}

/// What `opm validate` says about a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Verdict {
    /// Why the catalog is refused; empty where it is not.
    #[serde(default)]
    pub error: String,
    /// The newest bundle of each `PACKAGE/CHANNEL`.
    pub heads: BTreeMap<String, String>,
}

impl BundleJudge {
    /// The judge, or none and a line that says why the test is skipped.
    ///
    /// # Panics
    ///
    /// It is not built, and `CI=true`.
    #[must_use]
    pub fn find_or_skip() -> Option<Self> {
        match program::find("bundle-judge", "bundle-judge") {
            Ok(program) => Some(Self { program }),
            Err(error) => {
                skipped("the judge of bundles", error);
                None
            }
        }
    }

    /// What all validators of `operator-sdk bundle validate` find in a bundle, the optional ones included.
    ///
    /// # Panics
    ///
    /// The judge does not answer.
    #[must_use]
    pub fn bundle(&self, folder: &Path) -> Vec<Finding> {
        self.ask(&["bundle".as_ref(), folder])
    }

    /// The properties and images that `opm render` takes from a bundle whose image is `image`.
    ///
    /// # Panics
    ///
    /// The judge does not answer, or the bundle can't be read.
    #[must_use]
    pub fn properties(&self, folder: &Path, image: &str) -> Properties {
        self.ask(&["properties".as_ref(), folder, image.as_ref()])
    }

    /// What `opm validate` says about a file-based catalog.
    ///
    /// # Panics
    ///
    /// The judge does not answer.
    #[must_use]
    pub fn catalog(&self, folder: &Path) -> Verdict {
        self.ask(&["catalog".as_ref(), folder])
    }

    fn ask<T: DeserializeOwned>(&self, arguments: &[&Path]) -> T {
        let output = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.program.display()));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the judge of bundles failed: {message}");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("the judge of bundles answers in an unknown form: {error}"))
    }
}
