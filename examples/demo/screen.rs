//! What the demo prints: colours on a terminal, plain lines elsewhere.

use std::io::IsTerminal as _;

/// Standard output, with or without colours.
pub(crate) struct Screen {
    colours: bool,
}

impl Screen {
    pub(crate) fn for_stdout() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this program is its own command line")]
        let refused = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
        Self {
            colours: std::io::stdout().is_terminal() && !refused,
        }
    }

    #[expect(clippy::unused_self, reason = "all output goes through the screen")]
    pub(crate) fn line(&self, text: &str) {
        println!("{text}");
    }

    pub(crate) fn title(&self, text: &str) {
        println!("{}", self.bold(text));
    }

    /// A step that is over, and what it gave.
    pub(crate) fn done(&self, step: &str, result: &str) {
        println!(
            "{} {} {result}",
            self.paint("32", "✓"),
            self.bold(&format!("{step:<10}"))
        );
    }

    /// A step under way.
    pub(crate) fn waiting(&self, step: &str, what: &str) {
        println!(
            "{} {} {what}",
            self.paint("33", "…"),
            self.bold(&format!("{step:<10}"))
        );
    }

    pub(crate) fn failed(&self, error: &str) {
        println!("{} {error}", self.paint("31", "✗"));
    }

    pub(crate) fn note(&self, text: &str) {
        println!("  {}", self.dim(text));
    }

    /// A command to copy, and what it shows.
    pub(crate) fn command(&self, command: &str, shows: &str) {
        println!("  {}", self.paint("36", command));
        if !shows.is_empty() {
            println!("      {}", self.dim(shows));
        }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
