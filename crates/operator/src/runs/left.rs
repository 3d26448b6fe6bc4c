//! What the runs of a resource have left, after one more of them. Pure.

use std::collections::BTreeMap;

use steersman_model::{Digest, ObjectId};

use super::notes::Met;
use super::record::LeftObject;

/// What watches tell of an object that a run before has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Liveness {
    /// Its kind is not watched there.
    Unknown,
    /// It is not there, or not the resource's any longer.
    Gone,
    /// It is there, with what all managers have in it.
    There { uid: String, fields: Digest },
}

/// What all runs have left, by what the last one has met and what is live of the rest: a task that is left out in one run may
/// have made something in another. The rest counts as it is now, since this run has not changed it.
pub(super) fn left_after(
    before: &[LeftObject],
    met: &Met,
    live: impl Fn(&ObjectId) -> Liveness,
) -> BTreeMap<ObjectId, LeftObject> {
    let rest = before.iter().filter(|left| !met.knows(&left.id));
    let rest = rest.filter_map(|left| match live(&left.id) {
        Liveness::Unknown => Some(left.clone()),
        Liveness::Gone => None,
        Liveness::There { uid, fields } => Some(LeftObject {
            id: left.id.clone(),
            uid,
            fields,
        }),
    });
    let met = met.left.values().map(|object| object.left.clone());
    rest.chain(met).map(|left| (left.id.clone(), left)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::notes::MetObject;
    use super::*;

    fn left(name: &str, fields: &str) -> LeftObject {
        LeftObject {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: Some("shop".to_owned()),
                name: name.to_owned(),
            },
            uid: format!("uid of {name}"),
            fields: Digest::of(fields.as_bytes()),
        }
    }

    #[test]
    fn what_a_run_does_not_touch_stays_as_it_is_now() {
        let before = ["changed", "gone", "live", "unwatched", "deleted"].map(|name| left(name, "before"));
        let mut met = Met::default();
        let changed = left("changed", "after");
        met.left.insert(
            changed.id.clone(),
            MetObject {
                left: changed.clone(),
                version: None,
            },
        );
        met.absent.insert(left("deleted", "").id);
        let after = left_after(&before, &met, |id| match id.name.as_str() {
            "live" => Liveness::There {
                uid: "uid of live".to_owned(),
                fields: Digest::of(b"now"),
            },
            "unwatched" => Liveness::Unknown,
            _ => Liveness::Gone,
        });
        let expect = [changed, left("live", "now"), left("unwatched", "before")];
        assert_eq!(after.into_values().collect::<Vec<_>>(), expect);
    }
}
