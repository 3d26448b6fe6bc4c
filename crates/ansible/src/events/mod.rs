//! What ansible-runner says while it runs: a request of HTTP for each event, on a unix socket.
//!
//! The plugin ansible-runner-http sends them, one after the other, and waits for each answer. What is sent has no bound: the
//! result of a task may be a hundred megabytes of facts, and its texts may be bytes that are no text. So an event is
//! cut while it arrives ([`cut`]), and what is kept of it is what a log and an outcome need ([`Event`]).

mod cut;
mod event;
mod queue;
mod receiver;

pub use event::{Event, EventKind, HostStats, Place, TaskResult};
pub use queue::Events;
pub(crate) use queue::{Sender, channel};
pub(crate) use receiver::{Counters, PATH, Receiver};

/// How much of an event is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What [`Event`] has fields for.
    #[default]
    Tasks,
    /// All of `event_data`, as [`Event::data`].
    Everything,
}
