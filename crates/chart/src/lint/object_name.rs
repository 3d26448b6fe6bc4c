//! How objects of Kubernetes may be called.

use std::sync::LazyLock;

use regex::Regex;
use steersman_gotemplate::Value;
use steersman_gotemplate::format::sprintf;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";

/// Whether an object of this kind may have this name.
///
/// # Errors
/// It may not; the text is that of Kubernetes' own validation.
pub(super) fn check(kind: &str, name: &str) -> Result<(), String> {
    let problems = match kind.to_lowercase().as_str() {
        "service" => old_label(name),
        "namespace" => label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => subdomain(name),
    };
    if problems.is_empty() {
        return Ok(());
    }
    let quoted = sprintf(b"%q", &[Value::string(name)]);
    let mut texts: Vec<String> = Vec::new();
    for problem in problems {
        texts.push(format!("metadata.name: Invalid value: {quoted}: {problem}"));
    }
    let text = match texts.as_slice() {
        [text] => text.clone(),
        texts => format!("[{}]", texts.join(", ")),
    };
    Err(format!(
        "object name does not conform to Kubernetes naming requirements: {quoted}: {text}"
    ))
}

fn subdomain(name: &str) -> Vec<String> {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!("^{LABEL}(\\.{LABEL})*$")).ok());
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                start and end with an alphanumeric character";
    let form = format!("{LABEL}(\\.{LABEL})*");
    problems(name, 253, FORM.as_ref(), rule, &form, &["example.com"])
}

fn label(name: &str) -> Vec<String> {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^{LABEL}$")).ok());
    static DOTTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!("^{LABEL}(\\.{LABEL})*$")).ok());
    let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                end with an alphanumeric character";
    let mut problems = problems(name, 63, FORM.as_ref(), rule, LABEL, &["my-name", "123-abc"]);
    if DOTTED.as_ref().is_some_and(|form| form.is_match(name))
        && let Some(problem) = problems.iter_mut().find(|problem| problem.starts_with(rule))
    {
        "must not contain dots".clone_into(problem);
    }
    problems
}

fn old_label(name: &str) -> Vec<String> {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("^{OLD_LABEL}$")).ok());
    let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                character, and end with an alphanumeric character";
    problems(name, 63, FORM.as_ref(), rule, OLD_LABEL, &["my-name", "abc-123"])
}

fn problems(
    name: &str,
    length: usize,
    form: Option<&Regex>,
    rule: &str,
    shown: &str,
    examples: &[&str],
) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > length {
        problems.push(format!("must be no more than {length} bytes"));
    }
    if !form.is_some_and(|form| form.is_match(name)) {
        let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
        let examples = examples.join(" or ");
        problems.push(format!(
            "{rule} (e.g. {examples}regex used for validation is '{shown}')"
        ));
    }
    problems
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|part| name.contains(part));
    forbidden
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}
