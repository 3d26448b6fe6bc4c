//! Go's text/template, with Go's values, messages and positions.
