//! Functions that templates can call: their signatures, and what they can reach.

use std::collections::BTreeMap;
use std::fmt;

use crate::value::Value;
pub use crate::value::{Failure, Parameter, Runtime};

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
