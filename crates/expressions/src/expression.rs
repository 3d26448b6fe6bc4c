//! An expression, from its text to its results.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::parser::PrattParser;
use serde_json::Value;

use crate::budget::MAX_SOURCE;
use crate::compile::compile;
use crate::error::{EvaluationError, ParseError};
use crate::evaluate::{Evaluation, weigh};
use crate::node::Node;
use crate::value::Val;
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
}

impl Expression {
    /// Reads an expression of at most 4 KiB, with comprehensions at most two deep.
    ///
    /// # Errors
    /// It is no CEL, is too long or too deep, or calls a function that is not known; the error says where.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        if source.len() > MAX_SOURCE {
            let message = format!("it is longer than {MAX_SOURCE} bytes");
            return Err(ParseError::of_all(message));
        }
        // The tree goes where there is room for its depth, too.
        let root = std::thread::scope(|scope| {
            let parser = std::thread::Builder::new().stack_size(PARSER_STACK);
            let root = parser.spawn_scoped(scope, || read(source));
            let root = root.map_err(|_| ParseError::of_all("there is no thread to read it"))?;
            root.join()
                .unwrap_or_else(|_| Err(ParseError::of_all("it can't be read")))
        })?;
        let mut names = BTreeSet::new();
        root.name_variables(&mut names);
        Ok(Self(Arc::new(Read {
            source: source.to_owned(),
            root,
            names,
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
        weigh(looked_at)
    }
}

fn read(source: &str) -> Result<Node, ParseError> {
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
    compile(&tree)
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
