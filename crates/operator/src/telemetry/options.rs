//! What the `--zap-…` flags mean.

use std::fmt;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;

/// The shape of a log line, the least level, and the form of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// The shape of a line.
    pub encoder: Encoder,
    /// The least severe level that is shown.
    pub verbosity: Verbosity,
    /// How points in time are written.
    pub time: TimeEncoding,
}

/// The shape of a line (`--zap-encoder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// One JSON object a line.
    Json,
    /// Columns, fields as JSON behind them.
    Console,
    /// For people on a terminal; no flag names it.
    Terminal {
        /// By escape sequences, which a terminal understands.
        coloured: bool,
    },
}

/// What is shown (`--zap-log-level`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Nothing but errors.
    Error,
    /// What happens to releases.
    Info,
    /// Why it happens.
    Debug,
    /// Everything, from level 2 on.
    Trace,
}

/// How points in time are written (`--zap-time-encoding`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeEncoding {
    /// `2026-01-02T15:04:05Z`
    #[default]
    Rfc3339,
    /// `2026-01-02T15:04:05.123456789Z`
    Rfc3339Nano,
    /// `2026-01-02T15:04:05.123Z`
    Iso8601,
    /// Seconds since 1970, with a fraction.
    Epoch,
    /// Milliseconds since 1970, with a fraction.
    Millis,
    /// Nanoseconds since 1970.
    Nanos,
    /// `15:04:05`, where we are; no flag names it.
    Clock,
}

/// Why a flag's text means no encoder, level or time encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOption {
    text: String,
    expected: &'static str,
}

impl fmt::Display for UnknownOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is none of {}", self.text, self.expected)
    }
}

impl std::error::Error for UnknownOption {}

impl FromStr for Encoder {
    type Err = UnknownOption;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "json" => Ok(Self::Json),
            "console" => Ok(Self::Console),
            _ => Err(UnknownOption {
                text: text.to_owned(),
                expected: "`json`, `console`",
            }),
        }
    }
}

impl FromStr for Verbosity {
    type Err = UnknownOption;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "panic" | "error" => Ok(Self::Error),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            number => match number.parse::<u32>() {
                Ok(1) => Ok(Self::Debug),
                Ok(2..) => Ok(Self::Trace),
                _ => Err(UnknownOption {
                    text: text.to_owned(),
                    expected: "`debug`, `info`, `error`, `panic` and the numbers above zero",
                }),
            },
        }
    }
}

impl FromStr for TimeEncoding {
    type Err = UnknownOption;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "rfc3339" => Ok(Self::Rfc3339),
            "rfc3339nano" => Ok(Self::Rfc3339Nano),
            "iso8601" => Ok(Self::Iso8601),
            "epoch" => Ok(Self::Epoch),
            "millis" => Ok(Self::Millis),
            "nanos" => Ok(Self::Nanos),
            _ => Err(UnknownOption {
                text: text.to_owned(),
                expected: "`epoch`, `millis`, `nanos`, `iso8601`, `rfc3339`, `rfc3339nano`",
            }),
        }
    }
}

impl Verbosity {
    pub(super) fn level_filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verbosity;

    #[test]
    fn levels_are_named_as_in_zap() {
        for (text, expect) in [
            ("debug", Ok(Verbosity::Debug)),
            ("INFO", Ok(Verbosity::Info)),
            ("error", Ok(Verbosity::Error)),
            ("1", Ok(Verbosity::Debug)),
            ("7", Ok(Verbosity::Trace)),
            (
                "0",
                Err("`0` is none of `debug`, `info`, `error`, `panic` and the numbers above zero"),
            ),
        ] {
            let level = text.parse::<Verbosity>().map_err(|error| error.to_string());
            assert_eq!(level, expect.map_err(str::to_owned));
        }
    }
}
