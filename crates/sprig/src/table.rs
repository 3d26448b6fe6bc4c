//! How the tables of functions are written: one row for each name.

use steersman_gotemplate::{Effect, Failure, Function, Parameter, Runtime, Value};

/// What a function gives.
pub(crate) type Outcome = Result<Value, Failure>;

/// The body of a function.
pub(crate) type Body = fn(&mut dyn Runtime, &[Value]) -> Outcome;

/// A function whose result follows from its arguments.
pub(crate) const fn pure(
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
    call: Body,
) -> Function {
    effectful(name, parameters, Effect::Pure, summary, call)
}

/// A function with some effect.
pub(crate) const fn effectful(
    name: &'static str,
    parameters: &'static [Parameter],
    effect: Effect,
    summary: &'static str,
    call: Body,
) -> Function {
    Function {
        name,
        parameters,
        variadic: false,
        effect,
        summary,
        call,
    }
}

/// The same function, whose last parameter may be given any number of times.
pub(crate) const fn variadic(function: Function) -> Function {
    Function {
        variadic: true,
        ..function
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::functions;

    #[test]
    fn no_name_is_given_twice() {
        let names: BTreeSet<_> = functions().iter().map(|function| function.name).collect();
        assert_eq!(names.len(), functions().len());
    }

    #[test]
    fn every_summary_is_a_sentence() {
        for function in functions() {
            assert!(function.summary.ends_with('.'), "{}", function.name);
            assert!(
                !function.variadic || !function.parameters.is_empty(),
                "{}",
                function.name
            );
        }
    }
}
