//! When a procedure runs by itself.

use std::time::Duration;

use cronexpr::{Crontab, MakeTimestamp, ParseOptions};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use steersman_model::Digest;

/// So far ahead a time is looked for: what does not come in four years, such as a 30th of February, is taken for what never comes.
const AHEAD: SignedDuration = SignedDuration::from_hours(4 * 366 * 24);
/// How long the five fields may be.
const MAX_TEXT: usize = 256;

/// The words that stand for five fields, as with `CronJob`s.
const WORDS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The times of a procedure for one resource.
///
/// ```
/// use steersman_watches::procedure::Schedule;
///
/// let nightly = Schedule::parse("30 3 * * *", Some("Europe/Berlin"), "uid")?;
/// let now = "2026-07-01T00:00:00Z".parse()?;
/// assert_eq!(nightly.next_after(now), Some("2026-07-01T01:30:00Z".parse()?));
///
/// assert!(Schedule::parse("0 0 30 2 *", None, "uid")?.next_after(now).is_none());
/// assert!(Schedule::parse("* * * *", None, "uid").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    crontab: Crontab,
}

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It does not have the five fields of cron, and is none of the words for them.
    #[error("`{}` is no schedule: {reason}", .text.escape_debug())]
    Cron {
        /// Its first 80 characters.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no time zone of this name.
    #[error("there is no time zone `{}`", .0.escape_debug())]
    TimeZone(String),
}

impl Schedule {
    /// Reads the five fields of cron: minute, hour, day of the month, month, day of the week, or one of the words for them such
    /// as `@daily`. `H` in a field is a time that is another one for each resource, by its UID.
    ///
    /// # Errors
    /// It is no schedule, or there is no such time zone.
    pub fn parse(text: &str, time_zone: Option<&str>, uid: &str) -> Result<Self, ScheduleError> {
        let error = |reason: String| ScheduleError::Cron {
            text: text.chars().take(80).collect(),
            reason,
        };
        let zone = time_zone.unwrap_or("UTC");
        if TimeZone::get(zone).is_err() {
            return Err(ScheduleError::TimeZone(zone.chars().take(80).collect()));
        }
        let word = WORDS.iter().find(|(word, _)| *word == text.trim());
        let fields = word.map_or(text, |(_, fields)| fields);
        match fields.split_ascii_whitespace().count() {
            5 if fields.len() <= MAX_TEXT => {}
            5 => return Err(error(format!("it is longer than {MAX_TEXT} bytes"))),
            count => return Err(error(format!("it has {count} fields, not five"))),
        }
        let mut options = ParseOptions::default();
        options.hashed_value = Some(number_of(uid));
        let crontab = cronexpr::parse_crontab_with(&format!("{fields} {zone}"), options);
        let crontab = crontab.map_err(|cause| error(cause.to_string().replace('\n', " ")))?;
        Ok(Self { crontab })
    }

    /// The next time after this one; `None` where there is none in four years.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        // Time itself has an end, and nothing is looked for behind that.
        let has_room = Timestamp::MAX.duration_since(time) > AHEAD * 2;
        let next = has_room.then(|| self.crontab.find_next(MakeTimestamp(time)));
        Some(next?.ok()?.timestamp())
    }
}

/// The same for the same resource, in each process.
fn number_of(uid: &str) -> u64 {
    let digest = Digest::of(uid.as_bytes());
    digest
        .as_bytes()
        .first_chunk()
        .copied()
        .map_or(0, u64::from_be_bytes)
}

/// By how much the starts of a resource are moved, where that is at most `jitter`: by another time for each.
///
/// ```
/// use std::time::Duration;
/// use steersman_watches::procedure::delay;
///
/// assert!(delay(Duration::from_secs(60), "uid") < Duration::from_secs(60));
/// assert_eq!(delay(Duration::ZERO, "uid"), Duration::ZERO);
/// ```
pub fn delay(jitter: Duration, uid: &str) -> Duration {
    match u64::try_from(jitter.as_millis()) {
        Ok(most) if most > 0 => Duration::from_millis(number_of(uid) % most),
        _ => Duration::ZERO,
    }
}
