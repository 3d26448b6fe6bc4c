//! When to look at a custom resource again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_mins(5);

/// The pause after so many failures in a row: exponential from half a second to five minutes,
/// lengthened by up to a quarter by `jitter` (from 0 to 255), so that many resources do not
/// come back at once.
///
/// ```
/// use std::time::Duration;
///
/// use steersman_operator::schedule::backoff;
///
/// let pauses = [1, 2, 3, 30].map(|failures| backoff(failures, 0));
/// assert_eq!(pauses, [500, 1_000, 2_000, 300_000].map(Duration::from_millis));
/// assert_eq!(backoff(30, 255), Duration::from_secs(375));
/// ```
pub fn backoff(failures: u32, jitter: u8) -> Duration {
    let exponent = failures.saturating_sub(1).min(16);
    let pause = FIRST.saturating_mul(1 << exponent).min(LONGEST);
    pause + pause / 4 * u32::from(jitter) / 255
}

/// `period`, shortened by up to a tenth by `jitter`.
///
/// ```
/// use std::time::Duration;
///
/// use steersman_operator::schedule::spread;
///
/// let minute = Duration::from_mins(1);
/// assert_eq!(spread(minute, 0), minute);
/// assert!(spread(minute, 255) >= Duration::from_secs(54));
/// ```
pub fn spread(period: Duration, jitter: u8) -> Duration {
    period.saturating_sub(period / 10 / 255 * u32::from(jitter))
}

/// A random byte; 0 without randomness.
pub fn jitter() -> u8 {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    byte.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        assert_eq!(backoff(1, 0), Duration::from_millis(500));
        assert_eq!(backoff(2, 0), Duration::from_secs(1));
        assert_eq!(backoff(5, 0), Duration::from_secs(8));
        assert_eq!(backoff(100, 0), Duration::from_mins(5));
        assert_eq!(backoff(100, 255), Duration::from_secs(375));
    }

    #[test]
    fn periods_are_spread() {
        assert_eq!(spread(Duration::from_mins(1), 0), Duration::from_mins(1));
        let shortest = spread(Duration::from_mins(1), 255);
        assert!(
            shortest >= Duration::from_secs(54) && shortest < Duration::from_secs(55),
            "{shortest:?}"
        );
    }
}
