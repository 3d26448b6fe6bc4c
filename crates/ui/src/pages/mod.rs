//! The pages: what their templates are given.

mod action;
mod compare;
mod list;
mod logs;
mod object;
mod release;
mod values;

use askama::Template;
use steersman_tree::ObjectChange;

pub(crate) use action::{ActionPage, Field};
pub(crate) use compare::{ComparePage, Plan, PlanPage};
pub(crate) use list::{List, ListPage};
pub(crate) use logs::{Lines, LogPage};
pub(crate) use object::{ContainerLine, ObjectPage};
pub(crate) use release::{Button, Made, Release, ReleasePage, RunKind};
pub(crate) use values::ValuesPage;

/// What stands above each page. Who has no session is told nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head<'a> {
    pub(crate) cluster: &'a str,
    /// Whose rights it has, where somebody has logged in.
    pub(crate) user: &'a str,
    /// Whether there is a session that can be ended, and begun again.
    pub(crate) can_log_out: bool,
}

/// A page with a few words.
#[derive(Debug, Template)]
#[template(path = "message.html")]
pub(crate) struct Message<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

/// Where a token is asked for.
#[derive(Debug, Template)]
#[template(path = "login.html")]
pub(crate) struct LoginPage<'a> {
    pub(crate) head: Head<'a>,
    /// Why the last one was not taken; empty before that.
    pub(crate) refused: &'a str,
}

/// A unified diff by its lines.
#[derive(Debug, Template)]
#[template(path = "diff.html")]
pub(crate) struct Diff(Vec<DiffLine>);

#[derive(Debug)]
pub(crate) struct DiffLine {
    slug: &'static str,
    text: String,
}

impl Diff {
    pub(crate) fn of(unified: &str) -> Self {
        let lines = unified.lines().enumerate().map(|(number, line)| {
            let slug = match line.chars().next() {
                _ if number < 2 => "diff-name",
                Some('+') => "diff-new",
                Some('-') => "diff-old",
                Some('@') => "diff-place",
                _ => "",
            };
            let text = line.to_owned();
            DiffLine { slug, text }
        });
        Self(lines.collect())
    }
}

/// What becomes of an object.
#[derive(Debug)]
pub(crate) struct Change {
    name: String,
    fate: &'static str,
    why: String,
    managers: String,
    diff: Option<Diff>,
}

impl Change {
    fn of(change: &ObjectChange) -> Self {
        Self {
            name: change.name.clone(),
            fate: change.fate,
            why: change.why.clone(),
            managers: change.managers.join(", "),
            diff: change.diff.as_deref().map(Diff::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_difference_are_told_by_their_beginnings_and_escaped() {
        let diff = Diff::of("--- a\n+++ b\n@@ -1 +1 @@\n-<b>\n+--- c\n same\n");
        let slugs: Vec<&str> = diff.0.iter().map(|line| line.slug).collect();
        let expected = ["diff-name", "diff-name", "diff-place", "diff-old", "diff-new", ""];
        assert_eq!(slugs, expected);
        let html = diff.render().unwrap();
        assert!(!html.contains("<b>"), "{html}");
    }
}
