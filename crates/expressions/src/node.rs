//! An expression as it is evaluated.

use std::collections::BTreeSet;

use crate::functions::Function;

/// A part of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Literal),
    /// A variable, or else the name of a type.
    Variable(String),
    /// What a comprehension binds, by how many bind something around it.
    Local(usize),
    Select(Box<Node>, String),
    /// `has(a.b)`
    Has(Box<Node>, String),
    /// `a.?b`
    OptionalSelect(Box<Node>, String),
    Index(Box<[Node; 2]>),
    /// `a[?b]`
    OptionalIndex(Box<[Node; 2]>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Conditional(Box<[Node; 3]>),
    Binary(Binary, Box<[Node; 2]>),
    /// Elements, and whether each is optional.
    List(Vec<(Node, bool)>),
    /// Keys and values, and whether each is optional.
    Map(Vec<(Node, Node, bool)>),
    Call(Function, Vec<Node>),
    /// `object(apiVersion, kind, name)`
    Object(Box<ObjectCall>),
    Fold(Fold, Box<[Node; 2]>),
    /// `a.map(x, condition, value)`
    MapWhere(Box<[Node; 3]>),
    /// `a.or(b)`
    OptionalOr(Box<[Node; 2]>),
    /// `a.orValue(b)`
    OrValue(Box<[Node; 2]>),
    /// `a.optMap(x, value)`
    OptionalMap(Box<[Node; 2]>),
    /// `a.optFlatMap(x, optional)`
    OptionalFlatMap(Box<[Node; 2]>),
}

/// `object(…)` or `optionalObject(…)`.
#[derive(Clone, Debug)]
pub(crate) struct ObjectCall {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: Node,
    pub(crate) namespace: Option<Node>,
    /// Whether there is an optional instead of an error where the object is not there.
    pub(crate) is_optional: bool,
}

impl ObjectCall {
    /// Whether a function is one of these, and whether it gives an optional.
    pub(crate) fn named(name: &str) -> Option<bool> {
        match name {
            "object" => Some(false),
            "optionalObject" => Some(true),
            _ => None,
        }
    }
}

/// A value that is written out.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// An operator that needs both of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Binary {
    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
        }
    }
}

/// What a comprehension makes of the elements: of a list, or the keys of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

impl Node {
    /// Adds the names that are no locals.
    pub(crate) fn name_variables(&self, names: &mut BTreeSet<String>) {
        if let Self::Variable(name) = self {
            names.insert(name.clone());
        }
        self.for_each_part(&mut |part| part.name_variables(names));
    }

    /// What it is made of, one after the other.
    pub(crate) fn for_each_part(&self, then: &mut dyn FnMut(&Self)) {
        match self {
            Self::Literal(_) | Self::Local(_) | Self::Variable(_) => {}
            Self::Select(of, _)
            | Self::Has(of, _)
            | Self::OptionalSelect(of, _)
            | Self::Not(of)
            | Self::Negate(of) => then(of),
            Self::Index(two)
            | Self::OptionalIndex(two)
            | Self::And(two)
            | Self::Or(two)
            | Self::Binary(_, two)
            | Self::Fold(_, two)
            | Self::OptionalOr(two)
            | Self::OrValue(two)
            | Self::OptionalMap(two)
            | Self::OptionalFlatMap(two) => two.iter().for_each(then),
            Self::Conditional(three) | Self::MapWhere(three) => three.iter().for_each(then),
            Self::List(items) => items.iter().for_each(|(node, _)| then(node)),
            Self::Map(entries) => {
                for (key, value, _) in entries {
                    then(key);
                    then(value);
                }
            }
            Self::Call(_, arguments) => arguments.iter().for_each(then),
            Self::Object(call) => {
                then(&call.name);
                call.namespace.iter().for_each(then);
            }
        }
    }
}
