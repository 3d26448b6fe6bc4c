//! Time zones: UTC, those of the bundled database, and fixed offsets.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A time zone.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Coordinated Universal Time.
    Utc,
    /// The zone of the machine, which here is always UTC.
    Local,
    /// One of the time zone database.
    Named(TimeZone),
    /// The same offset at all times, with a name that may be empty.
    Fixed {
        /// What is printed for `MST`.
        name: String,
        /// Seconds east of UTC.
        offset: i64,
    },
}

impl Zone {
    /// The zone of this name, exactly as the database spells it; the empty name and `UTC`
    /// are UTC.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "" | "UTC" => return Some(Self::Utc),
            "Local" => return Some(Self::Local),
            _ => {}
        }
        thread_local! {
            static DATABASE: TimeZoneDatabase = TimeZoneDatabase::bundled();
        }
        let zone = DATABASE.with(|database| database.get(name)).ok()?;
        (zone.iana_name() == Some(name)).then_some(Self::Named(zone))
    }

    /// The zone's abbreviation and offset east of UTC, in seconds, at a moment.
    pub(super) fn at(&self, seconds: i64) -> (String, i64) {
        match self {
            Self::Utc | Self::Local => ("UTC".to_owned(), 0),
            Self::Fixed { name, offset } => (name.clone(), *offset),
            Self::Named(zone) => {
                let least = Timestamp::MIN.as_second();
                let greatest = Timestamp::MAX.as_second();
                let moment = Timestamp::from_second(seconds.clamp(least, greatest)).unwrap_or_default();
                let info = zone.to_offset_info(moment);
                (info.abbreviation().to_owned(), i64::from(info.offset().seconds()))
            }
        }
    }

    /// Whether daylight saving time is in force at a moment.
    pub(super) fn is_daylight_saving(&self, seconds: i64) -> bool {
        let Self::Named(zone) = self else { return false };
        Timestamp::from_second(seconds).is_ok_and(|moment| zone.to_offset_info(moment).dst().is_dst())
    }

    /// What Go prints for the location: the name in the database, or that of a fixed offset.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Utc | Self::Local => "UTC",
            Self::Fixed { name, .. } => name,
            Self::Named(zone) => zone.iana_name().unwrap_or_default(),
        }
    }
}
