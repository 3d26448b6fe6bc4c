//! The list: what is shown of each resource, and which ones in which order. Pure.

mod health;
mod query;
mod row;

pub(crate) use health::Health;
pub(crate) use query::Query;
pub(crate) use row::{Key, Row};
