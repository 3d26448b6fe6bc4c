//! The functions of Sprig and their values, for Go templates.
//!
//! [`functions`] gives all of them, to be put into a
//! [`FunctionTable`](steersman_gotemplate::FunctionTable). Their names, parameters, results and
//! messages are those of Sprig 3.3.0 as Helm 4.3.1 offers it: without `env` and `expandenv`, and with
//! a `getHostByName` that resolves nothing.
//!
//! Whatever a function learns from outside comes from the rendering's
//! [`World`](steersman_gotemplate::World), and whatever could grow without bound is announced to its
//! [`Runtime`](steersman_gotemplate::Runtime) before it is made. Generated keys are the exception: the
//! crypto provider draws their randomness itself.
//!
//! [`json`], [`semver`], [`date`] and [`merge`] are also of use to those who load charts.
//!
//! ```
//! use std::sync::Arc;
//! use steersman_gotemplate::{FunctionTable, Options, TemplateSet, Value, builtins};
//! # use steersman_gotemplate::{Failure, LookupQuery, Timestamp, World};
//! # struct Nowhere;
//! # impl World for Nowhere {
//! #     fn now(&self) -> Timestamp { Timestamp::default() }
//! #     fn fill_random(&self, buffer: &mut [u8]) { buffer.fill(0) }
//! #     fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> { Ok(Value::Nil) }
//! # }
//!
//! let table = FunctionTable::new(&[builtins(), steersman_sprig::functions()]);
//! let mut set = TemplateSet::new(Arc::new(table));
//! set.parse("name", r#"{{ .name | default "web" | trunc 3 | upper }}-{{ list 3 1 2 | sortAlpha | join "." }}"#)?;
//! let text = set.execute("name", &Value::map::<&str>([]), &Nowhere, &Options::default())?;
//! assert_eq!(text, "WEB-1.2.3");
//! # Ok::<(), steersman_gotemplate::Error>(())
//! ```

#![expect(
    clippy::unnecessary_wraps,
    reason = "bodies have one type in the tables, whether or not they can fail"
)]
#![cfg_attr(
    test,
    expect(
        clippy::cloned_ref_to_slice_refs,
        reason = "arguments are written as a list of their own in every check"
    )
)]

mod arguments;
mod case;
mod cast;
#[cfg(feature = "crypto")]
pub mod crypto;
mod defaults;
mod dicts;
mod encoding;
mod equal;
mod lists;
mod numbers;
mod paths;
mod random;
mod regex;
mod split;
mod strings;
mod table;
mod text;
mod types;
mod url;

#[cfg(test)]
mod test_runtime;

pub mod date;
pub mod json;
pub mod merge;
pub mod semver;

pub use equal::{deep_copy, deep_equal};

/// What a function gives.
pub(crate) type Outcome = Result<steersman_gotemplate::Value, steersman_gotemplate::Failure>;

/// About how many places a regular expression has at which a search can be, as `(a{10}b){20}` has 220: compiling
/// it takes time and about a hundred bytes of memory for each. Next to nothing where the expression is wrong.
pub fn expression_places(expression: &str) -> u64 {
    regex::places(expression)
}

/// Whether a text is a regular expression in Go's syntax, and of a size at which compiling it is no matter.
///
/// ```
/// assert!(steersman_sprig::is_expression("^v?[0-9]+$"));
/// // Go has no look-ahead.
/// assert!(!steersman_sprig::is_expression("(?=web)"));
/// ```
pub fn is_expression(text: &str) -> bool {
    regex::is_expression(text)
}

pub use table::functions;
pub use url::is_url;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// How deep values may be nested in each other for functions that walk them whole.
///
/// Go has no such limit, but ends the process when a value contains itself.
pub const MAXIMUM_DEPTH: usize = 1000;
