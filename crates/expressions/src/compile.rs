//! From the parser's tree to ours. What only an evaluation could say otherwise is refused here: functions that are not known.

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, operators};

use crate::budget::{MAX_DEPTH, MAX_NESTED};
use crate::error::ParseError;
use crate::functions::Function;
use crate::node::{Binary, Fold, Literal, Node, ObjectCall};

/// The parser writes comprehensions as loops over this name.
const RESULT: &str = "@result";

/// Our tree of an expression.
///
/// # Errors
/// It is too deep, or has what is not evaluated here.
pub(crate) fn compile(tree: &IdedExpr, has_objects: bool) -> Result<Node, ParseError> {
    let mut compiler = Compiler {
        has_objects,
        ..Compiler::default()
    };
    compiler.node(tree)
}

#[derive(Default)]
struct Compiler<'a> {
    /// What is bound around a node, the outermost first.
    locals: Vec<&'a str>,
    depth: usize,
    loops: usize,
    /// Whether objects can be looked up.
    has_objects: bool,
}

impl<'a> Compiler<'a> {
    fn node(&mut self, tree: &'a IdedExpr) -> Result<Node, ParseError> {
        if self.depth >= MAX_DEPTH {
            return Err(refused(format!("it is nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let node = self.node_of(&tree.expr);
        self.depth -= 1;
        node
    }

    fn node_of(&mut self, tree: &'a Expr) -> Result<Node, ParseError> {
        Ok(match tree {
            Expr::Literal(value) => Node::Literal(literal(value)),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let of = Box::new(self.node(&select.operand)?);
                let field = select.field.clone();
                if select.test {
                    Node::Has(of, field)
                } else {
                    Node::Select(of, field)
                }
            }
            Expr::Call(call) => {
                let target = call.target.as_deref();
                return self.call(&call.func_name, target, &call.args);
            }
            Expr::List(list) => {
                let is_optional = |index: usize| list.optional_indices.contains(&index);
                let items = list.elements.iter().enumerate();
                let items = items.map(|(index, item)| Ok((self.node(item)?, is_optional(index))));
                Node::List(items.collect::<Result<_, ParseError>>()?)
            }
            Expr::Map(map) => self.map(map)?,
            Expr::Comprehension(comprehension) => self.comprehension(comprehension)?,
            Expr::Struct(message) => {
                return Err(refused(format!("`{}` is no type of messages", message.type_name)));
            }
            Expr::Unspecified => return Err(refused("a part of it can't be read".to_owned())),
        })
    }

    /// An absolute name, with a dot before it, is never a local one.
    fn name(&self, name: &str) -> Node {
        if let Some(name) = name.strip_prefix('.') {
            return Node::Variable(name.to_owned());
        }
        match self.locals.iter().rposition(|local| *local == name) {
            Some(local) => Node::Local(local),
            None => Node::Variable(name.to_owned()),
        }
    }

    fn map(&mut self, map: &'a MapExpr) -> Result<Node, ParseError> {
        let mut entries = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(refused("a map has a field without a value".to_owned()));
            };
            entries.push((self.node(&entry.key)?, self.node(&entry.value)?, entry.optional));
        }
        Ok(Node::Map(entries))
    }

    fn call(
        &mut self,
        name: &'a str,
        target: Option<&'a IdedExpr>,
        arguments: &'a [IdedExpr],
    ) -> Result<Node, ParseError> {
        match (target, arguments) {
            (None, [one, two]) if binary(name).is_some() => {
                let both = self.two(one, two)?;
                return Ok(Node::Binary(binary(name).unwrap_or(Binary::Equal), both));
            }
            (None, [one]) if name == operators::LOGICAL_NOT => return Ok(Node::Not(self.boxed(one)?)),
            (None, [one]) if name == operators::NEGATE => return Ok(Node::Negate(self.boxed(one)?)),
            (None, [one, two]) if name == operators::LOGICAL_AND => {
                return Ok(Node::And(self.two(one, two)?));
            }
            (None, [one, two]) if name == operators::LOGICAL_OR => return Ok(Node::Or(self.two(one, two)?)),
            (None, [one, two]) if name == operators::INDEX => return Ok(Node::Index(self.two(one, two)?)),
            (None, [one, two]) if name == operators::OPT_INDEX => {
                return Ok(Node::OptionalIndex(self.two(one, two)?));
            }
            (None, [of, field]) if name == operators::OPT_SELECT => {
                let Expr::Literal(LiteralValue::String(field)) = &field.expr else {
                    return Err(refused("a field has no name".to_owned()));
                };
                return Ok(Node::OptionalSelect(self.boxed(of)?, field.inner().to_owned()));
            }
            (None, [one, two, three]) if name == operators::CONDITIONAL => {
                let all = [self.node(one)?, self.node(two)?, self.node(three)?];
                return Ok(Node::Conditional(Box::new(all)));
            }
            (Some(of), [other]) if name == "or" => return Ok(Node::OptionalOr(self.two(of, other)?)),
            (Some(of), [other]) if name == "orValue" => return Ok(Node::OrValue(self.two(of, other)?)),
            (Some(of), [variable, body]) if matches!(name, "optMap" | "optFlatMap") => {
                let Expr::Ident(variable) = &variable.expr else {
                    return Err(refused(format!("`{name}` needs a name first")));
                };
                let of = self.node(of)?;
                let both = Box::new([of, self.with_local(variable, body)?]);
                return Ok(if name == "optMap" {
                    Node::OptionalMap(both)
                } else {
                    Node::OptionalFlatMap(both)
                });
            }
            _ => {}
        }
        self.function(name, target, arguments)
    }

    fn function(
        &mut self,
        name: &'a str,
        target: Option<&'a IdedExpr>,
        arguments: &'a [IdedExpr],
    ) -> Result<Node, ParseError> {
        if let (true, None, Some(is_optional)) = (self.has_objects, target, ObjectCall::named(name)) {
            return self.object(name, arguments, is_optional);
        }
        let count = arguments.len();
        // `optional.of(x)` is the name of a function, unless something is bound to `optional`.
        let qualified = target.and_then(|target| match &target.expr {
            Expr::Ident(first) if !self.locals.contains(&first.as_str()) => Some(format!("{first}.{name}")),
            _ => None,
        });
        let qualified = qualified.and_then(|name| Function::global(&name, count));
        let (function, target) = match (qualified, target) {
            (Some(function), _) => (Some(function), None),
            (None, Some(target)) => (Function::member(name, count), Some(target)),
            (None, None) => (Function::global(name.trim_start_matches('.'), count), None),
        };
        let Some(function) = function else {
            let what = if Function::is_known(name) {
                "is not called so"
            } else {
                "is not known"
            };
            return Err(refused(format!("the function `{}` {what}", printable(name))));
        };
        let all = target.into_iter().chain(arguments);
        let all = all.map(|node| self.node(node)).collect::<Result<_, _>>()?;
        Ok(Node::Call(function, all))
    }

    fn object(
        &mut self,
        function: &str,
        arguments: &'a [IdedExpr],
        is_optional: bool,
    ) -> Result<Node, ParseError> {
        let ([api_version, kind, name] | [api_version, kind, name, _]) = arguments else {
            let message = format!(
                "`{function}` takes an apiVersion, a kind and a name, and a namespace where that is another"
            );
            return Err(refused(message));
        };
        let (Some(api_version), Some(kind)) = (written_out(api_version), written_out(kind)) else {
            let message =
                format!("the apiVersion and the kind of `{function}` have to be texts, written out");
            return Err(refused(message));
        };
        Ok(Node::Object(Box::new(ObjectCall {
            api_version,
            kind,
            name: self.node(name)?,
            namespace: arguments
                .get(3)
                .map(|namespace| self.node(namespace))
                .transpose()?,
            is_optional,
        })))
    }

    /// The parser has made a loop of a macro; here it is what the macro said.
    fn comprehension(&mut self, loop_: &'a ComprehensionExpr) -> Result<Node, ParseError> {
        let range = self.node(&loop_.iter_range)?;
        let Some((fold, guard, body)) = meaning(loop_) else {
            return Err(refused("it has a loop that no macro makes".to_owned()));
        };
        if self.loops >= MAX_NESTED {
            let message = format!("comprehensions stand more than {MAX_NESTED} deep in each other");
            return Err(refused(message));
        }
        self.loops += 1;
        let guard = guard
            .map(|guard| self.with_local(&loop_.iter_var, guard))
            .transpose()?;
        let body = self.with_local(&loop_.iter_var, body)?;
        self.loops -= 1;
        Ok(match guard {
            Some(guard) => Node::MapWhere(Box::new([range, guard, body])),
            None => Node::Fold(fold, Box::new([range, body])),
        })
    }

    fn with_local(&mut self, local: &'a str, body: &'a IdedExpr) -> Result<Node, ParseError> {
        self.locals.push(local);
        let body = self.node(body);
        self.locals.pop();
        body
    }

    fn boxed(&mut self, tree: &'a IdedExpr) -> Result<Box<Node>, ParseError> {
        Ok(Box::new(self.node(tree)?))
    }

    fn two(&mut self, one: &'a IdedExpr, two: &'a IdedExpr) -> Result<Box<[Node; 2]>, ParseError> {
        Ok(Box::new([self.node(one)?, self.node(two)?]))
    }
}

/// What a loop of the parser stands for: which macro, the condition of `map` with three arguments, and what is done with each
/// element.
fn meaning(loop_: &ComprehensionExpr) -> Option<(Fold, Option<&IdedExpr>, &IdedExpr)> {
    let is_result = |tree: &IdedExpr| matches!(&tree.expr, Expr::Ident(name) if name == RESULT);
    let (name, arguments) = call_of(&loop_.loop_step)?;
    match (name, arguments) {
        (operators::LOGICAL_AND, [result, body]) if is_result(result) => Some((Fold::All, None, body)),
        (operators::LOGICAL_OR, [result, body]) if is_result(result) => Some((Fold::Exists, None, body)),
        (operators::ADD, [result, added]) if is_result(result) => Some((Fold::Map, None, only_item(added)?)),
        (operators::CONDITIONAL, [condition, step, result]) if is_result(result) => {
            let (operators::ADD, [before, added]) = call_of(step)? else {
                return None;
            };
            if !is_result(before) {
                return None;
            }
            let Some(added) = only_item(added) else {
                return Some((Fold::ExistsOne, None, condition));
            };
            match &added.expr {
                Expr::Ident(name) if *name == loop_.iter_var => Some((Fold::Filter, None, condition)),
                _ => Some((Fold::Map, Some(condition), added)),
            }
        }
        _ => None,
    }
}

fn call_of(tree: &IdedExpr) -> Option<(&str, &[IdedExpr])> {
    match &tree.expr {
        Expr::Call(call) if call.target.is_none() => Some((&call.func_name, &call.args)),
        _ => None,
    }
}

fn only_item(tree: &IdedExpr) -> Option<&IdedExpr> {
    match &tree.expr {
        Expr::List(list) => list.elements.first(),
        _ => None,
    }
}

fn written_out(tree: &IdedExpr) -> Option<String> {
    match &tree.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}

fn literal(value: &LiteralValue) -> Literal {
    match value {
        LiteralValue::Boolean(value) => Literal::Bool(*value.inner()),
        LiteralValue::Bytes(value) => Literal::Bytes(value.inner().to_vec()),
        LiteralValue::Double(value) => Literal::Double(*value.inner()),
        LiteralValue::Int(value) => Literal::Int(*value.inner()),
        LiteralValue::Null => Literal::Null,
        LiteralValue::String(value) => Literal::Text(value.inner().to_owned()),
        LiteralValue::UInt(value) => Literal::Uint(*value.inner()),
    }
}

fn binary(name: &str) -> Option<Binary> {
    Some(match name {
        operators::ADD => Binary::Add,
        operators::SUBSTRACT => Binary::Subtract,
        operators::MULTIPLY => Binary::Multiply,
        operators::DIVIDE => Binary::Divide,
        operators::MODULO => Binary::Remainder,
        operators::EQUALS => Binary::Equal,
        operators::NOT_EQUALS => Binary::NotEqual,
        operators::LESS => Binary::Less,
        operators::LESS_EQUALS => Binary::LessOrEqual,
        operators::GREATER => Binary::Greater,
        operators::GREATER_EQUALS => Binary::GreaterOrEqual,
        operators::IN => Binary::In,
        _ => return None,
    })
}

/// A name that fits into a message.
fn printable(name: &str) -> String {
    name.chars().take(40).collect()
}

fn refused(message: String) -> ParseError {
    ParseError::of_all(message)
}
