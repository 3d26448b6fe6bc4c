//! Text of programs that take their output for a terminal.

/// A text without ANSI's control sequences and control characters other than line breaks and tabs.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            if letters.clone().next() == Some('[') {
                letters.next();
                letters.by_ref().find(|end| ('@'..='~').contains(end));
            }
        } else if !letter.is_control() || matches!(letter, '\n' | '\t') {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn control_sequences_are_no_text() {
        assert_eq!(plain("a\u{1b}[K\u{1b}[12;3Hb\u{1b}c\u{7}\td"), "abc\td");
        assert_eq!(plain("end \u{1b}["), "end ");
    }
}
