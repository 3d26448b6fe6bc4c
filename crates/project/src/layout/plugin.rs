//! What a project is begun for: operator-sdk has a plugin for charts and one for Ansible.

/// A plugin of operator-sdk. Kinds of the other one come into a project later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plugin {
    /// Kinds are released from charts.
    #[default]
    Helm,
    /// Kinds are made by roles and playbooks.
    Ansible,
}

impl Plugin {
    /// Both, in the order in which `layout` is looked through.
    pub(super) const ALL: [Self; 2] = [Self::Helm, Self::Ansible];

    /// The plugin of a name, with or without its domain and version.
    ///
    /// ```
    /// use steersman_project::layout::Plugin;
    ///
    /// assert_eq!(Plugin::named("ansible"), Some(Plugin::Ansible));
    /// assert_eq!(Plugin::named("helm.sdk.operatorframework.io/v1"), Some(Plugin::Helm));
    /// assert_eq!(Plugin::named("go"), None);
    /// ```
    pub fn named(text: &str) -> Option<Self> {
        let name = text.trim().split('/').next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|plugin| name == plugin.word() || plugin.layout().split('/').next() == Some(name))
    }

    /// The `layout` of a `PROJECT`.
    pub(super) fn layout(self) -> &'static str {
        match self {
            Self::Helm => "helm.sdk.operatorframework.io/v1",
            Self::Ansible => "ansible.sdk.operatorframework.io/v1",
        }
    }

    /// As in `helm-operator` and `ansible-operator`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::Ansible => "ansible",
        }
    }
}
