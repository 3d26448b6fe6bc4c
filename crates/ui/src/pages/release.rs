//! A release: its conditions, stages, procedures, objects, events and history.

use askama::Template;
use steersman_tree::{EventView, ObjectView, ReleaseView, RevisionView, RunView, Verdict};

use super::Head;
use crate::actions::{Action, Subject};
use crate::address::{ObjectQuery, Place};

/// What the page of a release is made of, and the part of it that changes.
#[derive(Debug, Template)]
#[template(path = "release_body.html")]
pub(crate) struct Release {
    pub(crate) title: String,
    pub(crate) address: String,
    pub(crate) view: ReleaseView,
    /// Whether it is released from a chart.
    pub(crate) is_chart: bool,
    pub(crate) facts: Vec<String>,
    pub(crate) buttons: Vec<Button>,
    pub(crate) stages: Vec<Stage>,
    objects: Vec<TreeLine>,
    pub(crate) procedures: Vec<RunKind>,
    pub(crate) events: Vec<EventView>,
    pub(crate) history: Vec<HistoryLine>,
}

/// How what belongs to a resource is made, as far as it may be read.
#[derive(Debug)]
pub(crate) enum Made {
    /// From a chart, with revisions.
    Chart,
    /// From a chart; the revisions may not be read, and why.
    Unknown(String),
    /// By a role or playbook.
    Run,
}

/// Where something is done.
#[derive(Debug)]
pub(crate) struct Button {
    address: String,
    word: &'static str,
    /// What it is about, for who does not see where it stands.
    about: String,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: String,
    revision: u64,
    pub(crate) state: String,
    since: String,
    pub(crate) message: String,
    buttons: Vec<Button>,
}

/// A procedure with its last runs.
#[derive(Debug)]
pub(crate) struct RunKind {
    pub(crate) procedure: String,
    /// When it is carried out by itself, for people; empty where it is not.
    pub(crate) when: String,
    pub(crate) button: Option<Button>,
    pub(crate) runs: Vec<RunView>,
    /// Why they are not known.
    pub(crate) problem: String,
}

#[derive(Debug)]
pub(crate) struct HistoryLine {
    pub(crate) revision: RevisionView,
    /// Where it is compared with the one before.
    compare: String,
    button: Option<Button>,
}

#[derive(Debug)]
struct TreeLine {
    depth: usize,
    label: String,
    address: String,
    slug: &'static str,
    word: &'static str,
    message: String,
    restarts: u64,
}

impl Button {
    pub(crate) fn new(place: &Place, action: &Action, subject: &Subject, about: &str) -> Self {
        Self {
            address: place.below(&format!("actions/{}", action.slug()), subject),
            word: action.word(),
            about: about.to_owned(),
        }
    }
}

impl Release {
    pub(crate) fn of(
        place: &Place,
        view: ReleaseView,
        history: Vec<RevisionView>,
        (made, may_change): (&Made, bool),
    ) -> Self {
        let mut objects = Vec::new();
        add(place, &view.objects, (view.namespace.as_deref(), 0), &mut objects);
        let newest = history.len().saturating_sub(1);
        let lines = history.into_iter().enumerate().map(|(number, revision)| {
            let this = revision.revision;
            let compare = [("from", this.saturating_sub(1)), ("to", this)];
            let subject = Subject {
                revision: Some(this),
                ..Subject::default()
            };
            let about = format!("to revision {this}");
            let is_former = number < newest && may_change;
            HistoryLine {
                revision,
                compare: if number == 0 {
                    String::new()
                } else {
                    place.below("compare", &compare)
                },
                button: is_former.then(|| Button::new(place, &Action::RollBack, &subject, &about)),
            }
        });
        let mut history: Vec<HistoryLine> = lines.collect();
        history.reverse();
        Self {
            title: view.title(),
            address: place.address(),
            facts: facts(&view, made),
            buttons: Vec::new(),
            stages: stages(place, &view, may_change),
            objects,
            procedures: Vec::new(),
            events: Vec::new(),
            history,
            is_chart: !matches!(made, Made::Run),
            view,
        }
    }
}

fn stages(place: &Place, view: &ReleaseView, may_change: bool) -> Vec<Stage> {
    let stages = view.stages.iter().map(|stage| {
        let actions = [Action::Approve, Action::Skip, Action::Retry];
        let is_offered = |action: &&Action| may_change && action.is_for_stage(&stage.state);
        let subject = Subject {
            stage: stage.id(),
            ..Subject::default()
        };
        let about = format!("stage {}", stage.name);
        let buttons = actions.iter().filter(is_offered);
        Stage {
            name: stage.name.clone(),
            revision: stage.revision,
            state: stage.state.clone(),
            since: stage.since.clone(),
            message: stage.message.clone(),
            buttons: buttons
                .map(|action| Button::new(place, action, &subject, &about))
                .collect(),
        }
    });
    stages.collect()
}

fn facts(view: &ReleaseView, made: &Made) -> Vec<String> {
    let mut facts = Vec::new();
    match &view.release {
        Some(release) => facts.push(format!(
            "Revision {} of chart {} {} is {}",
            release.revision, release.chart, release.chart_version, release.status
        )),
        None => facts.push(match made {
            Made::Chart => "There is no revision.".to_owned(),
            Made::Run => "A role or playbook is run for it.".to_owned(),
            Made::Unknown(why) => format!(
                "You may not read its revisions ({why}): there is no history, and of its objects workloads, services, claims and \
                 ingresses are shown that have its label."
            ),
        }),
    }
    if let Some(since) = &view.deleting_since {
        facts.push(format!("It is being deleted since {since}."));
    }
    if !view.observed {
        facts.push("The operator has not seen the last change.".to_owned());
    }
    facts.extend(view.drift.as_ref().map(|drift| format!("{}.", drift.line())));
    facts.extend(view.unknown.iter().cloned());
    facts
}

fn add(
    place: &Place,
    objects: &[ObjectView],
    (usual, depth): (Option<&str>, usize),
    lines: &mut Vec<TreeLine>,
) {
    for object in objects {
        let (slug, word) = match object.health {
            Verdict::Ready => ("ready", "Ready"),
            Verdict::Progressing => ("progressing", "Progressing"),
            Verdict::Failed => ("failed", "Failed"),
            Verdict::Missing => ("missing", "Missing"),
            Verdict::Unknown => ("unknown", "Unknown"),
        };
        lines.push(TreeLine {
            depth: depth.min(3),
            label: object.label(usual),
            address: place.below("object", &ObjectQuery::of(&object.id)),
            slug,
            word,
            message: object.message.clone(),
            restarts: object.pod.as_ref().map_or(0, |pod| pod.restarts),
        });
        add(
            place,
            &object.children,
            (object.id.namespace.as_deref(), depth + 1),
            lines,
        );
    }
}

/// The page of a release.
#[derive(Debug, Template)]
#[template(path = "release.html")]
pub(crate) struct ReleasePage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) events: String,
    pub(crate) release: Release,
}
