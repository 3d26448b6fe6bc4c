//! Helm charts: loading, values, rendering.
