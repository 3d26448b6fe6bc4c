//! Events about a custom resource, in the background.

use jiff::Timestamp;

use super::session::Session;
use crate::status::{EventReason, Events};

/// Says in events what happens to resources.
#[derive(Clone)]
pub(super) struct EventRecorder {
    pub(super) events: Events,
    pub(super) now: fn() -> Timestamp,
}

impl EventRecorder {
    /// An event of the session's resource. `message` has its secrets masked, also those in names of objects.
    pub(super) fn event(&self, session: &Session, reason: EventReason, message: &str) {
        self.events
            .send(&session.reference(), reason, message, (self.now)());
    }
}
