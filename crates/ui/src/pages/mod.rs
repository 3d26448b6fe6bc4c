//! The pages: what their templates are given.

use askama::Template;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use steersman_cluster::discovery::Resource;
use steersman_model::ApiKind;
use steersman_tree::{ObjectView, ReleaseView, RevisionView, Verdict};

use crate::feed::State;
use crate::rows::{Health, Query};

/// What both the list and the part of it that changes are made of.
#[derive(Debug, Template)]
#[template(path = "rows.html")]
pub(crate) struct List {
    counts: Vec<Count>,
    problems: Vec<String>,
    is_open: bool,
    rows: Vec<Line>,
    page: usize,
    pages: usize,
    total: usize,
    before: String,
    after: String,
}

#[derive(Debug)]
struct Count {
    health: Health,
    number: usize,
}

#[derive(Debug)]
struct Line {
    health: Health,
    address: String,
    kind: String,
    name: String,
    namespace: String,
    objects: String,
    revision: String,
    chart: String,
    age: String,
    reason: String,
    message: String,
}

impl List {
    /// The rows that somebody looks for. `kinds` are their names by place, with the words for people.
    pub(crate) fn of(state: &State, query: &Query, kinds: &[Kind], now: Timestamp) -> Self {
        let names: Vec<String> = kinds.iter().map(|kind| kind.name.clone()).collect();
        let selected = query.select(&state.rows, &names);
        let rows = selected.rows.iter().map(|((kind, namespace, name), row)| {
            let kind = kinds.get(*kind);
            let address = kind.map_or_else(String::new, |kind| kind.address(namespace, name));
            Line {
                health: row.health,
                address,
                kind: kind.map_or_else(String::new, |kind| kind.api.kind.clone()),
                name: name.to_string(),
                namespace: namespace.to_string(),
                objects: row
                    .ready
                    .map_or_else(String::new, |(ready, total)| format!("{ready}/{total}")),
                revision: row
                    .revision
                    .map_or_else(String::new, |revision| revision.to_string()),
                chart: row.chart.to_string(),
                age: row.age(now),
                reason: row.reason.to_string(),
                message: row.message.to_string(),
            }
        });
        let other = |page: usize| {
            let query = Query {
                page,
                ..query.clone()
            };
            query.address()
        };
        let problems = state.problems.iter().map(|(place, why)| {
            let kind = kinds.get(*place).map_or("", |kind| kind.api.kind.as_str());
            format!("{kind} can't be looked at: {why}")
        });
        let mut problems: Vec<String> = problems.collect();
        if state.is_full {
            problems.push("There are more resources than are shown.".to_owned());
        }
        Self {
            counts: selected
                .counts
                .iter()
                .map(|(health, number)| Count {
                    health: *health,
                    number: *number,
                })
                .collect(),
            problems,
            is_open: state.open > 0,
            rows: rows.collect(),
            page: selected.page,
            pages: selected.pages,
            total: selected.total,
            before: other(selected.page.saturating_sub(1)),
            after: other(selected.page + 1),
        }
    }
}

/// What stands for itself in a path.
const IN_PATHS: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A kind of resources.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) api: ApiKind,
    /// How its objects are addressed.
    pub(crate) resource: Resource,
    /// Such as `shops.example.com`.
    pub(crate) name: String,
}

impl Kind {
    /// Where the page of a resource is. One without a namespace has `-` in its place.
    pub(crate) fn address(&self, namespace: &str, name: &str) -> String {
        let namespace = if namespace.is_empty() { "-" } else { namespace };
        let [kind, namespace, name] =
            [self.name.as_str(), namespace, name].map(|word| utf8_percent_encode(word, &IN_PATHS));
        format!("/releases/{kind}/{namespace}/{name}")
    }

    /// The events of that page.
    pub(crate) fn events(&self, namespace: &str, name: &str) -> String {
        format!("{}/events", self.address(namespace, name))
    }
}

/// The first page.
#[derive(Debug, Template)]
#[template(path = "list.html")]
pub(crate) struct ListPage<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) query: &'a Query,
    pub(crate) kinds: Vec<&'a str>,
    pub(crate) healths: [Health; 8],
    pub(crate) address: String,
    pub(crate) list: List,
}

/// One release.
#[derive(Debug, Template)]
#[template(path = "release_body.html")]
pub(crate) struct Release {
    title: String,
    view: ReleaseView,
    facts: Vec<String>,
    objects: Vec<TreeLine>,
    history: Vec<RevisionView>,
}

#[derive(Debug)]
struct TreeLine {
    depth: usize,
    label: String,
    slug: &'static str,
    word: &'static str,
    message: String,
}

impl Release {
    pub(crate) fn of(view: ReleaseView, mut history: Vec<RevisionView>) -> Self {
        let title = view.title();
        let mut objects = Vec::new();
        add(&view.objects, view.namespace.as_deref(), 0, &mut objects);
        history.reverse();
        Self {
            title,
            facts: facts(&view),
            objects,
            history,
            view,
        }
    }
}

fn facts(view: &ReleaseView) -> Vec<String> {
    let mut facts = Vec::new();
    match &view.release {
        Some(release) => facts.push(format!(
            "Revision {} of chart {} {} is {}",
            release.revision, release.chart, release.chart_version, release.status
        )),
        None => facts.push("There is no revision.".to_owned()),
    }
    if let Some(since) = &view.deleting_since {
        facts.push(format!("It is being deleted since {since}."));
    }
    if !view.observed {
        facts.push("The operator has not seen the last change.".to_owned());
    }
    facts.extend(view.unknown.iter().cloned());
    facts
}

fn add(objects: &[ObjectView], usual: Option<&str>, depth: usize, lines: &mut Vec<TreeLine>) {
    for object in objects {
        let (slug, word) = match object.health {
            Verdict::Ready => ("ready", "Ready"),
            Verdict::Progressing => ("progressing", "Progressing"),
            Verdict::Failed => ("failed", "Failed"),
            Verdict::Missing => ("missing", "Missing"),
        };
        lines.push(TreeLine {
            depth: depth.min(3),
            label: object.label(usual),
            slug,
            word,
            message: object.message.clone(),
        });
        add(&object.children, object.id.namespace.as_deref(), depth + 1, lines);
    }
}

/// The page of a release.
#[derive(Debug, Template)]
#[template(path = "release.html")]
pub(crate) struct ReleasePage<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) events: String,
    pub(crate) release: Release,
}

/// A page with a few words.
#[derive(Debug, Template)]
#[template(path = "message.html")]
pub(crate) struct Message<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}
