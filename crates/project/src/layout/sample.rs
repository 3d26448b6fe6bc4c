//! The sample of a kind: a resource with the defaults of its chart or role.

use serde_json::Value;
use steersman_yaml::{Content as Yaml, Node, Style};

use super::{Api, Content};

/// The text of the sample. Comments among the defaults are kept where their lines can be those of the spec.
pub(super) fn sample(api: &Api<'_>) -> String {
    let kind = api.kind;
    let (text, source) = match api.content {
        Content::Chart { name, values } => (values, format!("helm-charts/{name}/values.yaml")),
        Content::Role { values } | Content::Playbook { values } => {
            (values, format!("roles/{}/defaults/main.yml", kind.singular()))
        }
        Content::Open => ("", String::new()),
    };
    let head = format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  name: {}-sample\n",
        kind.api_version(),
        kind.kind,
        kind.singular(),
    );
    let comment = format!("  # Default values copied from <project_dir>/{source}\n");
    let values = match steersman_yaml::to_json(text) {
        Ok(Value::Object(values)) if !values.is_empty() => Value::Object(values),
        _ if api.content.is_ansible() => return format!("{head}spec: {{}}\n"),
        _ => return format!("{head}spec: {{}}\n{comment}"),
    };
    let head = format!("{head}spec:\n{comment}");
    let with_comments = spelled_for_all(&format!("{head}{}", indented(text)));
    if readings(&with_comments).is_some_and(|samples| samples.iter().all(|sample| sample["spec"] == values)) {
        return with_comments;
    }
    let plain = steersman_yaml::marshal(&values, Style::V2).unwrap_or_default();
    format!("{head}{}", indented(&plain))
}

/// What `kubectl apply` takes a text for, and what kustomize does.
fn readings(text: &str) -> Option<[Value; 2]> {
    let kustomized = steersman_yaml::parse_documents_v3(text)
        .ok()?
        .into_iter()
        .next()?;
    Some([steersman_yaml::to_json(text).ok()?, kustomized.into_json().ok()?])
}

/// The text with `yes`, `off` and the like as `true` or `false`, and dates in quotes: kustomize takes the former for
/// texts and the latter for times, where Helm has booleans and texts.
fn spelled_for_all(text: &str) -> String {
    let (Ok(helm), Ok(kustomize)) = (
        steersman_yaml::parse(text),
        steersman_yaml::parse_documents_v3(text),
    ) else {
        return text.to_owned();
    };
    let mut respelled = Vec::new();
    if let Some(kustomize) = kustomize.first() {
        collect_respelled(&helm, kustomize, &mut respelled);
    }
    // What is aliased has one place.
    respelled.sort_unstable();
    respelled.dedup();
    let mut spelled = String::with_capacity(text.len());
    let mut rest = respelled.as_slice();
    for (number, line) in text.lines().enumerate() {
        let count = rest.iter().take_while(|place| place.line == number).count();
        let (here, below) = rest.split_at(count);
        respell(line, here, &mut spelled);
        spelled.push('\n');
        rest = below;
    }
    spelled
}

/// A scalar, its place counted from 0, and what Helm's reading of it says.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Respelled {
    line: usize,
    column: usize,
    meaning: String,
}

impl Respelled {
    fn new(node: &Node, meaning: String) -> Self {
        Self {
            line: node.line as usize - 1,
            column: node.column as usize - 1,
            meaning,
        }
    }
}

/// The scalars that the two readings differ in.
fn collect_respelled(helm: &Node, kustomize: &Node, respelled: &mut Vec<Respelled>) {
    match (&helm.value, &kustomize.value) {
        (Yaml::Mapping(ours), Yaml::Mapping(theirs)) => {
            for ((key, value), (their_key, their_value)) in ours.iter().zip(theirs) {
                collect_respelled(key, their_key, respelled);
                collect_respelled(value, their_value, respelled);
            }
        }
        (Yaml::Sequence(ours), Yaml::Sequence(theirs)) => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                collect_respelled(ours, theirs, respelled);
            }
        }
        (ours, theirs) if ours == theirs => {}
        (Yaml::Bool(value), _) => respelled.push(Respelled::new(helm, value.to_string())),
        (Yaml::String(text), _) => respelled.push(Respelled::new(helm, text.clone())),
        _ => {}
    }
}

/// Writes a line with the meaning of plain scalars in their places: a boolean's word for another, or its own text with
/// quotes.
fn respell(line: &str, places: &[Respelled], spelled: &mut String) {
    let mut characters = line.char_indices();
    let (mut passed, mut written) = (0, 0);
    for Respelled { column, meaning, .. } in places {
        let Some((mut start, _)) = characters.nth(column - passed) else {
            break;
        };
        passed = column + 1;
        // A place is that of the anchor, where there is one.
        if line[start..].starts_with('&') {
            let anchor = line[start..].find(' ').unwrap_or_default();
            let spaces = line[start + anchor..].bytes().take_while(|byte| *byte == b' ');
            start += anchor + spaces.count();
        }
        let rest = &line[start..];
        spelled.push_str(line.get(written..start).unwrap_or_default());
        if rest.starts_with(meaning) {
            spelled.extend(["\"", meaning, "\""]);
            written = start + meaning.len();
        } else {
            spelled.push_str(meaning);
            written = start + rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        }
    }
    spelled.push_str(&line[written..]);
}

/// Lines that are indented by two more spaces; empty ones stay empty.
fn indented(text: &str) -> String {
    let mut indented = String::new();
    for line in text.trim_end().lines() {
        if !line.trim().is_empty() {
            indented.push_str("  ");
            indented.push_str(line.trim_end());
        }
        indented.push('\n');
    }
    indented
}

#[cfg(test)]
mod tests {
    use super::sample;
    use crate::CustomKind;
    use crate::layout::{Api, Content};

    fn sample_with(content: Content<'_>) -> String {
        let kind = CustomKind::new("cache.example.com", "v1", "Memcached");
        sample(&Api {
            kind: &kind,
            group: "cache",
            content,
            definition: "",
            rules: "",
        })
    }

    fn sample_of(values: &str) -> String {
        let name = "memcached";
        sample_with(Content::Chart { name, values })
    }

    const HEAD: &str =
        "apiVersion: cache.example.com/v1\nkind: Memcached\nmetadata:\n  name: memcached-sample\n";
    const COMMENT: &str = "  # Default values copied from <project_dir>/helm-charts/memcached/values.yaml\n";

    #[test]
    fn comments_are_kept() {
        assert_eq!(
            sample_of("# -- how many\nreplicas: 3\n\ntext: |\n  two\n\n  lines\n"),
            format!(
                "{HEAD}spec:\n{COMMENT}  # -- how many\n  replicas: 3\n\n  text: |\n    two\n\n    lines\n"
            )
        );
    }

    #[test]
    fn values_that_cannot_be_indented_are_written_anew() {
        assert_eq!(
            sample_of("---\n# gone\nb: 2\na: \"1\"\n"),
            format!("{HEAD}spec:\n{COMMENT}  a: \"1\"\n  b: 2\n")
        );
    }

    #[test]
    fn kustomize_reads_them_as_kubectl_does() {
        assert_eq!(
            sample_of(
                "# yes, really\nenabled: yes # or no\nanchor: &a off\nagain: *a\nlist: [no, ON, \"yes\"]\n\
                 since: 2001-01-02 # 2001\nplain: true\ny: 1\n"
            ),
            format!(
                "{HEAD}spec:\n{COMMENT}  # yes, really\n  enabled: true # or no\n  anchor: &a false\n  again: *a\n  \
                 list: [false, true, \"yes\"]\n  since: \"2001-01-02\" # 2001\n  plain: true\n  true: 1\n"
            )
        );
    }

    #[test]
    fn charts_without_values_have_an_empty_spec() {
        assert_eq!(sample_of("# nothing\n"), format!("{HEAD}spec: {{}}\n{COMMENT}"));
    }

    #[test]
    fn samples_of_roles_have_what_the_role_takes() {
        assert_eq!(
            sample_with(Content::Role {
                values: "# how many\nsize: 1\n"
            }),
            format!(
                "{HEAD}spec:\n  # Default values copied from <project_dir>/roles/memcached/defaults/main.yml\n  # how \
                 many\n  size: 1\n"
            )
        );
        for content in [
            Content::Playbook {
                values: "---\n# nothing\n",
            },
            Content::Open,
        ] {
            assert_eq!(sample_with(content), format!("{HEAD}spec: {{}}\n"));
        }
    }
}
