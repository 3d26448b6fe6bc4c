//! Which custom resources of ours depend on which objects. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use steersman_model::ObjectId;

/// A custom resource, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) id: ObjectId,
    pub(super) depends_on: BTreeSet<ObjectId>,
    /// Whether it may have a release, which its finalizer says.
    pub(super) has_release: bool,
}

/// Resources by their UIDs, and who depends on an object.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<String, Node>,
    /// The resources of a kind and name, whatever their namespaces.
    named: BTreeMap<ObjectId, BTreeSet<String>>,
    /// By the object, whatever its namespace: a resource names one even where the kind has none.
    dependents: BTreeMap<ObjectId, BTreeSet<String>>,
}

impl Graph {
    /// A resource is as this says. Gives what was known of it before.
    pub(super) fn put(&mut self, uid: &str, node: Node) -> Option<Node> {
        let before = self.remove(uid);
        for id in &node.depends_on {
            let dependents = self.dependents.entry(anywhere(id)).or_default();
            dependents.insert(uid.to_owned());
        }
        let named = self.named.entry(anywhere(&node.id)).or_default();
        named.insert(uid.to_owned());
        self.nodes.insert(uid.to_owned(), node);
        before
    }

    /// A resource is gone. Gives what was known of it.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Node> {
        let node = self.nodes.remove(uid)?;
        for id in &node.depends_on {
            take_out(&mut self.dependents, id, uid);
        }
        take_out(&mut self.named, &node.id, uid);
        Some(node)
    }

    /// Who has a release that depends on this object, but those on which the object depends itself, by whatever way: none of
    /// these could go first.
    pub(super) fn needed_by(&self, id: &ObjectId) -> Vec<ObjectId> {
        let above = self.reached_from(id);
        let dependents = self.dependents_of(id);
        let needed = dependents.filter(|node| node.has_release && node.id != *id);
        needed
            .filter(|node| !above.contains_key(&node.id))
            .map(|node| node.id.clone())
            .collect()
    }

    /// The shortest way on which a resource depends on itself: it, what it depends on, and so on, and it again.
    pub(super) fn cycle(&self, id: &ObjectId) -> Option<Vec<ObjectId>> {
        let from = self.reached_from(id);
        let mut way = vec![id.clone()];
        let mut at = from.get(id)?;
        while at != id {
            way.push(at.clone());
            at = from.get(at)?;
        }
        way.push(id.clone());
        way.reverse();
        Some(way)
    }

    /// The resources that an object depends on, by whatever way, each with the one by which it was reached first.
    fn reached_from(&self, id: &ObjectId) -> BTreeMap<ObjectId, ObjectId> {
        let mut from = BTreeMap::new();
        let mut next = VecDeque::from([id.clone()]);
        while let Some(at) = next.pop_front() {
            for below in self.node(&at).into_iter().flat_map(|node| &node.depends_on) {
                let Some(below) = self.node(below).map(|node| &node.id) else {
                    continue;
                };
                if !from.contains_key(below) {
                    from.insert(below.clone(), at.clone());
                    next.push_back(below.clone());
                }
            }
        }
        from
    }

    /// The resource that is meant by this, if it is one of ours that depends on anything.
    fn node(&self, id: &ObjectId) -> Option<&Node> {
        let uids = self.named.get(&anywhere(id)).into_iter().flatten();
        let mut nodes = uids.filter_map(|uid| self.nodes.get(uid));
        nodes.find(|node| is_meant(id, &node.id))
    }

    fn dependents_of<'a>(&'a self, id: &'a ObjectId) -> impl Iterator<Item = &'a Node> {
        let uids = self.dependents.get(&anywhere(id)).into_iter().flatten();
        let nodes = uids.filter_map(|uid| self.nodes.get(uid));
        nodes.filter(|node| node.depends_on.iter().any(|named| is_meant(named, id)))
    }
}

/// Whether `named` means the object. Who names one of a kind without namespaces names one nevertheless.
pub(super) fn is_meant(named: &ObjectId, id: &ObjectId) -> bool {
    (&named.group, &named.kind, &named.name) == (&id.group, &id.kind, &id.name)
        && (id.namespace.is_none() || named.namespace == id.namespace)
}

fn take_out(index: &mut BTreeMap<ObjectId, BTreeSet<String>>, id: &ObjectId, uid: &str) {
    let key = anywhere(id);
    if let Some(uids) = index.get_mut(&key) {
        uids.remove(uid);
        if uids.is_empty() {
            index.remove(&key);
        }
    }
}

fn anywhere(id: &ObjectId) -> ObjectId {
    ObjectId {
        namespace: None,
        ..id.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId {
            group: "example.com".to_owned(),
            kind: "Web".to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        }
    }

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        let mut graph = Graph::default();
        for (name, below) in edges {
            let node = Node {
                id: id(name),
                depends_on: below.iter().map(|name| id(name)).collect(),
                has_release: true,
            };
            graph.put(&format!("uid-{name}"), node);
        }
        graph
    }

    fn names(ids: Vec<ObjectId>) -> String {
        let names: Vec<String> = ids.into_iter().map(|id| id.name).collect();
        names.join(" ")
    }

    #[test]
    fn dependents_go_first() {
        let mut graph = graph(&[("web", &["db", "cache"]), ("api", &["db"]), ("db", &["disk"])]);
        assert_eq!(names(graph.needed_by(&id("db"))), "api web");
        assert_eq!(names(graph.needed_by(&id("disk"))), "db");
        assert_eq!(names(graph.needed_by(&id("web"))), "");
        graph.remove("uid-api");
        assert_eq!(names(graph.needed_by(&id("db"))), "web");
        let without_release = Node {
            id: id("web"),
            depends_on: [id("db")].into(),
            has_release: false,
        };
        let before = graph.put("uid-web", without_release).unwrap();
        assert!(before.depends_on.contains(&id("cache")));
        assert_eq!(names(graph.needed_by(&id("db"))), "");
        assert_eq!(names(graph.needed_by(&id("cache"))), "");
    }

    #[test]
    fn cycles_are_found_and_hold_up_no_deletion() {
        let graph = graph(&[
            ("a", &["b"]),
            ("b", &["c", "x"]),
            ("c", &["a"]),
            ("own", &["own"]),
            ("outside", &["a"]),
        ]);
        let cycle = |name: &str| graph.cycle(&id(name)).map(names);
        assert_eq!(cycle("a").as_deref(), Some("a b c a"));
        assert_eq!(cycle("c").as_deref(), Some("c a b c"));
        assert_eq!(cycle("own").as_deref(), Some("own own"));
        assert_eq!(cycle("outside"), None);
        assert_eq!(cycle("unknown"), None);
        assert_eq!(names(graph.needed_by(&id("a"))), "outside");
        assert_eq!(names(graph.needed_by(&id("b"))), "");
        assert_eq!(names(graph.needed_by(&id("own"))), "");
        assert_eq!(names(graph.needed_by(&id("x"))), "b");
    }

    #[test]
    fn a_kind_without_namespaces_is_met_by_its_name() {
        let mut graph = graph(&[("web", &["pool"])]);
        let pool = ObjectId {
            namespace: None,
            ..id("pool")
        };
        assert_eq!(names(graph.needed_by(&pool)), "web");
        let elsewhere = ObjectId {
            namespace: Some("other".to_owned()),
            ..id("pool")
        };
        assert_eq!(names(graph.needed_by(&elsewhere)), "");
        let node = Node {
            id: pool.clone(),
            depends_on: [id("web")].into(),
            has_release: true,
        };
        graph.put("uid-pool", node);
        assert_eq!(graph.cycle(&pool).map(names).as_deref(), Some("pool web pool"));
    }
}
