//! What is left of the limits.

use crate::limits::{Limits, Options};

/// How many steps pass between two looks at the clock.
const STEPS_PER_LOOK: u64 = 2048;

#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    steps: u64,
    next_look: u64,
    written: usize,
    values: usize,
    depth: u32,
    pub(super) expansions: u32,
}

impl Budget {
    pub(super) fn new(options: &Options<'_>) -> Self {
        Self {
            limits: options.limits,
            steps: 0,
            next_look: STEPS_PER_LOOK,
            written: 0,
            values: 0,
            depth: 0,
            expansions: 0,
        }
    }

    pub(super) fn spend(&mut self, steps: u64, expired: Option<&dyn Fn() -> bool>) -> Result<(), String> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps < self.next_look {
            return Ok(());
        }
        self.next_look = self.steps.saturating_add(STEPS_PER_LOOK);
        if self.steps > self.limits.steps {
            return Err(format!("rendering takes more than {} steps", self.limits.steps));
        }
        if expired.is_some_and(|expired| expired()) {
            return Err("rendering takes too long".to_owned());
        }
        Ok(())
    }

    /// Accounts for bytes of output.
    pub(super) fn write(&mut self, bytes: usize) -> Result<(), String> {
        self.written = self.written.saturating_add(bytes);
        if self.written > self.limits.output_bytes {
            return Err(format!(
                "output is larger than {} bytes",
                self.limits.output_bytes
            ));
        }
        Ok(())
    }

    pub(super) fn output_left(&self) -> usize {
        // One more than is allowed, so that what does not fit is noticed.
        (self.limits.output_bytes - self.written.min(self.limits.output_bytes)).saturating_add(1)
    }

    /// Accounts for bytes of values.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<(), String> {
        self.values = self.values.saturating_add(bytes);
        if self.values > self.limits.value_bytes {
            return Err(format!("values need more than {} bytes", self.limits.value_bytes));
        }
        Ok(())
    }

    /// Begins a nested template, unless there are too many; then [`leave`](Self::leave) is
    /// not due.
    pub(super) fn enter(&mut self) -> bool {
        let fits = self.depth < self.limits.depth;
        self.depth += u32::from(fits);
        fits
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn too_deep(&self) -> String {
        format!("exceeded maximum template depth ({})", self.limits.depth)
    }

    /// The bytes of values accounted for until now.
    pub(super) fn reserved(&self) -> usize {
        self.values
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }
}
