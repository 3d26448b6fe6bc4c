//! The base of a `ClusterServiceVersion`: what people say about an operator, and may edit.

use serde_json::{Value, json};
use steersman_chart::Metadata;

use super::value::display_name;

/// Since this version the API server offers all that the operator uses: aggregated discovery came last, which servers have
/// without a feature gate since then. The operator's kinds are read in that form alone.
const OLDEST_KUBERNETES: &str = "1.27.0";

/// What a chart says about itself that an operator of it can say, too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartFacts {
    /// One sentence: `description` of `Chart.yaml`.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Names and addresses of those who keep it.
    pub maintainers: Vec<(String, String)>,
    /// Pages about it, with what they are.
    pub links: Vec<(String, String)>,
    /// A picture inside of the chart: media type and base64.
    pub icon: Option<(String, String)>,
    /// The oldest version of Kubernetes that it supports.
    pub oldest_kubernetes: Option<String>,
}

/// How much of the life of what it runs an operator takes care of, in the words of the Operator Lifecycle Manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CapabilityLevel {
    /// It installs, and changes what is installed.
    #[default]
    BasicInstall,
    /// Besides, what is done with it then: backups, restores, changes of its size.
    FullLifecycle,
}

impl CapabilityLevel {
    /// That of an operator with these entries of watches.yaml: the last one where each of them has procedures.
    pub fn of(entries: &[Value]) -> Self {
        let has_procedures = |entry: &Value| {
            let procedures = entry.get("procedures").and_then(Value::as_array);
            procedures.is_some_and(|procedures| !procedures.is_empty())
        };
        if !entries.is_empty() && entries.iter().all(has_procedures) {
            Self::FullLifecycle
        } else {
            Self::BasicInstall
        }
    }

    /// As it stands in the annotation `capabilities`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BasicInstall => "Basic Install",
            Self::FullLifecycle => "Full Lifecycle",
        }
    }
}

impl From<&Metadata> for ChartFacts {
    fn from(metadata: &Metadata) -> Self {
        let is_page = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
        let home = Some(&metadata.home).filter(is_page);
        let sources = metadata.sources.iter().filter(is_page);
        Self {
            description: metadata.description.trim().to_owned(),
            keywords: metadata.keywords.clone(),
            maintainers: metadata
                .maintainers
                .iter()
                .filter(|maintainer| !maintainer.name.is_empty() && maintainer.email.contains('@'))
                .map(|maintainer| (maintainer.name.clone(), maintainer.email.clone()))
                .collect(),
            links: home
                .map(|url| ("Home".to_owned(), url.clone()))
                .into_iter()
                .chain(sources.map(|url| ("Source".to_owned(), url.clone())))
                .collect(),
            icon: embedded_icon(&metadata.icon),
            oldest_kubernetes: lower_bound(&metadata.kube_version),
        }
    }
}

/// A base for a package that has none: complete but for what only its keepers know, with the fields that operator-sdk
/// writes. Modes are left out, as they follow from the Deployment; what is written here restricts them.
pub fn base(package: &str, charts: &[ChartFacts], level: CapabilityLevel) -> Value {
    let name = display_name(package);
    let mut spec = json!({
        "apiservicedefinitions": {},
        "customresourcedefinitions": {},
        "description": description(&name, charts),
        "displayName": name,
        "keywords": keywords(package, charts),
        "maturity": "alpha",
        "minKubeVersion": oldest_kubernetes(charts),
        "provider": {"name": provider(&name, charts)},
        "version": "0.0.0",
    });
    let links: Vec<Value> = distinct(charts.iter().flat_map(|chart| &chart.links))
        .map(|(name, url)| json!({"name": name, "url": url}))
        .collect();
    let maintainers: Vec<Value> = distinct(charts.iter().flat_map(|chart| &chart.maintainers))
        .map(|(name, email)| json!({"name": name, "email": email}))
        .collect();
    let icon = charts.iter().find_map(|chart| chart.icon.as_ref());
    if !links.is_empty() {
        spec["links"] = links.into();
    }
    if !maintainers.is_empty() {
        spec["maintainers"] = maintainers.into();
    }
    if let Some((media_type, content)) = icon {
        spec["icon"] = json!([{"base64data": content, "mediatype": media_type}]);
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "annotations": {"alm-examples": "[]", "capabilities": level.as_str()},
            "name": format!("{package}.v0.0.0"),
            "namespace": "placeholder",
        },
        "spec": spec,
    })
}

fn description(name: &str, charts: &[ChartFacts]) -> String {
    let texts: Vec<&str> = charts
        .iter()
        .map(|chart| chart.description.as_str())
        .filter(|text| !text.is_empty())
        .collect();
    match texts.as_slice() {
        [] => format!("{name} description. TODO."),
        [only] => (*only).to_owned(),
        several => several
            .iter()
            .map(|text| format!("- {text}"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn keywords(package: &str, charts: &[ChartFacts]) -> Vec<String> {
    let found: Vec<String> = distinct(charts.iter().flat_map(|chart| &chart.keywords))
        .filter(|word| !word.is_empty())
        .cloned()
        .collect();
    if found.is_empty() {
        vec![package.to_owned()]
    } else {
        found
    }
}

fn provider(name: &str, charts: &[ChartFacts]) -> String {
    let mut maintainers = charts.iter().flat_map(|chart| &chart.maintainers);
    maintainers
        .next()
        .map_or_else(|| name.to_owned(), |(name, _)| name.clone())
}

fn oldest_kubernetes(charts: &[ChartFacts]) -> String {
    let bounds = charts
        .iter()
        .filter_map(|chart| chart.oldest_kubernetes.as_deref());
    let versions = bounds
        .chain([OLDEST_KUBERNETES])
        .filter_map(|text| semver::Version::parse(text).ok());
    versions
        .max()
        .map_or_else(|| OLDEST_KUBERNETES.to_owned(), |version| version.to_string())
}

fn distinct<'a, T: PartialEq + 'a>(items: impl Iterator<Item = &'a T>) -> impl Iterator<Item = &'a T> {
    let mut found: Vec<&T> = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found.into_iter()
}

/// The picture of a `data:` URL. One that has to be fetched can't be embedded.
fn embedded_icon(icon: &str) -> Option<(String, String)> {
    let (media_type, content) = icon.strip_prefix("data:")?.split_once(";base64,")?;
    media_type
        .starts_with("image/")
        .then(|| (media_type.to_owned(), content.to_owned()))
}

/// The version after the first `>=` of a constraint such as `>=1.25.0-0 <2`, filled up to three numbers.
fn lower_bound(constraint: &str) -> Option<String> {
    let after = constraint
        .split_once(">=")?
        .1
        .trim_start()
        .trim_start_matches('v');
    let end = after
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(after.len());
    let mut parts: Vec<&str> = after[..end].split('.').collect();
    while parts.len() < 3 {
        parts.push("0");
    }
    let text = parts.join(".");
    semver::Version::parse(&text).ok().map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::{CapabilityLevel, ChartFacts, base, lower_bound};
    use serde_json::json;
    use steersman_chart::{Maintainer, Metadata};

    #[test]
    fn the_oldest_kubernetes_is_read_from_a_constraint() {
        for (constraint, expect) in [
            (">=1.25.0-0", Some("1.25.0")),
            (">= 1.24", Some("1.24.0")),
            (">=v1.30.1 <2.0.0", Some("1.30.1")),
            ("^1.20", None),
            ("", None),
            (">=", None),
        ] {
            assert_eq!(lower_bound(constraint).as_deref(), expect, "{constraint}");
        }
    }

    #[test]
    fn no_chart_lowers_what_the_operator_needs() {
        let oldest = |versions: &[&str]| {
            let facts: Vec<ChartFacts> = versions
                .iter()
                .map(|version| ChartFacts {
                    oldest_kubernetes: Some((*version).to_owned()),
                    ..ChartFacts::default()
                })
                .collect();
            base("a", &facts, CapabilityLevel::default())["spec"]["minKubeVersion"].clone()
        };
        assert_eq!(oldest(&[]), "1.27.0");
        assert_eq!(oldest(&["1.19.0"]), "1.27.0");
        assert_eq!(oldest(&["1.30.0", "1.29.1"]), "1.30.0");
    }

    #[test]
    fn what_the_chart_says_is_in_the_base() {
        let maintainer = |name: &str, email: &str| Maintainer {
            name: name.to_owned(),
            email: email.to_owned(),
            url: String::new(),
        };
        let metadata = Metadata {
            home: "https://example.com".to_owned(),
            sources: vec![
                "git@example.com:x".to_owned(),
                "https://example.com/src".to_owned(),
            ],
            description: "A cache".to_owned(),
            keywords: vec!["cache".to_owned()],
            maintainers: vec![maintainer("nobody", ""), maintainer("Ada", "ada@example.com")],
            icon: "data:image/png;base64,AAAA".to_owned(),
            kube_version: ">=1.28".to_owned(),
            ..Metadata::default()
        };
        let entries = [
            json!({"kind": "Cache", "procedures": [{"name": "backup"}]}),
            json!({"kind": "Other"}),
        ];
        let level = CapabilityLevel::of(&entries);
        let base = base("my-cache", &[ChartFacts::from(&metadata)], level);
        assert_eq!(base["metadata"]["annotations"]["capabilities"], "Basic Install");
        let spec = &base["spec"];
        assert_eq!(base["metadata"]["name"], "my-cache.v0.0.0");
        assert_eq!(spec["displayName"], "My Cache");
        assert_eq!(spec["description"], "A cache");
        assert_eq!(spec["minKubeVersion"], "1.28.0");
        assert_eq!(spec["provider"]["name"], "Ada");
        assert_eq!(spec["maintainers"].as_array().map(Vec::len), Some(1));
        assert_eq!(spec["links"].as_array().map(Vec::len), Some(2));
        assert_eq!(spec["icon"][0]["mediatype"], "image/png");
    }
}
