//! Which objects are hooks, and which are there for tests alone.

use super::HookUse;
use super::output::Path;
use super::text::{Mark, UNKNOWN, Word};

/// The annotations that make a hook of one object, in all branches.
pub(super) struct Hooks<'m> {
    marks: Vec<&'m Mark>,
    usage: HookUse,
    is_alone: bool,
}

impl<'m> Hooks<'m> {
    /// The hook annotations of the object that `mark` gives a kind, in a document of these marks. `arms` says how many
    /// arms each branch has.
    pub(super) fn of(mark: &Mark, around: &[&'m Mark], arms: &[u32]) -> Self {
        // Helm looks at documents; what is in a list is no hook.
        let is_item = |other: &&Mark| other.what == Word::Kind && other.column < mark.column;
        // Where a separator was overlooked, it is not known whose annotations these are.
        let is_alone = !around
            .iter()
            .any(|other| other.what == Word::Kind && other.column == mark.column);
        let is_own = |other: &&&Mark| other.what == Word::Hook && other.owner == Some(mark.column);
        let marks: Vec<&Mark> = if around.iter().any(is_item) {
            Vec::new()
        } else {
            around.iter().filter(is_own).copied().collect()
        };
        let paths: Vec<&[(u32, u32)]> = marks
            .iter()
            .filter(|hook| !hook.endings.iter().any(String::is_empty))
            .map(|hook| beneath(&mark.path, &hook.path))
            .collect();
        let usage = if marks.is_empty() {
            HookUse::Never
        } else if is_exhaustive(&paths, arms) {
            HookUse::Always
        } else {
            HookUse::Sometimes
        };
        Self {
            marks,
            usage,
            is_alone,
        }
    }

    /// Whether the object is a hook.
    pub(super) fn usage(&self) -> HookUse {
        self.usage
    }

    /// Whether nothing but `helm test` creates the object, whatever the values are.
    pub(super) fn are_tests(&self) -> bool {
        let mut endings = self.marks.iter().flat_map(|hook| &hook.endings);
        self.is_alone && self.usage == HookUse::Always && endings.all(|events| is_test(events))
    }
}

/// The branches of `inner` that are not those of `outer`.
fn beneath<'p>(outer: &Path, inner: &'p Path) -> &'p [(u32, u32)] {
    let same = std::iter::zip(outer.iter(), inner.iter())
        .take_while(|(outer, inner)| outer == inner)
        .count();
    inner.get(same..).unwrap_or_default()
}

/// Whether every way through the branches comes through one of these.
fn is_exhaustive(paths: &[&[(u32, u32)]], arms: &[u32]) -> bool {
    if paths.iter().any(|path| path.is_empty()) {
        return true;
    }
    let is_exhausted = |branch: u32| {
        let arms_of_branch = arms.get(branch as usize).copied().unwrap_or(u32::MAX);
        let arm_is = |arm: u32| {
            let beyond = |path: &&&[(u32, u32)]| path.first() == Some(&(branch, arm));
            let inner: Vec<_> = paths.iter().filter(beyond).map(|path| &path[1..]).collect();
            !inner.is_empty() && is_exhaustive(&inner, arms)
        };
        (0..arms_of_branch).all(arm_is)
    };
    let mut branches: Vec<u32> = paths.iter().filter_map(|path| Some(path.first()?.0)).collect();
    branches.sort_unstable();
    branches.dedup();
    branches.into_iter().any(is_exhausted)
}

/// Whether a hook of these events is for tests alone. `test-failure` was an event of Helm 2; a document that names it is
/// dropped.
fn is_test(events: &str) -> bool {
    // In a mapping of several lines in braces, the comma or the brace is a part of the line.
    let events = events.trim_end_matches(['}', ',', ' ']).to_lowercase();
    let is_test = |event: &str| matches!(event.trim(), "test" | "test-success" | "test-failure");
    !events.contains(UNKNOWN) && events.split(',').all(is_test)
}

#[cfg(test)]
mod tests {
    use super::{is_exhaustive, is_test};
    use crate::chart::Chart;
    use crate::survey::{HookUse, Survey};

    /// Checks in which way the objects of a template are hooks: none of them where only tests create it.
    fn check(template: &str, expect: &[(&str, HookUse)]) {
        const HELPERS: &str = r#"
            {{- define "web.test" }}helm.sh/hook: test{{ end }}
            {{- define "web.annotations" }}{{ toYaml (dict "helm.sh/hook" .hook) }}{{ end }}
            {{- define "web.pod" -}}
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {"helm.sh/hook": test}}
            {{- end }}"#;
        let files = [
            ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            ("values.yaml", "annotations: {helm.sh/hook: test}\nwanted: true\n"),
            ("templates/_helpers.tpl", HELPERS),
            ("templates/a.yaml", template),
        ];
        let files = files.map(|(name, text)| (name, text.as_bytes()));
        let chart = Chart::from_files(files).expect("the chart is well-formed");
        let survey = Survey::of(&chart).expect("the templates are well-formed");
        let found: Vec<(&str, HookUse)> = survey
            .objects
            .iter()
            .flat_map(|object| {
                let of_file = object.sources.iter().filter(|source| source.place.line > 0);
                of_file.map(|source| (object.kind.as_str(), source.hook))
            })
            .collect();
        assert_eq!(found, expect, "{template}");
    }

    fn pod(annotations: &str) -> String {
        format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n{annotations}spec: {{}}\n")
    }

    #[test]
    fn what_only_tests_create_is_left_out() {
        for annotations in [
            "  annotations:\n    helm.sh/hook: test\n",
            "  annotations:\n    'helm.sh/hook': \"test-success\" # for helm test\n",
            "  annotations: {\"helm.sh/hook\": test, helm.sh/hook-delete-policy: hook-succeeded}\n",
            "  annotations: {\"helm.sh/hook\": test, checksum: \"{{ .Values.checksum }}\"}\n",
            "  annotations: {\n    \"helm.sh/hook\": test,\n    \"a\": b }\n",
            "  annotations:\n    {{- include \"web.test\" . | nindent 4 }}\n",
            "  annotations: {{ include \"web.annotations\" (dict \"hook\" \"test\") | nindent 4 }}\n",
            "  annotations:\n    {{ if .Values.a }}helm.sh/hook: test{{ else }}helm.sh/hook: test-success{{ end }}\n",
        ] {
            check(&pod(annotations), &[]);
        }
        check("{{ include \"web.pod\" . }}\n", &[]);
        let with_another = format!(
            "{}---\napiVersion: v1\nkind: Service\n",
            pod("  annotations: {helm.sh/hook: test}\n")
        );
        check(&with_another, &[("Service", HookUse::Never)]);
    }

    #[test]
    fn what_something_else_creates_is_not() {
        for (annotations, expect) in [
            (
                "  annotations:\n    helm.sh/hook: test,post-install\n",
                HookUse::Always,
            ),
            (
                "  annotations: {helm.sh/hook: \"post-install, test\"}\n",
                HookUse::Always,
            ),
            (
                "  annotations:\n    helm.sh/hook: {{ .Values.hook | default \"test\" }}\n",
                HookUse::Always,
            ),
            (
                "  annotations:\n    helm.sh/hook: post-install\n  labels:\n    helm.sh/hook: test\n",
                HookUse::Always,
            ),
            (
                "  annotations:\n    {{- if .Values.a }}\n    helm.sh/hook: test\n    {{- end }}\n",
                HookUse::Sometimes,
            ),
            (
                "  annotations:\n    helm.sh/hook: {{ if .Values.a }}test{{ else }}pre-install{{ end }}\n",
                HookUse::Always,
            ),
            (
                "  annotations:\n    {{- toYaml .Values.annotations | nindent 4 }}\n",
                HookUse::Sometimes,
            ),
            ("  labels:\n    helm.sh/hook: test\n", HookUse::Never),
        ] {
            check(&pod(annotations), &[("Pod", expect)]);
        }
    }

    #[test]
    fn annotations_of_something_inside_are_not_the_object_s() {
        let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    metadata:\n      annotations:\n        helm.sh/hook: test\n";
        check(template, &[("Deployment", HookUse::Never)]);
        let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    annotations:\n      helm.sh/hook: test\n- apiVersion: v1\n  kind: Service\n";
        check(
            list,
            &[
                ("List", HookUse::Never),
                ("Pod", HookUse::Never),
                ("Service", HookUse::Never),
            ],
        );
    }

    #[test]
    fn every_way_has_to_come_through() {
        let arms = [2, 3];
        let check =
            |paths: &[&[(u32, u32)]], expect| assert_eq!(is_exhaustive(paths, &arms), expect, "{paths:?}");
        check(&[], false);
        check(&[&[]], true);
        check(&[&[(0, 0)]], false);
        check(&[&[(0, 0)], &[(0, 1)]], true);
        check(&[&[(0, 0)], &[(1, 1)]], false);
        check(&[&[(0, 0), (1, 0)], &[(0, 0), (1, 1)], &[(0, 1)]], false);
        check(
            &[&[(0, 0), (1, 0)], &[(0, 0), (1, 1)], &[(0, 0), (1, 2)], &[(0, 1)]],
            true,
        );
    }

    #[test]
    fn only_tests_are_tests() {
        for (events, expect) in [
            ("test", true),
            ("test-success, test-failure", true),
            ("test,", true),
            ("Test }", true),
            ("test,post-install", false),
            ("post-install", false),
            ("", false),
            ("\u{1}.Values.hook\u{1}", false),
        ] {
            assert_eq!(is_test(events), expect, "{events:?}");
        }
    }
}
