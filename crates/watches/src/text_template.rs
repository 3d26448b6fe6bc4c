//! Texts that are made of a resource: `{{ .Values.size }} members`.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::{Value as Json, json};
use steersman_chart::Values;
use steersman_chart::values::to_value;
use steersman_gotemplate::{
    Effect, Failure, FunctionTable, Limits, LookupQuery, MissingKey, Options, TemplateSet, Timestamp, Value,
    World, builtins,
};

/// How long the text of a template may be.
const MAX_TEXT: usize = 4096;

/// What one text may take: it is a line, made of a resource that anybody may have written.
const LIMITS: Limits = Limits {
    steps: 10_000,
    output_bytes: 4096,
    value_bytes: 64 << 10,
    include_depth: 10,
    expand_depth: 1,
    depth: 20,
};

/// What of Sprig a text may be made with: functions of texts, which give the same for the same.
const FUNCTIONS: &[&str] = &[
    "coalesce",
    "contains",
    "default",
    "empty",
    "first",
    "hasPrefix",
    "hasSuffix",
    "join",
    "kebabcase",
    "last",
    "lower",
    "replace",
    "splitList",
    "substr",
    "ternary",
    "toString",
    "trim",
    "trimAll",
    "trimPrefix",
    "trimSuffix",
    "trunc",
    "upper",
];

/// A text, fixed or made of a resource and its values by a template in Go's language, with functions of texts alone.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::{Subject, TextTemplate};
///
/// let subject = Subject::new(&json!({"metadata": {"name": "west"}}), &Default::default())
///     .with("Procedure", &json!({"from": 1, "to": 2}));
/// let text = TextTemplate::parse("{{ .metadata.name }}: {{ .Procedure.to }}")?;
/// assert_eq!(text.of(&subject)?, "west: 2");
/// # Ok::<(), steersman_watches::TextError>(())
/// ```
#[derive(Clone)]
pub struct TextTemplate {
    text: String,
    /// `None` where the text stands for itself.
    template: Option<Arc<TemplateSet>>,
}

/// What texts are made of: a resource and its values.
pub struct Subject(Value);

/// Why a resource has no such text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The text breaks the grammar, or calls a function that is not there.
    #[error("{0}")]
    Parse(String),
    /// The template fails with this resource.
    #[error("{0}")]
    Execute(String),
}

impl Subject {
    /// A resource, of which the metadata and the spec count, and its values, which are the chart's where it gives none.
    pub fn new(resource: &Json, values: &Values) -> Self {
        let of = |pointer: &str| resource.pointer(pointer).cloned().unwrap_or_default();
        // A field of nothing is a mistake in Go's templates, and a resource without labels is none.
        let map_of = |pointer: &str| resource.pointer(pointer).cloned().unwrap_or_else(|| json!({}));
        let texts = ["name", "namespace", "uid"];
        let texts = texts.map(|field| (field.to_owned(), of(&format!("/metadata/{field}"))));
        let maps = ["labels", "annotations"];
        let maps = maps.map(|field| (field.to_owned(), map_of(&format!("/metadata/{field}"))));
        let metadata = texts.into_iter().chain(maps);
        let metadata: serde_json::Map<String, Json> = metadata.collect();
        let spec = map_of("/spec");
        Self(to_value(
            &json!({"metadata": metadata, "spec": spec, "Values": values}),
        ))
    }

    /// The same with something else beside the resource, in place of what is called so.
    #[must_use]
    pub fn with(self, name: &str, what: &Json) -> Self {
        if let Value::Map(map) = &self.0 {
            map.insert(name, to_value(what));
        }
        self
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}

impl TextTemplate {
    /// Reads a text, which is a template where it has `{{`.
    ///
    /// # Errors
    /// It is too long, no template, or calls a function that texts are not made with.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        if text.len() > MAX_TEXT {
            return Err(TextError::Parse(format!(
                "a template of {} bytes is longer than {MAX_TEXT}",
                text.len()
            )));
        }
        let mut template = None;
        if text.contains("{{") {
            let mut templates = TemplateSet::new(Arc::clone(&TABLE));
            templates
                .parse("text", text)
                .map_err(|error| TextError::Parse(error.to_string()))?;
            template = Some(Arc::new(templates));
        }
        Ok(Self {
            text: text.to_owned(),
            template,
        })
    }

    /// The text, where it is the same for each resource.
    pub fn fixed(&self) -> Option<&str> {
        self.template.is_none().then_some(self.text.as_str())
    }

    /// The text for a resource. What is not there is nothing.
    ///
    /// # Errors
    /// The template fails, or takes too much. The message may have what is secret in the resource.
    pub fn of(&self, subject: &Subject) -> Result<String, TextError> {
        let Some(template) = &self.template else {
            return Ok(self.text.clone());
        };
        let options = Options {
            missing_key: MissingKey::Zero,
            limits: LIMITS,
            expired: None,
        };
        let output = template
            .execute("text", &subject.0, &Nothing, &options)
            .map_err(|error| TextError::Execute(error.to_string()))?;
        // As Helm prints what is not there.
        Ok(output.to_string().replace("<no value>", ""))
    }
}

static TABLE: LazyLock<Arc<FunctionTable>> = LazyLock::new(|| {
    let is_of_texts = |name: &str| FUNCTIONS.contains(&name);
    let of_texts: Vec<_> = steersman_sprig::functions()
        .iter()
        .filter(|function| function.effect == Effect::Pure && is_of_texts(function.name))
        .copied()
        .collect();
    Arc::new(FunctionTable::new(&[builtins(), &of_texts]))
});

/// The world of a text: there is none.
struct Nothing;

impl World for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Err(Failure::new("nothing can be looked up here"))
    }
}

impl PartialEq for TextTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for TextTemplate {}

impl fmt::Debug for TextTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for TextTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
