use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use steersman_chart::Values;
use steersman_watches::procedure::{Change, Overlay, Procedure, RunHistory, Step, StepValues, Trigger, Work};
use tokio_util::sync::CancellationToken;

use super::agreement::Agreement;
use super::{
    Answer, Asked, Coordination, End, Gate, Held, Holder, LastValues, Standing, StepId, Want, Wanted, Wishes,
};
use crate::dependents::{Dependents, Interests};

fn map(value: Json) -> Values {
    value.as_object().cloned().unwrap_or_default()
}

fn procedure(name: &str, on: Option<&str>, values: Json) -> Arc<Procedure> {
    let step = Step {
        name: "values".to_owned(),
        work: Work::Values(StepValues::parse(&map(values)).unwrap()),
        timeout: None,
    };
    Arc::new(Procedure {
        name: name.to_owned(),
        run_kind: format!("Web{name}"),
        parameters: Vec::new(),
        steps: vec![step],
        finally: Vec::new(),
        schedule: None,
        on: on.map(|path| Trigger {
            path: path.to_owned(),
            by: Some(1),
        }),
        before: None,
        exclusive: false,
        confirm: false,
        retries: 0,
        timeout: None,
        history: RunHistory::default(),
    })
}

fn entry() -> Vec<Arc<Procedure>> {
    vec![
        procedure(
            "Restore",
            None,
            json!({"maintenance": true, "db": {"mode": "restore"}}),
        ),
        procedure("Resize", Some("size"), json!({"size": "{{ .Procedure.to }}"})),
    ]
}

fn last(overlay: Json, config: Json) -> LastValues {
    let mut made = Overlay::default();
    made.change(map(overlay));
    LastValues {
        overlay: made,
        config: map(config),
        ..LastValues::default()
    }
}

/// The values of a release, and from what to what the next runs change them.
fn held(
    last: &LastValues,
    own: Json,
    asked: Option<Json>,
    is_exclusive: bool,
) -> (Json, Vec<(usize, Change)>) {
    let (own, asked) = (map(own), asked.map(map));
    let wishes = Wishes {
        deployed: None,
        own: &own,
        asked: asked.as_ref(),
        is_exclusive,
    };
    let held = Held::new(&entry(), Some(last), wishes, &map(json!({"size": 1})));
    (json!(held.values.of(own.clone(), Values::new())), held.changes)
}

fn change(from: i64, to: i64) -> Vec<(usize, Change)> {
    let change = Change {
        from: json!(from),
        to: json!(to),
    };
    vec![(1, change)]
}

#[test]
fn what_was_never_deployed_gets_what_its_resource_says() {
    let own = map(json!({"size": 3}));
    let wishes = Wishes {
        deployed: None,
        own: &own,
        asked: None,
        is_exclusive: false,
    };
    assert_eq!(Held::new(&entry(), None, wishes, &Values::new()), Held::default());
}

#[test]
fn a_value_stays_until_runs_have_changed_it_step_by_step() {
    let deployed = last(json!({}), json!({"size": 1, "tag": "a"}));
    let own = json!({"size": 3, "tag": "b"});
    let (values, changes) = held(&deployed, own.clone(), None, false);
    assert_eq!((values, changes), (json!({"size": 1, "tag": "b"}), change(1, 2)));

    // The step of a run gives it the next number, and nothing else changes meanwhile.
    let (values, changes) = held(&deployed, own.clone(), Some(json!({"size": 2})), false);
    assert_eq!((values, changes), (json!({"size": 2, "tag": "a"}), change(2, 3)));

    let (values, changes) = held(&last(json!({}), json!({"size": 3})), own, None, false);
    assert_eq!((values, changes), (json!({"size": 3, "tag": "b"}), Vec::new()));

    // What neither says is the chart's.
    let (values, changes) = held(&last(json!({}), json!({})), json!({"size": 2}), None, false);
    assert_eq!((values, changes), (json!({"size": 1}), change(1, 2)));
    let (values, changes) = held(&last(json!({}), json!({"size": 2})), json!({}), None, false);
    assert_eq!((values, changes), (json!({"size": 2}), change(2, 1)));
}

#[test]
fn values_of_steps_stay_until_they_are_taken_out() {
    let over = json!({"maintenance": true, "db": {"mode": "restore"}});
    let deployed = last(
        over.clone(),
        json!({"maintenance": true, "db": {"mode": "restore"}, "size": 1}),
    );
    let own = json!({"maintenance": false, "db": {"mode": "normal", "keep": 3}, "size": 1});
    let (values, _) = held(&deployed, own.clone(), None, false);
    assert_eq!(
        values,
        json!({"maintenance": true, "db": {"mode": "restore", "keep": 3}, "size": 1})
    );

    // Nothing but what the step says changes, and what it takes out is what the resource says.
    let (values, _) = held(&deployed, own.clone(), Some(json!({"maintenance": null})), false);
    assert_eq!(
        values,
        json!({"maintenance": false, "db": {"mode": "restore"}, "size": 1})
    );

    // A procedure that is gone keeps nothing up.
    let own = map(own);
    let wishes = Wishes {
        deployed: None,
        own: &own,
        asked: None,
        is_exclusive: false,
    };
    let without = Held::new(&entry()[1..], Some(&deployed), wishes, &Values::new());
    assert_eq!(without.values.of(own.clone(), Values::new()), own);
}

#[test]
fn nothing_of_the_resource_counts_beside_a_run_that_is_to_be_alone() {
    let deployed = last(json!({}), json!({"size": 1, "tag": "a"}));
    let (values, changes) = held(&deployed, json!({"size": 2, "tag": "b"}), None, true);
    assert_eq!((values, changes), (json!({"size": 1, "tag": "a"}), change(1, 2)));
}

fn holder(run: &str, is_exclusive: bool) -> Holder {
    Holder {
        named: ("backup".to_owned(), run.to_owned()),
        run: run.to_owned(),
        is_exclusive,
        resource: None,
    }
}

#[test]
fn who_is_to_be_alone_waits_for_all_others_and_they_for_it() {
    let mut agreement = Agreement::default();
    assert_eq!(agreement.in_the_way(("a", ""), false), None);
    let unseen = Some("the release was not looked at yet".to_owned());
    assert_eq!(agreement.in_the_way(("a", ""), true), unseen);

    agreement.standing = Some(Standing::default());
    agreement.acts = true;
    assert!(
        agreement.in_the_way(("a", ""), true).is_some(),
        "the release may begin a revision"
    );
    agreement.acts = false;
    assert_eq!(agreement.in_the_way(("a", ""), true), None);

    agreement
        .holders
        .insert("a".to_owned(), holder("Backup a", false));
    let under_way = |run: &str| Some(format!("{run} is under way"));
    assert_eq!(agreement.in_the_way(("a", ""), true), None, "it is no other");
    assert_eq!(agreement.in_the_way(("b", ""), false), None);
    assert_eq!(agreement.in_the_way(("b", ""), true), under_way("Backup a"));
    agreement
        .holders
        .insert("b".to_owned(), holder("Restore b", true));
    assert_eq!(agreement.in_the_way(("c", ""), false), under_way("Restore b"));
    assert!(agreement.leave("b"));
    assert_eq!(agreement.in_the_way(("c", ""), false), None);

    let busy = Standing {
        busy: Some("revision 3 is under way".to_owned()),
        ..Standing::default()
    };
    agreement.standing = Some(busy);
    assert!(agreement.leave("a") && !agreement.leave("a"));
    assert_eq!(
        agreement.in_the_way(("c", ""), true),
        Some("revision 3 is under way".to_owned())
    );
    assert_eq!(agreement.in_the_way(("c", ""), false), None);
    agreement.wants.push(Want {
        procedure: 0,
        what: gate(),
        name: "awaited".to_owned(),
    });
    assert!(
        agreement.in_the_way(("c", "awaited"), true).is_some(),
        "the revision that it was for is under way behind it"
    );
    agreement.waits = true;
    assert!(agreement.in_the_way(("c", ""), true).is_some());
    assert_eq!(
        agreement.in_the_way(("c", "awaited"), true),
        None,
        "each would wait for the other"
    );
}

#[test]
fn a_run_for_an_earlier_resource_of_the_name_holds_up_nothing() {
    let mut agreement = Agreement {
        resource: Some("new".to_owned()),
        ..Agreement::default()
    };
    let of = |resource: &str| Holder {
        named: ("backup".to_owned(), "run".to_owned()),
        resource: Some(resource.to_owned()),
        ..holder("Restore a", true)
    };
    agreement.holders.insert("a".to_owned(), of("old"));
    assert_eq!(
        (agreement.in_the_way(("b", ""), false), agreement.exclusive()),
        (None, None)
    );
    agreement.holders.insert("a".to_owned(), of("new"));
    assert!(agreement.in_the_way(("b", ""), false).is_some() && agreement.exclusive().is_some());
}

#[test]
fn an_answer_is_for_the_try_that_has_asked() {
    let id = |attempt| StepId {
        run: "uid".to_owned(),
        step: "values".to_owned(),
        attempt,
    };
    let mut agreement = Agreement {
        asked: Some(Asked {
            is_of_end: false,
            put_there: Vec::new(),
            by: id(2),
            run: "Restore a".to_owned(),
            values: Values::new(),
        }),
        standing: Some(Standing {
            answer: Some((id(1), Answer::Done)),
            ..Standing::default()
        }),
        ..Agreement::default()
    };
    assert_eq!(agreement.answer(&id(1)), Some(Answer::Done));
    assert_eq!(agreement.answer(&id(2)), None);
    assert!(agreement.leave("uid") && agreement.asked.is_none());
}

fn gate() -> Wanted {
    Wanted::Gate("text".to_owned())
}

#[test]
fn a_gate_opens_by_a_run_that_has_succeeded() {
    let mut agreement = Agreement::default();
    assert_eq!(
        agreement.gate(("backup", "db-backup-1"), (Some(2), &gate())),
        Gate::Waits
    );
    let end = |why: Option<&str>| End {
        generation: Some(2),
        is_plain: true,
        procedure: "backup".to_owned(),
        name: "db-backup-1".to_owned(),
        failure: why.map(str::to_owned),
        spent: false,
        kept_out: false,
    };
    agreement.ends.insert("uid".to_owned(), end(Some("no disk")));
    assert_eq!(
        agreement.gate(("backup", "db-backup-1"), (Some(2), &gate())),
        Gate::Failed("no disk".to_owned())
    );
    agreement.ends.insert("uid".to_owned(), end(None));
    assert_eq!(
        agreement.gate(("backup", "db-backup-1"), (Some(2), &gate())),
        Gate::Passed
    );
    let other = End {
        is_plain: false,
        ..end(None)
    };
    agreement.ends.insert("uid".to_owned(), other);
    assert_eq!(
        agreement.gate(("backup", "db-backup-1"), (Some(2), &gate())),
        Gate::Failed("somebody has made it with other parameters".to_owned())
    );
    agreement.ends.insert("uid".to_owned(), end(None));
    assert_eq!(
        agreement.gate(("backup", "db-backup-1"), (Some(3), &gate())),
        Gate::Failed("it began before that was asked for".to_owned())
    );
    assert_eq!(
        agreement.gate(("backup", "db-backup-2"), (Some(2), &gate())),
        Gate::Waits
    );
    assert_eq!(
        agreement.gate(("vacuum", "db-backup-1"), (Some(2), &gate())),
        Gate::Waits,
        "of another procedure"
    );
}

#[test]
fn a_run_that_nothing_waits_for_lets_nothing_through_later() {
    let end = |name: &str| End {
        generation: Some(2),
        is_plain: true,
        procedure: "backup".to_owned(),
        name: name.to_owned(),
        failure: None,
        spent: false,
        kept_out: false,
    };
    let want = |name: &str| Want {
        procedure: 0,
        what: gate(),
        name: name.to_owned(),
    };
    let mut agreement = Agreement::default();
    agreement.ends.insert("1".to_owned(), end("first"));
    agreement.ends.insert("2".to_owned(), end("second"));
    assert_eq!(
        agreement.spend(&|_| true),
        Vec::<String>::new(),
        "nobody has said what is wanted"
    );
    agreement.wants = vec![want("second")];
    agreement.is_settled = true;
    assert_eq!(agreement.spend(&|_| true), ["1"]);
    assert_eq!(agreement.spend(&|_| true), Vec::<String>::new());
    assert_eq!(
        agreement.gate(("backup", "first"), (Some(2), &gate())),
        Gate::Waits
    );
    assert_eq!(
        agreement.gate(("backup", "second"), (Some(2), &gate())),
        Gate::Passed
    );
    // One that is under way, too; not one of a procedure that opens nothing.
    agreement.holders.insert("3".to_owned(), holder("third", false));
    assert_eq!(agreement.spend(&|_| false), Vec::<String>::new());
    assert_eq!(agreement.spend(&|_| true), ["3"]);
    assert!(agreement.has_spent("backup", "third") && !agreement.has_spent("backup", "second"));
    agreement.wants.clear();
    assert_eq!(agreement.spend(&|_| true), ["2"]);
    assert_eq!(
        agreement.gate(("backup", "second"), (Some(2), &gate())),
        Gate::Waits
    );
}

#[test]
fn each_revision_that_is_let_through_needs_another_run() {
    let agreement = Agreement::default();
    let named = |round: u32| format!("db-backup-{round}");
    let fresh = |behind: &BTreeSet<String>| agreement.fresh((0, "backup"), &gate(), behind, named);
    assert_eq!(fresh(&BTreeSet::new()), "db-backup-0");
    let behind: BTreeSet<String> = (0..1000).map(named).collect();
    assert_eq!(fresh(&behind), "db-backup-1000", "however many there were");
}

#[test]
fn a_change_is_made_by_another_run_where_the_last_one_was_kept_out() {
    let end = |kept_out: bool| End {
        generation: Some(2),
        is_plain: true,
        procedure: "resize".to_owned(),
        name: "db-0".to_owned(),
        failure: Some("kept out".to_owned()),
        spent: false,
        kept_out,
    };
    let change = Change {
        from: json!(1),
        to: json!(2),
    };
    let what = Wanted::Change(change, 2);
    let named = |agreement: &Agreement| {
        let name = |round: u32| format!("db-{round}");
        agreement.fresh((0, "resize"), &what, &BTreeSet::new(), name)
    };
    let mut agreement = Agreement::default();
    agreement.ends.insert("1".to_owned(), end(false));
    assert_eq!(named(&agreement), "db-0", "it has failed in another way");
    agreement.ends.insert("1".to_owned(), end(true));
    assert_eq!(named(&agreement), "db-1");
    assert_ne!(what.text(0), what.text(1));
}

/// What is agreed on of a release, with one procedure.
fn coordination() -> Coordination {
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let dependents = Dependents::new(
        client,
        Interests::default(),
        BTreeSet::new(),
        CancellationToken::new(),
    );
    Coordination::new(vec![procedure("Backup", None, json!({}))], Arc::new(dependents))
}

#[tokio::test]
async fn a_resource_goes_behind_its_runs_and_none_begins_after_that() {
    let coordination = coordination();
    let key = (None, "shop".to_owned());
    drop(coordination.enter(&key, "uid"));
    let why = |coordination: &Coordination| coordination.before_deletion(&key, "uid");
    assert!(why(&coordination).unwrap().contains("not known yet"));
    // That may be over in a moment.
    coordination.note_unlisted("Backup", "no answer", false);
    assert!(why(&coordination).unwrap().ends_with("no answer"));
    coordination.note_listed("Backup");
    let of = |resource: &str| Holder {
        resource: Some(resource.to_owned()),
        ..holder("run", false)
    };
    assert!(coordination.begin(&key, "run", holder("run", false)));
    assert!(why(&coordination).unwrap().contains("run is under way"));
    coordination.hold(&key, "run", of("former"), false);
    assert_eq!(why(&coordination), None, "it is another resource's");
    coordination.hold(&key, "run", of("uid"), false);
    assert!(why(&coordination).is_some());
    coordination.leave(&key, "run");
    assert_eq!(why(&coordination), None);
    assert!(!coordination.begin(&key, "late", holder("late", false)));
    // One that is made again under its name is another one.
    drop(coordination.enter(&key, "other"));
    assert!(coordination.begin(&key, "late", holder("late", false)));
}

#[tokio::test]
async fn no_deletion_waits_for_runs_that_the_operator_is_not_let_list() {
    let coordination = coordination();
    coordination.note_unlisted("Backup", "forbidden", true);
    assert_eq!(
        coordination.before_deletion(&(None, "shop".to_owned()), "uid"),
        None
    );
}
