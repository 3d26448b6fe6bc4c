//! A line for people who watch the log.

use std::fmt::Write as _;

use serde_json::Value;
use tracing::Level;

use super::TimeEncoding;
use super::encode::{Line, encode_time, level_name, push_escaped};

const FAINT: &str = "2";
/// Sentences longer than this stand on a line of their own.
const LONG: usize = 60;

/// Writes time, level, message and fields without the quotes that programs need. A text of several lines follows on
/// lines of its own.
pub(super) fn write(line: &Line<'_>, out: &mut String, time: TimeEncoding, coloured: bool) {
    let paint = Paint { coloured };
    let time = encode_time(line.time, time);
    paint.write(out, FAINT, time.trim_matches('"'));
    out.push_str("  ");
    let name = level_name(*line.level).to_ascii_uppercase();
    paint.write(out, tone(*line.level), &format!("{name:<5}"));
    out.push_str("  ");
    push_escaped(out, line.message, false);
    let (long, short): (Vec<_>, Vec<_>) = line.fields.iter().partition(|(_, value)| is_long(value));
    for (index, (name, value)) in short.into_iter().enumerate() {
        out.push_str(if index == 0 { "  " } else { " " });
        paint.write(out, FAINT, &format!("{}=", escaped(name)));
        push_value(out, value);
    }
    for (name, value) in long {
        let _ = write!(out, "\n    {}: ", escaped(name));
        let text = value.as_str().unwrap_or_default();
        for (index, part) in text.lines().enumerate() {
            if index > 0 {
                out.push_str("\n    ");
            }
            push_escaped(out, part, false);
        }
    }
}

fn is_long(value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    text.trim_end().contains('\n') || text.len() > LONG && text.contains(' ')
}

/// Quotes where a value would not end where it ends.
fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '"', '=']) => {
            push_escaped(out, text, false);
        }
        Value::String(text) => {
            out.push('"');
            push_escaped(out, text, true);
            out.push('"');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    push_escaped(&mut out, text, false);
    out
}

fn tone(level: Level) -> &'static str {
    match level {
        Level::ERROR => "31",
        Level::WARN => "33",
        Level::INFO => "32",
        Level::DEBUG | Level::TRACE => FAINT,
    }
}

struct Paint {
    coloured: bool,
}

impl Paint {
    fn write(&self, out: &mut String, tone: &str, text: &str) {
        if self.coloured {
            let _ = write!(out, "\u{1b}[{tone}m{text}\u{1b}[0m");
        } else {
            out.push_str(text);
        }
    }
}
