//! Which rows are shown: those that somebody looks for, the worst first, one page of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::health::Health;
use super::row::{Key, Row};

/// So many rows are on a page.
pub(crate) const PAGE: usize = 50;

/// What somebody looks for, as it stands in the address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Query {
    /// A part of a namespace, a name, a chart, a reason or a message.
    pub(crate) search: String,
    /// A word for how it is; empty for all.
    pub(crate) health: String,
    /// Whether only those are meant of which objects have drifted; empty for all.
    pub(crate) drift: String,
    /// A kind by its name; empty for all.
    pub(crate) kind: String,
    /// Empty for all.
    pub(crate) namespace: String,
    /// From 1; 0 is the first, too.
    pub(crate) page: usize,
}

/// The rows of a page, and how many there are.
#[derive(Debug)]
pub(crate) struct Selected<'a> {
    pub(crate) rows: Vec<(&'a Key, &'a Row)>,
    /// How many match.
    pub(crate) total: usize,
    /// From 1.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// How many there are of each, whatever health is looked for.
    pub(crate) counts: BTreeMap<Health, usize>,
}

impl Query {
    /// As it stands in an address.
    pub(crate) fn address(&self) -> String {
        // Texts and a number can always be written so.
        serde_urlencoded::to_string(self).unwrap_or_default()
    }

    /// The rows that match. `kinds` are the names by which keys name them.
    pub(crate) fn select<'a>(&self, rows: &'a BTreeMap<Key, Row>, kinds: &[String]) -> Selected<'a> {
        let health = Health::parse(&self.health);
        let search = self.search.to_lowercase();
        let mut counts = BTreeMap::new();
        let mut found: Vec<(&Key, &Row)> = Vec::new();
        for (key, row) in rows {
            let is_meant = self.drift.is_empty() || row.drifted > 0;
            if !is_meant || !self.is_in_scope(key, kinds) || !matches(key, row, &search) {
                continue;
            }
            *counts.entry(row.health).or_default() += 1;
            if health.is_none_or(|health| health == row.health) {
                found.push((key, row));
            }
        }
        let total = found.len();
        let pages = total.div_ceil(PAGE).max(1);
        let page = self.page.clamp(1, pages);
        let order = |(key, row): &(&'a Key, &'a Row)| (row.health, row.drifted == 0, *key);
        let start = (page - 1) * PAGE;
        // What comes before the page need not be in order.
        if start > 0 && start < total {
            found.select_nth_unstable_by_key(start, order);
        }
        let mut rest = found.split_off(start.min(total));
        if rest.len() > PAGE {
            rest.select_nth_unstable_by_key(PAGE - 1, order);
            rest.truncate(PAGE);
        }
        rest.sort_by_key(order);
        Selected {
            rows: rest,
            total,
            page,
            pages,
            counts,
        }
    }

    fn is_in_scope(&self, (kind, namespace, _): &Key, kinds: &[String]) -> bool {
        let is_kind = self.kind.is_empty() || kinds.get(*kind) == Some(&self.kind);
        is_kind && (self.namespace.is_empty() || **namespace == self.namespace)
    }
}

fn matches((_, namespace, name): &Key, row: &Row, search: &str) -> bool {
    let contains = |text: &str| text.to_lowercase().contains(search);
    search.is_empty()
        || [namespace, name, &row.chart, &row.reason, &row.message]
            .into_iter()
            .any(|text| contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(health: Health, message: &str) -> Row {
        Row {
            health,
            reason: "".into(),
            message: message.into(),
            revision: None,
            chart: "web 1.0".into(),
            ready: None,
            drifted: 0,
            created: 0,
        }
    }

    fn key(kind: usize, namespace: &str, name: &str) -> Key {
        (kind, namespace.into(), name.into())
    }

    fn names(query: &Query, rows: &BTreeMap<Key, Row>) -> Vec<String> {
        let kinds = ["webs.a".to_owned(), "shops.a".to_owned()];
        let selected = query.select(rows, &kinds);
        selected
            .rows
            .iter()
            .map(|((_, _, name), _)| name.to_string())
            .collect()
    }

    #[test]
    fn the_worst_come_first_and_filters_leave_the_rest_out() {
        let rows: BTreeMap<Key, Row> = [
            (key(0, "one", "a"), row(Health::Ready, "")),
            (key(0, "two", "b"), row(Health::Failed, "No Space")),
            (key(1, "one", "c"), row(Health::Stalled, "")),
            (key(1, "one", "d"), row(Health::Ready, "")),
            (
                key(1, "two", "e"),
                Row {
                    drifted: 2,
                    ..row(Health::Ready, "")
                },
            ),
        ]
        .into();
        let query = Query::default();
        assert_eq!(names(&query, &rows), ["c", "b", "e", "a", "d"]);
        let with = |change: fn(&mut Query)| {
            let mut query = Query::default();
            change(&mut query);
            names(&query, &rows)
        };
        assert_eq!(with(|query| query.search = "no space".to_owned()), ["b"]);
        assert_eq!(with(|query| query.kind = "webs.a".to_owned()), ["b", "a"]);
        assert_eq!(with(|query| query.namespace = "one".to_owned()), ["c", "a", "d"]);
        assert_eq!(with(|query| query.health = "ready".to_owned()), ["e", "a", "d"]);
        assert_eq!(with(|query| query.drift = "any".to_owned()), ["e"]);
        assert_eq!(with(|query| query.page = 9), ["c", "b", "e", "a", "d"]);
        let selected = query.select(&rows, &[]);
        assert_eq!(
            selected.counts,
            [(Health::Stalled, 1), (Health::Failed, 1), (Health::Ready, 3)].into()
        );
    }

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let healths = [Health::Ready, Health::Failed, Health::Progressing];
        let rows: BTreeMap<Key, Row> = (0..327)
            .map(|number| {
                (
                    key(0, "one", &format!("{number:03}")),
                    row(healths[number % 3], ""),
                )
            })
            .collect();
        let mut seen = Vec::new();
        for page in 1..=7 {
            let query = Query {
                page,
                ..Query::default()
            };
            let selected = query.select(&rows, &[]);
            assert_eq!((selected.total, selected.pages, selected.page), (327, 7, page));
            seen.extend(
                selected
                    .rows
                    .iter()
                    .map(|(key, row)| (row.health, (*key).clone())),
            );
        }
        assert_eq!(seen.len(), 327);
        assert!(seen.is_sorted());
    }
}
