//! `Chart.lock` and `requirements.lock`.

use steersman_yaml::Node;

use super::{Decode, Dependency, Object, decode, document};

/// Reads `Chart.lock` or `requirements.lock`. Nothing in it decides a rendering.
pub(crate) fn read_lock(content: &[u8]) -> Result<Option<Lock>, String> {
    let Some(node) = document(content)? else {
        return Ok(None);
    };
    let mut lock = Lock::default();
    decode(&mut lock, &node, "Lock")?;
    Ok(Some(lock))
}

/// The versions that the dependencies of a chart were resolved to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The time at which `helm dependency update` ran, as in the file: `2026-01-31T12:00:00Z`.
    pub generated: String,
    /// The digest of what was asked for and what was found.
    pub digest: String,
    /// The exact versions, under the names of the dependencies.
    pub dependencies: Vec<Dependency>,
}

impl Decode for Lock {
    const GO_TYPE: &'static str = "v2.Lock";

    fn decode(&mut self, node: &Node, path: &str) -> Result<(), String> {
        let Some(mut object) = Object::new(node, path, Self::GO_TYPE)? else {
            return Ok(());
        };
        object.field("dependencies", &mut self.dependencies)?;
        object.field("digest", &mut self.digest)?;
        object.field("generated", &mut self.generated)
    }
}
