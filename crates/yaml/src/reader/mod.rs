//! From text to trees, in the steps of goyaml v2: characters, tokens, events, nodes.
//!
//! The scanner looks ahead for keys just as far as goyaml's does and the grammar makes the same decisions,
//! since both decide which error a broken text gets. Only the limits of depth and copying are tighter.

mod budget;
mod cursor;
mod grammar;
mod input;
mod scanner;
mod token;
mod tree;

use crate::resolve::Words;
use crate::{Error, Node};
pub(crate) use budget::limit as limit_documents;
use grammar::Grammar;
use input::Input;
use tree::Tree;

/// How deep collections may be nested. goyaml allows 10,000, which nothing that is written by hand or applied
/// to a cluster comes near; a tree within this limit can be walked by recursion on an ordinary stack.
pub const MAX_DEPTH: usize = 256;

const TOO_DEEP: &str = "exceeded max depth of 256";

/// A violation of the grammar, at a line counted from 0.
#[derive(Debug)]
struct Problem {
    text: &'static str,
    line: u32,
    by_scanner: bool,
}

impl Problem {
    fn of_scanner(text: &'static str, line: u32) -> Self {
        Self {
            text,
            line,
            by_scanner: true,
        }
    }

    fn of_grammar(text: &'static str, line: u32) -> Self {
        Self {
            text,
            line,
            by_scanner: false,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::syntax(problem.text, problem.line, problem.by_scanner)
    }
}

/// Reads the first document; a text without any gives a null.
pub(crate) fn first_document(input: &str) -> Result<Node, Error> {
    first(&Input::of_text(input))
}

/// [`first_document`] of a text whose encoding is to be found out.
pub(crate) fn first_document_of_bytes(input: &[u8]) -> Result<Node, Error> {
    first(&Input::of_bytes(input))
}

/// All of them or an error: nothing is given for a text whose last document is wrong.
pub(crate) fn documents(input: &str, words: Words) -> Result<Vec<Node>, Error> {
    let input = Input::of_text(input);
    let mut grammar = Grammar::new(&input.text);
    let mut documents = Vec::new();
    while let Some(document) = next_document(&input, &mut grammar, words)? {
        documents.push(document);
    }
    Ok(documents)
}

fn first(input: &Input<'_>) -> Result<Node, Error> {
    let mut grammar = Grammar::new(&input.text);
    let document = next_document(input, &mut grammar, Words::V2)?;
    Ok(document.unwrap_or(Node {
        value: crate::Content::Null,
        line: 1,
        column: 1,
    }))
}

fn next_document(input: &Input<'_>, grammar: &mut Grammar<'_>, words: Words) -> Result<Option<Node>, Error> {
    let document = Tree::new(words).read_document(grammar);
    // A character that the scanner could not have read ends everything, whatever was made of it.
    if let Some(error) = input
        .fault
        .and_then(|fault| fault.seen_from(grammar.scanner.cursor.position()))
    {
        return Err(error);
    }
    document
}
