//! What an entry changes in what its chart renders, before anything is made of it.

use std::collections::BTreeSet;

use serde_json::Value;
use steersman_chart::{Manifest, RenderError, Rendered, Revised};
use steersman_kustomize::{ObjectPatch, PatchError};
use steersman_model::{ApiKind, Digest, ObjectId};
use steersman_yaml::Style;

use crate::drift::{Candidate, Target};

/// Lists in lists are looked into so deep: what is deeper is refused as no object.
const MAX_LIST_DEPTH: usize = 8;

/// The patches of an entry, in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostRender {
    pub(crate) patches: Vec<TargetedPatch>,
    pub(crate) digest: Option<Digest>,
}

/// A patch, and the objects that it is for.
#[derive(Clone, Debug)]
pub struct TargetedPatch {
    pub(crate) target: Target,
    pub(crate) patch: ObjectPatch,
    /// Where it stands in the file: `[0].postRender[1]`.
    pub key: String,
    /// The line on which it starts.
    pub line: u32,
}

/// It is the same wherever it stands.
impl PartialEq for TargetedPatch {
    fn eq(&self, other: &Self) -> bool {
        self.target == other.target && self.patch == other.patch
    }
}

impl Eq for TargetedPatch {}

/// What comes of patches.
#[derive(Clone, Debug, PartialEq)]
pub struct Patched {
    /// What the chart has given, hooks included, as the patches leave it.
    pub rendered: Rendered,
    /// Which patches were for an object at all, by their places in the list.
    pub used: BTreeSet<usize>,
}

/// Why what was rendered can't be patched. No value of an object is in it.
#[derive(Debug, thiserror::Error)]
pub enum PostRenderError {
    /// A patch does not fit an object that it is for.
    #[error("{origin}: {key} on line {line} of watches.yaml can't be applied to {object}")]
    Patch {
        /// The template.
        origin: String,
        /// The patch, such as `[0].postRender[1]`.
        key: String,
        /// Of watches.yaml.
        line: u32,
        /// The object, such as `Deployment web`.
        object: String,
        /// Why.
        source: PatchError,
    },
    /// What comes of the patches can't be written down.
    #[error("{origin}: what comes of `postRender` can't be written as YAML")]
    Write {
        /// The template.
        origin: String,
        /// Why.
        source: steersman_yaml::Error,
    },
    /// What comes of the patches can't be read.
    #[error(transparent)]
    Read(#[from] RenderError),
}

impl From<RenderError> for Box<PostRenderError> {
    fn from(error: RenderError) -> Self {
        Self::new(error.into())
    }
}

impl PostRender {
    /// The digest of what the entry says; `None` where it has no patch.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The patches, in their order.
    pub fn patches(&self) -> &[TargetedPatch] {
        &self.patches
    }

    /// What the chart has rendered, with the patches in each object and hook that they are for. An object that names no
    /// namespace counts as one in `namespace`, that of the release. Definitions in `crds/` are no part of it.
    ///
    /// # Guarantees
    /// Each object is the one that it was: its `apiVersion`, kind, name and namespace stay.
    ///
    /// # Errors
    /// A patch does not fit an object that it is for.
    pub fn apply(&self, rendered: Rendered, namespace: &str) -> Result<Patched, Box<PostRenderError>> {
        let mut used = BTreeSet::new();
        if self.patches.is_empty() {
            return Ok(Patched { rendered, used });
        }
        let rendered = rendered.revised(|manifest| self.revise(manifest, namespace, &mut used))?;
        Ok(Patched { rendered, used })
    }

    fn revise(
        &self,
        manifest: &Manifest,
        namespace: &str,
        used: &mut BTreeSet<usize>,
    ) -> Result<Revised, Box<PostRenderError>> {
        let mut work = Work {
            patches: &self.patches,
            source: &manifest.source,
            namespace,
            used,
        };
        let before = manifest.object();
        match work.document(before.clone(), 0)? {
            None => Ok(Revised::Gone),
            Some(after) if after == before => Ok(Revised::Same),
            Some(after) => {
                let text = steersman_yaml::marshal(&after, Style::V2);
                let mut text = text.map_err(|source| PostRenderError::Write {
                    origin: manifest.source.clone(),
                    source,
                })?;
                // A document of a manifest gets its last line break where it is stored.
                text.pop();
                Ok(Revised::Text(text))
            }
        }
    }
}

/// The patches at work on a document.
struct Work<'a> {
    patches: &'a [TargetedPatch],
    source: &'a str,
    namespace: &'a str,
    used: &'a mut BTreeSet<usize>,
}

impl Work<'_> {
    /// A document with its patches; nothing where one deletes it.
    fn document(&mut self, mut document: Value, depth: usize) -> Result<Option<Value>, Box<PostRenderError>> {
        let is_list = document["kind"]
            .as_str()
            .is_some_and(|kind| kind.ends_with("List"));
        match document.get_mut("items") {
            Some(Value::Array(items)) if is_list => {
                if depth < MAX_LIST_DEPTH {
                    let mut kept = Vec::with_capacity(items.len());
                    for item in std::mem::take(items) {
                        kept.extend(self.document(item, depth + 1)?);
                    }
                    *items = kept;
                }
                Ok(Some(document))
            }
            _ => self.object(document),
        }
    }

    fn object(&mut self, mut object: Value) -> Result<Option<Value>, Box<PostRenderError>> {
        for (index, patch) in self.patches.iter().enumerate() {
            let Some((id, candidate)) = self.described(&object) else {
                break;
            };
            if !patch.target.matches(&id, &candidate) {
                continue;
            }
            self.used.insert(index);
            let patched = patch
                .patch
                .apply(object)
                .map_err(|source| PostRenderError::Patch {
                    origin: self.source.to_owned(),
                    key: patch.key.clone(),
                    line: patch.line,
                    object: id.to_string(),
                    source,
                })?;
            match patched {
                Some(patched) => object = patched,
                None => return Ok(None),
            }
        }
        Ok(Some(object))
    }

    /// What targets look at; nothing where it is no object.
    fn described(&self, object: &Value) -> Option<(ObjectId, Candidate)> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        let api = ApiKind::new(text("/apiVersion")?, text("/kind")?);
        let candidate = Candidate::applied(&api.version, object);
        let id = ObjectId {
            group: api.group,
            kind: api.kind,
            namespace: Some(text("/metadata/namespace").unwrap_or(self.namespace).to_owned()),
            name: text("/metadata/name")?.to_owned(),
        };
        Some((id, candidate))
    }
}
