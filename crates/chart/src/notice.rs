//! What Helm says about a chart and its values although it goes on.

use std::fmt;

use steersman_gotemplate::Value;
use steersman_gotemplate::format::{sprint, sprintf};

/// How much a [`Notice`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Probably a mistake.
    Warning,
    /// What makes the command fail, too.
    Error,
}

/// Something about a chart or its values that Helm logs and does not fail for.
///
/// It is displayed as Helm's log writes it: `level=WARN msg="this chart is deprecated"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    level: NoticeLevel,
    message: String,
    attributes: Vec<(&'static str, String)>,
}

impl Notice {
    /// A notice that is good to know.
    pub fn info(message: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Info, message.into())
    }

    /// A notice of what is probably a mistake.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Warning, message.into())
    }

    /// A notice of what makes the command fail, too.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Error, message.into())
    }

    fn new(level: NoticeLevel, message: String) -> Self {
        Self {
            level,
            message,
            attributes: Vec::new(),
        }
    }

    /// The notice with a detail.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    /// How much it matters.
    pub fn level(&self) -> NoticeLevel {
        self.level
    }

    /// Its text, without details.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            NoticeLevel::Info => "INFO",
            NoticeLevel::Warning => "WARN",
            NoticeLevel::Error => "ERROR",
        };
        write!(f, "level={level} msg={}", quoted(&self.message))?;
        self.attributes
            .iter()
            .try_for_each(|(key, value)| write!(f, " {key}={}", quoted(value)))
    }
}

/// A text as Go's `log/slog` writes it: in quotes where it would not stand for itself.
fn quoted(text: &str) -> String {
    let stands_for_itself = |character: char| {
        character > ' '
            && !matches!(character, '"' | '=' | '\u{7f}' | char::REPLACEMENT_CHARACTER)
            && !character.is_whitespace()
            && !character.is_control()
    };
    if !text.is_empty() && text.chars().all(stands_for_itself) {
        return text.to_owned();
    }
    sprintf(b"%q", &[Value::string(text)]).to_string()
}

/// A value as `%v` writes it.
pub(crate) fn shown(value: &Value) -> String {
    sprint(std::slice::from_ref(value)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_look_like_those_of_helm() {
        assert_eq!(
            Notice::warning("this chart is deprecated").to_string(),
            "level=WARN msg=\"this chart is deprecated\""
        );
        assert_eq!(
            Notice::info("plain")
                .with("path", "a.b")
                .with("empty", "")
                .with("text", "a \"b\"\n")
                .to_string(),
            r#"level=INFO msg=plain path=a.b empty="" text="a \"b\"\n""#
        );
    }
}
