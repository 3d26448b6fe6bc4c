//! Nodes as Go writes them in messages.

use super::{Branch, NodeId, NodeKind, Span, Tree};
use crate::format;

/// How much of a node a message shows; what is deeper or longer is left out.
const DEPTH: u32 = 100;

impl Tree {
    /// The node as Go's `String` method writes it.
    pub(crate) fn print(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.write(id, &mut out, 0);
        out
    }

    fn write(&self, id: NodeId, out: &mut String, depth: u32) {
        if depth > DEPTH {
            out.push_str("...");
            return;
        }
        let depth = depth + 1;
        match self.node(id).kind {
            NodeKind::Text { start, end } => out.push_str(self.slice(start, end)),
            NodeKind::Action { pipe } => {
                out.push_str("{{");
                self.write(pipe, out, depth);
                out.push_str("}}");
            }
            NodeKind::Break => out.push_str("{{break}}"),
            NodeKind::Continue => out.push_str("{{continue}}"),
            NodeKind::If(branch) => self.write_branch("if", branch, out, depth),
            NodeKind::With(branch) => self.write_branch("with", branch, out, depth),
            NodeKind::Range(branch) => self.write_branch("range", branch, out, depth),
            NodeKind::Template { name, pipe } => {
                out.push_str("{{template ");
                out.push_str(&format::quote_bytes(self.name(name).as_bytes()));
                if let Some(pipe) = pipe {
                    out.push(' ');
                    self.write(pipe, out, depth);
                }
                out.push_str("}}");
            }
            NodeKind::List(span) => {
                for item in self.list(span) {
                    self.write(*item, out, depth);
                }
            }
            NodeKind::Pipe {
                variables,
                assigns,
                commands,
            } => {
                for (index, variable) in self.list(variables).iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    self.write(*variable, out, depth);
                }
                if variables.len() > 0 {
                    out.push_str(if assigns { " = " } else { " := " });
                }
                for (index, command) in self.list(commands).iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { " | " });
                    self.write(*command, out, depth);
                }
            }
            NodeKind::Command(arguments) => {
                for (index, argument) in self.list(arguments).iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { " " });
                    self.write_operand(*argument, out, depth);
                }
            }
            NodeKind::Function { name, .. } => out.push_str(&self.name(name).text()),
            NodeKind::Variable { names, .. } => {
                for (index, name) in self.names(names).iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "." });
                    out.push_str(&name.text());
                }
            }
            NodeKind::Field(names) => self.write_fields(names, out),
            NodeKind::Chain { operand, fields } => {
                self.write_operand(operand, out, depth);
                self.write_fields(fields, out);
            }
            NodeKind::Dot => out.push('.'),
            NodeKind::Nil => out.push_str("nil"),
            NodeKind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            NodeKind::Number(number) => {
                let text = &self.number(number).text;
                out.push_str(self.slice(text.start, text.end));
            }
            NodeKind::String(string) => {
                let quoted = &self.string(string).quoted;
                out.push_str(self.slice(quoted.start, quoted.end));
            }
        }
    }

    /// A pipeline that is an operand is in parentheses.
    fn write_operand(&self, id: NodeId, out: &mut String, depth: u32) {
        if matches!(self.node(id).kind, NodeKind::Pipe { .. }) {
            out.push('(');
            self.write(id, out, depth);
            out.push(')');
        } else {
            self.write(id, out, depth);
        }
    }

    fn write_fields(&self, fields: Span, out: &mut String) {
        for field in self.names(fields) {
            out.push('.');
            out.push_str(&field.text());
        }
    }

    fn write_branch(&self, keyword: &str, branch: Branch, out: &mut String, depth: u32) {
        out.push_str("{{");
        out.push_str(keyword);
        out.push(' ');
        self.write(branch.pipe, out, depth);
        out.push_str("}}");
        self.write(branch.list, out, depth);
        if let Some(otherwise) = branch.otherwise {
            out.push_str("{{else}}");
            self.write(otherwise, out, depth);
        }
        out.push_str("{{end}}");
    }
}
