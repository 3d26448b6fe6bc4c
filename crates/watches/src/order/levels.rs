//! Levels of a graph: what depends on nothing has the first, and all else the one behind the last of what it depends on.

use std::collections::BTreeSet;

/// Nodes, and which others each one depends on.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    needs: Vec<usize>,
    /// Whether it has a level of its own. What has none only joins what is before it, for those behind it.
    is_real: bool,
}

impl Graph {
    /// Adds a node with a level of its own.
    pub(super) fn add(&mut self) -> usize {
        self.push(true)
    }

    /// Adds a node that stands for all that it depends on.
    pub(super) fn add_joint(&mut self) -> usize {
        self.push(false)
    }

    fn push(&mut self, is_real: bool) -> usize {
        self.nodes.push(Node {
            needs: Vec::new(),
            is_real,
        });
        self.nodes.len() - 1
    }

    /// `node` comes behind `other`.
    pub(super) fn order(&mut self, node: usize, other: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.needs.push(other);
        }
    }

    /// The level of each node, from 1 for those that have one.
    ///
    /// # Errors
    /// Nodes that depend on each other in a circle.
    pub(super) fn levels(&self) -> Result<Vec<usize>, Vec<usize>> {
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open: Vec<usize> = self.nodes.iter().map(|node| node.needs.len()).collect();
        for (number, node) in self.nodes.iter().enumerate() {
            for &other in &node.needs {
                if let Some(behind) = behind.get_mut(other) {
                    behind.push(number);
                }
            }
        }
        let mut levels = vec![0; self.nodes.len()];
        let mut ready: Vec<usize> = (0..open.len())
            .filter(|&node| open.get(node) == Some(&0))
            .collect();
        let mut done = 0;
        while let Some(number) = ready.pop() {
            done += 1;
            let Some(node) = self.nodes.get(number) else {
                continue;
            };
            let before = node.needs.iter().filter_map(|&other| levels.get(other)).max();
            let level = before.copied().unwrap_or(0) + usize::from(node.is_real);
            if let Some(slot) = levels.get_mut(number) {
                *slot = level;
            }
            for &next in behind.get(number).into_iter().flatten() {
                if let Some(left) = open.get_mut(next) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(next);
                    }
                }
            }
        }
        if done == self.nodes.len() {
            return Ok(levels);
        }
        let stuck = open.iter().enumerate().filter(|(_, left)| **left > 0);
        Err(self.circle(stuck.map(|(node, _)| node).collect()))
    }

    /// Those of `stuck` that others of them depend on: what only comes behind a circle is no part of it.
    fn circle(&self, mut stuck: BTreeSet<usize>) -> Vec<usize> {
        loop {
            let needs = stuck.iter().filter_map(|&node| self.nodes.get(node));
            let needed: BTreeSet<usize> = needs.flat_map(|node| node.needs.iter().copied()).collect();
            let before = stuck.len();
            stuck.retain(|node| needed.contains(node));
            if stuck.len() == before {
                return stuck.into_iter().collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_something_comes_behind_it() {
        let mut graph = Graph::default();
        let nodes: Vec<usize> = (0..4).map(|_| graph.add()).collect();
        let joint = graph.add_joint();
        graph.order(nodes[1], nodes[0]);
        graph.order(joint, nodes[1]);
        graph.order(joint, nodes[3]);
        graph.order(nodes[2], joint);
        assert_eq!(graph.levels(), Ok(vec![1, 2, 3, 1, 2]));
        graph.order(nodes[0], nodes[2]);
        let behind = graph.add();
        graph.order(behind, nodes[2]);
        assert_eq!(graph.levels(), Err(vec![0, 1, 2, joint]));
    }
}
