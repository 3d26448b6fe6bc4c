//! Why an expression is refused, or gives no result. None of it has a value of an object in it.

/// An expression can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", Place { line: *line, column: *column })]
pub struct ParseError {
    /// The line in the expression, from 1; 0 where all of it is meant.
    pub line: u32,
    /// The column, from 1; 0 where all of it is meant.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl ParseError {
    /// One about the whole expression.
    pub(crate) fn of_all(message: impl Into<String>) -> Self {
        Self {
            line: 0,
            column: 0,
            message: message.into(),
        }
    }
}

/// Nothing for the whole expression, and no line for the first one: most expressions have no other.
struct Place {
    line: u32,
    column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.column) {
            (0, _) => Ok(()),
            (1, column) => write!(f, " at column {column}"),
            (line, column) => write!(f, " at line {line}, column {column} of it"),
        }
    }
}

/// An evaluation has no result. Names are those of the expression; types are named, and values never.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// No variable, and no field of an object, has this name.
    #[error("there is no `{0}`")]
    Missing(String),
    /// An index that the expression has computed leads nowhere.
    #[error("an index leads to nothing that is there")]
    NoSuchIndex,
    /// No object of this kind that can be looked up has that name.
    #[error("there is no such {0}")]
    NoObject(String),
    /// An operator or function does not take what it is given.
    #[error("`{what}` can't be done with {types}")]
    Types {
        /// The operator or function, as it is written.
        what: &'static str,
        /// The types of what it is given, such as `int and string`.
        types: String,
    },
    /// The result has to be true or false, and is of this type.
    #[error("it gives {0}, not true or false")]
    NotBool(&'static str),
    /// A function can't do anything with a value of the right type, as `int("x")`.
    #[error("`{0}` can't be done with that value")]
    Unusable(&'static str),
    /// A result does not fit into its type.
    #[error("the result of `{0}` is out of range")]
    Overflow(&'static str),
    /// A division by zero.
    #[error("a number is divided by zero")]
    DivisionByZero,
    /// A map has a key twice.
    #[error("a map has a key twice")]
    RepeatedKey,
    /// It would take too long, or too much memory.
    #[error("it takes more time or memory than an expression may")]
    Exhausted,
    /// What it looks at is too large.
    #[error("what it looks at has more than {0} bytes")]
    TooLarge(usize),
    /// What it looks at is nested too deeply.
    #[error("what it looks at is nested too deeply")]
    TooDeep,
}

impl EvaluationError {
    /// Whether something is not there, which may come yet: what is wrong with the expression itself is none of that.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::NoSuchIndex | Self::NoObject(_))
    }

    /// Whether it ends the evaluation whatever stands beside: others are no matter where `false && …` decides.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Exhausted | Self::TooLarge(_) | Self::TooDeep)
    }
}
