//! A release as a tree, for people.

use std::fmt::Write as _;

use steersman_tree::{Condition, ObjectView, ReleaseView, StageView, Verdict};

use crate::cli::style::{Style, Tone, harmless, one_line};

/// So many ready pods of a workload are shown.
const READY_PODS: usize = 5;

/// The release, its conditions and its objects.
pub(super) fn describe(view: &ReleaseView, style: Style) -> String {
    let mut text = String::new();
    let verdict = if view.ready {
        style.paint(Tone::Good, "ready")
    } else {
        style.paint(Tone::Bad, "not ready")
    };
    let name = view.title();
    let _ = writeln!(text, "{}  {verdict}", style.paint(Tone::Bold, &harmless(&name)));
    for line in facts(view) {
        let _ = writeln!(text, "│ {}", style.paint(Tone::Faint, &harmless(&line)));
    }
    for condition in &view.conditions {
        let _ = writeln!(text, "│ {}", describe_condition(condition, style));
    }
    for stage in &view.stages {
        let _ = writeln!(text, "│ {}", describe_stage(stage, style));
    }
    let mut rows = Vec::new();
    add_rows(&view.objects, view.namespace.as_deref(), "", &mut rows);
    let width = rows.iter().map(|row| row.label.chars().count()).max();
    let width = width.unwrap_or_default();
    for row in rows {
        let _ = match row.object {
            Some(object) => {
                let padding = " ".repeat(width - row.label.chars().count());
                writeln!(
                    text,
                    "{}{padding}  {}",
                    harmless(&row.label),
                    verdict_of(object, style)
                )
            }
            None => writeln!(text, "{}", style.paint(Tone::Faint, &row.label)),
        };
    }
    text
}

/// A line of the tree: an object, or how many are not shown.
struct Row<'a> {
    label: String,
    object: Option<&'a ObjectView>,
}

/// Adds `objects` and what is below them. `namespace` is the one that goes without saying.
fn add_rows<'a>(objects: &'a [ObjectView], namespace: Option<&str>, indent: &str, rows: &mut Vec<Row<'a>>) {
    let pods = objects.iter().filter(|object| is_ready_pod(object)).count();
    let mut left_out = pods.saturating_sub(READY_PODS);
    let hidden = left_out;
    // The last ones are left out.
    let mut shown: Vec<&ObjectView> = Vec::new();
    for object in objects.iter().rev() {
        if left_out > 0 && is_ready_pod(object) {
            left_out -= 1;
        } else {
            shown.push(object);
        }
    }
    shown.reverse();
    for (index, object) in shown.iter().enumerate() {
        let is_last = index + 1 == shown.len() && hidden == 0;
        let (branch, below) = if is_last {
            ("└─", "   ")
        } else {
            ("├─", "│  ")
        };
        rows.push(Row {
            label: format!("{indent}{branch} {}", object.label(namespace)),
            object: Some(object),
        });
        add_rows(
            &object.children,
            object.id.namespace.as_deref(),
            &format!("{indent}{below}"),
            rows,
        );
    }
    if hidden > 0 {
        rows.push(Row {
            label: format!("{indent}└─ {hidden} more pods that are ready"),
            object: None,
        });
    }
}

fn is_ready_pod(object: &ObjectView) -> bool {
    object.pod.is_some() && object.health.is_ready()
}

fn facts(view: &ReleaseView) -> Vec<String> {
    let mut facts = Vec::new();
    match &view.release {
        Some(release) => {
            let app = match release.app_version.as_str() {
                "" => String::new(),
                version => format!(", app {version}"),
            };
            facts.push(format!("chart {} {}{app}", release.chart, release.chart_version));
            let at = release.last_deployed.as_ref();
            let at = at.map_or_else(String::new, |at| format!(" since {at}"));
            let mut line = format!("revision {} is {}{at}", release.revision, release.status);
            if release.status != "deployed" {
                let _ = write!(line, ": {}", one_line(&release.description));
            }
            facts.push(line);
        }
        None => facts.push("there is no revision".to_owned()),
    }
    if let Some(since) = &view.deleting_since {
        facts.push(format!("is being deleted since {since}"));
    }
    if !view.observed {
        facts.push("the operator has not seen the last change".to_owned());
    }
    facts.extend(view.drift.iter().map(|drift| one_line(&drift.line())));
    facts.extend(view.unknown.iter().map(|line| one_line(line)));
    facts
}

/// `stage web of revision 7: Progressing since …`; what it waits for, a condition says.
fn describe_stage(stage: &StageView, style: Style) -> String {
    let tone = match stage.state.as_str() {
        "Ready" => Tone::Good,
        "Failed" => Tone::Bad,
        "Pending" => Tone::Faint,
        _ => Tone::Doubtful,
    };
    let StageView {
        name,
        revision,
        state,
        since,
        ..
    } = stage;
    let said = format!("{state} since {since}");
    let head = harmless(&format!("stage {name} of revision {revision}: "));
    format!("{head}{}", style.paint(tone, &harmless(&said)))
}

fn describe_condition(condition: &Condition, style: Style) -> String {
    let is_bad = match condition.kind.as_str() {
        "ReleaseFailed" | "Irreconcilable" | "Stalled" | "Reconciling" | "Paused" => {
            condition.status == "True"
        }
        _ => condition.status != "True",
    };
    let tone = if is_bad { Tone::Doubtful } else { Tone::Good };
    let mut line = format!(
        "{}={}",
        condition.kind,
        style.paint(tone, &harmless(&condition.status))
    );
    if !condition.reason.is_empty() {
        let _ = write!(line, " {}", harmless(&condition.reason));
    }
    // Otherwise it is the notes of the chart.
    if is_bad && !condition.message.is_empty() {
        let _ = write!(line, ": {}", harmless(&one_line(&condition.message)));
    }
    line
}

fn verdict_of(object: &ObjectView, style: Style) -> String {
    let (tone, word) = match object.health {
        Verdict::Ready => (Tone::Good, "ready"),
        Verdict::Progressing => (Tone::Doubtful, "progressing"),
        Verdict::Failed => (Tone::Bad, "failed"),
        Verdict::Missing => (Tone::Bad, "missing"),
        Verdict::Unknown => (Tone::Doubtful, "unknown"),
    };
    let word = style.paint(tone, word);
    if object.message.is_empty() {
        return word;
    }
    format!("{word}: {}", harmless(&one_line(&object.message)))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use steersman_model::ObjectId;

    use super::*;
    use steersman_tree::{DriftView, PodView, RevisionView};

    fn object(kind: &str, namespace: &str, health: Verdict, message: &str) -> ObjectView {
        ObjectView {
            id: ObjectId {
                group: String::new(),
                kind: kind.to_owned(),
                namespace: Some(namespace.to_owned()),
                name: "shop".to_owned(),
            },
            health,
            message: message.to_owned(),
            pod: None,
            children: Vec::new(),
        }
    }

    fn pod(name: &str, health: Verdict, message: &str) -> ObjectView {
        let mut view = object("Pod", "default", health, message);
        name.clone_into(&mut view.id.name);
        view.pod = Some(PodView {
            phase: String::new(),
            containers: 1,
            ready_containers: 1,
            restarts: 0,
            waiting: Vec::new(),
        });
        view
    }

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Condition {
        Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_release_is_a_tree_with_what_is_wrong() {
        let view = ReleaseView {
            kind: "Web".to_owned(),
            namespace: Some("default".to_owned()),
            name: "shop".to_owned(),
            ready: false,
            deleting_since: None,
            observed: false,
            conditions: vec![
                condition("Deployed", "True", "UpgradeSuccessful", "Notes of\nthe chart"),
                condition(
                    "Ready",
                    "False",
                    "Progressing",
                    "waits for\nDeployment \u{1b}[31mshop",
                ),
            ],
            stages: vec![StageView {
                name: "web".to_owned(),
                revision: 3,
                state: "Failed".to_owned(),
                since: "2026-01-02T03:04:05Z".to_owned(),
                message: String::new(),
            }],
            drift: Some(DriftView {
                total: 2,
                objects: vec!["ConfigMap default/shop".to_owned()],
                message: "they stay so".to_owned(),
            }),
            release: Some(RevisionView {
                name: "shop".to_owned(),
                namespace: "default".to_owned(),
                revision: 3,
                status: "failed",
                description: "the hook failed".to_owned(),
                chart: "web".to_owned(),
                chart_version: "1.0.0".to_owned(),
                app_version: "2.1".to_owned(),
                last_deployed: Some("2026-01-02T03:04:05Z".to_owned()),
            }),
            objects: vec![
                object("ConfigMap", "default", Verdict::Ready, ""),
                object(
                    "Deployment",
                    "default",
                    Verdict::Progressing,
                    "0 of 1 pods available",
                ),
                object("Role", "other", Verdict::Missing, ""),
            ],
            unknown: Vec::new(),
        };
        expect![[r"
            Web default/shop  not ready
            │ chart web 1.0.0, app 2.1
            │ revision 3 is failed since 2026-01-02T03:04:05Z: the hook failed
            │ the operator has not seen the last change
            │ 2 objects differ from what the release wants: ConfigMap default/shop, …; they stay so
            │ Deployed=True UpgradeSuccessful
            │ Ready=False Progressing: waits for Deployment �[31mshop
            │ stage web of revision 3: Failed since 2026-01-02T03:04:05Z
            ├─ ConfigMap shop   ready
            ├─ Deployment shop  progressing: 0 of 1 pods available
            └─ Role other/shop  missing
        "]]
        .assert_eq(&describe(&view, Style::default()));
    }

    #[test]
    fn what_controllers_made_is_below_the_workload() {
        let mut database = object("StatefulSet", "default", Verdict::Ready, "");
        let pods = (0..8).map(|number| pod(&format!("shop-{number}"), Verdict::Ready, "Running"));
        database.children = pods.collect();
        database.children[6].health = Verdict::Failed;
        let mut set = object(
            "ReplicaSet",
            "default",
            Verdict::Progressing,
            "0 of 1 pods available",
        );
        set.children = vec![pod("shop-a", Verdict::Progressing, "Pending")];
        let mut deployment = object(
            "Deployment",
            "default",
            Verdict::Progressing,
            "0 of 1 pods available",
        );
        deployment.children = vec![set];
        let view = ReleaseView {
            kind: "Web".to_owned(),
            namespace: Some("default".to_owned()),
            name: "shop".to_owned(),
            ready: false,
            deleting_since: None,
            observed: true,
            conditions: Vec::new(),
            stages: Vec::new(),
            drift: None,
            release: None,
            objects: vec![database, deployment],
            unknown: vec!["the pods can't be listed: forbidden".to_owned()],
        };
        expect![[r"
            Web default/shop  not ready
            │ there is no revision
            │ the pods can't be listed: forbidden
            ├─ StatefulSet shop               ready
            │  ├─ Pod shop-0                  ready: Running
            │  ├─ Pod shop-1                  ready: Running
            │  ├─ Pod shop-2                  ready: Running
            │  ├─ Pod shop-3                  ready: Running
            │  ├─ Pod shop-4                  ready: Running
            │  ├─ Pod shop-6                  failed: Running
            │  └─ 2 more pods that are ready
            └─ Deployment shop                progressing: 0 of 1 pods available
               └─ ReplicaSet shop             progressing: 0 of 1 pods available
                  └─ Pod shop-a               progressing: Pending
        "]]
        .assert_eq(&describe(&view, Style::default()));
    }
}
