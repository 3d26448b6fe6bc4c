//! What is wrong with procedures, and what becomes of those that are right.

use std::path::Path;

use serde_json::json;
use steersman_model::Environment;

use super::write_chart;
use crate::procedure::{Before, Procedure, Trigger, Work};
use crate::{Subject, Watches};

/// The procedures of an entry, or what is wrong with them.
fn load(procedures: &str) -> Result<Vec<Procedure>, String> {
    let folder = tempfile::tempdir().unwrap();
    write_chart(&folder.path().join("web"));
    let folder_of_jobs = folder.path().join("web/procedures");
    std::fs::create_dir(&folder_of_jobs).unwrap();
    std::fs::write(folder_of_jobs.join("job.yaml"), "kind: Job\n").unwrap();
    load_in(folder.path(), procedures)
}

fn load_in(folder: &Path, procedures: &str) -> Result<Vec<Procedure>, String> {
    let file = folder.join("watches.yaml");
    let text = format!(
        "- group: a.com\n  version: v1\n  kind: Web\n  chart: {}/web\n  procedures:\n{procedures}",
        folder.display()
    );
    std::fs::write(&file, text).unwrap();
    let watches = Watches::load(&file, &Environment::default());
    let watches = watches.map_err(|error| error.to_string())?;
    let procedures = watches.iter().next().map(|watch| watch.procedures.clone());
    Ok(procedures.unwrap_or_default())
}

fn refused(procedures: &str, words: &str) {
    let error = load(procedures).unwrap_err();
    assert!(error.contains(words), "{procedures}: {error}");
}

#[test]
fn what_begins_by_itself_needs_nobody() {
    let with = |more: &str| format!("  - {{name: run, job: procedures/job.yaml, {more}}}\n");
    for (field, text) in [
        ("schedule", "schedule: {cron: '0 3 * * *'}"),
        ("on", "on: {changed: [size]}"),
        ("before", "before: {upgrade: true}"),
    ] {
        let confirmed = with(&format!("{text}, confirm: true"));
        refused(&confirmed, &format!("`confirm` goes with no `{field}`"));
        let asking = with(&format!("{text}, parameters: {{a: {{required: true}}}}"));
        refused(&asking, "nobody says `a` where a run begins by itself");
        assert!(load(&with(text)).is_ok(), "{text}");
    }
    refused(
        &with("on: {changed: [size]}, before: {upgrade: true}"),
        "`on` goes with neither",
    );
}

#[test]
fn a_change_is_of_one_value_and_of_one_procedure() {
    let with = |on: &str| format!("  - {{name: grow, job: procedures/job.yaml, on: {on}}}\n");
    refused(&with("{changed: [a, b]}"), "names one value");
    refused(&with("{by: 1}"), "names one value");
    refused(
        &with("{changed: [size], by: 0}"),
        "changes the number by 1 at least",
    );
    refused(&with("{changed: ['a..b']}"), "the path of a value");
    let two = with("{changed: [db.size]}") + &with("{changed: [db]}").replace("grow", "shrink");
    refused(&two, "procedure `grow` changes it already");
    let before = "  - {name: backup, job: procedures/job.yaml, before: {changed: [a]}}\n";
    refused(before, "says `upgrade: true`");
}

#[test]
fn a_change_that_no_step_makes_is_the_last_step() {
    let values = |work: &Work| match work {
        Work::Values(values) => {
            let subject = Subject::new(&json!({}), &serde_json::Map::new());
            let subject = subject.with("Procedure", &json!({"to": 3}));
            json!(values.of(&subject).unwrap())
        }
        Work::Job(_) | Work::Ready | Work::Holds(_) => json!(null),
    };
    let with =
        |steps: &str| format!("  - {{name: grow, on: {{changed: [db.size], by: 1}}, steps: [{steps}]}}\n");
    let made = load(&with("{name: change, job: procedures/job.yaml}")).unwrap();
    let trigger = Trigger {
        path: "db.size".to_owned(),
        by: Some(1),
    };
    assert_eq!(made[0].on, Some(trigger));
    let last = made[0].steps.last().unwrap();
    assert_eq!(
        (last.name.as_str(), values(&last.work)),
        ("change-2", json!({"db": {"size": 3}}))
    );

    let made = load(&with(
        "{values: {db: {size: '{{ .Procedure.to }}', more: true}}}, {wait: ready}",
    ))
    .unwrap();
    assert_eq!(made[0].steps.len(), 2);
    assert_eq!(
        values(&made[0].steps[0].work),
        json!({"db": {"size": 3, "more": true}})
    );
}

#[test]
fn a_step_is_one_thing() {
    let with = |step: &str| format!("  - {{name: work, steps: [{step}]}}\n");
    refused(
        &with("{values: {a: 1}, wait: ready}"),
        "`job`, `values` or `wait`",
    );
    refused(&with("{values: {}}"), "a map of values");
    refused(&with("{wait: steady}"), "is neither `ready`");
    let expression = "object('v1', 'ConfigMap', release.name).data.state == 'up'";
    assert!(load(&with(&format!("{{wait: \"{expression}\"}}"))).is_ok());
    refused(&with("{values: {a: '{{ .x'}}"), "values");
    refused(&with("{values: {a: 1}, idempotent: true}"), "belongs to `job`");
    let text = "  - {name: backup, exclusive: true, before: {upgrade: true, changed: [image.tag]}, steps: [{wait: ready}]}\n";
    let made = load(text).unwrap();
    assert!(made[0].exclusive);
    let before = Before {
        changed: vec!["image.tag".to_owned()],
    };
    assert_eq!(made[0].before, Some(before));
}

#[test]
fn kinds_that_differ_by_a_capital_alone_are_one() {
    let both =
        "  - {name: abackup, job: procedures/job.yaml}\n  - {name: a-backup, job: procedures/job.yaml}\n";
    refused(both, "`WebABackup` is another kind already");
}
