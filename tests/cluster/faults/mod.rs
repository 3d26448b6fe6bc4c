//! Faults between the operator and its API server: what is true afterwards, told from the API server's audit log and
//! from what is there, and not from anything that the operator says of itself.
//!
//! `campaign` meets every request for a change of three workloads with every fault and compares with a run without;
//! `judge` has what must hold. The classes of faults, and where each is met beyond that:
//!
//! | class | where |
//! |---|---|
//! | killed before or after any request of an installation, an upgrade, a deletion | `campaign` |
//! | killed in an upgrade that is then taken back | `history` |
//! | a deletion that leaves the objects, refused, in conflict, lost or killed at its first write | `orphaning` |
//! | killed, refused, in conflict or without an answer at any write of claims that grow | `claims` |
//! | the same at any write of runs of procedures, by what asks for them | `procedures/faults` |
//! | a deletion that is refused | `campaign`, `history` |
//! | refused, throttled or in conflict at any request; an answer that is lost | `campaign` |
//! | conflicts in a row, 401, 403, answers that are no answers, broken connections, silence | `transport` |
//! | API server and etcd killed; a group's server silent, so that discovery says nothing of it | `transport` |
//! | lists that miss the newest revision or the objects; another resource of the name | `history` |
//! | watches that lag, repeat, break off in an event, are refused or end with 410; lists that fail half way | `watches` |
//! | an answer that is ahead of its event; an object replaced unseen | `watches` |
//! | an event that is never told | `process` |
//! | kinds gone before the release; a namespace on its way out; one object rendered by two | `history`, `failure.rs`, `uninstall.rs` |
//! | objects that others hold, edit, fight over or refuse | `lifecycle.rs`, `drift.rs`, `immutable.rs`, `failure.rs` |
//! | revisions that are lost, forged, damaged or too large | `damaged.rs`, `large.rs` |
//! | a leader that is killed, stopped, told to go or robbed of its lease | `handover.rs`, `leader.rs`, `process` |
//! | many changes, many resources, few descriptors, a chart that changes meanwhile | `process` |

mod campaign;
mod claims;
mod history;
mod judge;
pub(crate) mod lane;
mod orphaning;
mod plan;
pub(crate) mod process;
mod transport;
mod watches;
mod workload;

pub(crate) use lane::Lane;
use steersman_testkit::cluster::Fault;

/// Makes a fault of what it strikes.
pub(crate) type Effect = fn(Fault) -> Fault;

/// What happens at a write, by name.
pub(crate) const EFFECTS: [(&str, Effect); 5] = [
    ("killed before", Fault::kill_before),
    ("killed after", Fault::kill_after),
    ("lost", Fault::lose_answer),
    ("refused", |fault| fault.refuse(500)),
    ("conflict", |fault| fault.refuse(409)),
];
