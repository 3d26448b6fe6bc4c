//! From text to nodes.

/// How deep filters and unions may be nested in each other.
const MAX_DEPTH: usize = 32;

/// A part of a path, or of the text around paths.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// `{…}`: each part works on what the one before it gave.
    List(Vec<Node>),
    Text(String),
    Field(String),
    /// `[from:to:step]`
    Slice(Slice),
    Filter {
        left: Vec<Node>,
        operator: String,
        right: Vec<Node>,
    },
    Integer(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    /// `..`: the node itself and everything below it, at any depth.
    Descendants,
    Union(Vec<Vec<Node>>),
    /// `range` and `end`, or what means nothing.
    Word(String),
}

/// Some items of a list; what is not said is the first, the last, one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
    /// Whether `to` follows from `from` alone, as in `[3]`.
    pub(super) is_single: bool,
    pub(super) step: Option<i64>,
}

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    parse_at(text, 0)
}

fn parse_at(text: &str, depth: usize) -> Result<Vec<Node>, String> {
    if depth > MAX_DEPTH {
        return Err(format!("filters are nested more than {MAX_DEPTH} deep"));
    }
    let mut nodes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            nodes.push(Node::Text(before.to_owned()));
        }
        let mut action = Action {
            rest: after,
            nodes: Vec::new(),
            depth,
        };
        action.parse()?;
        rest = action.rest;
        nodes.push(Node::List(action.nodes));
    }
    if !rest.is_empty() {
        nodes.push(Node::Text(rest.to_owned()));
    }
    Ok(nodes)
}

/// The inside of `{…}`.
struct Action<'a> {
    rest: &'a str,
    nodes: Vec<Node>,
    depth: usize,
}

impl<'a> Action<'a> {
    fn parse(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(());
            }
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
            } else if let Some(rest) = self.rest.strip_prefix("..") {
                if self.nodes.last() == Some(&Node::Descendants) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.rest = rest;
                self.nodes.push(Node::Descendants);
                if self.rest.starts_with(is_word) {
                    self.field();
                }
            } else {
                self.part()?;
            }
        }
    }

    fn part(&mut self) -> Result<(), String> {
        let Some(first) = self.rest.chars().next().filter(|first| !is_line_end(*first)) else {
            return Err("unclosed action".to_owned());
        };
        match first {
            ' ' | '@' | '$' => self.skip(1),
            '[' => {
                self.skip(1);
                self.array()?;
            }
            '"' | '\'' => self.quoted(first)?,
            '.' => {
                self.skip(1);
                self.field();
            }
            '+' | '-' => self.number()?,
            digit if digit.is_numeric() => self.number()?,
            letter if is_word(letter) => {
                let word = self.take_until(|_| false);
                self.nodes.push(match word {
                    "true" => Node::Bool(true),
                    "false" => Node::Bool(false),
                    word => Node::Word(word.to_owned()),
                });
            }
            other => {
                let code = u32::from(other);
                return Err(format!(
                    "unrecognized character in action: U+{code:04X} '{other}'"
                ));
            }
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// What comes before the next character that ends a name; `\` takes such a character along.
    fn take_until(&mut self, takes_next: impl Fn(char) -> bool) -> &'a str {
        let mut end = self.rest.len();
        let mut is_taken = false;
        for (place, character) in self.rest.char_indices() {
            if is_taken {
                is_taken = false;
            } else if takes_next(character) {
                is_taken = true;
            } else if is_end(character) {
                end = place;
                break;
            }
        }
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn field(&mut self) {
        let name = self.take_until(|character| character == '\\');
        self.nodes.push(match name {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        });
    }

    fn number(&mut self) -> Result<(), String> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let is_other = |character: char| character != '.' && !character.is_numeric();
        let digits = self.rest.get(sign..).unwrap_or_default();
        let end = digits.find(is_other).map_or(self.rest.len(), |end| end + sign);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let node = match (text.parse(), text.parse()) {
            (Ok(integer), _) => Node::Integer(integer),
            (_, Ok(float)) => Node::Float(float),
            _ => return Err(format!("cannot parse number {text}")),
        };
        self.nodes.push(node);
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let mut end = None;
        let mut before = quote;
        for (place, character) in self.rest.char_indices().skip(1) {
            if character == '\n' {
                break;
            }
            if character == quote && before != '\\' {
                end = Some(place);
                break;
            }
            before = character;
        }
        let end = end.ok_or("unterminated quoted string")?;
        let text = self.rest.get(1..end).unwrap_or_default();
        let whole = self.rest.get(..=end).unwrap_or_default();
        self.skip(end + 1);
        let text = unquote(text).ok_or_else(|| format!("unquote string {whole} error invalid syntax"))?;
        self.nodes.push(Node::Text(text));
        Ok(())
    }

    fn array(&mut self) -> Result<(), String> {
        let end = self
            .rest
            .find([']', '\n'])
            .filter(|end| self.rest.get(*end..=*end) == Some("]"));
        let end = end.ok_or("unterminated array")?;
        let text = self.rest.get(..end).unwrap_or_default();
        self.skip(end + 1);
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text
                .split(',')
                .map(|part| inner(&format!("[{}]", part.trim_matches(' ')), self.depth));
            self.nodes.push(Node::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            self.nodes.extend(inner(&format!(".{key}"), self.depth)?);
            return Ok(());
        }
        self.nodes.push(Node::Slice(slice(text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<(), String> {
        let (mut begins, mut ends, mut pair, mut before) = (false, false, ' ', ' ');
        let mut end = None;
        for (place, character) in self.rest.char_indices() {
            match character {
                '\n' => break,
                '"' | '\'' if !begins => (begins, pair) = (true, character),
                '"' | '\'' if before != '\\' && character == pair => ends = true,
                ')' if begins == ends => {
                    end = Some(place);
                    break;
                }
                _ => {}
            }
            before = character;
        }
        let end = end.ok_or("unterminated filter")?;
        let text = self.rest.get(..end).unwrap_or_default();
        self.skip(end + 1);
        self.rest = self.rest.strip_prefix(']').ok_or("unclosed array expect ]")?;
        let is_operator = |character: char| "!<>=".contains(character);
        let parts = text
            .find(is_operator)
            .filter(|start| *start > 0)
            .and_then(|start| {
                let (left, rest) = text.split_at(start);
                let length = rest.find(|character| !is_operator(character))?;
                let (operator, right) = rest.split_at(length);
                Some((left, operator, right))
            });
        self.nodes.push(match parts {
            Some((left, operator, right)) => Node::Filter {
                left: inner(left, self.depth)?,
                operator: operator.to_owned(),
                right: inner(right, self.depth)?,
            },
            None => Node::Filter {
                left: inner(text, self.depth)?,
                operator: "exists".to_owned(),
                right: Vec::new(),
            },
        });
        Ok(())
    }
}

/// The nodes of a text as if it stood in `{…}`.
fn inner(text: &str, depth: usize) -> Result<Vec<Node>, String> {
    let nodes = parse_at(&format!("{{{text}}}"), depth + 1)?;
    match nodes.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

fn slice(text: &str) -> Result<Slice, String> {
    let invalid = || format!("invalid array index {text}");
    let parts: Vec<&str> = text.split(':').collect();
    let is_number = |part: &&str| {
        let digits = part.strip_prefix('-').unwrap_or(part);
        digits.chars().all(|digit| digit.is_ascii_digit())
    };
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return Err(invalid());
    }
    let number = |part: &str| match part {
        "" => Ok(None),
        part => part
            .parse()
            .map(Some)
            .map_err(|_| format!("array index {part} is not a number")),
    };
    let from = number(parts.first().copied().unwrap_or_default())?;
    Ok(match parts.as_slice() {
        [_] => Slice {
            from,
            to: Some(from.unwrap_or_default().saturating_add(1)),
            is_single: true,
            step: None,
        },
        [_, to, rest @ ..] => Slice {
            from,
            to: number(to)?,
            is_single: false,
            step: number(rest.first().copied().unwrap_or_default())?,
        },
        [] => return Err(invalid()),
    })
}

fn unquote(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                other @ ('\\' | '"' | '\'') => other,
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\r' | '\n')
}

fn is_end(character: char) -> bool {
    matches!(
        character,
        ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    ) || is_line_end(character)
}
