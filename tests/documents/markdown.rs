//! As much of Markdown as the documents use.

/// A fenced block: what stands between two lines of three backquotes.
pub(crate) struct Block {
    /// The first word after the backquotes.
    pub(crate) language: String,
    /// What follows it: a file's path, or `in=FOLDER`.
    pub(crate) about: String,
    pub(crate) text: String,
    /// The line of the first backquotes.
    pub(crate) line: usize,
}

/// A document, with its blocks apart from its prose.
pub(crate) struct Document {
    pub(crate) blocks: Vec<Block>,
    /// The lines outside of blocks, with their numbers.
    pub(crate) prose: Vec<(usize, String)>,
}

pub(crate) fn parse(text: &str) -> Document {
    let mut document = Document {
        blocks: Vec::new(),
        prose: Vec::new(),
    };
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (language, about) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block {
                    language: language.to_owned(),
                    about: about.trim().to_owned(),
                    text: String::new(),
                    line: number,
                });
            }
            (Some(_), Some(_)) => document.blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => document.prose.push((number, line.to_owned())),
        }
    }
    assert!(open.is_none(), "a block has no end");
    document
}

impl Document {
    /// The headings, as GitHub makes anchors of them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            let Some(title) = line.strip_prefix('#') else {
                continue;
            };
            let anchor = anchor(title.trim_start_matches('#').trim());
            let times = anchors.iter().filter(|known| **known == anchor).count();
            anchors.push(if times == 0 {
                anchor
            } else {
                format!("{anchor}-{times}")
            });
        }
        anchors
    }

    /// What the links point to, with the numbers of their lines. A link may be broken between two lines.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in &self.prose {
            let line = without_code(line);
            for (place, _) in line.match_indices("](") {
                let rest = line.get(place + 2..).unwrap_or_default();
                if let Some((target, _)) = rest.split_once(')') {
                    links.push((*number, target.to_owned()));
                }
            }
        }
        links
    }

    /// The cells of each row of the tables whose header begins with this cell.
    pub(crate) fn rows(&self, first: &str) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut is_inside = false;
        for (_, line) in &self.prose {
            let Some(row) = line.strip_prefix('|') else {
                is_inside = false;
                continue;
            };
            let cells: Vec<String> = row
                .trim_end_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect();
            if cells.first().is_some_and(|cell| cell == first) {
                is_inside = true;
            } else if is_inside && !row.starts_with("---") {
                rows.push(cells);
            }
        }
        assert!(!rows.is_empty(), "no table begins with `{first}`");
        rows
    }
}

/// What stands between backquotes.
pub(crate) fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn without_code(line: &str) -> String {
    // The text of a link may have backquotes; where it points to has none.
    line.split('`').step_by(2).collect::<Vec<_>>().join("")
}

fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[test]
fn blocks_links_and_headings_are_found() {
    let document =
        parse("# A `b` c: d\ntext [x](y.md#z) `[no](no)`\n```sh in=repository\nls\n```\n# A b c d\n");
    assert_eq!(document.anchors(), ["a-b-c-d", "a-b-c-d-1"]);
    assert_eq!(document.links(), [(2, "y.md#z".to_owned())]);
    let block = &document.blocks[0];
    assert_eq!(
        (
            block.language.as_str(),
            block.about.as_str(),
            block.text.as_str(),
            block.line
        ),
        ("sh", "in=repository", "ls\n", 3)
    );
}
