//! CEL over JSON: what a condition of watches.yaml says about an object.
//!
//! Expressions are read with the parser of the crate `cel` and evaluated here, over the JSON as it lies there: nothing of it is
//! copied. An evaluation is bounded in time and memory whatever the expression and the object are, and no error has a value
//! of the object in it: that may be a Secret's.
//!
//! The language is that of cel-go with the options of Flux: optional values, comparisons of numbers of different types, and
//! the extensions for strings (without `format` and `strings.quote`), sets and encoders. Nothing is known of types before an
//! evaluation; functions are known when an expression is read, so a misspelt one is refused then.
//!
//! ```
//! use serde_json::json;
//! use steersman_expressions::{Expression, Variables};
//!
//! let current = Expression::parse("status.readyReplicas == spec.replicas")?;
//! let object = json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 3}});
//! assert!(current.holds(&Variables::of_fields(&object))?);
//!
//! // What is not there is an error, and so is what is not true or false.
//! let fresh = json!({"spec": {"replicas": 3}});
//! let error = current.holds(&Variables::of_fields(&fresh)).unwrap_err();
//! assert_eq!(error.to_string(), "there is no `status`");
//!
//! // Objects by their names.
//! let ready = Expression::parse("self.spec.size <= dep.status.size")?;
//! let (own, other) = (json!({"spec": {"size": 1}}), json!({"status": {"size": 2}}));
//! assert!(ready.holds(&Variables::default().with("self", &own).with("dep", &other))?);
//!
//! let error = Expression::parse("status.ready ==").unwrap_err();
//! assert!(error.to_string().contains("column 16"), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod compile;
mod durations;
mod error;
mod evaluate;
mod expression;
mod functions;
mod moment;
mod node;
mod objects;
mod operators;
mod output;
mod patterns;
mod resources;
mod value;
mod variables;

pub use error::{EvaluationError, ParseError};
pub use expression::Expression;
pub use objects::{Looked, Objects, Reads, Wanted};
pub use variables::Variables;
