//! The selectors under which an operator has, or had, finalizers on custom resources.

use std::collections::{BTreeMap, BTreeSet};

use kube_core::GroupVersionKind;
use serde::{Deserialize, Serialize};

use crate::Watches;

/// Selectors by kind, as [`Watch::selector`](crate::Watch::selector) writes them: an empty text where a watch has none.
///
/// ```
/// use kube_core::GroupVersionKind;
/// use steersman_watches::Selectors;
///
/// let before: Selectors = serde_json::from_str(r#"{"Web.example.com": ["team=a"]}"#)?;
/// let now: Selectors = serde_json::from_str(r#"{"Web.example.com": ["team=b"]}"#)?;
/// let mut all = before.clone();
/// all.join(&now);
/// // Resources that `team=a` selects may have a finalizer that only this operator takes off.
/// let web = GroupVersionKind::gvk("example.com", "v1", "Web");
/// assert!(all.former(&web, &now).into_iter().eq(["team=a"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selectors(BTreeMap<String, BTreeSet<String>>);

impl Selectors {
    /// The selector that each of the watches has now.
    pub fn of(watches: &Watches) -> Self {
        let mut selectors = Self::default();
        let charts = watches.iter().map(|watch| (&watch.gvk, &watch.selector));
        let ansible = watches
            .ansible()
            .iter()
            .map(|watch| (&watch.gvk, &watch.selector));
        for (gvk, selector) in charts.chain(ansible) {
            let of_kind = selectors.0.entry(key(gvk)).or_default();
            of_kind.insert(selector.to_string());
        }
        selectors
    }

    /// Adds those of `other`.
    pub fn join(&mut self, other: &Self) {
        for (kind, selectors) in &other.0 {
            let of_kind = self.0.entry(kind.clone()).or_default();
            of_kind.extend(selectors.iter().cloned());
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of a kind, in whatever version, that are not among `present`.
    pub fn former(&self, gvk: &GroupVersionKind, present: &Self) -> BTreeSet<String> {
        let key = key(gvk);
        let mut former = self.0.get(&key).cloned().unwrap_or_default();
        for selector in present.0.get(&key).into_iter().flatten() {
            former.remove(selector);
        }
        former
    }
}

/// Group and kind: a finalizer is there in all versions of a resource.
fn key(gvk: &GroupVersionKind) -> String {
    format!("{}.{}", gvk.kind, gvk.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(text: &str) -> Selectors {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_in_use_is_not_former() {
        let mut all = selectors(r#"{"Web.example.com": ["", "team=a"], "Other.example.com": ["x"]}"#);
        let present = selectors(r#"{"Web.example.com": ["team=b"]}"#);
        all.join(&present);
        let former = |version: &str, kind: &str| {
            let gvk = GroupVersionKind::gvk("example.com", version, kind);
            all.former(&gvk, &present).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(former("v1", "Web"), ["", "team=a"]);
        assert_eq!(former("v2", "Web"), ["", "team=a"]);
        assert_eq!(former("v1", "Other"), ["x"]);
        assert_eq!(former("v1", "None"), [""; 0]);
    }
}
