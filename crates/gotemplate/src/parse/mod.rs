//! From text to trees.

mod control;
mod expression;
mod lex;
mod number;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Error;
use crate::format::unquote;
use crate::function::FunctionTable;
use crate::tree::{NodeId, Slot, Template, Tree};
use crate::value::Str;

use lex::{Kind, Lexer, Token};

/// How deeply parentheses or blocks may be nested, as in Go.
const DEPTH: u32 = 10_000;

/// A character of one byte that means nothing in templates.
const STAND_IN: char = '\u{1a}';

/// The templates of `text`: those that it defines, and the one called `name`.
///
/// # Errors
/// Go's message for what is not a template.
pub(crate) fn parse(
    name: &str,
    bytes: &[u8],
    functions: &FunctionTable,
) -> Result<Vec<Arc<Template>>, Error> {
    // Where bytes are no text, the parser sees one character for each, so that places stay the same.
    let text = replaced(bytes, STAND_IN);
    let is_text = matches!(text, Cow::Borrowed(_));
    let mut parser = Parser {
        lexer: Lexer::new(&text),
        functions,
        tree: Tree {
            name: Str::from(name),
            text: text.to_string(),
            bytes: (!is_text).then(|| bytes.to_owned()),
            ..Tree::default()
        },
        found: Vec::new(),
        found_names: BTreeMap::new(),
        scope: Scope::default(),
        depth: 0,
    };
    if u32::try_from(text.len()).is_err() {
        return Err(parser.error("text is too long"));
    }
    let root = parser.file()?;
    parser.add(Str::from(name), root)?;
    let tree = Arc::new(parser.tree);
    let template = |found: Found| {
        Arc::new(Template {
            name: found.name,
            tree: Arc::clone(&tree),
            root: found.root,
            slots: found.slots,
        })
    };
    Ok(parser.found.into_iter().map(template).collect())
}

/// The text of `bytes`, with `stand_in` for each byte that is not part of UTF-8.
fn replaced(bytes: &[u8], stand_in: char) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| stand_in));
    }
    Cow::Owned(text)
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    functions: &'t FunctionTable,
    tree: Tree,
    found: Vec<Found>,
    /// Indices of `found`, for a name that is defined again.
    found_names: BTreeMap<Str, usize>,
    scope: Scope<'t>,
    depth: u32,
}

/// A template of the text.
struct Found {
    name: Str,
    root: NodeId,
    slots: u32,
}

/// What belongs to one template while it is parsed.
struct Scope<'t> {
    /// Tokens that were read ahead; the next one is at `ahead - 1`.
    tokens: [Token<'t>; 3],
    ahead: usize,
    /// The variables that Go's parser knows, which is more than those that exist when the
    /// template runs: it does not tell the branches of an `if` apart.
    known: Vec<&'t str>,
    /// The variables that exist, each in the slot of its index.
    variables: Vec<&'t str>,
    slots: u32,
    loops: u32,
    /// The line on which the current action started.
    action_line: u32,
}

impl Default for Scope<'_> {
    fn default() -> Self {
        Self {
            tokens: [Token::NONE; 3],
            ahead: 0,
            known: vec!["$"],
            variables: vec!["$"],
            slots: 1,
            loops: 0,
            action_line: 0,
        }
    }
}

impl<'t> Scope<'t> {
    fn declare(&mut self, name: &'t str) {
        self.variables.push(name);
        self.slots = self.slots.max(self.variables.len() as u32);
    }

    fn slot(&self, name: &str) -> Slot {
        match self.variables.iter().rposition(|variable| *variable == name) {
            Some(index) => Slot::At(index as u32),
            None => Slot::Undefined,
        }
    }
}

/// Tokens.
impl<'t> Parser<'t> {
    fn next(&mut self) -> Token<'t> {
        if self.scope.ahead > 0 {
            self.scope.ahead -= 1;
        } else {
            self.scope.tokens[0] = self.lexer.next_token();
        }
        self.scope.tokens[self.scope.ahead]
    }

    fn back(&mut self) {
        self.scope.ahead += 1;
    }

    /// Takes back the last token and the one before it.
    fn back_two(&mut self, before: Token<'t>) {
        self.scope.tokens[1] = before;
        self.scope.ahead = 2;
    }

    /// Takes back the last token and the two before it.
    fn back_three(&mut self, second_before: Token<'t>, before: Token<'t>) {
        self.scope.tokens[1] = before;
        self.scope.tokens[2] = second_before;
        self.scope.ahead = 3;
    }

    fn peek(&mut self) -> Token<'t> {
        let token = self.next();
        self.back();
        token
    }

    fn next_not_space(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_not_space(&mut self) -> Token<'t> {
        let token = self.next_not_space();
        self.back();
        token
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token<'t>, Error> {
        let token = self.next_not_space();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(token, context))
        }
    }

    fn string(&mut self, token: Token<'t>) -> Result<Str, Error> {
        let written = self
            .tree
            .raw(token.position, token.position + token.text.len() as u32);
        if let (Some(_), [b'`', raw @ .., b'`']) = (&self.tree.bytes, written) {
            return Ok(Str::from_bytes(
                raw.iter().copied().filter(|byte| *byte != b'\r').collect(),
            ));
        }
        match unquote(&replaced(written, char::REPLACEMENT_CHARACTER)) {
            Ok(bytes) => Ok(Str::from_bytes(bytes)),
            Err(error) => Err(self.error(error.to_string())),
        }
    }
}

/// Failures.
impl<'t> Parser<'t> {
    /// A failure at the line of the last token that was read.
    fn error(&self, message: impl Into<String>) -> Error {
        let line = self.scope.tokens[0].line as usize;
        Error::parse(&self.tree.name.text(), line, message)
    }

    fn unexpected(&self, token: Token<'t>, context: &str) -> Error {
        if token.kind != Kind::Error {
            return self.error(format!("unexpected {} in {context}", token.describe()));
        }
        let mut message = self.lexer.error.clone();
        let started = self.scope.action_line;
        if started != 0 && started != token.line {
            if !message.ends_with(" action") {
                message.push_str(" in action");
            }
            let place = format!(" started at {}:{started}", self.tree.name);
            message.push_str(&place);
        }
        self.error(message)
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(
        &mut self,
        too_deep: &str,
        parse: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.depth >= DEPTH {
            return Err(self.error(too_deep));
        }
        self.depth += 1;
        let result = crate::stack::grow(|| parse(self));
        self.depth -= 1;
        result
    }
}
