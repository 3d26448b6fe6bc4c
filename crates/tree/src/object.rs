//! One object of a release: whether it is there, and does what it is there for.

use kube::api::{ApiResource, DynamicObject};
use steersman_cluster::RequestError;
use steersman_model::{ObjectId, RenderedObject, chain, harmless};
use steersman_operator::release::Stored;
use steersman_operator::status::{Health, UNSEEN, checked, health};
use steersman_watches::HealthCheck;

use crate::pod::describe_pod;
use crate::view::{ObjectView, Verdict};

/// So many objects are read at a time.
pub(crate) const PARALLEL: usize = 8;

/// An object of the release: what is printed of it, and the live object.
#[derive(Debug)]
pub(crate) struct ObservedObject {
    pub(crate) view: ObjectView,
    pub(crate) live: Option<DynamicObject>,
}

impl ObservedObject {
    /// A live object, judged by the check that is for it, where there is one.
    pub(crate) fn of(id: ObjectId, api: &ApiResource, live: DynamicObject, checks: &[HealthCheck]) -> Self {
        let mut checks = checks.iter();
        let mut view = match checks.find(|check| check.is_for(&id.group, &id.kind)) {
            Some(check) => {
                let said = checked(check, api, &live);
                view_of(id, &live, Some(said))
            }
            None => judge(id, &live),
        };
        if (view.id.group.as_str(), view.id.kind.as_str()) == ("", "Pod") {
            describe_pod(&mut view, &live);
        }
        Self {
            view,
            live: Some(live),
        }
    }
}

/// One that is not there.
pub(crate) fn missing(id: ObjectId, message: &str) -> ObservedObject {
    unseen(id, Verdict::Missing, message)
}

/// What is said of an object that is not there: a Job may have done its work.
pub(crate) fn absent(id: ObjectId, object: &RenderedObject, stored: &Stored) -> ObservedObject {
    let is_job = (id.group.as_str(), id.kind.as_str()) == ("batch", "Job");
    if is_job && stored.snapshot.completed().any(|completed| *completed == id) {
        unseen(id, Verdict::Ready, "it has done its work, and is gone")
    } else if is_job && object.value.pointer("/spec/ttlSecondsAfterFinished").is_some() {
        missing(id, "it goes by itself when it has ended")
    } else {
        missing(id, "")
    }
}

/// One that whoever asks may not read.
pub(crate) fn denied(id: ObjectId, error: &RequestError) -> ObservedObject {
    unseen(
        id,
        Verdict::Unknown,
        &format!("it may not be read: {}", harmless(&chain(error))),
    )
}

/// One that can't be read, while others can.
pub(crate) fn unread(id: ObjectId, error: &RequestError) -> ObservedObject {
    let why = harmless(&chain(error));
    unseen(id, Verdict::Unknown, &format!("it can't be read: {why}"))
}

fn unseen(id: ObjectId, health: Verdict, message: &str) -> ObservedObject {
    ObservedObject {
        view: ObjectView {
            id,
            health,
            message: message.to_owned(),
            pod: None,
            children: Vec::new(),
        },
        live: None,
    }
}

/// What is said of a live object: whether it does what it is there for, and if not, why.
pub(crate) fn judge(id: ObjectId, live: &DynamicObject) -> ObjectView {
    let said = health(&id.group, &id.kind, live.metadata.generation, &live.data);
    view_of(id, live, said)
}

fn view_of(id: ObjectId, live: &DynamicObject, said: Option<Health>) -> ObjectView {
    let (verdict, message) = if live.metadata.deletion_timestamp.is_some() {
        (Verdict::Progressing, "it is being deleted".to_owned())
    } else {
        match said {
            None | Some(Health::Ready | Health::Unsaid) => (Verdict::Ready, String::new()),
            Some(Health::Unseen) => (Verdict::Progressing, UNSEEN.to_owned()),
            Some(Health::Progressing(message)) => (Verdict::Progressing, message),
            Some(Health::Failed(message)) => (Verdict::Failed, message),
        }
    };
    ObjectView {
        id,
        health: verdict,
        message,
        pod: None,
        children: Vec::new(),
    }
}
