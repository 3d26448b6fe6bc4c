//! A dry run as text: unified diffs with what is secret masked.

use std::fmt::Write as _;

use serde_json::Value;
use steersman_operator::reconcile::{DryRun, ObjectDryRun, ObjectResult};
use steersman_operator::status::Redactor;
use steersman_tree::{unified, without_former};

use crate::cli::style::{Style, Tone, harmless};

/// How many objects would not be applied.
pub(super) fn refused(dry_run: &DryRun) -> usize {
    let refused = |object: &&ObjectDryRun| matches!(object.result, ObjectResult::Refused(_));
    dry_run.objects.iter().filter(refused).count()
}

/// What `steersman diff` prints of a release: the decision, the hooks, the stages, and each object that would change.
pub(super) fn describe(title: &str, dry_run: &DryRun, style: Style) -> String {
    let mut text = String::new();
    let headline = format!("{title}: {}", dry_run.decision);
    let _ = writeln!(text, "{}", style.paint(Tone::Bold, &harmless(&headline)));
    if let Some(why) = dry_run.unless_applied() {
        let _ = writeln!(text, "  {why}");
    }
    if let Some(waits) = &dry_run.waits {
        let _ = writeln!(text, "  {}", harmless(waits));
    }
    for hook in &dry_run.hooks {
        let _ = writeln!(text, "  hook     {}", harmless(hook));
    }
    for stage in &dry_run.stages {
        let _ = writeln!(text, "  stage    {}", harmless(stage));
    }
    if dry_run.has_unknown_secrets && dry_run.differs() {
        let _ = writeln!(
            text,
            "  what objects have no longer is masked, as it may be what a Secret had before"
        );
    }
    for object in dry_run.objects.iter().filter(|object| shows(object)) {
        text.push_str(&describe_object(object, dry_run, style));
    }
    let _ = writeln!(text, "{}", summary(dry_run));
    text
}

fn shows(object: &ObjectDryRun) -> bool {
    object.differs() || object.result == ObjectResult::Kept
}

fn summary(dry_run: &DryRun) -> String {
    let (mut created, mut changed, mut deleted, mut same) = (0, 0, 0, 0);
    for object in &dry_run.objects {
        match (&object.result, &object.live) {
            (ObjectResult::Applied(_), None) => created += 1,
            (ObjectResult::Applied(_), Some(_)) if object.differs() => changed += 1,
            (ObjectResult::Recreated(_), _) => changed += 1,
            (ObjectResult::Deleted, _) => deleted += 1,
            (ObjectResult::Applied(_) | ObjectResult::Kept, _) => same += 1,
            (ObjectResult::Refused(_), _) => {}
        }
    }
    let refused = match refused(dry_run) {
        0 => String::new(),
        number => format!(", {number} refused"),
    };
    format!("  {created} created, {changed} changed, {deleted} deleted, {same} unchanged{refused}\n")
}

fn describe_object(object: &ObjectDryRun, dry_run: &DryRun, style: Style) -> String {
    let redactor = &dry_run.redactor;
    let hidden = |live: &Value, after: &Value| {
        let is_hidden = dry_run.has_unknown_secrets;
        is_hidden.then(|| without_former(live, after))
    };
    let id = harmless(&object.id.to_string());
    match (&object.result, &object.live) {
        (ObjectResult::Applied(after), None) => {
            let hunks = diff(&id, None, Some(after), redactor, style);
            let claims = claims(object);
            format!("  {}  {id}\n{claims}{hunks}", style.paint(Tone::Good, "created"))
        }
        (ObjectResult::Applied(after), Some(live)) => {
            let hidden = hidden(live, after);
            let hunks = diff(&id, hidden.as_ref().or(Some(live)), Some(after), redactor, style);
            let dropped = match object.dropped.as_slice() {
                [] => String::new(),
                fields => format!(
                    "  the former operator's, no longer rendered: {}\n",
                    harmless(&redactor.mask(&fields.join(", ")))
                ),
            };
            let claims = claims(object);
            format!(
                "  {}  {id}\n{dropped}{claims}{hunks}",
                style.paint(Tone::Doubtful, "changed")
            )
        }
        (ObjectResult::Recreated(after), live) => {
            let hidden = live.as_ref().and_then(|live| hidden(live, after));
            let hunks = diff(
                &id,
                hidden.as_ref().or(live.as_ref()),
                Some(after),
                redactor,
                style,
            );
            let claims = claims(object);
            format!("  {}  {id}\n{claims}{hunks}", style.paint(Tone::Bad, "recreated"))
        }
        (ObjectResult::Deleted, _) => format!("  {}  {id}\n", style.paint(Tone::Bad, "deleted")),
        (ObjectResult::Kept, _) => format!("  kept     {id}, as helm.sh/resource-policy asks for that\n"),
        (ObjectResult::Refused(reason), _) => {
            let reason = harmless(&redactor.mask(reason)).replace('\n', " ");
            format!("  {}  {id}: {reason}\n", style.paint(Tone::Bad, "refused"))
        }
    }
}

/// What would become of the claims of a set, a line for each.
fn claims(object: &ObjectDryRun) -> String {
    let lines = object.claims.iter();
    let lines = lines.map(|claim| ["  ", &harmless(&claim.to_string()), "\n"].concat());
    lines.collect()
}

/// The unified diff of two states of an object.
fn diff(
    id: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    redactor: &Redactor,
    style: Style,
) -> String {
    let Some(unified) = unified(id, before, after, redactor) else {
        return "  only values that are masked differ\n".to_owned();
    };
    let lines = unified.lines().enumerate().map(|(number, line)| {
        let tone = match line.chars().next() {
            _ if number < 2 => Tone::Bold,
            Some('+') => Tone::Good,
            Some('-') => Tone::Bad,
            Some('@') => Tone::Place,
            _ => return format!("{line}\n"),
        };
        format!("{}\n", style.paint(tone, line))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;
    use steersman_model::ClaimChange;
    use steersman_model::{ObjectId, Revision};
    use steersman_operator::reconcile::{Cause, Decision};
    use steersman_watches::controls::Mode;

    use super::*;

    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

    fn object(live: Option<Value>, result: ObjectResult, kind: &str) -> ObjectDryRun {
        ObjectDryRun {
            id: ObjectId {
                group: String::new(),
                kind: kind.to_owned(),
                namespace: Some("default".to_owned()),
                name: "a".to_owned(),
            },
            live,
            managers: std::collections::BTreeSet::new(),
            result,
            dropped: Vec::new(),
            claims: Vec::new(),
        }
    }

    fn check(objects: Vec<ObjectDryRun>, expect: &Expect) {
        let dry_run = DryRun {
            release: "shop".to_owned(),
            namespace: "default".to_owned(),
            decision: Decision::Upgrade(Revision(3), Cause::Values),
            mode: Mode::Apply,
            waits: Some("waits for ConfigMap default/needed: it is not there".to_owned()),
            hooks: vec!["pre-upgrade Job migrate".to_owned()],
            stages: vec!["web: 2 objects, 300s to become ready".to_owned()],
            objects,
            unrecorded: Vec::new(),
            redactor: Redactor::new([], &json!({"password": "canary-1"})),
            has_unknown_secrets: false,
        };
        expect.assert_eq(&describe("Web default/shop", &dry_run, Style::default()));
    }

    fn map(value: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value, "other": "1"}})
    }

    #[test]
    fn every_fate_is_told() {
        check(
            vec![
                object(Some(map("1")), ObjectResult::Applied(map("1")), "ConfigMap"),
                object(
                    Some(map("1")),
                    ObjectResult::Applied(map("2\nthree")),
                    "ConfigMap",
                ),
                object(None, ObjectResult::Applied(map("1")), "ConfigMap"),
                object(Some(map("1")), ObjectResult::Deleted, "Service"),
                object(Some(map("1")), ObjectResult::Kept, "Volume"),
                ObjectDryRun {
                    dropped: vec!["/data/canary-1".to_owned(), "/data/other".to_owned()],
                    ..object(Some(map("1")), ObjectResult::Applied(json!({})), "Secret")
                },
                ObjectDryRun {
                    claims: vec![ClaimChange::Expanded {
                        claim: "data-a-0".to_owned(),
                        from: "1Gi".to_owned(),
                        to: "2Gi".to_owned(),
                    }],
                    ..object(Some(map("1")), ObjectResult::Recreated(map("2")), "StatefulSet")
                },
                object(
                    None,
                    ObjectResult::Refused("exists with canary-1\u{1b}".to_owned()),
                    "Role",
                ),
            ],
            &expect![[r#"
                Web default/shop: would be upgraded to revision 3, as the values have changed
                  waits for ConfigMap default/needed: it is not there
                  hook     pre-upgrade Job migrate
                  stage    web: 2 objects, 300s to become ready
                  changed  ConfigMap default/a
                --- ConfigMap default/a
                +++ ConfigMap default/a
                @@ -1,6 +1,8 @@
                 apiVersion: v1
                 data:
                -  key: "1"
                +  key: |-
                +    2
                +    three
                   other: "1"
                 kind: ConfigMap
                 metadata:
                  created  ConfigMap default/a
                --- /dev/null
                +++ ConfigMap default/a
                @@ -0,0 +1,7 @@
                +apiVersion: v1
                +data:
                +  key: "1"
                +  other: "1"
                +kind: ConfigMap
                +metadata:
                +  name: a
                  deleted  Service default/a
                  kept     Volume default/a, as helm.sh/resource-policy asks for that
                  changed  Secret default/a
                  the former operator's, no longer rendered: /data/********, /data/other
                --- Secret default/a
                +++ Secret default/a
                @@ -1,7 +1 @@
                -apiVersion: v1
                -data:
                -  key: "1"
                -  other: "1"
                -kind: ConfigMap
                -metadata:
                -  name: a
                +{}
                  recreated  StatefulSet default/a
                  expands claim data-a-0 from 1Gi to 2Gi
                --- StatefulSet default/a
                +++ StatefulSet default/a
                @@ -1,6 +1,6 @@
                 apiVersion: v1
                 data:
                -  key: "1"
                +  key: "2"
                   other: "1"
                 kind: ConfigMap
                 metadata:
                  refused  Role default/a: exists with ********�
                  1 created, 3 changed, 1 deleted, 2 unchanged, 1 refused

            "#]],
        );
    }

    #[test]
    fn secrets_show_that_they_change_and_never_what() {
        let secret = |a: &str, b: &str, note: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": {LAST_APPLIED: a, "note": note}},
                "data": {"same": "Y2FuYXJ5LTI=", "changed": a, b: "Y2FuYXJ5LTM="}})
        };
        check(
            vec![object(
                Some(secret("Y2FuYXJ5LTQ=", "gone", "canary-1")),
                ObjectResult::Applied(secret("Y2FuYXJ5LTU=", "new", "none")),
                "Secret",
            )],
            &expect![[r"
                Web default/shop: would be upgraded to revision 3, as the values have changed
                  waits for ConfigMap default/needed: it is not there
                  hook     pre-upgrade Job migrate
                  stage    web: 2 objects, 300s to become ready
                  changed  Secret default/a
                --- Secret default/a
                +++ Secret default/a
                @@ -1,11 +1,11 @@
                 apiVersion: v1
                 data:
                -  changed: '*** (before)'
                -  gone: '***'
                +  changed: '*** (after)'
                +  new: '***'
                   same: '***'
                 kind: Secret
                 metadata:
                   annotations:
                     kubectl.kubernetes.io/last-applied-configuration: '***'
                -    note: ********
                +    note: none
                   name: a
                  0 created, 1 changed, 0 deleted, 0 unchanged

            "]],
        );
    }

    #[test]
    fn a_change_that_is_masked_whole_is_told() {
        let after = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "********"}});
        let before = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "canary-1"}});
        check(
            vec![object(Some(before), ObjectResult::Applied(after), "ConfigMap")],
            &expect![[r"
                Web default/shop: would be upgraded to revision 3, as the values have changed
                  waits for ConfigMap default/needed: it is not there
                  hook     pre-upgrade Job migrate
                  stage    web: 2 objects, 300s to become ready
                  changed  ConfigMap default/a
                --- ConfigMap default/a
                +++ ConfigMap default/a
                @@ -1,4 +1,4 @@
                 apiVersion: v1
                 data:
                -  a: ********
                +  a: '********'
                 kind: ConfigMap
                  0 created, 1 changed, 0 deleted, 0 unchanged

            "]],
        );
    }
}
