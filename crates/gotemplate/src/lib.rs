//! Go's `text/template` in Rust: the same values, the same output, the same messages.
//!
//! A [`TemplateSet`] is parsed once, is immutable after that, and is shared by all threads.
//! [`TemplateSet::execute`] evaluates one of its templates with a [`Value`] as the dot;
//! an [`Execution`] does so for several that share one budget.
//! Functions come from a [`FunctionTable`]; what they may do besides computing on their
//! arguments goes through a [`Runtime`], and what they learn from outside (clock, random
//! numbers, look-ups) through the [`World`] that the caller hands in.
//!
//! Behaviour is defined by Go 1.26's packages `text/template`, `fmt` and `strconv`.
//!
//! The crate reads no file, clock, environment or random source.
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
//! let mut set = TemplateSet::new(Arc::new(FunctionTable::new(&[builtins()])));
//! set.parse("ports", r#"{{ range $name, $port := . }}{{ printf "%-6s%5d\n" $name $port }}{{ end }}"#)?;
//! let ports = Value::map([("https", Value::Int(443)), ("http", Value::Int(80))]);
//! let text = set.execute("ports", &ports, &Nowhere, &Options::default())?;
//! assert_eq!(text, "http     80\nhttps   443\n");
//! # Ok::<(), steersman_gotemplate::Error>(())
//! ```

mod builtin;
mod error;
mod execute;
pub mod format;
pub mod function;
mod limits;
mod parse;
mod set;
pub mod stack;
pub mod syntax;
mod tree;
pub mod value;

pub use builtin::builtins;
pub use error::{Error, ErrorKind};
pub use execute::Execution;
pub use function::{
    Body, Documentation, Effect, Example, Failure, Function, FunctionTable, Parameter, Runtime,
};
pub use limits::{Limits, MissingKey, Options};
pub use set::{TemplateSet, parsed_bytes};
pub use value::world::{Complaint, LookupQuery, Timestamp, World};
pub use value::{
    Encoded, Frozen, FrozenMap, List, ListType, Map, MapMethod, MapType, NamedMap, Object, Signature, Str,
    Value, world,
};

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
