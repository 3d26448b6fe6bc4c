//! What is done about an object that the server does not take as it is.

pub(super) mod dropped;
pub(super) mod forbidden;
pub(super) mod heal;
pub(super) mod mend;
pub(super) mod recreate;
