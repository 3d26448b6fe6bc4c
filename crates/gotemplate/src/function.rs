//! Functions that templates can call: their signatures, and what they can reach.

use std::collections::BTreeMap;
use std::fmt;

use crate::value::{Map, Str, Value};
use crate::world::World;

/// The Go type of a parameter, which decides what an argument is converted to and which
/// message a wrong one gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `interface {}`: whatever the argument is; [`Value::Nil`] for a nil.
    Any,
    /// `reflect.Value`: like `Any`, but tells a missing value ([`Value::Invalid`]) from nil.
    Reflect,
    /// `bool`; any other value is refused, whatever its truth.
    Bool,
    /// Go's `int`, of 64 bits; an argument of any other type of number is refused, unless it is a constant.
    Int,
    /// Go's `int64`, which is not its `int`; for types made of it see [`NamedInt64`](Self::NamedInt64).
    Int64,
    /// `uint32`; an argument arrives as [`Value::Uint64`] of at most 32 bits.
    Uint32,
    /// Go's `float64`; constants without a point fit, too.
    Float64,
    /// `string`; a number is refused, not converted.
    String,
    /// `map[string]interface {}`; a nil argument arrives as [`Value::Nil`].
    Map,
    /// `[]interface {}`; a nil argument arrives as [`Value::Nil`].
    List,
    /// `[]string`, and no list of anything else, whatever its items are.
    Strings,
    /// A named Go type of the kind `int64`, such as `time.Duration`; a constant arrives as
    /// [`Value::Int64`], any other argument as an object of this type.
    NamedInt64(&'static str),
    /// A named Go type other than these, such as `time.Time` or `sprig.certificate`;
    /// arguments are objects that answer to this [`type_name`](crate::value::Object::type_name).
    Named(&'static str),
}

impl Parameter {
    /// Go's name of the type, as people write it today: with `any` for `interface {}`.
    fn short_name(self) -> &'static str {
        match self {
            Self::Any | Self::Reflect => "any",
            Self::Map => "map[string]any",
            Self::List => "[]any",
            other => other.type_name(),
        }
    }
}

/// What a call can depend on or change, besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The result follows from the arguments alone, and no argument is changed.
    Pure,
    /// Changes one of its arguments in place (`set`, `unset`, `merge`, …).
    Mutates,
    /// Reads the clock.
    Clock,
    /// Draws random numbers.
    Random,
    /// Asks the cluster or the network.
    Lookup,
    /// Executes a template, which can do anything that it calls.
    Template,
}

impl Effect {
    /// The name for people: `pure`, `mutates`, `clock`, `random`, `lookup` or `template`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Mutates => "mutates",
            Self::Clock => "clock",
            Self::Random => "random",
            Self::Lookup => "lookup",
            Self::Template => "template",
        }
    }
}

/// What a call does: it gets converted arguments and, for all that is not computed from them, the [`Runtime`].
pub type Body = fn(&mut dyn Runtime, &[Value]) -> Result<Value, Failure>;

/// One function: a row of a table that can be written as a constant.
///
/// ```
/// use steersman_gotemplate::{Failure, Function, Parameter, Runtime, Value};
///
/// fn shout(_: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
///     let [Value::Str(text)] = arguments else { return Err(Failure::new("no text")) };
///     Ok(Value::from(text.to_string().to_uppercase() + "!"))
/// }
///
/// const SHOUT: Function = Function::pure("shout", &[Parameter::String], shout)
///     .signature("text", "string")
///     .documentation("The text in upper case, with an exclamation mark.")
///     .example(r#"{{ shout "ahoy" }}"#, "AHOY!");
///
/// assert_eq!(SHOUT.usage(), "shout(text string) string");
/// ```
#[derive(Clone, Copy)]
pub struct Function {
    /// The name in templates.
    pub name: &'static str,
    /// The types of its parameters.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter may be given any number of times, also none.
    pub variadic: bool,
    /// What a call depends on or changes.
    pub effect: Effect,
    /// What a list of functions prints of it.
    pub documentation: Documentation,
    /// The body. The arguments were checked against `parameters` and converted to them.
    pub call: Body,
}

/// What a function takes, gives and does, in words, with an example.
#[derive(Clone, Copy, Debug, Default)]
pub struct Documentation {
    /// The names of the parameters, with spaces between.
    pub parameters: &'static str,
    /// Go's name of the result's type, with `any` for `interface {}`.
    pub result: &'static str,
    /// What goes in, what comes out, and when it fails.
    pub text: &'static str,
    /// A template that shows what it is for, and what that prints; none where nobody wrote one yet.
    pub example: Option<Example>,
}

/// A template that shows a function at work.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// As a chart would have it: `{{ shout "ahoy" }}`.
    pub template: &'static str,
    /// What is printed for that, to the byte.
    pub output: &'static str,
}

impl Function {
    /// The parts that must be given; it is not variadic, and its documentation is empty.
    #[must_use]
    pub const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        effect: Effect,
        call: Body,
    ) -> Self {
        let documentation = Documentation {
            parameters: "",
            result: "any",
            text: "",
            example: None,
        };
        Self {
            name,
            parameters,
            variadic: false,
            effect,
            documentation,
            call,
        }
    }

    /// A function whose result follows from its arguments, of which it changes none.
    #[must_use]
    pub const fn pure(name: &'static str, parameters: &'static [Parameter], call: Body) -> Self {
        Self::new(name, parameters, Effect::Pure, call)
    }

    /// The same function, whose last parameter may be given any number of times, also none.
    #[must_use]
    pub const fn variadic(mut self) -> Self {
        self.variadic = true;
        self
    }

    /// The same function with names for its parameters, separated by spaces, and Go's name of
    /// its result's type.
    #[must_use]
    pub const fn signature(mut self, parameters: &'static str, result: &'static str) -> Self {
        self.documentation.parameters = parameters;
        self.documentation.result = result;
        self
    }

    /// The same function with a text for people: what goes in, what comes out, when it fails.
    #[must_use]
    pub const fn documentation(mut self, text: &'static str) -> Self {
        self.documentation.text = text;
        self
    }

    /// Gives people a template to copy, with exactly what it prints.
    #[must_use]
    pub const fn example(mut self, template: &'static str, output: &'static str) -> Self {
        self.documentation.example = Some(Example { template, output });
        self
    }

    /// The signature as Go would write it: `join(separator string, list any) string`.
    #[must_use]
    pub fn usage(&self) -> String {
        let last = self.parameters.len().saturating_sub(1);
        let mut names = self.documentation.parameters.split(' ');
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .enumerate()
            .map(|(place, parameter)| {
                let name = names.next().unwrap_or("_");
                let dots = if self.variadic && place == last { "..." } else { "" };
                format!("{name} {dots}{}", parameter.short_name())
            })
            .collect();
        format!(
            "{}({}) {}",
            self.name,
            parameters.join(", "),
            self.documentation.result
        )
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("parameters", &self.parameters)
            .field("variadic", &self.variadic)
            .field("effect", &self.effect)
            .finish_non_exhaustive()
    }
}

/// All functions that a set of templates can call, by name.
///
/// Built once and shared; a later function replaces an earlier one of the same name.
///
/// ```
/// use steersman_gotemplate::{FunctionTable, builtins};
///
/// let table = FunctionTable::new(&[builtins()]);
/// let id = table.id("len").expect("Go has it");
/// assert_eq!(table.get(id).map(|function| function.name), Some("len"));
/// assert!(table.id("env").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct FunctionTable {
    functions: Vec<Function>,
    ids: BTreeMap<&'static str, u16>,
}

impl FunctionTable {
    /// A table of all functions in `groups`, later ones replacing earlier ones.
    #[must_use]
    pub fn new(groups: &[&[Function]]) -> Self {
        let mut table = Self::default();
        for function in groups.iter().copied().flatten() {
            table.insert(*function);
        }
        table
    }

    fn insert(&mut self, function: Function) {
        if let Some(id) = self.ids.get(function.name) {
            self.functions[usize::from(*id)] = function;
        } else {
            self.ids.insert(function.name, self.functions.len() as u16);
            self.functions.push(function);
        }
    }

    /// The number of the function of this name, valid for this table.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<u16> {
        self.ids.get(name).copied()
    }

    /// The function of this number.
    #[must_use]
    pub fn get(&self, id: u16) -> Option<&Function> {
        self.functions.get(usize::from(id))
    }

    /// All functions, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.ids.values().filter_map(|id| self.get(*id))
    }
}

/// Why a function did not give a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Go's text for it, without the `error calling NAME: ` that the template adds.
    pub message: String,
    /// Whether this is a spent budget, which nothing in a template can catch.
    pub exhausted: bool,
}

impl Failure {
    /// A failure with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exhausted: false,
        }
    }

    /// A failure because a limit was reached; `message` names the limit.
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            exhausted: true,
        }
    }
}

/// What a running template offers to the functions it calls.
///
/// ```
/// use steersman_gotemplate::{Failure, Function, Parameter, Runtime, Value};
///
/// /// Announces what it is about to make, so that no template makes a text without end.
/// fn spaces(runtime: &mut dyn Runtime, arguments: &[Value]) -> Result<Value, Failure> {
///     let [Value::Int(count)] = arguments else { return Err(Failure::new("no number")) };
///     let count = usize::try_from(*count).unwrap_or_default();
///     runtime.reserve(count)?;
///     Ok(Value::from(" ".repeat(count)))
/// }
///
/// const SPACES: Function =
///     Function::pure("spaces", &[Parameter::Int], spaces).signature("count", "string");
/// assert_eq!(SPACES.usage(), "spaces(count int) string");
/// ```
pub trait Runtime {
    /// The clock, randomness and look-ups of this rendering.
    fn world(&self) -> &dyn World;

    /// Accounts for `bytes` of values about to be made, before they are made.
    ///
    /// # Errors
    /// An exhausted [`Failure`] when the rendering's memory budget does not allow it.
    fn reserve(&mut self, bytes: usize) -> Result<(), Failure>;

    /// Accounts for `steps` of work about to be done, in units of about one node executed.
    ///
    /// # Errors
    /// An exhausted [`Failure`] when the rendering's step budget does not allow it.
    fn spend(&mut self, steps: u64) -> Result<(), Failure>;

    /// Takes note of a map in which something was put. It may contain itself now, which counting
    /// references does not free: see [`Execution::dismantle`](crate::Execution::dismantle).
    fn changed(&mut self, map: &Map) {
        let _ = map;
    }

    /// The output of the template called `name` with `data` as its dot.
    ///
    /// # Errors
    /// The template does not exist, fails, or includes itself too deeply.
    fn include(&mut self, name: &str, data: &Value) -> Result<Str, Failure>;

    /// The output of `text`, parsed as a template of the running set, with `data` as its dot.
    /// Templates that `text` defines are visible to it alone.
    ///
    /// # Errors
    /// `text` does not parse or fails, or expansions are nested too deeply.
    fn expand(&mut self, text: &str, data: &Value) -> Result<Str, Failure>;
}
