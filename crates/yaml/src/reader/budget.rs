//! How much a document may make of its anchors and aliases.

use crate::Node;

/// How many bytes of nodes and text may be copied for the anchors and aliases of one document. In Go copies
/// share their text; here a long text behind many aliases would fill the memory.
const COPY_BUDGET: usize = 128 << 20;

/// What a node costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    /// Decoding steps, as goyaml counts them.
    pub(super) steps: usize,
    bytes: usize,
    /// How many collections are nested in it, itself included.
    pub(super) depth: usize,
}

impl Size {
    pub(super) fn of_scalar(text: &str) -> Self {
        Self {
            steps: 1,
            bytes: size_of::<Node>() + text.len(),
            depth: 0,
        }
    }

    pub(super) fn of_empty_collection() -> Self {
        Self {
            steps: 1,
            bytes: size_of::<Node>(),
            depth: 1,
        }
    }

    /// The size of an alias to a node of this size.
    pub(super) fn behind_alias(self) -> Self {
        Self {
            steps: self.steps + 1,
            ..self
        }
    }

    pub(super) fn add_item(&mut self, item: Self) {
        self.steps += item.steps;
        self.bytes += item.bytes;
        self.depth = self.depth.max(item.depth + 1);
    }
}

/// What a document has cost. Each method counts something and tells whether it is still affordable.
#[derive(Debug, Default)]
pub(super) struct Budget {
    steps: usize,
    steps_in_aliases: usize,
    copied: usize,
}

impl Budget {
    pub(super) fn count_node(&mut self) -> bool {
        self.steps += 1;
        self.is_within_ratio()
    }

    pub(super) fn count_anchor(&mut self, target: Size) -> bool {
        self.copied = self.copied.saturating_add(target.bytes);
        self.copied <= COPY_BUDGET
    }

    pub(super) fn count_alias(&mut self, target: Size) -> bool {
        self.steps = self.steps.saturating_add(1 + target.steps);
        self.steps_in_aliases = self.steps_in_aliases.saturating_add(target.steps);
        self.is_within_ratio() && self.count_anchor(target)
    }

    /// goyaml's rule: few steps of a long document may come from aliases. From 99 % in short ones, which cannot
    /// grow beyond some 400,000 steps by that, the share goes down to 10 %.
    fn is_within_ratio(&self) -> bool {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        if self.steps_in_aliases <= 100 || self.steps <= 1000 {
            return true;
        }
        let position = ((self.steps as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        self.steps_in_aliases as f64 / self.steps as f64 <= 0.99 - 0.89 * position
    }
}
