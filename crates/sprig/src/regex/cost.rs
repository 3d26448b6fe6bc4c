//! What an expression costs, before it is compiled.

use regex_syntax::hir::{Hir, HirKind};

/// What an expression costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// About how many places it has at which a search can be: `(a{10}b){20}` has 220. A search takes time in
    /// proportion to it and to the text; compiling takes time and memory in proportion to it.
    pub(super) places: u64,
    /// How many bytes beyond the end of a match a search may look at to find that there is no longer one:
    /// all there are for `a.*b|a`.
    pub(super) reach: usize,
}

impl Cost {
    /// The cost of an expression; that of an empty one where it is wrong.
    pub(super) fn of(translated: &str) -> Self {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        match parser.parse(translated) {
            Ok(hir) => Self {
                places: count(&hir),
                reach: reach(&hir).unwrap_or(usize::MAX),
            },
            Err(_) => Self { places: 1, reach: 0 },
        }
    }
}

/// None where there is no bound that is easily seen.
fn reach(hir: &Hir) -> Option<usize> {
    if let Some(longest) = hir.properties().maximum_len() {
        return Some(longest);
    }
    match hir.kind() {
        // The first character that does not match ends it.
        HirKind::Repetition(repetition) if matches!(repetition.sub.kind(), HirKind::Class(_)) => Some(1),
        HirKind::Capture(capture) => reach(&capture.sub),
        HirKind::Concat(parts) => {
            let (last, before) = parts.split_last()?;
            before.iter().try_fold(reach(last)?, |sum, part| {
                Some(sum.saturating_add(part.properties().maximum_len()?))
            })
        }
        HirKind::Alternation(parts) => parts
            .iter()
            .try_fold(0, |longest, part| Some(longest.max(reach(part)?))),
        _ => None,
    }
}

fn count(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        // A class of many characters becomes a machine of its own.
        HirKind::Class(class) => match class {
            regex_syntax::hir::Class::Unicode(class) => 1 + class.ranges().len() as u64 / 4,
            regex_syntax::hir::Class::Bytes(_) => 1,
        },
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            count(&repetition.sub).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => count(&capture.sub).saturating_add(1),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(0, |sum, part| sum.saturating_add(count(part)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_multiply() {
        let places = |expression| Cost::of(expression).places;
        assert_eq!(places("abc"), 3);
        assert_eq!(places("(?:a{10}b){20}"), 220);
        assert!(places("((((((a{1000}){1000}){1000}){1000}){1000}){1000}){1000}") > u64::MAX / 2);
        assert_eq!(places("("), 1);
    }

    #[test]
    fn only_some_expressions_look_far() {
        let reach = |expression| Cost::of(expression).reach;
        assert_eq!(reach(","), 1);
        assert_eq!(reach("(?:x|yz)[a-z]+"), 3);
        assert_eq!(reach("a.*b|a"), usize::MAX);
        assert_eq!(reach("(?:ab)*c"), usize::MAX);
    }
}
