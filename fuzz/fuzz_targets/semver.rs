//! Versions and constraints: what is read is printed and read again as the same, and versions have an order.
//!
//! The input has a constraint in its first line and a version in each other one.

#![no_main]

use std::cmp::Ordering;

use libfuzzer_sys::fuzz_target;
use steersman_sprig::semver::{Constraint, Version};

/// How long a version may be.
const LONGEST: usize = 256;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = text.split('\n');
    let constraint = Constraint::parse(lines.next().unwrap_or_default()).ok();
    let versions: Vec<Version> = lines
        .take(8)
        .filter_map(|line| Version::parse(line).ok())
        .collect();
    for version in &versions {
        // `1` is printed as `1.0.0`, which may be more than is read.
        if version.to_string().len() > LONGEST {
            continue;
        }
        let again = Version::parse(&version.to_string()).expect("what is printed can be read");
        assert_eq!(again.to_string(), version.to_string());
        assert_eq!(version.compare(&again), Ordering::Equal);
        if let Some(constraint) = &constraint {
            assert_eq!(constraint.check(version), constraint.check(&again));
        }
        let _ = (version.next_patch(), version.next_minor(), version.next_major());
    }
    for (left, right) in versions.iter().zip(versions.iter().skip(1)) {
        assert_eq!(left.compare(right), right.compare(left).reverse());
    }
});
