//! The evaluation of an expression, each step of which is taken from its budget.

use serde_json::Value;

use crate::budget::{MAX_INPUT, MAX_NESTING};
use crate::error::EvaluationError;
use crate::node::{Fold, Literal, Node, ObjectCall};
use crate::objects::Wanted;
use crate::resources::Resources;
use crate::value::{List, Map, TYPES, Text, Val, types, whole};
use crate::variables::Variables;

/// What a value takes in a list.
const SIZE: usize = size_of::<Val<'_>>();

/// One evaluation.
pub(crate) struct Evaluation<'a> {
    variables: &'a Variables<'a>,
    /// What comprehensions have bound, the outermost first.
    locals: Vec<Val<'a>>,
    pub(crate) resources: Resources,
}

type Result<T> = std::result::Result<T, EvaluationError>;

impl<'a> Evaluation<'a> {
    pub(crate) fn new(variables: &'a Variables<'a>) -> Self {
        Self {
            variables,
            locals: Vec::new(),
            resources: Resources::default(),
        }
    }

    /// What a part of the expression gives.
    ///
    /// # Errors
    /// It has no result, or the budget is used up.
    pub(crate) fn value(&mut self, node: &'a Node) -> Result<Val<'a>> {
        self.resources.budget.spend(1)?;
        match node {
            Node::Literal(literal) => self.literal(literal),
            Node::Variable(name) => self.variable(name),
            Node::Local(index) => {
                let local = self.locals.get(*index);
                local.cloned().ok_or(EvaluationError::NoSuchIndex)
            }
            Node::Select(of, field) => self.select(of, field),
            Node::Has(of, field) => self.has(of, field),
            Node::OptionalSelect(of, field) => self.optional_select(of, field),
            Node::Index(both) => self.index(both),
            Node::OptionalIndex(both) => self.optional_index(both),
            Node::And(both) => self.connected(both, false),
            Node::Or(both) => self.connected(both, true),
            Node::Not(of) => Ok(Val::Bool(!self.truth(of, "!")?)),
            Node::Negate(of) => {
                let value = self.value(of)?;
                Resources::negated(&value)
            }
            Node::Conditional(all) => {
                let [condition, one, other] = all.as_ref();
                let chosen = if self.truth(condition, "? :")? { one } else { other };
                self.value(chosen)
            }
            Node::Binary(operator, both) => {
                let [left, right] = both.as_ref();
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.resources.combined(*operator, &left, &right)
            }
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument));
                let values = values.collect::<Result<Vec<_>>>()?;
                self.resources.call(*function, &values)
            }
            Node::Object(call) => self.object(call),
            Node::Fold(fold, both) => self.folded(*fold, both),
            Node::MapWhere(all) => {
                let [range, condition, body] = all.as_ref();
                self.mapped(range, Some(condition), body)
            }
            Node::OptionalOr(both) => self.first_of(both, "or", |optional| optional),
            Node::OrValue(both) => self.first_of(both, "orValue", |optional| match optional {
                Val::Optional(Some(value)) => value.as_ref().clone(),
                other => other,
            }),
            Node::OptionalMap(both) => self.optional_map(both, |value| Ok(Val::some(value))),
            Node::OptionalFlatMap(both) => self.optional_map(both, |value| match value {
                Val::Optional(_) => Ok(value),
                other => Err(types("optFlatMap", &[&other])),
            }),
        }
    }

    fn literal(&mut self, literal: &'a Literal) -> Result<Val<'a>> {
        Ok(match literal {
            Literal::Null => Val::Null,
            Literal::Bool(value) => Val::Bool(*value),
            Literal::Int(number) => Val::Int(*number),
            Literal::Uint(number) => Val::Uint(*number),
            Literal::Double(number) => Val::Double(*number),
            Literal::Text(text) => Val::Text(Text::Borrowed(text)),
            Literal::Bytes(bytes) => {
                self.resources.budget.allocate(bytes.len())?;
                Val::Bytes(bytes.as_slice().into())
            }
        })
    }

    fn variable(&mut self, name: &str) -> Result<Val<'a>> {
        if let Some(value) = self.variables.get(name) {
            return Ok(Val::of(value));
        }
        let known = TYPES.iter().find(|known| **known == name);
        known
            .map(|name| Val::Type(name))
            .ok_or_else(|| EvaluationError::Missing(name.to_owned()))
    }

    fn object(&mut self, call: &'a ObjectCall) -> Result<Val<'a>> {
        let name = self.name(&call.name)?;
        let namespace = call.namespace.as_ref().map(|of| self.name(of)).transpose()?;
        let wanted = Wanted {
            api_version: &call.api_version,
            kind: &call.kind,
            namespace: namespace.as_ref().map(Text::as_str),
            name: name.as_str(),
        };
        let found = match self.variables.objects() {
            Some(objects) => objects.find(&wanted)?,
            None => None,
        };
        let Some(object) = found else {
            let error = EvaluationError::NoObject(call.kind.clone());
            return call.is_optional.then_some(Val::Optional(None)).ok_or(error);
        };
        self.resources.budget.read(weight(std::iter::once(object))?)?;
        let object = Val::of(object);
        Ok(if call.is_optional {
            Val::some(object)
        } else {
            object
        })
    }

    /// A text that names something.
    fn name(&mut self, node: &'a Node) -> Result<Text<'a>> {
        match self.value(node)? {
            Val::Text(text) => Ok(text),
            other => Err(types("object", &[&other])),
        }
    }

    /// A value that has to be true or false.
    fn truth(&mut self, node: &'a Node, what: &'static str) -> Result<bool> {
        match self.value(node)? {
            Val::Bool(value) => Ok(value),
            other => Err(types(what, &[&other])),
        }
    }

    /// `&&` and `||`: one of them decides though the other has no result.
    fn connected(&mut self, both: &'a [Node; 2], deciding: bool) -> Result<Val<'a>> {
        let [left, right] = both;
        let what = if deciding { "||" } else { "&&" };
        let left = self.truth(left, what);
        match &left {
            Ok(value) if *value == deciding => return Ok(Val::Bool(deciding)),
            Err(error) if error.is_final() => return left.map(Val::Bool),
            _ => {}
        }
        let right = self.truth(right, what);
        match (left, right) {
            (_, Ok(value)) if value == deciding => Ok(Val::Bool(deciding)),
            (_, Err(error)) if error.is_final() => Err(error),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(_), Ok(_)) => Ok(Val::Bool(!deciding)),
        }
    }

    fn select(&mut self, of: &'a Node, field: &str) -> Result<Val<'a>> {
        match self.value(of)? {
            Val::Map(map) => {
                let value = map.field(field);
                value.ok_or_else(|| EvaluationError::Missing(field.to_owned()))
            }
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => optional_field(&value, field),
            other => Err(types(".", &[&other])),
        }
    }

    fn has(&mut self, of: &'a Node, field: &str) -> Result<Val<'a>> {
        match self.value(of)? {
            Val::Map(map) => Ok(Val::Bool(map.field(field).is_some())),
            Val::Optional(Some(value)) => {
                let found = optional_field(&value, field)?;
                Ok(Val::Bool(matches!(found, Val::Optional(Some(_)))))
            }
            other @ Val::List(_) => Err(types("has", &[&other])),
            // An empty optional, and what has no fields.
            _ => Ok(Val::Bool(false)),
        }
    }

    fn optional_select(&mut self, of: &'a Node, field: &str) -> Result<Val<'a>> {
        match self.value(of)? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => optional_field(&value, field),
            value => optional_field(&value, field),
        }
    }

    fn index(&mut self, both: &'a [Node; 2]) -> Result<Val<'a>> {
        let [of, index] = both;
        let (of, index) = (self.value(of)?, self.value(index)?);
        match &of {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(of)) => self.optional_item(of, &index),
            of => self.item(of, &index)?.ok_or(EvaluationError::NoSuchIndex),
        }
    }

    fn optional_index(&mut self, both: &'a [Node; 2]) -> Result<Val<'a>> {
        let [of, index] = both;
        let (of, index) = (self.value(of)?, self.value(index)?);
        match &of {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(of)) => self.optional_item(of, &index),
            of => self.optional_item(of, &index),
        }
    }

    fn optional_item(&mut self, of: &Val<'a>, index: &Val<'a>) -> Result<Val<'a>> {
        // What has no places and no keys has nothing there.
        if !matches!(of, Val::List(_) | Val::Map(_)) {
            return Ok(Val::Optional(None));
        }
        Ok(self.item(of, index)?.map_or(Val::Optional(None), Val::some))
    }

    fn item(&mut self, of: &Val<'a>, index: &Val<'a>) -> Result<Option<Val<'a>>> {
        match of {
            Val::List(list) => {
                let at = match index {
                    Val::Int(at) => usize::try_from(*at).ok(),
                    Val::Uint(at) => usize::try_from(*at).ok(),
                    Val::Double(at) => {
                        let at = whole(*at).ok_or_else(|| types("[]", &[of, index]))?;
                        usize::try_from(at).ok()
                    }
                    _ => return Err(types("[]", &[of, index])),
                };
                Ok(at.and_then(|at| list.get(at)))
            }
            Val::Map(map) => {
                self.resources.budget.spend(1 + map.len() / 64)?;
                let key = index.key().ok_or_else(|| types("[]", &[of, index]))?;
                Ok(map.get(&key))
            }
            _ => Err(types("[]", &[of, index])),
        }
    }

    fn list(&mut self, items: &'a [(Node, bool)]) -> Result<Val<'a>> {
        self.resources.budget.allocate(items.len() * SIZE)?;
        let mut list = Vec::with_capacity(items.len());
        for (item, is_optional) in items {
            match self.value(item)? {
                Val::Optional(None) if *is_optional => {}
                Val::Optional(Some(value)) if *is_optional => list.push(value.as_ref().clone()),
                other if *is_optional => return Err(types("?", &[&other])),
                value => list.push(value),
            }
        }
        Ok(Val::list(list))
    }

    fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Result<Val<'a>> {
        self.resources.budget.allocate(entries.len() * 4 * SIZE)?;
        let mut map = std::collections::BTreeMap::new();
        for (key, value, is_optional) in entries {
            let key = self.value(key)?;
            let key = key.key().ok_or_else(|| types("{}", &[&key]))?;
            let value = match self.value(value)? {
                Val::Optional(None) if *is_optional => continue,
                Val::Optional(Some(value)) if *is_optional => value.as_ref().clone(),
                other if *is_optional => return Err(types("?", &[&other])),
                value => value,
            };
            if map.insert(key, value).is_some() {
                return Err(EvaluationError::RepeatedKey);
            }
        }
        Ok(Val::Map(Map::Made(map.into())))
    }

    fn folded(&mut self, fold: Fold, both: &'a [Node; 2]) -> Result<Val<'a>> {
        let [range, body] = both;
        match fold {
            Fold::Map => self.mapped(range, None, body),
            Fold::All => self.any(range, body, false),
            Fold::Exists => self.any(range, body, true),
            Fold::ExistsOne => {
                let mut count = 0_usize;
                for item in self.items(range)? {
                    count += usize::from(self.truth_of(body, item, "exists_one")?);
                }
                Ok(Val::Bool(count == 1))
            }
            Fold::Filter => {
                let mut kept = Vec::new();
                for item in self.items(range)? {
                    if self.truth_of(body, item.clone(), "filter")? {
                        self.resources.budget.allocate(SIZE)?;
                        kept.push(item);
                    }
                }
                Ok(Val::list(kept))
            }
        }
    }

    /// `all` and `exists`: an element that decides does so whatever is wrong with others.
    fn any(&mut self, range: &'a Node, body: &'a Node, deciding: bool) -> Result<Val<'a>> {
        let what = if deciding { "exists" } else { "all" };
        let mut wrong = None;
        for item in self.items(range)? {
            match self.truth_of(body, item, what) {
                Ok(value) if value == deciding => return Ok(Val::Bool(deciding)),
                Ok(_) => {}
                Err(error) if error.is_final() => return Err(error),
                Err(error) => wrong = Some(error),
            }
        }
        wrong.map_or(Ok(Val::Bool(!deciding)), Err)
    }

    fn mapped(&mut self, range: &'a Node, condition: Option<&'a Node>, body: &'a Node) -> Result<Val<'a>> {
        let mut made = Vec::new();
        for item in self.items(range)? {
            if let Some(condition) = condition
                && !self.truth_of(condition, item.clone(), "map")?
            {
                continue;
            }
            self.resources.budget.allocate(SIZE)?;
            made.push(self.with_local(item, |evaluation| evaluation.value(body))?);
        }
        Ok(Val::list(made))
    }

    /// The elements of a list, or the keys of a map.
    fn items(&mut self, range: &'a Node) -> Result<Box<dyn Iterator<Item = Val<'a>> + 'a>> {
        match self.value(range)? {
            Val::List(list) => Ok(Box::new(list.iter())),
            Val::Map(map) => {
                self.resources.budget.allocate(map.len() * SIZE)?;
                Ok(Box::new(List::Made(map.keys().into()).iter()))
            }
            other => Err(types("a comprehension", &[&other])),
        }
    }

    fn truth_of(&mut self, body: &'a Node, item: Val<'a>, what: &'static str) -> Result<bool> {
        self.with_local(item, |evaluation| evaluation.truth(body, what))
    }

    fn with_local<T>(&mut self, local: Val<'a>, then: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.locals.push(local);
        let result = then(self);
        self.locals.pop();
        result
    }

    fn first_of(
        &mut self,
        both: &'a [Node; 2],
        what: &'static str,
        then: fn(Val<'a>) -> Val<'a>,
    ) -> Result<Val<'a>> {
        let [optional, other] = both;
        match self.value(optional)? {
            Val::Optional(None) => self.value(other),
            found @ Val::Optional(Some(_)) => Ok(then(found)),
            other => Err(types(what, &[&other])),
        }
    }

    fn optional_map(&mut self, both: &'a [Node; 2], then: fn(Val<'a>) -> Result<Val<'a>>) -> Result<Val<'a>> {
        let [optional, body] = both;
        match self.value(optional)? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => {
                let value = value.as_ref().clone();
                then(self.with_local(value, |evaluation| evaluation.value(body))?)
            }
            other => Err(types("optMap", &[&other])),
        }
    }
}

/// A field that may be missing, of what is there. What has no fields has none of that name; a list has places.
fn optional_field<'a>(of: &Val<'a>, field: &str) -> Result<Val<'a>> {
    match of {
        Val::Map(map) => Ok(map.field(field).map_or(Val::Optional(None), Val::some)),
        list @ Val::List(_) => Err(types(".?", &[list])),
        _ => Ok(Val::Optional(None)),
    }
}

/// How many bytes the values have, which fit into what an evaluation may look at.
///
/// # Errors
/// They are too large or too deep.
pub(crate) fn weight<'a>(values: impl Iterator<Item = &'a Value>) -> Result<usize> {
    let mut left = MAX_INPUT;
    for value in values {
        take(value, &mut left, MAX_NESTING)?;
    }
    Ok(MAX_INPUT - left)
}

fn take(value: &Value, left: &mut usize, depth: usize) -> Result<()> {
    let depth = depth.checked_sub(1).ok_or(EvaluationError::TooDeep)?;
    let mut fits = |bytes: usize| {
        *left = left
            .checked_sub(bytes)
            .ok_or(EvaluationError::TooLarge(MAX_INPUT))?;
        Ok(())
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => fits(4),
        Value::String(text) => fits(text.len() + 2),
        Value::Array(items) => {
            fits(2 + items.len())?;
            items.iter().try_for_each(|item| take(item, left, depth))
        }
        Value::Object(fields) => {
            fits(2)?;
            fields.iter().try_for_each(|(name, value)| {
                let bytes = name.len() + 4;
                *left = left
                    .checked_sub(bytes)
                    .ok_or(EvaluationError::TooLarge(MAX_INPUT))?;
                take(value, left, depth)
            })
        }
    }
}
