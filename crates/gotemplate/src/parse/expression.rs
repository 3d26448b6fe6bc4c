//! Pipelines, commands and operands.

use crate::error::Error;
use crate::tree::{NodeId, NodeKind, Slot, StringLiteral};

use super::Parser;
use super::lex::{Kind, Token};
use super::number::number;

impl<'t> Parser<'t> {
    /// Declarations and commands, up to a token of kind `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<NodeId, Error> {
        let position = self.peek_not_space().position;
        let (declared, assigns) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            let token = self.next_not_space();
            match token.kind {
                kind if kind == end => break,
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParenthesis => {
                    self.back();
                    commands.push(self.command()?);
                }
                _ => return Err(self.unexpected(token, context)),
            }
        }
        self.check_pipeline(&commands, context)?;
        let variables = self.declare(&declared, assigns);
        let variables = self.tree.add_list(&variables);
        let commands = self.tree.add_list(&commands);
        let kind = NodeKind::Pipe {
            variables,
            assigns,
            commands,
        };
        Ok(self.tree.add(position, kind))
    }

    /// The variables before `:=` or `=`, and whether it is the latter.
    fn declarations(&mut self, context: &str) -> Result<(Vec<Token<'t>>, bool), Error> {
        let mut declared = Vec::new();
        loop {
            let variable = self.peek_not_space();
            if variable.kind != Kind::Variable {
                return Ok((declared, false));
            }
            self.next();
            // Whether this is a declaration shows only after a space, which separates
            // arguments if it is none.
            let after = self.peek();
            let next = self.peek_not_space();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    self.next_not_space();
                    declared.push(variable);
                    self.scope.known.push(variable.text);
                    return Ok((declared, next.kind == Kind::Assign));
                }
                Kind::Char if next.text == "," => {
                    self.next_not_space();
                    declared.push(variable);
                    self.scope.known.push(variable.text);
                    if context != "range" || declared.len() >= 2 {
                        return Err(self.error(format!("too many declarations in {context}")));
                    }
                    let next = self.peek_not_space().kind;
                    if !matches!(
                        next,
                        Kind::Variable | Kind::RightDelimiter | Kind::RightParenthesis
                    ) {
                        return Err(self.error("range can only initialize variables"));
                    }
                }
                _ => {
                    if after.kind == Kind::Space {
                        self.back_three(variable, after);
                    } else {
                        self.back_two(variable);
                    }
                    return Ok((declared, false));
                }
            }
        }
    }

    /// The nodes of the variables that a pipeline sets; they come into scope after it.
    fn declare(&mut self, declared: &[Token<'t>], assigns: bool) -> Vec<NodeId> {
        let mut nodes = Vec::with_capacity(declared.len());
        for token in declared {
            if !assigns {
                self.scope.declare(token.text);
            }
            let slot = self.scope.slot(token.text);
            let names = self.tree.add_names([token.text]);
            nodes.push(self.tree.add(token.position, NodeKind::Variable { slot, names }));
        }
        nodes
    }

    fn check_pipeline(&self, commands: &[NodeId], context: &str) -> Result<(), Error> {
        if commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (index, command) in commands.iter().enumerate().skip(1) {
            let NodeKind::Command(arguments) = self.tree.node(*command).kind else {
                continue;
            };
            let first = self.tree.list(arguments).first();
            if first.is_some_and(|first| self.is_literal(*first)) {
                let stage = index + 1;
                return Err(self.error(format!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    fn is_literal(&self, node: NodeId) -> bool {
        matches!(
            self.tree.node(node).kind,
            NodeKind::Bool(_) | NodeKind::Dot | NodeKind::Nil | NodeKind::Number(_) | NodeKind::String(_)
        )
    }

    /// Operands separated by spaces. Takes the pipe that ends it, but no delimiter.
    fn command(&mut self) -> Result<NodeId, Error> {
        let position = self.peek_not_space().position;
        let mut arguments = Vec::new();
        loop {
            self.peek_not_space();
            if let Some(operand) = self.operand()? {
                arguments.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => {}
                Kind::RightDelimiter | Kind::RightParenthesis => {
                    self.back();
                    break;
                }
                Kind::Pipe => break,
                _ => return Err(self.unexpected(token, "operand")),
            }
        }
        if arguments.is_empty() {
            return Err(self.error("empty command"));
        }
        let span = self.tree.add_list(&arguments);
        Ok(self.tree.add(position, NodeKind::Command(span)))
    }

    /// A term and the fields behind it, if a term is what follows.
    fn operand(&mut self) -> Result<Option<NodeId>, Error> {
        let Some(node) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(node));
        }
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(&self.next().text[1..]);
        }
        // More fields of a field or variable belong to it.
        let (position, mut names) = (first.position, Vec::new());
        let kind = match self.tree.node(node).kind {
            NodeKind::Field(own) => {
                names.extend(self.tree.names(own).iter().map(ToString::to_string));
                names.extend(fields.into_iter().map(ToOwned::to_owned));
                NodeKind::Field(self.tree.add_names(names.iter().map(String::as_str)))
            }
            NodeKind::Variable { slot, names: own } => {
                names.extend(self.tree.names(own).iter().map(ToString::to_string));
                names.extend(fields.into_iter().map(ToOwned::to_owned));
                let names = self.tree.add_names(names.iter().map(String::as_str));
                NodeKind::Variable { slot, names }
            }
            _ if self.is_literal(node) => {
                let term = crate::format::quote(&self.tree.print(node));
                return Err(self.error(format!("unexpected . after term {term}")));
            }
            _ => NodeKind::Chain {
                operand: node,
                fields: self.tree.add_names(fields),
            },
        };
        Ok(Some(self.tree.add(position, kind)))
    }

    fn term(&mut self) -> Result<Option<NodeId>, Error> {
        let token = self.next_not_space();
        let kind = match token.kind {
            Kind::Identifier => {
                let Some(function) = self.functions.id(token.text) else {
                    let name = crate::format::quote(token.text);
                    return Err(self.error(format!("function {name} not defined")));
                };
                let name = self.tree.add_name(token.text);
                NodeKind::Function { function, name }
            }
            Kind::Dot => NodeKind::Dot,
            Kind::Nil => NodeKind::Nil,
            Kind::Variable => self.variable(token)?,
            Kind::Field => NodeKind::Field(self.tree.add_names([&token.text[1..]])),
            Kind::Bool => NodeKind::Bool(token.text == "true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let number = number(token.text, token.position, token.kind);
                let number = number.map_err(|message| self.error(message))?;
                self.tree.numbers.push(number);
                NodeKind::Number(self.tree.numbers.len() as u32 - 1)
            }
            Kind::LeftParenthesis => {
                let pipe = self.nested("max expression depth exceeded", |parser| {
                    parser.pipeline("parenthesized pipeline", Kind::RightParenthesis)
                });
                return pipe.map(Some);
            }
            Kind::String | Kind::RawString => {
                let value = self.string(token)?;
                let quoted = token.position..token.position + token.text.len() as u32;
                self.tree.strings.push(StringLiteral { quoted, value });
                NodeKind::String(self.tree.strings.len() as u32 - 1)
            }
            _ => {
                self.back();
                return Ok(None);
            }
        };
        Ok(Some(self.tree.add(token.position, kind)))
    }

    fn variable(&mut self, token: Token<'t>) -> Result<NodeKind, Error> {
        let slot: Slot = self.scope.slot(token.text);
        if slot == Slot::Undefined && !self.scope.known.contains(&token.text) {
            let name = crate::format::quote(token.text);
            return Err(self.error(format!("undefined variable {name}")));
        }
        let names = self.tree.add_names([token.text]);
        Ok(NodeKind::Variable { slot, names })
    }
}
