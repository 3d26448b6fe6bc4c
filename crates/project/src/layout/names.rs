//! What names may be.

/// Checks the name of a project: a label of DNS, as namespaces begin with it.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_project_name(name: &str) -> Result<(), String> {
    // The longest name that is made of it is that of the metrics Service.
    const LONGEST: usize = 63 - "-controller-manager-metrics-service".len();
    if !is_label(name) {
        return Err(format!(
            "the project's name `{name}` has to consist of small letters, digits and `-`, and to begin and end with one of \
             the first two"
        ));
    }
    if name.len() > LONGEST {
        return Err(format!(
            "the project's name `{name}` is longer than {LONGEST} characters"
        ));
    }
    Ok(())
}

/// Checks the name of a procedure, which is that of a file, too.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_procedure_name(name: &str) -> Result<(), String> {
    if is_label(name) {
        return Ok(());
    }
    Err(format!(
        "the procedure's name `{name}` has to consist of at most 63 small letters, digits and `-`, and to begin and end with \
         one of the first two"
    ))
}

/// The name of a project that is called after its folder: in small letters, with `-` for what no name has. None where
/// nothing of it can be a name.
pub fn project_name_of(folder: &str) -> Option<String> {
    let name: String = folder
        .to_lowercase()
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .collect();
    let name = name.trim_matches('-');
    check_project_name(name).is_ok().then(|| name.to_owned())
}

/// Checks a domain.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_domain(domain: &str) -> Result<(), String> {
    if domain.len() <= 253 && !domain.is_empty() && domain.split('.').all(is_label) {
        return Ok(());
    }
    Err(format!("the domain `{domain}` is none, such as `example.com`"))
}

/// Checks a group, without its domain.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_group(group: &str) -> Result<(), String> {
    if group.is_empty() || (group.len() <= 253 && group.split('.').all(is_label)) {
        return Ok(());
    }
    Err(format!(
        "the group `{group}` has to consist of small letters, digits, `-` and `.`, such as `cache`"
    ))
}

/// Checks the version of a kind.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_version(version: &str) -> Result<(), String> {
    let is_version = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let has_number = digits.len() < rest.len();
        let stage = digits
            .strip_prefix("alpha")
            .or_else(|| digits.strip_prefix("beta"));
        let is_stage = |stage: &str| !stage.is_empty() && stage.bytes().all(|byte| byte.is_ascii_digit());
        Some(has_number && (digits.is_empty() || stage.is_some_and(is_stage)))
    };
    if is_version() == Some(true) {
        return Ok(());
    }
    Err(format!(
        "the version `{version}` is none, such as `v1`, `v1alpha1` or `v2beta3`"
    ))
}

/// Checks a kind.
///
/// # Errors
///
/// What is wrong with it.
pub fn check_kind(kind: &str) -> Result<(), String> {
    let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && kind.len() <= 63;
    if is_kind {
        return Ok(());
    }
    Err(format!(
        "the kind `{kind}` has to begin with a capital letter and to consist of letters and digits, such as `Memcached`"
    ))
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 63
        && text.bytes().next().is_some_and(is_inner)
        && text.bytes().last().is_some_and(is_inner)
        && text.bytes().all(|byte| is_inner(byte) || byte == b'-')
}

/// The kind that is called after a chart: `my-app` becomes `MyApp`.
///
/// ```
/// assert_eq!(steersman_project::layout::kind_of_chart("my-app"), "MyApp");
/// ```
pub fn kind_of_chart(chart: &str) -> String {
    let mut kind = String::new();
    let mut starts_word = true;
    for character in chart.chars() {
        if character.is_ascii_alphanumeric() {
            kind.push(if starts_word {
                character.to_ascii_uppercase()
            } else {
                character
            });
        }
        starts_word = !character.is_ascii_alphabetic();
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::{
        check_domain, check_group, check_kind, check_project_name, check_version, kind_of_chart,
        project_name_of,
    };

    #[test]
    fn kinds_are_called_after_charts() {
        for (chart, expect) in [
            ("memcached", "Memcached"),
            ("my-app", "MyApp"),
            ("kube_state.metrics", "KubeStateMetrics"),
            ("app2web", "App2Web"),
        ] {
            assert_eq!(kind_of_chart(chart), expect, "{chart}");
        }
    }

    #[test]
    fn projects_are_called_after_folders() {
        for (folder, expect) in [
            ("shop-operator", Some("shop-operator")),
            (".My_Shop 2", Some("my-shop-2")),
            ("...", None),
            ("é", None),
        ] {
            assert_eq!(project_name_of(folder).as_deref(), expect, "{folder}");
        }
    }

    #[test]
    fn names_are_those_of_kubernetes() {
        for version in ["v1", "v1alpha1", "v12beta3"] {
            check_version(version).unwrap();
        }
        for version in ["", "1", "v", "v1alpha", "v1gamma1", "V1"] {
            check_version(version).unwrap_err();
        }
        check_kind("VisitorsSite").unwrap();
        check_kind("visitors").unwrap_err();
        check_kind("A-b").unwrap_err();
        check_group("").unwrap();
        check_group("cache.sub").unwrap();
        check_group("Cache").unwrap_err();
        check_domain("example.com").unwrap();
        check_domain("").unwrap_err();
        check_project_name("my-operator").unwrap();
        check_project_name("My").unwrap_err();
        check_project_name(&"a".repeat(40)).unwrap_err();
    }
}
