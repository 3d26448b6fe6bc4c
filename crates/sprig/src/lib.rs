//! The functions of Sprig and their values, for Go templates.
