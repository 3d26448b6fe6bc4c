//! A chart as its files describe it.

use std::sync::{Arc, OnceLock};

use crate::metadata::{Lock, Metadata};
use crate::notice::Notice;
use crate::schema::Schema;
use crate::values::{Defaults, Values};

/// A file by its path in the chart.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Arc<[u8]>,
}

/// One chart as its files describe it, before any values have a say.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) metadata: Metadata,
    pub(crate) values: Values,
    /// The values again, ready for renderings.
    pub(crate) defaults: Arc<Defaults>,
    /// `values.yaml` as it is.
    pub(crate) values_file: Option<Arc<[u8]>>,
    pub(crate) lock: Option<Lock>,
    pub(crate) schema: Option<Arc<[u8]>>,
    compiled_schema: OnceLock<Result<Schema, String>>,
    pub(crate) templates: Vec<File>,
    pub(crate) files: Vec<File>,
    /// The charts in `charts/`, in the order of the names there.
    pub(crate) dependencies: Vec<Arc<Source>>,
    /// What Helm logs when it loads this chart.
    pub(crate) notices: Vec<Notice>,
}

impl Source {
    /// The same with a file of the chart as one more template, below its path; `None` where there is no such file.
    pub(crate) fn with_template(&self, path: &str) -> Option<Self> {
        let file = self.files.iter().find(|file| file.name == path)?;
        let templates = self.templates.iter().chain([file]).cloned();
        Some(Self {
            metadata: self.metadata.clone(),
            values: self.values.clone(),
            defaults: Arc::clone(&self.defaults),
            values_file: self.values_file.clone(),
            lock: self.lock.clone(),
            schema: self.schema.clone(),
            compiled_schema: OnceLock::new(),
            templates: templates.collect(),
            files: self.files.clone(),
            dependencies: self.dependencies.clone(),
            notices: Vec::new(),
        })
    }

    /// The chart's schema, compiled when it is first asked for.
    pub(crate) fn compiled_schema(&self) -> Option<&Result<Schema, String>> {
        let text = self.schema.as_ref()?;
        Some(self.compiled_schema.get_or_init(|| Schema::compile(text)))
    }
}
