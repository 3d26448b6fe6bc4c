//! What was lost on the way from a chart to its definition.

use std::fmt;

/// Something that a chart says of its values and its definition can't.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// Where, such as `spec.image.tag` or `spec.hosts[].name`; `spec` for the whole.
    pub path: String,
    /// What was left out or loosened, and why.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Notices, and where the work is.
#[derive(Debug)]
pub(super) struct Notices {
    list: Vec<Notice>,
    path: String,
}

impl Notices {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            path: "spec".to_owned(),
        }
    }

    /// Notes something about the place where the work is.
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.list.push(Notice {
            path: self.path.clone(),
            message: message.into(),
        });
    }

    /// Goes to the value of a key; the result is for [`leave`](Self::leave).
    pub(super) fn enter(&mut self, key: &str) -> usize {
        let place = self.path.len();
        self.path.push('.');
        self.path.push_str(key);
        place
    }

    /// Goes to the items of a list, or the values of a map whose keys are not known.
    pub(super) fn enter_items(&mut self) -> usize {
        let place = self.path.len();
        self.path.push_str("[]");
        place
    }

    /// Goes back.
    pub(super) fn leave(&mut self, place: usize) {
        self.path.truncate(place);
    }

    /// Does some work at the value of a key.
    pub(super) fn at<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.enter(key);
        let result = work(self);
        self.leave(place);
        result
    }

    /// Does some work at the items of a list.
    pub(super) fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let place = self.enter_items();
        let result = work(self);
        self.leave(place);
        result
    }

    pub(super) fn finish(mut self) -> Vec<Notice> {
        self.list.sort();
        self.list.dedup();
        self.list
    }
}
