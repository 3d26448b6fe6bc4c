//! Colour, where somebody looks.

use std::io::IsTerminal;

use steersman_model::Environment;
pub(super) use steersman_model::harmless;

/// A message takes one line of this length.
const WIDTH: usize = 100;

/// How what is printed may look.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    coloured: bool,
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// A headline.
    Bold,
    /// Of little weight.
    Faint,
    /// As it should be, or added.
    Good,
    /// On the way, or changed.
    Doubtful,
    /// Wrong, or removed.
    Bad,
    /// Where something is: file and line, or the head of a hunk.
    Place,
}

impl Style {
    /// Colour on a terminal, unless `NO_COLOR` or a terminal without colours forbids it.
    pub(super) fn of(stream: &impl IsTerminal, environment: &Environment) -> Self {
        Self {
            coloured: stream.is_terminal() && !is_forbidden(environment),
        }
    }

    /// `text` in a tone, where there are colours.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bold => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Doubtful => "33",
            Tone::Bad => "31",
            Tone::Place => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Whether the user, or a terminal that has none, wants no colours.
pub(super) fn is_forbidden(environment: &Environment) -> bool {
    environment.get("NO_COLOR").is_some_and(|value| !value.is_empty())
        || environment.get("TERM") == Some("dumb")
}

/// A message on one line, cut where it is too long for that.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= WIDTH {
        return line;
    }
    let cut: String = line.chars().take(WIDTH - 1).collect();
    format!("{cut}…")
}

#[cfg(test)]
mod tests {
    use super::{Style, Tone, harmless};

    #[test]
    fn colours_are_for_those_who_see_them() {
        assert_eq!(Style { coloured: false }.paint(Tone::Good, "a"), "a");
        assert_eq!(
            Style { coloured: true }.paint(Tone::Good, "a"),
            "\u{1b}[32ma\u{1b}[0m"
        );
        assert_eq!(harmless("a\u{1b}[31m\n"), "a\u{fffd}[31m\n");
    }
}
