//! Changes of a `kustomization.yaml` that leave the rest of its text alone.

use crate::transform::split_reference;
use steersman_yaml::{Content, Node};

/// Why a kustomization could not be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is not YAML.
    #[error("the kustomization is not YAML")]
    Yaml(#[source] steersman_yaml::Error),
    /// The images are written in a way that cannot be edited line by line.
    #[error("`images` cannot be edited: {0}")]
    Form(&'static str),
}

/// Sets the image that stands for `name`, as `kustomize edit set image NAME=REFERENCE` does: the entry of that name
/// under `images` is written anew, or added. Comments and all other lines stay as they are.
///
/// ```
/// let text = "resources:\n- manager.yaml # ours\n";
/// let edited = steersman_kustomize::set_image(text, "controller", "example.com/app:v1")?;
/// assert_eq!(
///     edited,
///     "resources:\n- manager.yaml # ours\nimages:\n- name: controller\n  newName: example.com/app\n  newTag: v1\n"
/// );
/// # Ok::<(), steersman_kustomize::EditError>(())
/// ```
///
/// # Errors
///
/// The text is not YAML, or `images` is not a list of maps in lines of their own.
pub fn set_image(text: &str, name: &str, reference: &str) -> Result<String, EditError> {
    let node = steersman_yaml::parse(text).map_err(EditError::Yaml)?;
    let entry = entry(name, reference);
    let Some(images) = node.get("images") else {
        let mut edited = text.to_owned();
        if !edited.is_empty() && !edited.ends_with('\n') {
            edited.push('\n');
        }
        edited.push_str("images:\n");
        push_entry(&mut edited, 0, &entry);
        return Ok(edited);
    };
    let Content::Sequence(items) = &images.value else {
        return Err(EditError::Form("it is no list"));
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(first) = items.first() else {
        return replace_empty(&lines, images, &entry);
    };
    let is_block = lines
        .get(first.line as usize - 1)
        .is_some_and(|line| line.trim_start().starts_with("- "));
    if !is_block {
        return Err(EditError::Form("its entries do not stand in lines of their own"));
    }
    let dash = first.column as usize - 3;
    let found = items
        .iter()
        .position(|item| item.get("name").and_then(Node::as_str) == Some(name));
    let (start, end) = if let Some(index) = found {
        let start = items[index].line as usize - 1;
        let limit = items
            .get(index + 1)
            .map_or(lines.len(), |next| next.line as usize - 1);
        (start, end_of_entry(&lines, start, limit, dash))
    } else {
        let last = items.last().unwrap_or(first).line as usize - 1;
        let end = end_of_entry(&lines, last, lines.len(), dash);
        (end, end)
    };
    let mut edited: String = lines[..start].concat();
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    push_entry(&mut edited, dash, &entry);
    edited.push_str(&lines[end..].concat());
    Ok(edited)
}

/// The fields of an entry.
fn entry(name: &str, reference: &str) -> Vec<(&'static str, String)> {
    let (new_name, tag, digest) = split_reference(reference);
    let mut fields = vec![("name", name.to_owned()), ("newName", new_name.to_owned())];
    if !digest.is_empty() {
        fields.insert(0, ("digest", digest.to_owned()));
    }
    if !tag.is_empty() {
        fields.push(("newTag", tag.to_owned()));
    }
    fields
}

fn push_entry(text: &mut String, indent: usize, entry: &[(&str, String)]) {
    for (index, (key, value)) in entry.iter().enumerate() {
        let value = steersman_yaml::to_string(&serde_json::Value::from(value.as_str()));
        text.push_str(&" ".repeat(indent));
        text.push_str(if index == 0 { "- " } else { "  " });
        text.push_str(key);
        text.push_str(": ");
        text.push_str(value.trim_end());
        text.push('\n');
    }
}

/// The line after an entry: its fields are indented deeper than its dash.
fn end_of_entry(lines: &[&str], start: usize, limit: usize, dash: usize) -> usize {
    let is_part = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        !line.trim().is_empty() && indent > dash
    };
    let fields = lines[start + 1..limit]
        .iter()
        .take_while(|line| is_part(line))
        .count();
    start + 1 + fields
}

fn replace_empty(lines: &[&str], images: &Node, entry: &[(&str, String)]) -> Result<String, EditError> {
    let line = images.line as usize - 1;
    let is_empty_list = |text: &str| text.split('#').next().unwrap_or_default().trim() == "images: []";
    if !lines.get(line).is_some_and(|text| is_empty_list(text)) {
        return Err(EditError::Form(
            "it is an empty list that is not written as `images: []`",
        ));
    }
    let mut edited: String = lines[..line].concat();
    edited.push_str("images:\n");
    push_entry(&mut edited, 0, entry);
    edited.push_str(&lines[line + 1..].concat());
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::set_image;

    #[test]
    fn an_entry_is_replaced_and_everything_else_stays() {
        let text = "# ours\nresources:\n- manager.yaml\nimages: # of the operator\n- name: other\n  newTag: v1\n\
                    # the operator\n- name: controller\n  newName: example.com/old\n  digest: sha256:00\n\n# end\n";
        assert_eq!(
            set_image(text, "controller", "localhost:5000/new:v2").unwrap(),
            "# ours\nresources:\n- manager.yaml\nimages: # of the operator\n- name: other\n  newTag: v1\n\
             # the operator\n- name: controller\n  newName: localhost:5000/new\n  newTag: v2\n\n# end\n"
        );
    }

    #[test]
    fn an_entry_is_added_after_the_others() {
        let text = "images:\n  - name: other\n    newTag: v1\nnamespace: x\n";
        assert_eq!(
            set_image(text, "controller", "a/b@sha256:00").unwrap(),
            "images:\n  - name: other\n    newTag: v1\n  - digest: sha256:00\n    name: controller\n    newName: a/b\n\
             namespace: x\n"
        );
    }

    #[test]
    fn tags_that_look_like_numbers_are_quoted() {
        assert_eq!(
            set_image("images: []\n", "controller", "a:1.10").unwrap(),
            "images:\n- name: controller\n  newName: a\n  newTag: \"1.10\"\n"
        );
    }

    #[test]
    fn other_forms_are_refused() {
        set_image("images: [{name: controller}]\n", "controller", "a:b").unwrap_err();
    }
}
