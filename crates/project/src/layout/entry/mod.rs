//! An entry of watches.yaml that gets a procedure. Everything else of the file stays as people have written it: comments, order,
//! indentation. What the text becomes is read again, and refused where it says anything else than the old one with the
//! procedure.

use serde_json::Value as Json;
use steersman_yaml::{Content, Node};

use super::NewProcedure;

/// Which entry is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedEntry {
    /// The kind, such as `Memcached`.
    pub kind: String,
    /// Its groups that will do; any where there are none.
    pub groups: Vec<String>,
    /// The only version that will do, if that is said.
    pub version: Option<String>,
}

/// An entry with a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// How many entries are before it.
    pub index: usize,
    /// The group of its kind, with the domain.
    pub group: String,
    /// As it stands there.
    pub version: String,
    /// As it stands there.
    pub kind: String,
    /// The path of its chart.
    pub chart: String,
}

/// Why an entry can't get a procedure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The file can't be read.
    #[error("the file is no YAML that could be extended: {0}")]
    Yaml(#[from] steersman_yaml::Error),
    /// No entry is for the kind.
    #[error("there is no entry for the kind {kind}")]
    Missing {
        /// Which was asked for.
        kind: String,
        /// Those that have an entry, with commas between.
        known: String,
    },
    /// Several entries are for the kind.
    #[error("there are several entries for the kind {kind}")]
    Ambiguous {
        /// Which was asked for.
        kind: String,
        /// Group and version of each, with commas between.
        known: String,
    },
    /// Ansible makes the kind.
    #[error("the entry for {0} has no chart, and procedures are of charts")]
    NoChart(String),
    /// There is one already.
    #[error("{kind} has a procedure {name} already, on line {line}")]
    Taken {
        /// The procedure.
        name: String,
        /// As the entry says it, without its group.
        kind: String,
        /// Where it is said.
        line: u32,
    },
    /// It is written so that nothing can be put into it without another change.
    #[error("line {line}: {what}")]
    Form {
        /// The line of the entry or of its list.
        line: u32,
        /// How it is written.
        what: &'static str,
    },
}

impl EntryError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Yaml(_) => "`steersman check` says what is wrong with it".to_owned(),
            Self::Missing { known, .. } => format!("its entries are for {known}"),
            Self::Ambiguous { known, .. } => format!("name one of {known} with --group and --version"),
            Self::NoChart(_) => {
                "a role or playbook does such work by itself, when its resource asks for it".to_owned()
            }
            Self::Taken { .. } => "give the procedure another name, or change that one by hand".to_owned(),
            Self::Form { .. } => {
                "write each field of it on a line of its own, as in docs/reference/watches.md".to_owned()
            }
        }
    }
}

/// The entry that is meant.
///
/// # Errors
/// It is not there, is one of several, or has no chart.
pub fn find_entry(watches: &str, wanted: &WantedEntry) -> Result<FoundEntry, EntryError> {
    let file = steersman_yaml::parse(watches)?;
    let text = |entry: &Node, field: &str| {
        let text = entry.get(field).and_then(Node::as_str);
        text.unwrap_or_default().to_owned()
    };
    let entries: Vec<(usize, &Node, [String; 3])> = items(&file)
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            (
                index,
                entry,
                ["group", "version", "kind"].map(|field| text(entry, field)),
            )
        })
        .collect();
    let found: Vec<_> = entries
        .iter()
        .filter(|(_, _, [group, version, kind])| {
            *kind == wanted.kind
                && (wanted.groups.is_empty() || wanted.groups.contains(group))
                && wanted.version.as_ref().is_none_or(|wanted| wanted == version)
        })
        .collect();
    let kind = wanted.kind.clone();
    match found.as_slice() {
        [] => {
            let known = entries
                .iter()
                .map(|(_, _, [group, version, kind])| format!("{kind} in {group}/{version}"));
            let known: Vec<String> = known.collect();
            let known = known.join(", ");
            Err(EntryError::Missing { kind, known })
        }
        [(index, entry, [group, version, _])] => {
            let chart = text(entry, "chart");
            if chart.is_empty() {
                return Err(EntryError::NoChart(kind));
            }
            Ok(FoundEntry {
                index: *index,
                group: group.clone(),
                version: version.clone(),
                kind,
                chart,
            })
        }
        several => {
            let known = several
                .iter()
                .map(|(_, _, [group, version, _])| format!("{group}/{version}"));
            let known: Vec<String> = known.collect();
            let known = known.join(", ");
            Err(EntryError::Ambiguous { kind, known })
        }
    }
}

/// The text of watches.yaml with a procedure more in this entry of it.
///
/// ```
/// use steersman_project::layout::{NewProcedure, WantedEntry, add_procedure, find_entry};
///
/// let watches = "- group: example.com\n  version: v1\n  kind: Web\n  chart: helm-charts/web\n# the end\n";
/// let wanted = WantedEntry { kind: "Web".to_owned(), ..WantedEntry::default() };
/// let backup = NewProcedure { name: "backup".to_owned(), ..NewProcedure::default() };
/// let added = "  procedures:\n  - name: backup\n    job: procedures/backup.yaml\n";
/// let (before, end) = watches.split_at(watches.find("# the end").unwrap());
/// assert_eq!(add_procedure(watches, &find_entry(watches, &wanted)?, &backup)?, format!("{before}{added}{end}"));
/// # Ok::<(), steersman_project::layout::EntryError>(())
/// ```
///
/// # Errors
/// The name is taken, or the entry is written so that nothing can be put into it.
pub fn add_procedure(
    watches: &str,
    entry: &FoundEntry,
    procedure: &NewProcedure,
) -> Result<String, EntryError> {
    let file = steersman_yaml::parse(watches)?;
    let Some(node) = items(&file).get(entry.index) else {
        return Err(form(0, "the entry is gone"));
    };
    let known = node.get("procedures");
    for item in known.map_or(&[][..], items) {
        if item.get("name").and_then(Node::as_str) == Some(&procedure.name) {
            return Err(EntryError::Taken {
                name: procedure.name.clone(),
                kind: entry.kind.clone(),
                line: item.line,
            });
        }
    }
    let lines: Vec<&str> = watches.split_inclusive('\n').collect();
    let (place, indent, is_new) = place(&lines, node)?;
    let ending = if watches.contains("\r\n") { "\r\n" } else { "\n" };
    let mut added = String::new();
    if is_new {
        added.extend([indent.as_str(), "procedures:", ending]);
    }
    for (number, line) in procedure.lines().iter().enumerate() {
        let dash = if number == 0 { "- " } else { "  " };
        added.extend([indent.as_str(), dash, line, ending]);
    }
    let (before, after) = lines.split_at(place);
    let mut before = before.concat();
    if !before.ends_with('\n') {
        before.push_str(ending);
    }
    let text = format!("{before}{added}{}", after.concat());
    check(&file, &text, entry.index, &added, node.line)?;
    Ok(text)
}

/// Before which line the procedure comes, how far it is indented, and whether it is the first one.
fn place(lines: &[&str], entry: &Node) -> Result<(usize, String, bool), EntryError> {
    let is_list_item = head(lines, entry).is_some_and(|head| head.trim_matches([' ', '-']).is_empty());
    if !is_list_item || !starts_plain(lines, entry) {
        return Err(form(
            entry.line,
            "the entry is written in braces, or as an anchor or alias",
        ));
    }
    let column = |node: &Node| usize::try_from(node.column).unwrap_or_default().saturating_sub(1);
    let keys = column(entry);
    let Some(known) = entry.get("procedures") else {
        let end = end_of(lines, row(entry), |line, indent| {
            (indent < keys, !line.starts_with('#') || indent >= keys)
        });
        return Ok((end, " ".repeat(keys), true));
    };
    let Content::Sequence(_) = &known.value else {
        return Err(form(known.line, "`procedures` is there, and is no list"));
    };
    let is_block = lines
        .get(row(known))
        .and_then(|line| line.get(column(known)..))
        .is_some_and(is_item);
    let is_alone = head(lines, known).is_some_and(|head| head.trim_matches(' ').is_empty());
    if !is_block || !is_alone {
        return Err(form(
            known.line,
            "the list `procedures` is written in brackets, or as an anchor or alias",
        ));
    }
    let items = column(known);
    let end = end_of(lines, row(known), |line, indent| {
        let is_after = indent < items || (indent == items && !is_item(line));
        (is_after, !line.starts_with('#') || indent > items)
    });
    Ok((end, " ".repeat(items), false))
}

/// The line after the last one that belongs to what begins on the line `first`. Of a line with something in it `judge` says, by
/// its text and its indentation, whether it is beyond the end, unless it is a comment, and whether it belongs to what is before it.
fn end_of(lines: &[&str], first: usize, judge: impl Fn(&str, usize) -> (bool, bool)) -> usize {
    let mut end = first + 1;
    for (number, line) in lines.iter().enumerate().skip(first + 1) {
        let text = line.trim_start_matches(' ');
        if text.trim().is_empty() {
            continue;
        }
        let (is_beyond, belongs) = judge(text, line.len() - text.len());
        if is_beyond && !text.starts_with('#') {
            break;
        }
        if belongs {
            end = number + 1;
        }
    }
    end
}

/// What is before a node on its line.
fn head<'a>(lines: &[&'a str], node: &Node) -> Option<&'a str> {
    let column = usize::try_from(node.column).ok()?.checked_sub(1)?;
    lines.get(row(node))?.get(..column)
}

/// Whether what begins there is a map of lines.
fn starts_plain(lines: &[&str], node: &Node) -> bool {
    let column = usize::try_from(node.column).unwrap_or_default().saturating_sub(1);
    let text = lines.get(row(node)).and_then(|line| line.get(column..));
    text.is_some_and(|text| !text.starts_with(['{', '[', '&', '*', '!', '?']))
}

fn is_item(line: &str) -> bool {
    line.strip_prefix('-')
        .is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with(' '))
}

fn row(node: &Node) -> usize {
    usize::try_from(node.line).unwrap_or_default().saturating_sub(1)
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Content::Sequence(items) => items,
        _ => &[],
    }
}

fn form(line: u32, what: &'static str) -> EntryError {
    EntryError::Form { line, what }
}

/// Whether the new text is the old one with the procedure at the end of the entry's list.
fn check(old: &Node, new: &str, index: usize, added: &str, line: u32) -> Result<(), EntryError> {
    let mut expected = old.to_json()?;
    let item = steersman_yaml::to_json(added)?;
    // With its key where it is the first one.
    let item = item.get("procedures").unwrap_or(&item);
    let entry = expected.get_mut(index).and_then(Json::as_object_mut);
    let list = entry.map(|entry| {
        entry
            .entry("procedures")
            .or_insert_with(|| Json::Array(Vec::new()))
    });
    if let (Some(Json::Array(list)), Some(item)) = (list, item.as_array()) {
        list.extend(item.iter().cloned());
    }
    let is_it = steersman_yaml::to_json(new).is_ok_and(|new| new == expected);
    is_it.then_some(()).ok_or(form(
        line,
        "the entry is written so that nothing can be put at its end",
    ))
}

#[cfg(test)]
mod tests;
