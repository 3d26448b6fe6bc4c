//! One event as a line.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde_json::Value;
use tracing::Level;

use super::{Encoder, TimeEncoding, terminal};

/// What a line says.
pub(super) struct Line<'a> {
    pub(super) level: &'a Level,
    pub(super) time: Timestamp,
    pub(super) logger: &'a str,
    pub(super) message: &'a str,
    pub(super) fields: &'a [(String, Value)],
}

impl Line<'_> {
    /// The line with its end.
    pub(super) fn encode(&self, encoder: Encoder, time: TimeEncoding) -> String {
        let mut line = String::with_capacity(256);
        match encoder {
            Encoder::Json => self.json(&mut line, time),
            Encoder::Console => self.console(&mut line, time),
            Encoder::Terminal { coloured } => terminal::write(self, &mut line, time, coloured),
        }
        line.push('\n');
        line
    }

    fn json(&self, line: &mut String, time: TimeEncoding) {
        let (level, time) = (level_name(*self.level), encode_time(self.time, time));
        let _ = write!(line, r#"{{"level":"{level}","ts":{time},"logger":"#);
        push_json_string(line, self.logger);
        line.push_str(r#","msg":"#);
        push_json_string(line, self.message);
        for (name, value) in self.fields {
            line.push(',');
            push_field(line, name, value);
        }
        line.push('}');
    }

    fn console(&self, line: &mut String, time: TimeEncoding) {
        let time = encode_time(self.time, time);
        let level = level_name(*self.level).to_ascii_uppercase();
        let _ = write!(line, "{}\t{level}\t{}\t", time.trim_matches('"'), self.logger);
        push_escaped(line, self.message, false);
        for (index, (name, value)) in self.fields.iter().enumerate() {
            line.push_str(if index == 0 { "\t{" } else { "," });
            push_field(line, name, value);
        }
        if !self.fields.is_empty() {
            line.push('}');
        }
    }
}

pub(super) fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG | Level::TRACE => "debug",
    }
}

/// A point in time as a JSON value.
pub(super) fn encode_time(time: Timestamp, encoding: TimeEncoding) -> String {
    let format = |pattern| strtime::format(pattern, time).unwrap_or_default();
    match encoding {
        TimeEncoding::Rfc3339 => format("\"%Y-%m-%dT%H:%M:%SZ\""),
        TimeEncoding::Rfc3339Nano => format("\"%Y-%m-%dT%H:%M:%S%.fZ\""),
        TimeEncoding::Iso8601 => format("\"%Y-%m-%dT%H:%M:%S%.3fZ\""),
        TimeEncoding::Epoch => (time.as_nanosecond() as f64 / 1e9).to_string(),
        TimeEncoding::Millis => (time.as_nanosecond() as f64 / 1e6).to_string(),
        TimeEncoding::Nanos => time.as_nanosecond().to_string(),
        TimeEncoding::Clock => {
            let here = time.to_zoned(TimeZone::system());
            strtime::format("\"%H:%M:%S\"", &here).unwrap_or_default()
        }
    }
}

fn push_field(line: &mut String, name: &str, value: &Value) {
    push_json_string(line, name);
    line.push(':');
    match value {
        Value::String(text) => push_json_string(line, text),
        other => {
            let _ = write!(line, "{other}");
        }
    }
}

fn push_json_string(line: &mut String, text: &str) {
    line.push('"');
    push_escaped(line, text, true);
    line.push('"');
}

/// Writes no control character: names and messages come from users, and a line must stay one line and must not
/// speak to a terminal. JSON itself would allow the controls from `U+007F` on.
pub(super) fn push_escaped(line: &mut String, text: &str, in_json: bool) {
    for character in text.chars() {
        match character {
            '"' | '\\' if in_json => line.extend(['\\', character]),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            character if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') => {
                let _ = write!(line, "\\u{:04x}", u32::from(character));
            }
            character => line.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{TimeEncoding, encode_time};

    #[test]
    fn times_are_written_as_zap_writes_them() {
        let time: Timestamp = "2026-01-02T15:04:05.120000001Z".parse().unwrap();
        for (encoding, expect) in [
            (TimeEncoding::Rfc3339, "\"2026-01-02T15:04:05Z\""),
            (TimeEncoding::Rfc3339Nano, "\"2026-01-02T15:04:05.120000001Z\""),
            (TimeEncoding::Iso8601, "\"2026-01-02T15:04:05.120Z\""),
            (TimeEncoding::Epoch, "1767366245.12"),
            (TimeEncoding::Millis, "1767366245120"),
            (TimeEncoding::Nanos, "1767366245120000001"),
        ] {
            assert_eq!(encode_time(time, encoding), expect);
        }
    }
}
