//! Entries of a kind in the files that all kinds share, at the markers that operator-sdk looks for.

use super::templates::role_files;
use super::{Api, Content, Files, Plugin, Project, ProjectFile, ProjectFileError, Resource, ansible};
use crate::CustomKind;
use crate::rbac::write::base_block;

/// The files that a kind is entered into.
pub const SHARED: &[&str] = &[
    "PROJECT",
    "config/crd/kustomization.yaml",
    "config/default/kustomization.yaml",
    "config/rbac/kustomization.yaml",
    ROLE,
    "config/samples/kustomization.yaml",
    "watches.yaml",
];

const ROLE: &str = "config/rbac/role.yaml";
const RULES_MARKER: &str = "# +kubebuilder:scaffold:rules";

/// Why a kind cannot be entered.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A file is missing.
    #[error("the project has no `{0}`")]
    Missing(String),
    /// The place where entries go is not marked.
    #[error("`{path}` has no line `{marker}`")]
    Marker {
        /// The one of the [`SHARED`] files that lacks the line.
        path: &'static str,
        /// The line after the entries.
        marker: &'static str,
    },
    /// `PROJECT` cannot be used.
    #[error(transparent)]
    Project(#[from] ProjectFileError),
}

impl LayoutError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing(_) => "`steersman init` in a new folder writes all files; copy it from there",
            Self::Marker { .. } => "new entries go above that line: write it where they should be",
            Self::Project(_) => "run the command in the folder of a project that `steersman init` has made",
        }
    }
}

/// Enters a kind into the shared files, whose texts `files` has.
///
/// # Errors
///
/// A file or the marker in it is missing.
pub fn register(files: &mut Files, project: &Project, api: &Api<'_>) -> Result<(), LayoutError> {
    let kind = api.kind;
    let mut project_file = ProjectFile::parse(text(files, "PROJECT")?)?;
    let plugin = project_file.plugin();
    project_file.add(&Resource {
        group: api.group.to_owned(),
        domain: project.domain.clone(),
        version: kind.version.clone(),
        kind: kind.kind.clone(),
        plural: kind.irregular_plural().map(str::to_owned),
    });
    files.insert("PROJECT".to_owned(), project_file.to_text());

    insert(
        files,
        "watches.yaml",
        "# +kubebuilder:scaffold:watch",
        &watch(api),
    )?;
    insert(
        files,
        "config/crd/kustomization.yaml",
        "# +kubebuilder:scaffold:crdkustomizeresource",
        &format!("- bases/{}\n", api.definition_file()),
    )?;
    insert(
        files,
        "config/samples/kustomization.yaml",
        "# +kubebuilder:scaffold:manifestskustomizesamples",
        &format!("- {}\n", api.sample_file()),
    )?;
    if plugin == Plugin::Ansible && !api.content.is_ansible() {
        // Runs need less, so a project of Ansible has not got them.
        let heading = "## Rules for releases of charts\n";
        let rules = base_block().replacen("## Base operator rules\n", heading, 1);
        insert(files, ROLE, RULES_MARKER, &format!("{}\n\n", rules.trim_end()))?;
    }
    insert(
        files,
        ROLE,
        RULES_MARKER,
        &format!("{}\n\n", api.rules.trim_end()),
    )?;
    append_roles(files, kind)?;
    uncomment_definitions(files)
}

/// The entry of watches.yaml, with its fields in the order of the plugin.
fn watch(api: &Api<'_>) -> String {
    let kind = api.kind;
    let (group, version, name) = (&kind.group, &kind.version, &kind.kind);
    let content = match api.content {
        Content::Chart { name: chart, .. } => {
            return format!(
                "- group: {group}\n  version: {version}\n  kind: {name}\n  chart: helm-charts/{chart}\n"
            );
        }
        Content::Role { .. } => format!("role: {}", kind.singular()),
        Content::Playbook { .. } => format!("playbook: {}", ansible::playbook_path(kind)),
        Content::Open => {
            "# FIXME: name the role or the playbook of this kind, as in `role: NAME`.".to_owned()
        }
    };
    format!("- version: {version}\n  group: {group}\n  kind: {name}\n  {content}\n")
}

fn text<'a>(files: &'a Files, path: &str) -> Result<&'a str, LayoutError> {
    files
        .get(path)
        .map(String::as_str)
        .ok_or_else(|| LayoutError::Missing(path.to_owned()))
}

/// Puts an entry above a marker, unless it is there.
pub(super) fn insert(
    files: &mut Files,
    path: &'static str,
    marker: &'static str,
    entry: &str,
) -> Result<(), LayoutError> {
    let old = text(files, path)?;
    if old.contains(entry) {
        return Ok(());
    }
    let mut new = String::new();
    let mut is_found = false;
    for line in old.split_inclusive('\n') {
        // kubebuilder writes its markers with and without a space.
        if !is_found && line.trim().replacen("#+", "# +", 1) == marker {
            is_found = true;
            new.push_str(entry);
        }
        new.push_str(line);
    }
    if !is_found {
        return Err(LayoutError::Marker { path, marker });
    }
    files.insert(path.to_owned(), new);
    Ok(())
}

/// Names the roles for people at the end of their kustomization.
pub(super) fn append_roles(files: &mut Files, kind: &CustomKind) -> Result<(), LayoutError> {
    const PATH: &str = "config/rbac/kustomization.yaml";
    let mut new = text(files, PATH)?.trim_end().to_owned();
    new.push('\n');
    for file in role_files(kind) {
        let entry = format!("- {file}\n");
        if !new.contains(&entry) {
            new.push_str(&entry);
        }
    }
    files.insert(PATH.to_owned(), new);
    Ok(())
}

/// Includes the definitions, which a project without kinds has commented out: the folder is empty there.
fn uncomment_definitions(files: &mut Files) -> Result<(), LayoutError> {
    const PATH: &str = "config/default/kustomization.yaml";
    let new = text(files, PATH)?.replace("\n#- ../crd\n", "\n- ../crd\n");
    files.insert(PATH.to_owned(), new);
    Ok(())
}

/// The comment above the rules of a kind.
fn heading(kind: &CustomKind) -> String {
    format!(
        "##\n## Rules for {}, Kind: {}\n##\n",
        kind.api_version(),
        kind.kind
    )
}

/// The rules of a kind in the text of the operator's role: where they start and end.
fn range(role: &str, kind: &CustomKind) -> Option<std::ops::Range<usize>> {
    let heading = heading(kind);
    let start = role.find(&heading)?;
    let rest = &role[start + heading.len()..];
    let end = [
        "\n##\n## Rules for ",
        "\n# +kubebuilder:scaffold:rules",
        "\n#+kubebuilder:scaffold:rules",
    ]
    .iter()
    .filter_map(|end| rest.find(end))
    .min()
    .map_or(rest.len(), |end| end + 1);
    Some(start..start + heading.len() + end)
}

/// The rules of a kind in the text of `config/rbac/role.yaml` with the heading above them, if that is there.
#[must_use]
pub fn rules_of<'a>(role: &'a str, kind: &CustomKind) -> Option<&'a str> {
    Some(role[range(role, kind)?].trim_end_matches('\n'))
}

/// The text of `config/rbac/role.yaml` with other rules for a kind, if its heading is there.
#[must_use]
pub fn replace_rules(role: &str, kind: &CustomKind, new: &str) -> Option<String> {
    let range = range(role, kind)?;
    let gap = if role[range.clone()].ends_with("\n\n") {
        "\n"
    } else {
        ""
    };
    Some(format!(
        "{}{}\n{gap}{}",
        &role[..range.start],
        new.trim_end(),
        &role[range.end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::{LayoutError, register, replace_rules, rules_of};
    use crate::CustomKind;
    use crate::layout::{Api, Content, Plugin, Project, api_files, new_project};

    fn project() -> Project {
        Project {
            name: "shop-operator".to_owned(),
            domain: "example.com".to_owned(),
        }
    }

    fn api<'a>(kind: &'a CustomKind, chart: &'a str) -> Api<'a> {
        Api {
            kind,
            group: "shop",
            content: Content::Chart {
                name: chart,
                values: "a: b\n",
            },
            definition: "kind: CustomResourceDefinition\n",
            rules: match kind.kind.as_str() {
                "Web" => "##\n## Rules for shop.example.com/v1, Kind: Web\n##\n- apiGroups: [apps]\n",
                _ => "##\n## Rules for shop.example.com/v1, Kind: Store\n##\n- apiGroups: [apps]\n",
            },
        }
    }

    #[test]
    fn kinds_are_entered_one_after_the_other() {
        let mut files = new_project(&project(), Plugin::Helm, "- apiGroups: [base]\n");
        let web = CustomKind::new("shop.example.com", "v1", "Web");
        let store = CustomKind::new("shop.example.com", "v1", "Store");
        register(&mut files, &project(), &api(&web, "web")).unwrap();
        register(&mut files, &project(), &api(&store, "store")).unwrap();
        assert_eq!(
            files["watches.yaml"],
            "# yaml-language-server: $schema=.steersman/watches.schema.json\n# Use the 'create api' subcommand to add watches to this file.\n- group: shop.example.com\n  version: v1\n  \
             kind: Web\n  chart: helm-charts/web\n- group: shop.example.com\n  version: v1\n  kind: Store\n  chart: \
             helm-charts/store\n# +kubebuilder:scaffold:watch\n"
        );
        assert!(files["config/default/kustomization.yaml"].contains("\n- ../crd\n"));
        assert!(files["config/crd/kustomization.yaml"].ends_with(
            "- bases/shop.example.com_webs.yaml\n- bases/shop.example.com_stores.yaml\n# \
                            +kubebuilder:scaffold:crdkustomizeresource\n"
        ));
        let role = &files["config/rbac/role.yaml"];
        assert_eq!(rules_of(role, &web), Some(api(&web, "web").rules.trim_end()));
        let other = "##\n## Rules for shop.example.com/v1, Kind: Web\n##\n- apiGroups: [batch]";
        let changed = replace_rules(role, &web, other).unwrap();
        assert_eq!(rules_of(&changed, &web), Some(other));
        assert_eq!(
            rules_of(&changed, &store),
            Some(api(&store, "store").rules.trim_end())
        );
        assert_eq!(
            replace_rules(&changed, &web, api(&web, "web").rules).as_ref(),
            Some(role)
        );
        let own = api_files(&project(), &api(&web, "web"));
        assert_eq!(
            own.keys().collect::<Vec<_>>(),
            [
                "config/crd/bases/shop.example.com_webs.yaml",
                "config/rbac/web_admin_role.yaml",
                "config/rbac/web_editor_role.yaml",
                "config/rbac/web_viewer_role.yaml",
                "config/samples/shop_v1_web.yaml",
            ]
        );
    }

    #[test]
    fn a_missing_marker_is_named() {
        let mut files = new_project(&project(), Plugin::Helm, "");
        files.insert("watches.yaml".to_owned(), "# mine\n".to_owned());
        let kind = CustomKind::new("shop.example.com", "v1", "Web");
        let error = register(&mut files, &project(), &api(&kind, "web")).unwrap_err();
        assert!(matches!(
            error,
            LayoutError::Marker {
                path: "watches.yaml",
                ..
            }
        ));
    }

    #[test]
    fn kinds_of_both_plugins_stand_side_by_side() {
        let (web, store) = (
            CustomKind::new("shop.example.com", "v1", "Web"),
            CustomKind::new("shop.example.com", "v1", "Store"),
        );
        let of_role = Api {
            content: Content::Role { values: "a: b\n" },
            ..api(&store, "")
        };
        for plugin in Plugin::ALL {
            let mut files = new_project(&project(), plugin, "- apiGroups: [base]\n");
            register(&mut files, &project(), &api(&web, "web")).unwrap();
            register(&mut files, &project(), &of_role).unwrap();
            let entries = steersman_yaml::to_json(&files["watches.yaml"]).unwrap();
            assert_eq!(entries[0]["chart"], "helm-charts/web");
            assert_eq!(entries[1]["role"], "store");
            // Releases have Secrets; a project of charts has a rule for them from the start.
            let role = &files["config/rbac/role.yaml"];
            let is_added = role.contains("## Rules for releases of charts\n");
            assert_eq!(is_added, plugin == Plugin::Ansible, "{role}");
            let block = rules_of(role, &store).unwrap();
            assert!(role.contains("# +kubebuilder:scaffold:rules") && !block.contains("+kubebuilder"));
        }
    }

    #[test]
    fn what_is_open_is_said_in_the_entry() {
        let kind = CustomKind::new("shop.example.com", "v1", "Web");
        let mut files = new_project(&project(), Plugin::Ansible, "");
        let entry = |files: &crate::layout::Files| files["watches.yaml"].clone();
        let open = Api {
            content: Content::Open,
            ..api(&kind, "")
        };
        register(&mut files, &project(), &open).unwrap();
        assert_eq!(
            entry(&files),
            "---\n# yaml-language-server: $schema=.steersman/watches.schema.json\n# Use the 'create api' subcommand to add watches to this file.\n- version: v1\n  group: \
             shop.example.com\n  kind: Web\n  # FIXME: name the role or the playbook of this kind, as in `role: NAME`.\n# \
             +kubebuilder:scaffold:watch\n"
        );
        let playbook = Api {
            content: Content::Playbook { values: "" },
            ..open
        };
        let mut files = new_project(&project(), Plugin::Ansible, "");
        register(&mut files, &project(), &playbook).unwrap();
        assert!(entry(&files).contains("  kind: Web\n  playbook: playbooks/web.yml\n"));
    }

    #[test]
    fn no_name_is_left_open() {
        let kind = CustomKind::new("shop.example.com", "v1", "Web");
        let open = regex::Regex::new("%[a-z-]+%").unwrap();
        for (plugin, content) in [
            (
                Plugin::Helm,
                Content::Chart {
                    name: "web",
                    values: "",
                },
            ),
            (Plugin::Ansible, Content::Role { values: "" }),
        ] {
            let mut files = new_project(&project(), plugin, "- apiGroups: [base]\n");
            let api = Api {
                content,
                ..api(&kind, "web")
            };
            files.extend(api_files(&project(), &api));
            for (path, text) in &files {
                assert!(open.find(text).is_none(), "{path}: {text}");
            }
        }
    }
}
