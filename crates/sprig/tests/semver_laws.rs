//! What holds of all versions and constraints, on many of them from a fixed sequence.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cmp::Ordering;

use steersman_sprig::semver::{Constraint, Version};

/// A generator of the same numbers in every run (xorshift).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn release(&mut self) -> String {
        const NUMBERS: [&str; 6] = ["0", "1", "2", "9", "10", "18446744073709551615"];
        [(); 3].map(|()| NUMBERS[self.below(NUMBERS.len())]).join(".")
    }

    fn version(&mut self) -> Version {
        const IDENTIFIERS: [&str; 9] = ["0", "1", "9", "10", "alpha", "beta", "rc", "x-1", "1a"];
        let mut text = self.release();
        for (sign, chance) in [('-', 2), ('+', 4)] {
            if self.below(chance) == 0 {
                let count = 1 + self.below(3);
                let identifiers: Vec<&str> = (0..count)
                    .map(|_| IDENTIFIERS[self.below(IDENTIFIERS.len())])
                    .collect();
                text = format!("{text}{sign}{}", identifiers.join("."));
            }
        }
        Version::parse(&text).unwrap()
    }
}

fn versions() -> Vec<Version> {
    let mut sequence = Sequence(0x9e37_79b9_7f4a_7c15);
    (0..300).map(|_| sequence.version()).collect()
}

#[test]
fn versions_have_an_order() {
    let mut versions = versions();
    versions.sort_by(Version::compare);
    for (place, version) in versions.iter().enumerate() {
        assert_eq!(version.compare(version), Ordering::Equal);
        for later in &versions[place..] {
            assert_ne!(version.compare(later), Ordering::Greater, "{version} {later}");
            assert_eq!(version.compare(later), later.compare(version).reverse());
        }
    }
}

#[test]
fn printed_versions_are_read_as_the_same() {
    for version in versions() {
        let again = Version::parse(&version.to_string()).unwrap();
        assert_eq!(again.to_string(), version.to_string());
        assert_eq!(again.compare(&version), Ordering::Equal);
    }
}

#[test]
fn a_release_comes_after_its_previews_and_before_the_next() {
    for version in versions() {
        let release = Version::new(version.major, version.minor, version.patch);
        let expect = if version.prerelease.is_empty() {
            Ordering::Equal
        } else {
            Ordering::Less
        };
        assert_eq!(version.compare(&release), expect, "{version}");
        if version.patch < u64::MAX {
            assert_eq!(
                version.compare(&version.next_patch()),
                Ordering::Less,
                "{version}"
            );
        }
    }
}

#[test]
fn constraints_follow_the_order() {
    let mut sequence = Sequence(0x2545_f491_4f6c_dd1d);
    for _ in 0..2000 {
        let bound = Version::parse(&sequence.release()).unwrap();
        let version = Version::parse(&sequence.release()).unwrap();
        let order = version.compare(&bound);
        for (operator, expect) in [
            ("=", order.is_eq()),
            ("!=", order.is_ne()),
            (">", order.is_gt()),
            (">=", order.is_ge()),
            ("<", order.is_lt()),
            ("<=", order.is_le()),
        ] {
            let constraint = Constraint::parse(&format!("{operator}{bound}")).unwrap();
            assert_eq!(constraint.check(&version), expect, "{version} {operator}{bound}");
        }
    }
}

#[test]
fn constraints_are_joined_by_and_and_or() {
    const OPERATORS: [&str; 8] = ["", "=", "!=", ">", ">=", "<", "~", "^"];
    let mut sequence = Sequence(0x1234_5678_9abc_def1);
    for _ in 0..2000 {
        let mut one = || {
            format!(
                "{}{}",
                OPERATORS[sequence.below(OPERATORS.len())],
                sequence.release()
            )
        };
        let (left, right) = (one(), one());
        let version = Version::parse(&sequence.release()).unwrap();
        let check = |text: &str| Constraint::parse(text).unwrap().check(&version);
        let (is_left, is_right) = (check(&left), check(&right));
        assert_eq!(
            check(&format!("{left}, {right}")),
            is_left && is_right,
            "{version} {left}, {right}"
        );
        assert_eq!(
            check(&format!("{left} || {right}")),
            is_left || is_right,
            "{version} {left} || {right}"
        );
    }
}
