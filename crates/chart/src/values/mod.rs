//! Values: reading, merging and coalescing them.

/// The values of a chart or user.
///
/// An integer among them reaches templates as Go's `int64`, as from a custom resource or
/// `--set`; a floating-point number as `float64`, which is what Helm makes of every number in a
/// values file.
pub type Values = serde_json::Map<String, serde_json::Value>;
