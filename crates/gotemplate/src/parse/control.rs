//! Text, actions and control structures.

use crate::error::Error;
use crate::tree::{Branch, NodeId, NodeKind};
use crate::value::Str;

use super::lex::{Kind, Token};
use super::{Found, Parser};

/// What a sequence of nodes goes on with.
enum Item<'t> {
    Node(NodeId),
    /// `{{end}}`, which its `if`, `with`, `range`, `define` or `block` consumes.
    End,
    /// `{{else}}`, or `{{else if` and `{{else with`, of which the `if` or `with` is next.
    Else(Token<'t>),
}

impl Item<'_> {
    fn describe(&self) -> &'static str {
        match self {
            Self::Node(_) => "node",
            Self::End => "{{end}}",
            Self::Else(_) => "{{else}}",
        }
    }
}

impl<'t> Parser<'t> {
    /// The whole text: a sequence that may contain definitions.
    pub(super) fn file(&mut self) -> Result<NodeId, Error> {
        let position = self.peek().position;
        let mut items = Vec::new();
        loop {
            match self.peek().kind {
                Kind::Eof => break,
                Kind::LeftDelimiter => {
                    let delimiter = self.next();
                    if self.next_not_space().kind == Kind::Define {
                        self.definition()?;
                        continue;
                    }
                    self.back_two(delimiter);
                }
                _ => {}
            }
            match self.item()? {
                Item::Node(node) => items.push(node),
                other => return Err(self.error(format!("unexpected {}", other.describe()))),
            }
        }
        let span = self.tree.add_list(&items);
        Ok(self.tree.add(position, NodeKind::List(span)))
    }

    /// Registers a template. Of two with one name only one may have a content.
    pub(super) fn add(&mut self, name: Str, root: NodeId) -> Result<(), Error> {
        let found = Found {
            name,
            root,
            slots: self.scope.slots,
        };
        let Some(&index) = self.found_names.get(&found.name) else {
            self.found_names.insert(found.name.clone(), self.found.len());
            self.found.push(found);
            return Ok(());
        };
        if self.tree.is_blank(self.found[index].root) {
            self.found[index] = found;
        } else if !self.tree.is_blank(root) {
            let name = crate::format::quote_bytes(found.name.as_bytes());
            return Err(self.error(format!("template: multiple definition of template {name}")));
        }
        Ok(())
    }

    /// `{{define "name"}}…{{end}}`, of which `define` has been read.
    fn definition(&mut self) -> Result<(), Error> {
        let outer = std::mem::take(&mut self.scope);
        let token = self.next_not_space();
        let name = self.template_name(token, "define clause")?;
        self.expect(Kind::RightDelimiter, "define clause")?;
        self.body(name, "define clause")?;
        self.scope = outer;
        Ok(())
    }

    /// The content of a definition or block, up to its end.
    fn body(&mut self, name: Str, context: &str) -> Result<(), Error> {
        let (root, end) = self.sequence()?;
        if !matches!(end, Item::End) {
            return Err(self.error(format!("unexpected {} in {context}", end.describe())));
        }
        self.add(name, root)
    }

    /// Nodes up to an `{{end}}` or `{{else}}`, which is given too.
    fn sequence(&mut self) -> Result<(NodeId, Item<'t>), Error> {
        let position = self.peek_not_space().position;
        let mut items = Vec::new();
        while self.peek_not_space().kind != Kind::Eof {
            match self.item()? {
                Item::Node(node) => items.push(node),
                end => {
                    let span = self.tree.add_list(&items);
                    return Ok((self.tree.add(position, NodeKind::List(span)), end));
                }
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn item(&mut self) -> Result<Item<'t>, Error> {
        let token = self.next_not_space();
        match token.kind {
            Kind::Text => {
                let start = token.position;
                let end = start + token.text.len() as u32;
                Ok(Item::Node(self.tree.add(start, NodeKind::Text { start, end })))
            }
            Kind::LeftDelimiter => {
                self.scope.action_line = token.line;
                let item = self.action();
                self.scope.action_line = 0;
                item
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn action(&mut self) -> Result<Item<'t>, Error> {
        let token = self.next_not_space();
        let node = match token.kind {
            Kind::Block => self.block()?,
            Kind::Break => self.jump(token, "{{break}}", NodeKind::Break)?,
            Kind::Continue => self.jump(token, "{{continue}}", NodeKind::Continue)?,
            Kind::Else => return self.otherwise(),
            Kind::End => {
                self.expect(Kind::RightDelimiter, "end")?;
                return Ok(Item::End);
            }
            Kind::If | Kind::Range | Kind::With => self.branch(token.kind)?,
            Kind::Template => self.template()?,
            _ => {
                self.back();
                let position = self.peek().position;
                let pipe = self.pipeline("command", Kind::RightDelimiter)?;
                self.tree.add(position, NodeKind::Action { pipe })
            }
        };
        Ok(Item::Node(node))
    }

    fn jump(&mut self, token: Token<'t>, written: &str, kind: NodeKind) -> Result<NodeId, Error> {
        self.expect(Kind::RightDelimiter, written)?;
        if self.scope.loops == 0 {
            return Err(self.error(format!("{written} outside {{{{range}}}}")));
        }
        Ok(self.tree.add(token.position, kind))
    }

    fn otherwise(&mut self) -> Result<Item<'t>, Error> {
        let next = self.peek_not_space();
        if matches!(next.kind, Kind::If | Kind::With) {
            return Ok(Item::Else(next));
        }
        Ok(Item::Else(self.expect(Kind::RightDelimiter, "else")?))
    }

    /// `{{if}}`, `{{range}}` or `{{with}}`, of which the keyword has been read.
    fn branch(&mut self, keyword: Kind) -> Result<NodeId, Error> {
        self.nested("max nesting depth exceeded", |parser| {
            parser.branch_parts(keyword)
        })
    }

    fn branch_parts(&mut self, keyword: Kind) -> Result<NodeId, Error> {
        let context = match keyword {
            Kind::If => "if",
            Kind::Range => "range",
            _ => "with",
        };
        let known = self.scope.known.len();
        let outside = self.scope.variables.len();
        let pipe = self.pipeline(context, Kind::RightDelimiter)?;
        let inside = self.scope.variables.len();

        self.scope.loops += u32::from(keyword == Kind::Range);
        let (list, end) = self.sequence()?;
        self.scope.loops -= u32::from(keyword == Kind::Range);

        self.scope.variables.truncate(inside);
        let otherwise = match end {
            Item::Else(token) => Some(self.else_part(keyword, token)?),
            Item::End | Item::Node(_) => None,
        };
        self.scope.variables.truncate(outside);
        self.scope.known.truncate(known);

        let branch = Branch {
            pipe,
            list,
            otherwise,
        };
        let kind = match keyword {
            Kind::If => NodeKind::If(branch),
            Kind::Range => NodeKind::Range(branch),
            _ => NodeKind::With(branch),
        };
        let position = self.tree.node(pipe).position;
        Ok(self.tree.add(position, kind))
    }

    /// What follows `{{else`. An `{{else if}}` is an `{{else}}{{if}}` that needs no end of
    /// its own.
    fn else_part(&mut self, keyword: Kind, token: Token<'t>) -> Result<NodeId, Error> {
        if keyword != Kind::Range && self.peek().kind == keyword {
            self.next();
            let inner = self.branch(keyword)?;
            let span = self.tree.add_list(&[inner]);
            return Ok(self.tree.add(token.position, NodeKind::List(span)));
        }
        let (list, end) = self.sequence()?;
        match end {
            Item::End => Ok(list),
            other => Err(self.error(format!("expected end; found {}", other.describe()))),
        }
    }

    /// `{{block "name" pipeline}}…{{end}}`: a definition and its use at once.
    fn block(&mut self) -> Result<NodeId, Error> {
        const CONTEXT: &str = "block clause";
        let token = self.next_not_space();
        let name = self.template_name(token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelimiter)?;
        let outer = std::mem::take(&mut self.scope);
        self.nested("max nesting depth exceeded", |parser| {
            parser.body(name.clone(), CONTEXT)
        })?;
        self.scope = outer;
        let name = self.tree.add_name(name);
        let pipe = Some(pipe);
        Ok(self.tree.add(token.position, NodeKind::Template { name, pipe }))
    }

    /// `{{template "name" pipeline}}`.
    fn template(&mut self) -> Result<NodeId, Error> {
        const CONTEXT: &str = "template clause";
        let token = self.next_not_space();
        let name = self.template_name(token, CONTEXT)?;
        let mut pipe = None;
        if self.next_not_space().kind != Kind::RightDelimiter {
            self.back();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelimiter)?);
        }
        let name = self.tree.add_name(name);
        Ok(self.tree.add(token.position, NodeKind::Template { name, pipe }))
    }

    fn template_name(&mut self, token: Token<'t>, context: &str) -> Result<Str, Error> {
        match token.kind {
            Kind::String | Kind::RawString => self.string(token),
            _ => Err(self.unexpected(token, context)),
        }
    }
}
