//! The tree that reading yields.

/// A value and the place where it starts, both counted from 1.
///
/// A value that came from an alias carries the place of its anchor.
///
/// ```
/// use steersman_yaml::{Content, parse};
///
/// let node = parse("- yes\n- 0777\n- 2026-01-31\n")?;
/// let Content::Sequence(items) = &node.value else { panic!("a list") };
/// assert_eq!(items[0].value, Content::Bool(true));
/// assert_eq!(items[1].value, Content::Int(511));
/// assert_eq!(items[2].as_str(), Some("2026-01-31"));
/// assert_eq!(items[2].line, 3);
/// # Ok::<(), steersman_yaml::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What was read.
    pub value: Content,
    /// The line on which the node starts.
    pub line: u32,
    /// The column, in characters, at which the node starts.
    pub column: u32,
}

/// A value typed as goyaml v2 types it: `yes` is a boolean, `0777` an integer, a date a string.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// `null`, `~` or nothing at all.
    Null,
    /// A boolean, in any of YAML 1.1's spellings.
    Bool(bool),
    /// An integer that fits into 64 bits with a sign.
    Int(i64),
    /// An integer that fits into 64 bits only without a sign.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// Text.
    String(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Pairs in the order of the text, duplicate keys included: the last one counts. The pairs of a merge key
    /// stand in the place of the `<<`, where goyaml v2 applies them, so they override what stands before
    /// them.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// The value under a key, the last one where the key occurs twice.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Content::Mapping(pairs) = &self.value else {
            return None;
        };
        let same = |candidate: &Node| match &candidate.value {
            Content::String(text) => text == key,
            _ => candidate.key_string().is_ok_and(|text| text == key),
        };
        pairs
            .iter()
            .rev()
            .find(|(candidate, _)| same(candidate))
            .map(|(_, value)| value)
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Content::String(text) => Some(text),
            _ => None,
        }
    }
}
