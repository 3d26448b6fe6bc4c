//! What a run may say of what is to be done.

use serde_json::{Map, Value as Json};

/// How long the text of a parameter may be, in bytes.
const MAX_TEXT: usize = 4096;

/// A field of the spec of runs.
///
/// ```
/// use serde_json::json;
/// use steersman_watches::procedure::{Parameter, ParameterType};
///
/// let snapshot = Parameter {
///     name: "snapshot".to_owned(),
///     r#type: ParameterType::String,
///     required: true,
///     default: None,
///     description: None,
///     allowed: Vec::new(),
/// };
/// let given = json!({"snapshot": "monday"});
/// let given = given.as_object().unwrap();
/// assert_eq!(json!(Parameter::read(&[snapshot.clone()], given)?), json!({"snapshot": "monday"}));
/// assert!(Parameter::read(&[snapshot.clone()], json!({"snapshot": 1}).as_object().unwrap()).is_err());
/// assert!(Parameter::read(&[snapshot], json!({}).as_object().unwrap()).is_err());
/// # Ok::<(), steersman_watches::procedure::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the spec, which is none of the fields that each run has.
    pub name: String,
    /// What it may be.
    pub r#type: ParameterType,
    /// Whether a run has to say it.
    pub required: bool,
    /// What it is where a run does not say it.
    pub default: Option<Json>,
    /// For people.
    pub description: Option<String>,
    /// What it may be, where that is a few texts or numbers.
    pub allowed: Vec<Json>,
}

/// What a parameter may be, in the words of JSON schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A text of at most 4096 bytes.
    String,
    /// A whole number.
    Integer,
    /// One that may have a fraction.
    Number,
    /// True or false.
    Boolean,
}

/// Why the parameters of a run can't be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The procedure has no such parameter.
    #[error("there is no parameter `{}`", .0.escape_debug())]
    Unknown(String),
    /// It has to be said.
    #[error("parameter `{0}` is missing")]
    Missing(String),
    /// It is something else than it may be.
    #[error("parameter `{name}` is not {expected}")]
    Type {
        /// As the procedure declares it.
        name: String,
        /// What it may be, in words.
        expected: &'static str,
    },
    /// It is none of those that it may be.
    #[error("parameter `{name}` is none of {allowed}")]
    NotAllowed {
        /// As the procedure declares it.
        name: String,
        /// What it may be, with commas between.
        allowed: String,
    },
}

impl ParameterType {
    /// As JSON schemas and `watches.yaml` have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// What a schema calls so; `None` for lists, maps and what is unknown.
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::String, Self::Integer, Self::Number, Self::Boolean];
        all.into_iter().find(|one| one.as_str() == name)
    }

    /// Whether a run may say this; a text has an end.
    pub fn admits(self, value: &Json) -> bool {
        match self {
            Self::String => value.as_str().is_some_and(|text| text.len() <= MAX_TEXT),
            Self::Integer => value.is_i64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
        }
    }

    /// What values of it are, for messages.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::String => "a text of at most 4096 bytes",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
        }
    }
}

impl Parameter {
    /// All parameters of a run by what its spec says: each that is known, with its default where that says nothing of it.
    ///
    /// # Errors
    /// What is wrong with the first one that can't be taken. No value is told.
    pub fn read(parameters: &[Self], given: &Map<String, Json>) -> Result<Map<String, Json>, ParameterError> {
        let is_known = |name: &String| parameters.iter().any(|one| one.name == *name);
        if let Some(unknown) = given.keys().find(|name| !is_known(name)) {
            return Err(ParameterError::Unknown(unknown.clone()));
        }
        let mut read = Map::new();
        for parameter in parameters {
            let value = given.get(&parameter.name).filter(|value| !value.is_null());
            if let Some(value) = value {
                parameter.check(value)?;
            }
            match value.or(parameter.default.as_ref()) {
                Some(value) => _ = read.insert(parameter.name.clone(), value.clone()),
                None if parameter.required => return Err(ParameterError::Missing(parameter.name.clone())),
                None => {}
            }
        }
        Ok(read)
    }

    /// Whether it may be this.
    ///
    /// # Errors
    /// It may not.
    pub fn check(&self, value: &Json) -> Result<(), ParameterError> {
        let name = || self.name.clone();
        if !self.r#type.admits(value) {
            return Err(ParameterError::Type {
                name: name(),
                expected: self.r#type.in_words(),
            });
        }
        if !self.allowed.is_empty() && !self.allowed.contains(value) {
            let allowed: Vec<String> = self.allowed.iter().map(Json::to_string).collect();
            return Err(ParameterError::NotAllowed {
                name: name(),
                allowed: allowed.join(", "),
            });
        }
        Ok(())
    }
}
