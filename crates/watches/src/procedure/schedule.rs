//! When a procedure runs by itself.

use std::time::Duration;

use cronexpr::{Crontab, MakeTimestamp, ParseOptions};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

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

/// What an entry says of the times of a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSource {
    /// The five fields of cron, or where among the values of a resource they are.
    pub cron: Cron,
    /// In which zone they are meant, by its name in the IANA's database; UTC without one.
    pub time_zone: Option<String>,
    /// By how much a start is moved at most, by another time for each resource.
    pub jitter: Duration,
    /// How late a run may begin that was missed; without one the last missed run begins, however late.
    pub deadline: Option<Duration>,
    /// What is done where the run before has not come to its end.
    pub concurrency: Concurrency,
}

/// Where the five fields of a schedule are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cron {
    /// In the entry.
    Fixed(String),
    /// Among the values of a resource, at a path with dots between; nothing there is no schedule.
    Value(String),
}

/// What is done where it is time for a run, and the one before has not come to its end, in the words of `CronJob`s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// The later one is left out.
    #[default]
    Forbid,
    /// The earlier one is cancelled.
    Replace,
    /// The later one begins beside it.
    Allow,
}

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
        options.hashed_value = Some(hash(uid));
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

/// The same for the same text, in each process.
fn hash(text: &str) -> u64 {
    // FNV-1a.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl ScheduleSource {
    /// By how much the starts of a resource are moved.
    pub fn delay(&self, uid: &str) -> Duration {
        match u64::try_from(self.jitter.as_millis()) {
            Ok(most) if most > 0 => Duration::from_millis(hash(uid) % most),
            _ => Duration::ZERO,
        }
    }
}
