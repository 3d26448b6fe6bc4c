//! The stages in which a revision is brought into effect. Pure.

use std::collections::BTreeMap;

use steersman_model::{ObjectId, RenderedObject};
use steersman_watches::controls::WaitControl;
use steersman_watches::order::{ClaimedTwice, Level, Order, UNCLAIMED, Wait};

use crate::release::StageRecord;

/// The stages of a revision with these `objects`, the release of which is in `namespace`: one without a name where the resource
/// or its watch only wants that it is waited for, none where it is not.
///
/// # Errors
/// Two stages claim an object.
pub(crate) fn stages_of(
    order: &Order,
    asked: Option<WaitControl>,
    objects: &[RenderedObject],
    namespace: &str,
) -> Result<Vec<StageRecord>, Box<ClaimedTwice>> {
    if order.stages.is_empty() {
        return Ok(whole(order, asked, objects.len()));
    }
    let wait = wait_of_stages(order, asked);
    let mut unclaimed = stage(UNCLAIMED, 0, wait);
    let mut stages: Vec<StageRecord> = order
        .stages
        .iter()
        .map(|said| StageRecord {
            timeout: said.timeout.unwrap_or(wait.timeout).as_secs().max(1),
            approve: said.approve,
            ..stage(&said.name, 0, wait)
        })
        .collect();
    for (place, object) in objects.iter().enumerate() {
        let claimed = order.stage_of(object, namespace)?;
        let claimed = claimed.and_then(|stage| stages.get_mut(stage));
        claimed.unwrap_or(&mut unclaimed).objects.push(place);
    }
    if !unclaimed.objects.is_empty() {
        stages.insert(0, unclaimed);
    }
    Ok(stages)
}

/// The same where the chart's own annotations say the stages. One alone is no order.
pub(crate) fn stages_of_levels(
    order: &Order,
    asked: Option<WaitControl>,
    levels: Vec<Level>,
) -> Vec<StageRecord> {
    if levels.len() < 2 {
        let objects = levels.iter().map(|(_, objects)| objects.len()).sum();
        return whole(order, asked, objects);
    }
    let wait = wait_of_stages(order, asked);
    let stages = levels.into_iter().map(|(name, objects)| StageRecord {
        objects,
        ..stage(&name, 0, wait)
    });
    stages.collect()
}

/// One stage without a name, of all objects, where they are waited for.
fn whole(order: &Order, asked: Option<WaitControl>, objects: usize) -> Vec<StageRecord> {
    let wait = order.wait(asked);
    wait.map(|wait| stage("", objects, wait)).into_iter().collect()
}

/// How stages are waited for, which they are in any case.
fn wait_of_stages(order: &Order, asked: Option<WaitControl>) -> Wait {
    order.wait(asked).or(order.wait).unwrap_or_default()
}

fn stage(name: &str, objects: usize, wait: Wait) -> StageRecord {
    StageRecord {
        name: name.to_owned(),
        objects: (0..objects).collect(),
        timeout: wait.timeout.as_secs().max(1),
        jobs: wait.jobs,
        ..StageRecord::default()
    }
}

/// What each stage with a name is, for people: `database: 2 objects, 300s to become ready`.
pub(crate) fn told_stages(stages: &[StageRecord]) -> Vec<String> {
    let named = stages.iter().filter(|stage| !stage.name.is_empty());
    let told = named.map(|stage| {
        let objects = match stage.objects.len() {
            1 => "1 object".to_owned(),
            count => format!("{count} objects"),
        };
        let approval = if stage.approve {
            ", when somebody approves it"
        } else {
            ""
        };
        format!(
            "{}: {objects}, {}s to become ready{approval}",
            stage.name, stage.timeout
        )
    });
    told.collect()
}

/// The objects of a manifest, one part for each stage, in the order of the manifest within that. What no stage has is in the
/// first part; without stages, all is in one.
pub(crate) fn parts(objects: Vec<RenderedObject>, stages: &[StageRecord]) -> Vec<Vec<RenderedObject>> {
    let places = stages.iter().enumerate();
    let places: BTreeMap<usize, usize> = places
        .flat_map(|(stage, record)| record.objects.iter().map(move |&place| (place, stage)))
        .collect();
    let mut parts = vec![Vec::new(); stages.len().max(1)];
    for (place, object) in objects.into_iter().enumerate() {
        let stage = places.get(&place).copied().unwrap_or_default();
        if let Some(part) = parts.get_mut(stage) {
            part.push(object);
        }
    }
    parts
}

/// What is deleted, what comes after other objects before them: the objects of the last stage first, and what is in no stage,
/// as of an earlier chart, before all.
pub(crate) fn backwards<T>(
    objects: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &ObjectId,
    stages: &[Vec<ObjectId>],
) -> Vec<Vec<T>> {
    let places = stages.iter().enumerate();
    let places: BTreeMap<&ObjectId, usize> = places
        .flat_map(|(stage, ids)| ids.iter().map(move |id| (id, stage)))
        .collect();
    let mut groups: BTreeMap<usize, Vec<T>> = BTreeMap::new();
    for object in objects {
        let place = places.get(id(&object)).copied().unwrap_or(usize::MAX);
        groups.entry(place).or_default().push(object);
    }
    groups.into_values().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use steersman_watches::drift::{Pattern, Target};
    use steersman_watches::order::Stage;

    use super::*;

    fn object(kind: &str, name: &str) -> RenderedObject {
        let document = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        RenderedObject::from_document("t", &document).unwrap().remove(0)
    }

    fn named(name: &str, kind: &str) -> Stage {
        let target = Target {
            kind: Some(Pattern::new(kind).unwrap()),
            ..Target::default()
        };
        Stage {
            name: name.to_owned(),
            objects: vec![target],
            timeout: None,
            approve: false,
            line: 7,
        }
    }

    fn shown(stages: &[StageRecord]) -> Vec<(&str, Vec<usize>, u64)> {
        let shown = stages
            .iter()
            .map(|stage| (stage.name.as_str(), stage.objects.clone(), stage.timeout));
        shown.collect()
    }

    #[test]
    fn a_revision_that_only_waits_is_one_stage() {
        let objects = [object("Service", "a"), object("Secret", "b")];
        let mut order = Order::default();
        let stages = |order: &Order, asked| stages_of(order, asked, &objects, "shop").unwrap();
        assert_eq!(stages(&order, None), []);
        let asked = Some(WaitControl::AtMost(Duration::from_secs(7)));
        assert_eq!(shown(&stages(&order, asked)), [("", vec![0, 1], 7)]);
        order.wait = Some(Wait::default());
        assert_eq!(shown(&stages(&order, None)), [("", vec![0, 1], 300)]);
        assert_eq!(stages(&order, Some(WaitControl::No)), []);
    }

    #[test]
    fn annotations_that_say_one_stage_say_no_order() {
        let level = |name: &str, objects: &[usize]| (name.to_owned(), objects.to_vec());
        let order = Order::default();
        assert_eq!(stages_of_levels(&order, None, vec![level("wave-0", &[0, 1])]), []);
        let stages = stages_of_levels(&order, None, vec![level("wave--1", &[1]), level("wave-0", &[0])]);
        assert_eq!(
            shown(&stages),
            [("wave--1", vec![1], 300), ("wave-0", vec![0], 300)]
        );
        assert_eq!(told_stages(&stages)[0], "wave--1: 1 object, 300s to become ready");
    }

    #[test]
    fn an_object_that_two_stages_claim_is_named() {
        let order = Order {
            stages: vec![named("web", "Service|Pod"), named("all", ".*")],
            ..Order::default()
        };
        let error = stages_of(&order, None, &[object("Pod", "p")], "shop").unwrap_err();
        assert_eq!(
            error.to_string(),
            "stages web (line 7 of watches.yaml) and all (line 7) both claim Pod shop/p"
        );
        assert!(stages_of(&order, None, &[object("Secret", "s")], "shop").is_ok());
    }

    #[test]
    fn what_no_stage_claims_comes_first() {
        let order = Order {
            wait: None,
            convention: None,
            stages: vec![
                Stage {
                    timeout: Some(Duration::from_secs(9)),
                    ..named("web", "Service|Pod")
                },
                named("all", "Secret"),
                named("none", "Job"),
            ],
        };
        let objects = [
            object("Secret", "s"),
            object("ConfigMap", "c"),
            object("Pod", "p"),
            object("Service", "v"),
        ];
        let stages = stages_of(&order, None, &objects, "shop").unwrap();
        assert_eq!(
            shown(&stages),
            [
                ("unclaimed", vec![1], 300),
                ("web", vec![2, 3], 9),
                ("all", vec![0], 300),
                ("none", vec![], 300)
            ]
        );
        let parts = parts(objects.to_vec(), &stages);
        let names: Vec<Vec<&str>> = parts
            .iter()
            .map(|part| part.iter().map(|object| object.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["c"], vec!["p", "v"], vec!["s"], vec![]]);
        let all_claimed = stages_of(&order, None, &objects[2..], "shop").unwrap();
        assert_eq!(all_claimed[0].name, "web");
    }

    #[test]
    fn deletions_go_backwards_and_begin_with_what_is_in_no_stage() {
        let id = |name: &str| ObjectId {
            group: String::new(),
            kind: "Secret".to_owned(),
            namespace: None,
            name: name.to_owned(),
        };
        let stages = [vec![id("first"), id("too")], vec![id("last")]];
        let objects = ["first", "last", "former", "too"].map(id);
        let groups = backwards(objects, |id| id, &stages);
        let names: Vec<Vec<&str>> = groups
            .iter()
            .map(|group| group.iter().map(|id| id.name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["former"], vec!["last"], vec!["first", "too"]]);
        assert_eq!(backwards(["a", "b"].map(id), |id| id, &[]).len(), 1);
    }
}
