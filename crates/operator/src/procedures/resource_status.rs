//! What the status of a resource says of a procedure. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use serde_json::{Map, Value};
use steersman_watches::procedure::names::{REQUEST, RUN, SCHEDULED_AT};

use super::record::ProcedureRecord;
use super::report::Phase;
use super::subject::{LONGEST_REQUEST, Run};
use crate::coordination::{run_name, run_name_of};
use crate::status::second;

/// The key of procedures in the status of a resource.
const PROCEDURES_FIELD: &str = "procedures";

/// `status.procedures.NAME`, but for what an earlier run has left there.
pub(super) fn shown(
    run: &Run,
    record: &ProcedureRecord,
    (procedure, phase): (&str, Phase),
    resource: &ObjectMeta,
) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(key.to_owned(), value);
        }
    };
    let ended = record.ended.map(|ended| Value::from(second(ended)));
    set("lastRun", Some(run.name.as_str().into()));
    set("phase", Some(phase.as_str().into()));
    set("lastStart", Some(second(record.begun).into()));
    set("lastEnd", ended.clone());
    set("message", record.failure.clone().map(Value::from));
    if phase == Phase::Succeeded {
        set("lastSuccess", ended);
        set("result", record.result.clone());
    }
    // Anybody who makes a run may write something else there: it counts where the name of the run follows from it.
    let scheduled = run.annotation(SCHEDULED_AT).filter(|text| {
        let time = text.parse::<Timestamp>().ok();
        time.is_some_and(|time| {
            let minute = (time.as_second() / 60).to_string();
            run.name == run_name_of(&run.resource, procedure, &minute)
        })
    });
    set("lastSchedule", scheduled.map(Value::from));
    // What is asked for by now is noted when the run for that was made.
    let asked = asked(resource, procedure);
    let request = request_of(run, procedure, resource);
    let request = request.filter(|request| asked.is_none_or(|asked| asked == *request));
    set("lastRequest", request.map(Value::from));
    shown
}

/// Anybody may write it on a run: it counts where the name of the run follows from it.
fn request_of<'r>(run: &'r Run, procedure: &str, resource: &ObjectMeta) -> Option<&'r str> {
    let uid = resource.uid.as_deref()?;
    let request = run.annotation(REQUEST).filter(|id| id.len() <= LONGEST_REQUEST);
    request.filter(|request| run.name == run_name(&run.resource, uid, procedure, request))
}

/// Of which run of a procedure a resource asks for by its annotation.
fn asked<'r>(resource: &'r ObjectMeta, procedure: &str) -> Option<&'r str> {
    let (name, request) = resource.annotations.as_ref()?.get(RUN)?.split_once('@')?;
    (name == procedure).then_some(request)
}

/// The status of a resource, with the request in it that a run was made for which is not begun: whoever takes that run away does
/// not want it made again. `None` where the resource asks for something else by now, or its status says so.
pub(super) fn with_request(resource: &DynamicObject, (run, procedure): (&Run, &str)) -> Option<Value> {
    let request = request_of(run, procedure, &resource.metadata)?;
    if asked(&resource.metadata, procedure) != Some(request) {
        return None;
    }
    let current = resource.data.get("status").and_then(Value::as_object);
    let mut status = current.cloned().unwrap_or_default();
    let shown = object_in(object_in(Some(&mut status), PROCEDURES_FIELD), procedure)?;
    let before = shown.insert("lastRequest".to_owned(), request.into());
    let is_new = before.is_none_or(|before| before != request);
    is_new.then_some(Value::Object(status))
}

fn object_in<'s>(of: Option<&'s mut Map<String, Value>>, key: &str) -> Option<&'s mut Map<String, Value>> {
    let found = of?.entry(key).or_insert_with(|| Value::Object(Map::new()));
    found.as_object_mut()
}

/// The status of a resource with that of a run in it. Where it tells of a run that began later, that stays, and times are taken
/// that are later. Once it tells of the run, the request that is noted there is that of this one, or of a later one that is not begun.
/// `None` where nothing changes.
pub(super) fn with_shown(current: &Value, procedure: &str, mut shown: Map<String, Value>) -> Option<Value> {
    let mut status = current.as_object().cloned().unwrap_or_default();
    let all = status
        .entry(PROCEDURES_FIELD)
        .or_insert_with(|| Value::Object(Map::new()));
    let all = all.as_object_mut()?;
    let before = all.get(procedure).and_then(Value::as_object);
    let is_later = before.is_some_and(|before| {
        before.get("lastRun") != shown.get("lastRun") && beginning(before) > beginning(&shown)
    });
    if let Some(before) = before.filter(|_| is_later) {
        let next = with_times(before, &shown)?;
        all.insert(procedure.to_owned(), Value::Object(next));
        return Some(Value::Object(status));
    }
    let is_told = before.is_some_and(|before| before.get("lastRun") == shown.get("lastRun"));
    if is_told && before.is_some_and(|before| before.contains_key("lastRequest")) {
        shown.remove("lastRequest");
    }
    let kept = ["lastSuccess", "lastSchedule", "lastRequest"];
    let mut next: Map<String, Value> = before
        .into_iter()
        .flatten()
        .filter(|(key, _)| kept.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    next.extend(shown);
    all.insert(procedure.to_owned(), Value::Object(next));
    Some(Value::Object(status))
}

/// What is told of a later run, with the times of one that began before it where they are later, and the request that it follows.
/// `None` where nothing changes.
fn with_times(later: &Map<String, Value>, shown: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut next = later.clone();
    for key in ["lastSuccess", "lastSchedule"] {
        if time(shown, key) > time(later, key)
            && let Some(value) = shown.get(key)
        {
            next.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(request) = shown.get("lastRequest") {
        next.insert("lastRequest".to_owned(), request.clone());
    }
    (next != *later).then_some(next)
}

/// When a run began; of two in one second the names say which one is told of.
fn beginning(shown: &Map<String, Value>) -> (Option<Timestamp>, Option<&str>) {
    let name = shown.get("lastRun").and_then(Value::as_str);
    (time(shown, "lastStart"), name)
}

fn time(shown: &Map<String, Value>, key: &str) -> Option<Timestamp> {
    shown.get(key)?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(name: &str, annotations: &Value) -> Map<String, Value> {
        told_to((name, annotations), None)
    }

    fn told_to((name, annotations): (&str, &Value), asked: Option<&str>) -> Map<String, Value> {
        let run = json!({"apiVersion": "db.example.com/v1", "kind": "WebBackup", "spec": {"resource": "shop"},
            "metadata": {"name": name, "uid": "run", "annotations": annotations}});
        let run = Run::new(serde_json::from_value(run).unwrap()).unwrap();
        let record = ProcedureRecord::unbegun("no disk".to_owned(), false, Timestamp::UNIX_EPOCH);
        let annotations = asked.map(|asked| json!({ RUN: asked }));
        let resource = serde_json::from_value(json!({"uid": "uid", "annotations": annotations}));
        shown(&run, &record, ("backup", Phase::Failed), &resource.unwrap())
    }

    #[test]
    fn a_run_of_an_older_request_does_not_take_its_place() {
        let (name, annotations) = (run_name("shop", "uid", "backup", "1"), json!({ REQUEST: "1" }));
        let noted = |asked: Option<&str>| told_to((&name, &annotations), asked).remove("lastRequest");
        for asked in [None, Some("backup@1"), Some("restore@2")] {
            assert_eq!(noted(asked), Some("1".into()), "{asked:?}");
        }
        assert_eq!(noted(Some("backup@2")), None);
        let noted_in = |before: Value| {
            let shown = told_to((&name, &annotations), None);
            let status = with_shown(&json!({"procedures": {"backup": before}}), "backup", shown).unwrap();
            status["procedures"]["backup"]["lastRequest"].clone()
        };
        // It goes on, and that of the next one was noted meanwhile.
        assert_eq!(noted_in(json!({"lastRequest": "2", "lastRun": name})), "2");
        // It begins.
        assert_eq!(noted_in(json!({"lastRequest": "0", "lastRun": "former"})), "1");
        assert_eq!(noted_in(json!({"lastRun": name})), "1");
    }

    #[test]
    fn a_success_counts_although_another_run_has_begun_meanwhile() {
        let of = |run: &str, start: &str, success: Option<&str>| {
            let mut shown = Map::new();
            shown.insert("lastRun".to_owned(), run.into());
            shown.insert("lastStart".to_owned(), start.into());
            if let Some(success) = success {
                shown.insert("lastSuccess".to_owned(), success.into());
            }
            shown
        };
        let (one, two) = ("2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z");
        let status = with_shown(&Value::Null, "backup", of("b", two, None)).unwrap();
        let status = with_shown(&status, "backup", of("a", one, Some(two))).unwrap();
        assert_eq!(
            status["procedures"]["backup"],
            json!({"lastRun": "b", "lastStart": two, "lastSuccess": two})
        );
        assert_eq!(with_shown(&status, "backup", of("a", one, Some(one))), None);
    }

    #[test]
    fn of_two_that_begin_in_one_second_one_is_told_of_and_the_request_of_either_is_noted() {
        let of = |run: &str, request: Option<&str>| {
            let mut shown = Map::from_iter([
                ("lastRun".to_owned(), run.into()),
                ("lastStart".to_owned(), "2026-01-01T00:00:01Z".into()),
            ]);
            shown.extend(request.map(|request| ("lastRequest".to_owned(), request.into())));
            shown
        };
        let asked = [("a", Some("1")), ("b", None)];
        let due = [("a", None), ("b", Some("1"))];
        for [one, other] in [asked, due] {
            for order in [[one, other, one], [other, one, other]] {
                let mut status = json!({"procedures": {"backup": {"lastRequest": "0"}}});
                for (run, request) in order {
                    status = with_shown(&status, "backup", of(run, request)).unwrap_or(status);
                }
                let told = &status["procedures"]["backup"];
                assert_eq!(
                    (&told["lastRun"], &told["lastRequest"]),
                    (&json!("b"), &json!("1")),
                    "{order:?}"
                );
            }
        }
    }

    #[test]
    fn times_and_requests_count_by_the_name_of_the_run_alone() {
        let minute = json!({ SCHEDULED_AT: "1970-01-01T01:00:00Z" });
        let last = |shown: Map<String, Value>, key: &str| shown.get(key).cloned();
        let name = run_name_of("shop", "backup", "60");
        assert_eq!(
            last(told(&name, &minute), "lastSchedule"),
            Some(json!("1970-01-01T01:00:00Z"))
        );
        assert_eq!(last(told("mine", &minute), "lastSchedule"), None);
        let later = json!({ SCHEDULED_AT: "2999-01-01T00:00:00Z" });
        assert_eq!(last(told(&name, &later), "lastSchedule"), None);

        let request = json!({ REQUEST: "one" });
        let name = run_name("shop", "uid", "backup", "one");
        assert_eq!(last(told(&name, &request), "lastRequest"), Some(json!("one")));
        assert_eq!(last(told("mine", &request), "lastRequest"), None);
        let of_former = run_name("shop", "former", "backup", "one");
        assert_eq!(last(told(&of_former, &request), "lastRequest"), None);
    }
}
