//! The names of controllers.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use kube::core::GroupVersionKind;

/// Group, version and kind.
type KindKey = (String, String, String);

/// A name for each kind's controller: helm-operator's, `memcached-controller`. Kinds that differ only in version or group
/// would share it, so theirs are extended by both.
#[derive(Debug)]
pub(super) struct ControllerNames(RwLock<BTreeMap<KindKey, String>>);

impl ControllerNames {
    /// The names of kinds that are watched from the start.
    pub(super) fn new<'a>(watched: impl IntoIterator<Item = &'a GroupVersionKind>) -> Self {
        let watched: Vec<_> = watched.into_iter().collect();
        let mut uses = BTreeMap::<String, usize>::new();
        for gvk in &watched {
            *uses.entry(short_name(gvk)).or_default() += 1;
        }
        let name = |gvk: &GroupVersionKind| match uses.get(&short_name(gvk)) {
            Some(2..) => long_name(gvk),
            _ => short_name(gvk),
        };
        let names = watched.into_iter().map(|gvk| (key(gvk), name(gvk)));
        Self(RwLock::new(names.collect()))
    }

    /// `memcached-controller`, or a longer name where another watched kind would have the same.
    pub(super) fn get(&self, gvk: &GroupVersionKind) -> String {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(&key(gvk)).cloned().unwrap_or_else(|| short_name(gvk))
    }

    /// Gives a kind that was not watched from the start a name that no other one has.
    pub(super) fn add(&self, gvk: &GroupVersionKind) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.contains_key(&key(gvk)) {
            return;
        }
        let short = short_name(gvk);
        let is_taken = names.values().any(|name| *name == short);
        names.insert(key(gvk), if is_taken { long_name(gvk) } else { short });
    }
}

fn short_name(gvk: &GroupVersionKind) -> String {
    format!("{}-controller", gvk.kind.to_lowercase())
}

fn long_name(gvk: &GroupVersionKind) -> String {
    let kind = gvk.kind.to_lowercase();
    format!("{kind}-{}-{}-controller", gvk.version, gvk.group)
}

fn key(gvk: &GroupVersionKind) -> KindKey {
    (gvk.group.clone(), gvk.version.clone(), gvk.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_one_name_have_controllers_of_their_own() {
        let memcached = |version: &str| GroupVersionKind::gvk("cache.example.com", version, "Memcached");
        let (v1, v2) = (memcached("v1"), memcached("v2"));
        let names = ControllerNames::new([&v1, &v2]);
        assert_eq!(names.get(&v1), "memcached-v1-cache.example.com-controller");
        assert_eq!(names.get(&v2), "memcached-v2-cache.example.com-controller");
        let names = ControllerNames::new([&v1]);
        names.add(&v2);
        assert_eq!(names.get(&v1), "memcached-controller");
        assert_eq!(names.get(&v2), "memcached-v2-cache.example.com-controller");
    }
}
