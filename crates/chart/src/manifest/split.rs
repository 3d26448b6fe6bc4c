//! A template's text as YAML documents.

/// The documents of `text`, without blank ones and without white space before them.
///
/// As in Helm, every line that begins with `---` divides; what follows on that line belongs to the
/// next document.
pub(crate) fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text.trim_start());
    std::iter::from_fn(move || {
        let text = rest?;
        let (document, after) = match divider(text) {
            Some((start, end)) => (text.get(..start)?, text.get(end..)),
            None => (text, None),
        };
        rest = after;
        Some(document)
    })
    .map(str::trim_start)
    .filter(|document| !document.is_empty())
}

/// Where the first divider begins and ends.
fn divider(text: &str) -> Option<(usize, usize)> {
    let start = if text.starts_with("---") {
        0
    } else {
        text.find("\n---")? + 1
    };
    let rest = text.get(start + 3..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    Some((start, start + 3 + blanks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        assert_eq!(documents(text).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn documents_are_divided_at_lines_of_dashes() {
        check("a: 1\n---\nb: 2\n", &["a: 1\n", "b: 2\n"]);
        check("\n---\n---  \n a: 1\n--- # c\nb: 2", &["a: 1\n", "# c\nb: 2"]);
        check("", &[]);
    }

    #[test]
    fn what_follows_the_dashes_belongs_to_the_next_document() {
        check("a: 1\n---apiVersion: v1\n", &["a: 1\n", "apiVersion: v1\n"]);
        check("a: |\n  ---\nb: 1\n", &["a: |\n  ---\nb: 1\n"]);
    }
}
