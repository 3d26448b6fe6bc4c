//! Room for recursion that follows the input.
//!
//! Templates nest as deep as their limits allow, and what functions walk may be nested, too: neither depends on
//! the stack of the thread that renders.

/// What one level of any recursion here may use before it asks again.
const RED_ZONE: usize = 256 << 10;
const SEGMENT: usize = 2 << 20;

/// Runs `work` with enough stack for one more level of recursion, on a new segment of stack
/// where the current one is nearly full. The depth itself is bounded by the callers.
pub fn grow<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, work)
}
