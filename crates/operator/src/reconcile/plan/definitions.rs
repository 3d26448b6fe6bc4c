//! The definitions in the `crds/` folders of a chart, as a plan has them.

use std::collections::BTreeSet;

use steersman_chart::CrdFile;
use steersman_cluster::discovery::Served;
use steersman_model::{ApiKind, DocumentsError, RenderedObject, kinds_defined_by, objects_of_text};
use steersman_watches::CrdPolicy;

/// The definitions in `crds/` folders, and which of them are written.
#[derive(Debug)]
pub(crate) struct Definitions {
    pub(crate) objects: Vec<RenderedObject>,
    pub(crate) policy: CrdPolicy,
    pub(crate) extent: Extent,
}

/// Which definitions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of the chart's, as its policy says.
    All,
    /// Those of kinds that objects have and the server no longer serves. What is there is another revision's.
    Missing,
}

impl Definitions {
    pub(crate) fn none() -> Self {
        Self {
            objects: Vec::new(),
            policy: CrdPolicy::Skip,
            extent: Extent::Missing,
        }
    }

    pub(crate) fn all(files: &[CrdFile], policy: CrdPolicy) -> Result<Self, DocumentsError> {
        Ok(Self {
            objects: read(files)?,
            policy,
            extent: Extent::All,
        })
    }

    pub(crate) fn missing(files: &[CrdFile], policy: CrdPolicy) -> Result<Self, DocumentsError> {
        let policy = match policy {
            CrdPolicy::CreateReplace => CrdPolicy::Create,
            policy => policy,
        };
        Ok(Self {
            objects: read(files)?,
            policy,
            extent: Extent::Missing,
        })
    }

    /// The kinds that decide by being served whether something is written.
    pub(crate) fn deciding_kinds(&self) -> BTreeSet<ApiKind> {
        match (self.policy, self.extent) {
            (CrdPolicy::Create, Extent::All) => kinds_defined_by(&self.objects),
            _ => BTreeSet::new(),
        }
    }

    /// Those that are written for a release of `objects`, judged by what is served: one that is there and
    /// not served yet stays as it is.
    pub(crate) fn due(&self, objects: &[RenderedObject], served: &Served) -> Vec<&RenderedObject> {
        let is_missing = |kind: &ApiKind| served.resource(kind).is_none();
        let is_due = |definition: &&RenderedObject| {
            let kinds = kinds_defined_by(std::slice::from_ref(*definition));
            let is_needed = self.extent == Extent::All
                || objects
                    .iter()
                    .any(|object| is_missing(&object.api) && kinds.contains(&object.api));
            is_needed
                && match self.policy {
                    CrdPolicy::Create => kinds.is_empty() || kinds.iter().any(is_missing),
                    CrdPolicy::CreateReplace => true,
                    CrdPolicy::Skip => false,
                }
        };
        self.objects.iter().filter(is_due).collect()
    }
}

fn read(files: &[CrdFile]) -> Result<Vec<RenderedObject>, DocumentsError> {
    let mut objects = Vec::new();
    for file in files {
        objects.extend(objects_of_text(&file.source, &file.text)?);
    }
    Ok(objects)
}
