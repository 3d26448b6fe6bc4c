//! Charts of a few lines each: what decides which subcharts take part, what they see, and what
//! becomes of their output.

mod support;

use expect_test::{Expect, expect};
use steersman_chart::{
    Capabilities, Chart, HookEvent, Limits, Manifest, Operation, ReleaseInfo, RenderError, RenderErrorKind,
    RenderInput, Rendered, values,
};
use support::TestWorld;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";

fn chart(files: &[(&str, &str)]) -> Chart {
    Chart::from_files(files.iter().map(|(name, text)| (*name, text.as_bytes())))
        .expect("the chart can be loaded")
}

fn render(files: &[(&str, &str)], user: &str) -> Result<Rendered, RenderError> {
    render_within(files, user, Limits::default())
}

fn render_within(files: &[(&str, &str)], user: &str, limits: Limits) -> Result<Rendered, RenderError> {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    render_bytes(&files, user, limits)
}

fn render_bytes(files: &[(&str, &[u8])], user: &str, limits: Limits) -> Result<Rendered, RenderError> {
    let release = ReleaseInfo {
        name: "demo".to_owned(),
        namespace: "default".to_owned(),
        revision: 3,
        operation: Operation::Upgrade,
    };
    let values = values::read(user.as_bytes()).expect("the values can be read");
    let chart = Chart::from_files(files.iter().copied()).expect("the chart can be loaded");
    chart.render(&RenderInput {
        release: &release,
        values: &values,
        capabilities: &Capabilities::default(),
        world: &TestWorld::new(),
        limits,
        expired: None,
        skip_schema_validation: false,
        subchart_notes: false,
    })
}

/// The manifests of a chart as text, or its error.
fn check(files: &[(&str, &str)], user: &str, expect: &Expect) {
    let shown = match render(files, user) {
        Ok(rendered) => {
            let shown = |manifest: &Manifest| format!("# {}\n{}\n", manifest.source, manifest.text.trim());
            rendered.manifests.iter().map(shown).collect::<Vec<_>>().concat()
        }
        Err(error) => format!("{:?}: {error}\n", error.kind()),
    };
    expect.assert_eq(&shown);
}

/// A chart with one subchart that shows what it sees.
fn with_database<'a>(dependency: &'a str, values: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("Chart.yaml", dependency),
        ("values.yaml", values),
        (
            "charts/database/Chart.yaml",
            "apiVersion: v2\nname: database\nversion: 2.1.0\n",
        ),
        (
            "charts/database/values.yaml",
            "size: 1\nexports: {shared: {port: 5432}}\n",
        ),
        (
            "charts/database/templates/a.yaml",
            "chart: {{ .Chart.Name }}\nsize: {{ .Values.size }}\nroot: {{ .Chart.IsRoot }}\n",
        ),
    ]
}

const CONDITIONAL: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: database, version: 2.x.x, \
     repository: '', condition: database.enabled, tags: [storage]}\n";

#[test]
fn a_condition_in_the_values_turns_a_subchart_off() {
    let files = with_database(CONDITIONAL, "database: {enabled: true, size: 5}\n");
    check(
        &files,
        "",
        &expect![[r"
            # web/charts/database/templates/a.yaml
            chart: database
            size: 5
            root: false
        "]],
    );
    check(&files, "database: {enabled: false}", &expect![""]);
}

#[test]
fn tags_decide_where_no_condition_does() {
    let files = with_database(CONDITIONAL, "");
    check(&files, "tags: {storage: false}", &expect![""]);
    check(
        &files,
        "tags: {storage: false}\ndatabase: {enabled: true}",
        &expect![[r"
            # web/charts/database/templates/a.yaml
            chart: database
            size: 1
            root: false
        "]],
    );
}

#[test]
fn an_alias_names_a_subchart_anew_as_often_as_it_is_wanted() {
    let dependency = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n\
         - {name: database, version: '>=2', repository: '', alias: first}\n\
         - {name: database, version: '>=2', repository: '', alias: second}\n";
    check(
        &with_database(dependency, "second: {size: 7}\n"),
        "",
        &expect![[r"
            # web/charts/first/templates/a.yaml
            chart: first
            size: 1
            root: false
            # web/charts/second/templates/a.yaml
            chart: second
            size: 7
            root: false
        "]],
    );
}

#[test]
fn a_parent_takes_over_values_that_a_subchart_exports() {
    let dependency = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n\
         - {name: database, version: '*', repository: '', import-values: [shared, {child: exports, parent: all}]}\n";
    let mut files = with_database(dependency, "");
    files.push((
        "templates/b.yaml",
        "port: {{ .Values.port }}\nsame: {{ .Values.all.shared.port }}\n",
    ));
    files.retain(|(name, _)| *name != "charts/database/templates/a.yaml");
    check(
        &files,
        "",
        &expect![[r"
            # web/templates/b.yaml
            port: 5432
            same: 5432
        "]],
    );
}

#[test]
fn what_a_template_sets_in_shared_values_is_seen_by_those_after_it() {
    let mut files = with_database(CONDITIONAL, "");
    files.push((
        "templates/b.yaml",
        "size: {{ .Values.database.size }}\ntemplate: {{ .Subcharts.database.Template.Name }}\n",
    ));
    files.push((
        "charts/database/templates/z.yaml",
        "{{- $_ := set .Values \"size\" 9 }}\n",
    ));
    check(
        &files,
        "",
        &expect![[r"
            # web/charts/database/templates/a.yaml
            chart: database
            size: 9
            root: false
            # web/templates/b.yaml
            size: 9
            template: web/charts/database/templates/a.yaml
        "]],
    );
}

#[test]
fn the_file_nearest_to_the_root_defines_a_template_last() {
    let mut files = with_database(CONDITIONAL, "");
    files.push((
        "charts/database/templates/_h.tpl",
        "{{ define \"who\" }}subchart{{ end }}",
    ));
    files.push(("templates/_h.tpl", "{{ define \"who\" }}root{{ end }}"));
    files.push((
        "charts/database/templates/a2.yaml",
        "who: {{ include \"who\" . }}\n",
    ));
    files.retain(|(name, _)| *name != "charts/database/templates/a.yaml");
    check(
        &files,
        "",
        &expect![[r"
            # web/charts/database/templates/a2.yaml
            who: root
        "]],
    );
}

#[test]
fn manifests_come_in_install_order_and_hooks_and_notes_apart() {
    let rendered = render(
        &[
            ("Chart.yaml", CHART),
            (
                "templates/all.yaml",
                "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\n---\nkind: Service\napiVersion: v1\n\
                 metadata: {name: b}\n---\nkind: Job\napiVersion: batch/v1\nmetadata:\n  name: c\n  annotations:\n    \
                 helm.sh/hook: pre-install, Post-Upgrade\n    helm.sh/hook-weight: -5\n    \
                 helm.sh/hook-delete-policy: hook-succeeded\n",
            ),
            ("templates/NOTES.txt", "Revision {{ .Release.Revision }}{{ .Values.nothing }}"),
            ("crds/x.yaml", "kind: CustomResourceDefinition\n"),
        ],
        "",
    )
    .unwrap();
    let kinds: Vec<&str> = rendered
        .manifests
        .iter()
        .map(|manifest| manifest.kind.as_str())
        .collect();
    assert_eq!(kinds, ["Service", "Deployment"]);
    assert_eq!(rendered.notes, "Revision 3");
    assert_eq!(rendered.crds[0].source, "web/crds/x.yaml");
    let hook = &rendered.hooks[0];
    assert_eq!(hook.events, [HookEvent::PreInstall, HookEvent::PostUpgrade]);
    assert_eq!((hook.weight, hook.manifest.name.as_str()), (-5, "c"));
    assert_eq!(rendered.manifests[1].object()["metadata"]["name"], "a");
}

#[test]
fn errors_name_template_line_and_column() {
    let broken = |text| [("Chart.yaml", CHART), ("templates/a.yaml", text)];
    check(
        &broken("a: 1\nb: {{ .Values.x.y }}\n"),
        "",
        &expect![[r#"
            Template: web/templates/a.yaml:2:13
              executing "web/templates/a.yaml" at <.Values.x.y>:
                nil pointer evaluating interface {}.y
        "#]],
    );
    check(
        &broken("{{ required \"x is needed\" .Values.x }}\n"),
        "",
        &expect![[r"
            Template: execution error at (web/templates/a.yaml:1:3): x is needed
        "]],
    );
    check(
        &broken("{{ if }}\n"),
        "",
        &expect![[r"
            Parse: parse error at (web/templates/a.yaml:1): missing value for if
        "]],
    );
    check(
        &broken("a: b: c\n"),
        "",
        &expect![[r"
            Manifest: YAML parse error on web/templates/a.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context
        "]],
    );
}

#[test]
fn values_that_break_the_schema_are_refused() {
    let files = [
        ("Chart.yaml", CHART),
        (
            "values.schema.json",
            r#"{"properties": {"size": {"type": "integer"}}}"#,
        ),
    ];
    check(
        &files,
        "size: big",
        &expect![[r"
            Schema: values don't meet the specifications of the schema(s) in the following chart(s):
            web:
            - at '/size': got string, want integer

        "]],
    );
}

#[test]
fn a_chart_for_another_version_of_kubernetes_is_refused() {
    let metadata = format!("{CHART}kubeVersion: '>=2.0.0'\n");
    check(
        &[("Chart.yaml", &metadata)],
        "",
        &expect![[r"
            KubeVersion: chart requires kubeVersion: >=2.0.0 which is incompatible with Kubernetes v1.37.0
        "]],
    );
}

#[test]
fn templates_without_an_end_are_stopped() {
    let limits = Limits {
        steps: 200_000,
        output_bytes: 1 << 20,
        value_bytes: 4 << 20,
        ..Limits::default()
    };
    for text in [
        "{{ range until 1000000 }}{{ range until 1000000 }}x{{ end }}{{ end }}",
        "{{ repeat 1000000000 \"x\" }}",
        "{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}",
        "{{ define \"b\" }}{{ include \"b\" . }}{{ end }}{{ include \"b\" . }}",
        "{{ tpl .Values.t . }}",
    ] {
        let error = render_within(
            &[("Chart.yaml", CHART), ("templates/a.yaml", text)],
            "t: '{{ tpl .Values.t . }}'",
            limits,
        )
        .unwrap_err();
        let is_stopped =
            error.kind() == RenderErrorKind::Budget || error.to_string().contains("nested reference");
        assert!(is_stopped, "{text}: {error}");
    }
}

#[test]
fn every_file_has_its_part_in_the_digest() {
    let one = chart(&[("Chart.yaml", CHART), ("a", "bc")]).digest();
    assert_eq!(one, chart(&[("a", "bc"), ("Chart.yaml", CHART)]).digest());
    assert_ne!(one, chart(&[("Chart.yaml", CHART), ("ab", "c")]).digest());
}

/// Values of the tests below.
const METHODS: &str = "AsMap: hidden\nport: 80\nservice:\n  ports: {http: 81}\n";

#[test]
fn values_have_methods() {
    let template = "\
port: {{ .Values.AsMap.port }} {{ $.AsMap.Values.port }}
type: {{ printf \"%T %T %T\" .Values .Values.AsMap (.Values.Table \"service\") }}
table: {{ (.Values.Table \"service.ports\").http }}
path: {{ .Values.PathValue \"service.ports.http\" }} {{ .PathValue \"Release.Name\" }}
yaml: {{ (.Values.Table \"service.ports\").YAML | quote }}
same: {{ $_ := set .Values.AsMap \"new\" 1 }}{{ .Values.new }}
hidden: {{ get .Values \"AsMap\" }}
";
    let files = [
        ("Chart.yaml", CHART),
        ("values.yaml", METHODS),
        ("templates/all.yaml", template),
    ];
    check(
        &files,
        "",
        &expect![[r#"
            # web/templates/all.yaml
            port: 80 80
            type: common.Values map[string]interface {} common.Values
            table: 81
            path: 81 demo
            yaml: "http: 81\n"
            same: 1
            hidden: hidden
        "#]],
    );
}

#[test]
fn methods_of_values_fail_as_in_helm() {
    for (call, message) in [
        (
            r#".Values.Table "port""#,
            r#"error calling Table: "port" is not a table"#,
        ),
        (
            r#".Values.PathValue "service""#,
            r#"error calling PathValue: "service" is not a value"#,
        ),
        (
            r#".Values.PathValue "a.b""#,
            r#"error calling PathValue: "b" is not a value"#,
        ),
        (
            r#".Values.PathValue """#,
            "error calling PathValue: YAML path cannot be empty",
        ),
        (".Values.Table", "wrong number of args for Table: want 1 got 0"),
    ] {
        let template = format!("x: {{{{ {call} }}}}");
        let files = [
            ("Chart.yaml", CHART),
            ("values.yaml", METHODS),
            ("templates/all.yaml", template.as_str()),
        ];
        let error = render(&files, "").expect_err("Helm fails, too").to_string();
        assert!(error.ends_with(message), "{call}: {error}");
    }
}

#[test]
fn the_first_mistake_of_a_manifest_is_named() {
    let decoding =
        "YAML parse error on web/templates/all.yaml: error unmarshaling JSON: while decoding JSON: json: ";
    let converting = "YAML parse error on web/templates/all.yaml: error converting YAML to JSON: ";
    for (template, message) in [
        (
            "metadata: {name: [x], annotations: {z: [1], a: {b: c}}}",
            format!(
                "{decoding}cannot unmarshal object into Go struct field .metadata.annotations of type string"
            ),
        ),
        (
            "kind: [X]\n~: a",
            format!("{converting}unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\""),
        ),
    ] {
        let files = [("Chart.yaml", CHART), ("templates/all.yaml", template)];
        let error = render(&files, "").expect_err("Helm fails, too").to_string();
        assert_eq!(error, message);
    }
}

#[test]
fn output_that_is_no_text_is_an_error() {
    for (template, message) in [
        (&b"a: caf\xe9"[..], "yaml: incomplete UTF-8 octet sequence"),
        (b"# caf\xe9\na: b\n", "yaml: invalid trailing UTF-8 octet"),
        (b"a: b\n---\nc: \xff\n", "yaml: invalid leading UTF-8 octet"),
        (
            b"a: b: c\n---\nc: \xff\n",
            "yaml: mapping values are not allowed in this context",
        ),
        (
            b"a: {{ .Files.Get \"latin\" }}",
            "yaml: incomplete UTF-8 octet sequence",
        ),
    ] {
        let files = [
            ("Chart.yaml", CHART.as_bytes()),
            ("latin", b"caf\xe9"),
            ("templates/all.yaml", template),
        ];
        let error = render_bytes(&files, "", Limits::default())
            .expect_err("Helm fails, too")
            .to_string();
        let start = "YAML parse error on web/templates/all.yaml: error converting YAML to JSON: ";
        assert_eq!(error, format!("{start}{message}"));
    }
}

#[test]
fn bytes_that_are_no_text_pass_through_templates() {
    for (template, output) in [
        (
            &b"a: {{ include \"latin\" . | b64enc }} {{ include \"latin\" . | len }}"[..],
            "a: Yeli 3",
        ),
        (
            b"a: {{ tpl \"{{ .Values.none }}{{ include \\\"latin\\\" . }}\" . | b64enc }}",
            "a: Yeli",
        ),
        (
            b"a: {{ `caf\xe9\r` | b64enc }} {{ \"\xe9\" | b64enc }}",
            "a: Y2Fm6Q== 77+9",
        ),
    ] {
        let files = [
            ("Chart.yaml", CHART.as_bytes()),
            (
                "templates/_latin.tpl",
                b"{{/* \xe9 */}}{{ define \"latin\" }}a\xe9b{{ end }}",
            ),
            ("templates/all.yaml", template),
        ];
        let rendered = render_bytes(&files, "", Limits::default()).expect("the chart can be rendered");
        assert_eq!(rendered.manifests[0].text, output);
    }
}
