//! What is checked before a text is parsed.

/// How large a template may be.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// What parsing all templates of a chart may cost. The parser looks for the line of each tag from
/// the start of the text, so that its work is the product of the two.
const MAX_COST: usize = 1 << 28;

/// What is left of the cost of parsing.
#[derive(Debug)]
pub(super) struct ParseBudget(usize);

impl Default for ParseBudget {
    fn default() -> Self {
        Self(MAX_COST)
    }
}

impl ParseBudget {
    /// Accounts for a text, and refuses what the parser would read again and again.
    pub(super) fn check(&mut self, text: &str) -> Result<(), String> {
        if text.len() > MAX_BYTES {
            return Err(format!("template is larger than {MAX_BYTES} bytes"));
        }
        let tags = text.matches("{{").count();
        self.0 = text
            .len()
            .checked_mul(tags)
            .and_then(|cost| self.0.checked_sub(cost))
            .ok_or("templates have too many tags")?;
        let mut rest = text;
        while let Some((_, comment)) = rest.split_once("{{!--") {
            rest = comment.split_once("--}}").ok_or("comment is not closed")?.1;
        }
        let mut tags = text.split("{{").skip(1);
        if tags.any(|tag| {
            let name = tag.trim_start_matches(['~', '#', ' ', '\t', '\r', '\n']);
            name.strip_prefix('>')
                .is_some_and(|name| name.trim_start().starts_with('['))
        }) {
            return Err("the name of a partial cannot be in brackets".to_owned());
        }
        Ok(())
    }
}
