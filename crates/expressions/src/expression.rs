//! An expression, from its text to its results.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::parser::PrattParser;
use serde_json::Value;

use crate::budget::MAX_SOURCE;
use crate::compile::compile;
use crate::error::{EvaluationError, ParseError};
use crate::evaluate::{Evaluation, weight};
use crate::node::Node;
use crate::objects::Looked;
use crate::value::{TYPES, Val};
use crate::variables::Variables;

/// The parser recurs without a bound of its own where `?` follows `?`: 4 KiB of these fit into this.
const PARSER_STACK: usize = 16 << 20;

/// A CEL expression that was read. Two are equal when their texts are; a copy shares what the first one has.
#[derive(Clone)]
pub struct Expression(Arc<Read>);

struct Read {
    source: String,
    root: Node,
    /// The variables that it names.
    names: BTreeSet<String>,
    /// What it looks at in objects.
    looked_up: Vec<Looked>,
}

impl Expression {
    /// Reads an expression of at most 4 KiB, with comprehensions at most two deep.
    ///
    /// # Errors
    /// It is no CEL, is too long or too deep, or calls a function that is not known; the error says where.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        Self::read(source, false)
    }

    /// The same of one that may look objects up, by `object(apiVersion, kind, name)`, with a namespace behind it where that is
    /// another one, and by `optionalObject(…)`, which gives an optional where there is none. The first two are written out.
    ///
    /// # Errors
    /// As [`Expression::parse`], and where it is not known which kinds it looks up.
    pub fn parse_with_objects(source: &str) -> Result<Self, ParseError> {
        Self::read(source, true)
    }

    fn read(source: &str, has_objects: bool) -> Result<Self, ParseError> {
        if source.len() > MAX_SOURCE {
            let message = format!("it is longer than {MAX_SOURCE} bytes");
            return Err(ParseError::of_all(message));
        }
        // The tree goes where there is room for its depth, too.
        let root = std::thread::scope(|scope| {
            let parser = std::thread::Builder::new().stack_size(PARSER_STACK);
            let root = parser.spawn_scoped(scope, || read(source, has_objects));
            let root = root.map_err(|_| ParseError::of_all("there is no thread to read it"))?;
            root.join()
                .unwrap_or_else(|_| Err(ParseError::of_all("it can't be read")))
        })?;
        let mut names = BTreeSet::new();
        root.name_variables(&mut names);
        let mut looked_up = Vec::new();
        root.note_looked_up(&mut Vec::new(), &mut looked_up);
        Ok(Self(Arc::new(Read {
            source: source.to_owned(),
            root,
            names,
            looked_up,
        })))
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Whether it looks at the variable of this name.
    pub fn names(&self, variable: &str) -> bool {
        self.0.names.contains(variable)
    }

    /// The first name in it that is none of these variables, and no type.
    pub fn names_other_than(&self, known: &[&str]) -> Option<&str> {
        let mut names = self.0.names.iter().map(String::as_str);
        names.find(|name| !known.contains(name) && !TYPES.contains(name))
    }

    /// What it looks at in objects that it looks up.
    pub fn looked_up(&self) -> impl Iterator<Item = &Looked> {
        self.0.looked_up.iter()
    }

    /// Whether what it says is true of the variables.
    ///
    /// # Errors
    /// As [`Expression::evaluate`], and when the result is neither true nor false.
    pub fn holds(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.check_size(variables)?;
        let mut evaluation = Evaluation::new(variables);
        match evaluation.value(&self.0.root)? {
            Val::Bool(holds) => Ok(holds),
            other => Err(EvaluationError::NotBool(other.kind())),
        }
    }

    /// What it gives, as JSON: bytes in base64, timestamps and durations as texts, types by their names, and nothing for an
    /// optional without a value.
    ///
    /// # Errors
    /// It looks at what is not there, or at values of types that an operator or function does not take; or it would take more
    /// time or memory than an evaluation may.
    pub fn evaluate(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        self.check_size(variables)?;
        let mut evaluation = Evaluation::new(variables);
        let value = evaluation.value(&self.0.root)?;
        evaluation.resources.json_of(&value)
    }

    /// All that it looks at is at most 1.5 MB, the size of what an API server takes.
    fn check_size(&self, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        let looked_at = self.0.names.iter().filter_map(|name| variables.get(name));
        weight(looked_at).map(drop)
    }
}

fn read(source: &str, has_objects: bool) -> Result<Node, ParseError> {
    let parser = PrattParser::new().enable_optional_syntax(true);
    let tree = parser.parse(source);
    let tree = tree.map_err(|errors| {
        // The first one; what follows is mostly its consequence.
        let error = errors.errors.into_iter().next();
        error.map_or_else(
            || ParseError::of_all("it can't be read"),
            |error| ParseError {
                line: u32::try_from(error.pos.0).unwrap_or(0),
                column: u32::try_from(error.pos.1).unwrap_or(0),
                message: in_lower_case(error.msg.lines().next().unwrap_or_default()),
            },
        )
    })?;
    compile(&tree, has_objects)
}

/// As messages are written here.
fn in_lower_case(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().into_iter().flat_map(char::to_lowercase);
    first.chain(chars).collect()
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Expression {}

impl std::fmt::Debug for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Expression").field(&self.0.source).finish()
    }
}
