//! The faults in force, and the trace of what was asked for.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::call::Call;
use super::fault::{Action, EventAction, Fault};

/// A fault that was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultId(u64);

#[derive(Debug, Default)]
pub(super) struct Script {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    faults: BTreeMap<FaultId, Entry>,
    made: u64,
    trace: Vec<Call>,
    process: Option<u32>,
}

#[derive(Debug)]
struct Entry {
    fault: Fault,
    seen: usize,
    struck: usize,
    active: bool,
}

impl Entry {
    /// Counts one more that the fault is meant for; whether it strikes.
    fn strikes(&mut self) -> bool {
        self.seen += 1;
        let Some(number) = self.seen.checked_sub(self.fault.skip + 1) else {
            return false;
        };
        let strikes = number % self.fault.every == 0 && self.struck < self.fault.times;
        self.struck += usize::from(strikes);
        strikes
    }
}

impl Script {
    pub(super) fn inject(&self, fault: Fault) -> FaultId {
        let mut state = self.lock();
        state.made += 1;
        let id = FaultId(state.made);
        let entry = Entry {
            fault,
            seen: 0,
            struck: 0,
            active: true,
        };
        state.faults.insert(id, entry);
        id
    }

    pub(super) fn take_back(&self, id: FaultId) {
        if let Some(entry) = self.lock().faults.get_mut(&id) {
            entry.active = false;
        }
        self.changed.notify_waiters();
    }

    pub(super) fn struck(&self, id: FaultId) -> usize {
        self.lock().faults.get(&id).map_or(0, |entry| entry.struck)
    }

    pub(super) fn attach(&self, process: Option<u32>) {
        self.lock().process = process;
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.lock().process
    }

    pub(super) fn trace(&self) -> Vec<Call> {
        self.lock().trace.clone()
    }

    /// Notes a request; what is to become of it by which fault, if that is not the usual.
    pub(super) fn met(&self, call: &Call) -> Option<(FaultId, Action)> {
        let mut state = self.lock();
        state.trace.push(call.clone());
        let mut action = None;
        // Each fault counts every request that it is meant for, whichever of them strikes.
        for (id, entry) in state.faults.iter_mut().filter(|(_, entry)| entry.active) {
            let is_event = matches!(entry.fault.action, Action::Event(_));
            if !is_event && entry.fault.is_for(call) && entry.strikes() && action.is_none() {
                action = Some((*id, entry.fault.action.clone()));
            }
        }
        action
    }

    /// What is to become of an event of a watch, if that is not the usual.
    pub(super) fn met_event(&self, watch: &Call, kind: &str, name: &str) -> Option<(FaultId, EventAction)> {
        let mut state = self.lock();
        for (id, entry) in state.faults.iter_mut().filter(|(_, entry)| entry.active) {
            if let Some(action) = entry.fault.is_for_event(watch, kind, name)
                && entry.strikes()
            {
                return Some((*id, action));
            }
        }
        None
    }

    /// Returns when the fault is no longer in force.
    pub(super) async fn taken_back(&self, id: FaultId) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if !self.lock().faults.get(&id).is_some_and(|entry| entry.active) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_the_request_that_it_names_and_no_other() {
        let script = Script::default();
        let id = script.inject(Fault::on("patch", "webs").name("a").nth(2));
        let call = |name: &str| Call {
            verb: "patch".to_owned(),
            resource: "webs".to_owned(),
            name: name.to_owned(),
            ..Call::default()
        };
        let struck: Vec<bool> = ["a", "b", "a", "a"]
            .map(|name| script.met(&call(name)).is_some())
            .to_vec();
        assert_eq!(struck, [false, false, true, false]);
        assert_eq!((script.struck(id), script.trace().len()), (1, 4));
        script.inject(Fault::on("write", "").always());
        assert!(script.met(&call("c")).is_some());
    }

    #[test]
    fn what_is_taken_back_strikes_no_more() {
        let script = Script::default();
        let id = script.inject(Fault::on("watch", "webs").hold_event("DELETED"));
        let watch = Call {
            verb: "watch".to_owned(),
            resource: "webs".to_owned(),
            ..Call::default()
        };
        assert!(script.met_event(&watch, "ADDED", "a").is_none());
        assert!(script.met_event(&watch, "DELETED", "a").is_some());
        script.take_back(id);
        assert!(script.met_event(&watch, "DELETED", "a").is_none());
    }
}
