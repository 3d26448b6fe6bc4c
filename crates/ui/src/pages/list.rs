//! The list of resources, the worst first.

use askama::Template;
use jiff::Timestamp;

use super::Head;
use crate::address::{Kind, Place};
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
    drift: String,
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
            let address = kind.map_or_else(String::new, |kind| Place::of(kind, namespace, name).address());
            Line {
                health: row.health,
                address,
                kind: kind.map_or_else(String::new, |kind| kind.api.kind.clone()),
                name: name.to_string(),
                namespace: namespace.to_string(),
                objects: row
                    .ready
                    .map_or_else(String::new, |(ready, total)| format!("{ready}/{total}")),
                drift: match row.drifted {
                    0 => String::new(),
                    number => number.to_string(),
                },
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

/// The first page.
#[derive(Debug, Template)]
#[template(path = "list.html")]
pub(crate) struct ListPage<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) query: &'a Query,
    pub(crate) kinds: Vec<&'a str>,
    pub(crate) healths: [Health; 8],
    pub(crate) address: String,
    pub(crate) list: List,
}
