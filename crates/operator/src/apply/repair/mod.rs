//! What is done about an object that the server does not take as it is.

pub(super) mod claims;
pub(super) mod dropped;
pub(super) mod forbidden;
pub(super) mod interrupted;
pub(super) mod merged_lists;
pub(super) mod recreate;
pub(super) mod schema;
