//! Texts of strangers, as they are shown to people.

/// `text` without what steers a terminal, or changes how what stands beside it is read. Line breaks and tabs stay.
///
/// ```
/// use steersman_model::harmless;
///
/// assert_eq!(harmless("a\u{1b}[31m\nb\u{202e}c"), "a\u{fffd}[31m\nb\u{fffd}c");
/// ```
pub fn harmless(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' | '\t' => letter,
        // They turn the direction in which what follows is written.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    text.chars().map(shown).collect()
}
