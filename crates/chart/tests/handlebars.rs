//! Handlebars templates: against the same chart in Go templates, as Helm renders it, and case by
//! case.

mod support;

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use steersman_chart::lint::{LintInput, lint};
use steersman_chart::{
    Capabilities, Chart, Limits, Operation, ReleaseInfo, RenderError, RenderInput, Rendered, values,
};
use support::TestWorld;

fn release() -> ReleaseInfo {
    ReleaseInfo {
        name: "demo".to_owned(),
        namespace: "party".to_owned(),
        revision: 1,
        operation: Operation::Install,
    }
}

fn render(chart: &Chart, user: &str, limits: Limits) -> Result<Rendered, RenderError> {
    let values = values::read(user.as_bytes()).expect("the values can be read");
    chart.render(&RenderInput {
        release: &release(),
        values: &values,
        capabilities: &Capabilities::default(),
        world: &TestWorld::new(),
        limits,
        expired: None,
        skip_schema_validation: false,
        subchart_notes: false,
    })
}

/// The chart `web` with these files besides `Chart.yaml`.
fn web(files: &[(&str, &str)]) -> Chart {
    const CHART: (&str, &str) = (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: 4.5.6\n",
    );
    let files = [&[CHART], files].concat();
    Chart::from_files(files.iter().map(|(name, text)| (*name, text.as_bytes())))
        .expect("the chart can be loaded")
}

/// Each file's output after its name, or the error with its kind.
fn check_files(files: &[(&str, &str)], user: &str, expect: &Expect) {
    let values = values::read(user.as_bytes()).expect("the values can be read");
    let result = web(files).render_files(&RenderInput {
        release: &release(),
        values: &values,
        capabilities: &Capabilities::default(),
        world: &TestWorld::new(),
        limits: Limits::default(),
        expired: None,
        skip_schema_validation: false,
        subchart_notes: false,
    });
    let shown = match result {
        Ok(files) => files
            .into_iter()
            .map(|(name, text)| format!("# {name}\n{}\n", text.trim_end_matches('\n')))
            .collect::<Vec<_>>()
            .concat(),
        Err(error) => format!("{:?}: {error}\n", error.kind()),
    };
    expect.assert_eq(&shown);
}

/// The output of one template.
fn check(template: &str, user: &str, expect: &Expect) {
    check_files(&[("templates/a.hbs", template)], user, expect);
}

/// The error of one template, which takes as much as it can.
fn error_of(files: &[(&str, &str)]) -> String {
    let limits = Limits {
        steps: 2_000_000,
        output_bytes: 4 << 20,
        value_bytes: 16 << 20,
        ..Limits::default()
    };
    match render(&web(files), "", limits) {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

mod twin {
    use super::*;

    fn folder(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
    }

    /// The documents of `helm template`, each with the path of its file.
    fn documents(text: &str) -> Vec<(String, String)> {
        let documents = text.split("---\n# Source: ").skip(1);
        documents
            .filter_map(|document| document.split_once('\n'))
            .map(|(source, text)| (source.to_owned(), text.trim_end().to_owned()))
            .collect()
    }

    fn check(case: &str) {
        let read = |path: &str| {
            std::fs::read_to_string(folder("tests/handlebars").join(path)).expect("a readable file")
        };
        let chart =
            Chart::load(&folder("../../examples/handlebars/guestbook")).expect("the chart can be loaded");
        let user = read(&format!("cases/{case}.yaml"));
        let golden = read(&format!("golden/{case}.txt"));
        match render(&chart, &user, Limits::default()) {
            Ok(rendered) => {
                let found: Vec<_> = rendered
                    .manifests
                    .iter()
                    .map(|manifest| {
                        let text = manifest.text.trim_end().to_owned();
                        (manifest.source.replace(".hbs", ".yaml"), text)
                    })
                    .collect();
                assert_eq!(found, documents(&golden));
                let notes = read(&format!("golden/{case}.notes"));
                assert_eq!(format!("NOTES:\n{}", rendered.notes).trim(), notes.trim());
            }
            Err(error) => {
                let message = golden.lines().next().and_then(|line| line.rsplit("): ").next());
                let message = message.expect("Helm's message");
                assert!(error.to_string().ends_with(message), "{error}");
            }
        }
    }

    #[test]
    fn the_defaults_give_what_helm_gives() {
        check("defaults");
    }

    #[test]
    fn many_values_give_what_helm_gives() {
        check("full");
    }

    #[test]
    fn few_values_give_what_helm_gives() {
        check("bare");
    }

    #[test]
    fn a_required_value_is_missed_as_by_helm() {
        check("no-secret-name");
    }
}

#[test]
fn the_dot_is_that_of_go_templates() {
    check_files(
        &[
            (
                "templates/a.hbs",
                "{{Release.Name}} {{Release.Namespace}} {{Release.Revision}} {{Release.IsInstall}} {{Release.Service}}\n\
                 {{Chart.Name}} {{Chart.Version}} {{Chart.AppVersion}} {{Chart.IsRoot}}\n\
                 {{Template.Name}} {{Template.BasePath}}\n\
                 {{Capabilities.KubeVersion.Major}} {{apiVersionsHas \"apps/v1\"}} {{apiVersionsHas \"no/v1\"}}\n\
                 {{#each Files}}{{@key}}={{this}};{{/each}}\n\
                 {{filesGet \"conf/a.ini\"}}|{{#each (filesLines \"conf/b.ini\")}}[{{this}}]{{/each}}\n\
                 {{#each (filesGlob \"conf/b*\")}}{{@key}}: {{this}}{{/each}}\n\
                 {{filesAsConfig \"conf/*\"}}\n{{filesAsSecrets \"conf/a*\"}}\n",
            ),
            ("conf/a.ini", "a=1"),
            ("conf/b.ini", "b\nc"),
        ],
        "",
        &expect![[r"
            # web/templates/a.hbs
            demo party 1 true Helm
            web 1.2.3 4.5.6 true
            web/templates/a.hbs web/templates
            1 true false
            conf/a.ini=a=1;conf/b.ini=b
            c;
            a=1|[b][c]
            conf/b.ini: b
            c
            a.ini: a=1
            b.ini: |-
              b
              c
            a.ini: YT0x
        "]],
    );
}

#[test]
fn values_print_as_yaml() {
    check(
        "{{#with Values}}{{text}}|{{whole}}|{{part}}|{{flag}}|{{none}}|{{missing}}|{{missing.deep}}|{{list}}|{{map}}{{/with}}",
        "{text: '<a & \"b\">', whole: 1000000, part: 0.5, flag: true, none: null, list: [1, a], map: {b: 1, a: {}}}",
        &expect![[r#"
            # web/templates/a.hbs
            <a & "b">|1000000|0.5|true||||[1,"a"]|{"a":{},"b":1}
        "#]],
    );
}

#[test]
fn functions_are_helpers() {
    check(
        "{{upper (trimSuffix \"-\" (trunc 4 \"abc-def\"))}} {{quote Values.big}} {{add Values.big 1}} {{printf \"%d-%s\" 3 \"x\"}}\n\
         {{default \"d\" Values.none}} {{ternary \"y\" \"n\" true}} {{eq Values.half 0.5}} {{lt 1 Values.half}} {{gte 2 2}}\n\
         {{toYaml Values.map}}\n{{toJson (dict \"b\" (list 1 2) \"a\" null)}} {{get (fromYaml \"a: 7\") \"a\"}} {{b64enc \"hi\"}}\n\
         {{or Values.none \"other\"}} {{and 1 0}} {{not 0}} {{len \"abc\"}} {{lookup Values.map \"b\"}} {{toJson (lookup \"v1\" \"Secret\" \"a\" \"b\")}}\n\
         {{toJson (set Values.map \"c\" 3)}} {{toJson Values.map}} {{join \",\" (sortAlpha [\"b\", \"a\"])}}\n\
         {{date \"2006\" (toDate \"2006-01-02\" \"2020-05-06\")}} {{#with (genCA \"x\" 1)}}{{trunc 10 Cert}}{{/with}} {{now}}\n\
         {{#each (until 3)}}{{this}}{{/each}} {{semverCompare \">=1.2\" \"1.3.0\"}} {{tpl \"{{ .Release.Name }}-{{ .Values.half }}\"}}\n",
        "{big: 1000000, half: 0.5, map: {b: 1, a: [x]}}",
        &expect![[r#"
            # web/templates/a.hbs
            ABC "1000000" 1000001 3-x
            d y true false true
            a:
            - x
            b: 1
            {"a":null,"b":[1,2]} 7 aGk=
            other 0 true 3 1 {}
            {"a":["x"],"b":1,"c":3} {"a":["x"],"b":1} a,b
            2020 -----BEGIN 2026-11-21 00:00:00 +0000 UTC
            012 true demo-0.5
        "#]],
    );
}

#[test]
fn blocks_are_those_of_handlebars() {
    check(
        "{{#each Values.list as |item index|}}{{index}}:{{item.n}}{{#if @first}}f{{else if @last}}l{{else}}-{{/if}}{{#unless @last}},{{/unless}}{{/each}}\n\
         {{#each Values.map}}{{@key}}={{this}}@{{@index}}{{../Release.Name}} {{else}}none{{/each}}\n\
         {{#each Values.none}}x{{else}}none{{/each}} {{#with Values.map as |m|}}{{m.a}}{{b}}{{@root.Release.Name}}{{/with}}\n\
         {{#if Values.zero}}t{{else}}f{{/if}} {{#if Values.zero includeZero=true}}t{{else}}f{{/if}}\n\
         {{{{raw}}}}{{ $labels.pod }}{{{{/raw}}}} \\{{kept}} {{! gone }}{{!-- gone, {{too}} --}}\n\
         {{#each (list \"p\" (dict \"q\" 1)) as |x|}}{{x}}{{x.q}}{{/each}}\n",
        "{list: [{n: a}, {n: b}, {n: c}], map: {a: 1, b: 2}, zero: 0}",
        &expect![[r#"
            # web/templates/a.hbs
            0:f,1:-,2:l
            a=1@0demo b=2@1demo 
            none 12demo
            f t
            {{ $labels.pod }} {{kept}} 
            p{"q":1}1
        "#]],
    );
}

#[test]
fn partials_see_their_chart_and_its_subcharts() {
    check_files(
        &[
            (
                "templates/a.hbs",
                "x:\n  {{> labels}}\ny: {{> parts/inline}}\nz:\n    {{> library/names extra=\"e\"}}\n{{include \"library/names\"}}w: {{include \"go.name\"}} {{nindent 2 (trim (include \"labels\" Values))}}\n",
            ),
            (
                "templates/_labels.hbs",
                "name: {{Release.Name}}\n{{> parts/more}}\nend: 1\n",
            ),
            ("templates/parts/_more.hbs", "more: {{Chart.Name}}\n"),
            ("templates/parts/_inline.hbs", "in-{{Values.a}}"),
            (
                "templates/_go.tpl",
                "{{ define \"go.name\" }}go-{{ .Release.Name }}-{{ .Values.a }}{{ end }}",
            ),
            ("templates/b.yaml", "go: {{ include \"go.name\" . }}\n"),
            (
                "charts/library/Chart.yaml",
                "{apiVersion: v2, name: library, version: 1.0.0, type: library}",
            ),
            (
                "charts/library/templates/_names.hbs",
                "a: {{extra}}\n{{> own}}\n{{include \"own\"}}",
            ),
            ("charts/library/templates/_own.hbs", "b: {{Chart.Name}}\n"),
            ("charts/library/templates/ignored.hbs", "never: 1\n"),
        ],
        "a: 1",
        &expect![[r"
            # web/templates/a.hbs
            x:
              name: demo
              more: web
              end: 1
            y: in-1
            z:
                a: e
                b: web
                b: web
            a: 
            b: web
            b: web
            w: go-demo-1 
              name: 
              more: 
              end: 1
            # web/templates/b.yaml
            go: go-demo-1
        "]],
    );
}

#[test]
fn partials_take_blocks_and_are_defined_inside() {
    check_files(
        &[
            (
                "templates/a.hbs",
                "{{#*inline \"item\"}}- {{name}}\n{{/inline}}\nlist:\n  {{#each Values.list}}\n  {{> item}}\n  {{/each}}\n{{#> layout title=\"T\"}}body: {{Release.Name}}\n{{/layout}}\n",
            ),
            (
                "templates/_layout.hbs",
                "title: {{title}}\n{{> @partial-block}}\nend: 1\n",
            ),
        ],
        "list: [{name: a}, {name: b}]",
        &expect![[r"
            # web/templates/a.hbs
            list:
              - a
              - b
            title: T
            body: demo
            end: 1
        "]],
    );
}

#[test]
fn notes_and_subcharts_can_be_in_either_language() {
    let chart = web(&[
        ("templates/a.yaml", "kind: A\nname: {{ .Values.sub.x }}\n"),
        ("templates/NOTES.hbs", "Hello {{Release.Name}}\n"),
        (
            "charts/sub/Chart.yaml",
            "{apiVersion: v2, name: sub, version: 1.0.0}",
        ),
        ("charts/sub/values.yaml", "x: 1"),
        (
            "charts/sub/templates/b.hbs",
            "kind: B\nname: {{Values.x}}{{Chart.IsRoot}}{{Values.global.g}}\n",
        ),
        ("charts/sub/templates/NOTES.txt", "never seen"),
    ]);
    let rendered = render(&chart, "{sub: {x: 2}, global: {g: G}}", Limits::default()).expect("it renders");
    let names: Vec<_> = rendered
        .manifests
        .iter()
        .map(|m| (m.source.as_str(), m.name.as_str(), m.text.trim()))
        .collect();
    expect![[r#"
        [
            (
                "web/templates/a.yaml",
                "",
                "kind: A\nname: 2",
            ),
            (
                "web/charts/sub/templates/b.hbs",
                "",
                "kind: B\nname: 2falseG",
            ),
        ]
    "#]]
    .assert_debug_eq(&names);
    assert_eq!(rendered.notes, "Hello demo\n");
}

#[test]
fn go_templates_that_change_values_are_seen() {
    check_files(
        &[
            ("templates/z.yaml", "{{ $_ := set .Values \"a\" 2 }}"),
            ("templates/a.hbs", "{{Values.a}}"),
        ],
        "a: 1",
        &expect![[r"
            # web/templates/a.hbs
            2
            # web/templates/z.yaml

        "]],
    );
}

#[test]
fn what_templates_give_is_linted() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    std::fs::create_dir(folder.path().join("templates")).expect("a folder");
    write(
        "Chart.yaml",
        "{apiVersion: v2, name: web, version: 1.0.0, icon: 'https://example.com/x.png'}",
    );
    write("values.yaml", "{}");
    write("templates/a.hbs", "kind: Service\nmetadata: {name: {{> name}}}\n");
    write("templates/_name.hbs", "1a");
    write("templates/NOTES.hbs", " : no manifest");
    let report = lint(
        folder.path(),
        &LintInput {
            values: &values::read(b"").expect("no values"),
            namespace: "party",
            kube_version: None,
            skip_schema_validation: false,
            world: &TestWorld::new(),
            limits: Limits::default(),
        },
    );
    let findings = report.expect("a chart").findings;
    let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
    expect![[r#"[WARNING] templates/a.hbs: object name does not conform to Kubernetes naming requirements: "1a": metadata.name: Invalid value: "1a": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#]].assert_eq(&shown.join("\n"));
}

#[test]
fn threads_share_a_chart() {
    let chart = web(&[
        (
            "templates/a.hbs",
            "kind: A\nname: {{> name}}-{{include \"name\"}}\n",
        ),
        ("templates/_name.hbs", "{{upper Values.name}}"),
    ]);
    let text = |name: &str| {
        let rendered = render(&chart, &format!("name: {name}"), Limits::default()).expect("it renders");
        rendered.manifests[0].text.clone()
    };
    std::thread::scope(|scope| {
        let threads = ["a", "b", "c", "d"]
            .map(|name| scope.spawn(move || (0..50).map(|_| text(name)).collect::<Vec<_>>()));
        for (thread, name) in threads.into_iter().zip(["A", "B", "C", "D"]) {
            let texts = thread.join().expect("a thread that ends");
            assert!(
                texts
                    .iter()
                    .all(|text| text.trim() == format!("kind: A\nname: {name}-{name}")),
                "{texts:?}"
            );
        }
    });
}

#[test]
fn errors_name_the_place() {
    let template = |text: &str, expect: &Expect| check(text, "{a: [1], s: text}", expect);
    template(
        "a\n  {{toDate \"2006\"}}",
        &expect![[r"
        Template: template: web/templates/a.hbs:2:3: error calling toDate: wrong number of args for toDate: want 2 got 1
    "]],
    );
    template(
        "a\n  {{#if Values.a}}\n {{fail \"no way\"}}{{/if}}",
        &expect![[r"
        Template: execution error at (web/templates/a.hbs:3:2): no way
    "]],
    );
    template(
        "{{required \"wanted\" Values.none}}",
        &expect![[r"
        Template: execution error at (web/templates/a.hbs:1:1): wanted
    "]],
    );
    template(
        "{{Values.a.key}}",
        &expect![[r#"
        Template: template: web/templates/a.hbs:1:1: a list has no "key": its keys are numbers
    "#]],
    );
    template(
        "{{upper Values.a}}",
        &expect![[r"
        Template: template: web/templates/a.hbs:1:1: error calling upper: wrong type for value; expected string; got []interface {}
    "]],
    );
    template(
        "{{#each Values.s}}{{/each}}",
        &expect![[r"
        Template: template: web/templates/a.hbs:1:1: each takes a list or a map
    "]],
    );
    template(
        "{{include \"nobody\"}}",
        &expect![[r#"
        Template: template: web/templates/a.hbs:1:1: error calling include: template: no template "nobody" associated with template "gotpl"
    "#]],
    );
    template(
        "{{> @partial-block}}",
        &expect![[r"
        Template: template: web/templates/a.hbs:1:1: this partial was given no block
    "]],
    );
    template(
        "{{date \"2006\" \"x\" \"y\"}}",
        &expect![[r"
        Template: template: web/templates/a.hbs:1:1: error calling date: wrong number of args for date: want 2 got 3
    "]],
    );
    check_files(
        &[
            ("templates/a.hbs", "\n{{> p}}"),
            ("templates/_p.hbs", "\n\n {{fail \"in\"}}"),
        ],
        "",
        &expect![[r"
            Template: execution error at (web/templates/_p.hbs:3:2): in
        "]],
    );
    check_files(
        &[
            ("templates/a.hbs", "\n{{include \"g\"}}"),
            (
                "templates/_g.tpl",
                "{{ define \"g\" }}{{ fail \"in go\" }}{{ end }}",
            ),
        ],
        "",
        &expect![[r"
            Template: execution error at (web/templates/a.hbs:2:1): in go
        "]],
    );
    check_files(
        &[
            ("templates/a.hbs", "\n{{include \"g\"}}"),
            ("templates/_g.tpl", "{{ define \"g\" }}{{ .Values.b.c }}{{ end }}"),
        ],
        "",
        &expect![[r#"
            Template: template: web/templates/a.hbs:2:1: error calling include: template: web/templates/_g.tpl:1:26: executing "g" at <.Values.b.c>: nil pointer evaluating interface {}.c
        "#]],
    );
}

#[test]
fn what_does_not_exist_is_an_error_before_anything_is_rendered() {
    let template = |text: &str, expect: &Expect| check(text, "", expect);
    template(
        "a\n {{nope 1}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:2:2): function "nope" not defined
    "#]],
    );
    template(
        "{{#if (nope 1)}}{{/if}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:1:1): function "nope" not defined
    "#]],
    );
    template(
        "{{#nope}}{{/nope}}",
        &expect![[r#"
            Parse: parse error at (web/templates/a.hbs:1:1): function "nope" is not defined as a block
        "#]],
    );
    template(
        "{{#upper Values.a}}{{/upper}}",
        &expect![[r#"
            Parse: parse error at (web/templates/a.hbs:1:1): function "upper" is no block
        "#]],
    );
    template(
        "{{if Values.a}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:1:1): "if" is a block: {{#if …}}
    "#]],
    );
    template(
        "{{#if a b}}{{/if}}",
        &expect![[r"
        Parse: parse error at (web/templates/a.hbs:1:1): wrong number of args for if: want 1 got 2
    "]],
    );
    template(
        "{{upper a=1}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:1:1): "upper" takes no named arguments
    "#]],
    );
    template(
        "x\n{{> nobody}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:2:1): partial "nobody" not found
    "#]],
    );
    template(
        "{{> (lookup Values \"name\")}}",
        &expect![[r"
        Parse: parse error at (web/templates/a.hbs:1:1): the name of a partial cannot be computed; use include
    "]],
    );
    template(
        "{{* decorate}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:1:1): decorator "decorate" not defined
    "#]],
    );
    template(
        "{{#if a}}\n{{/each}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:2:1): helper "if" was opened, but "each" is closing
    "#]],
    );
    template(
        "{{#if a}}",
        &expect![[r"
        Parse: parse error at (web/templates/a.hbs:1:10): invalid handlebars syntax: expected escape, expression, html_expression, decorator_expression, partial_expression, invert_tag, invert_chain_tag, helper_block_start, helper_block_end, decorator_block_start, partial_block_start, raw_block_start, hbs_comment, or hbs_comment_compact
    "]],
    );
    template(
        "{{call Values.a}}",
        &expect![[r#"
        Parse: parse error at (web/templates/a.hbs:1:1): function "call" not defined
    "#]],
    );
    check_files(
        &[("templates/a.hbs", "{{> _p}}"), ("templates/_p.hbs", "")],
        "",
        &expect![[r#"
            Parse: parse error at (web/templates/a.hbs:1:1): partial "_p" not found; this chart has p
        "#]],
    );
    check_files(
        &[
            ("templates/a.hbs", "{{#*inline \"p\"}}{{/inline}}{{> p}}"),
            ("templates/_p.hbs", ""),
        ],
        "",
        &expect![[r#"
            Parse: parse error at (web/templates/a.hbs:1:28): partial "p" is a file and defined in a template, too
        "#]],
    );
}

#[test]
fn names_of_functions_are_values_where_they_take_no_arguments() {
    check(
        "{{#each Values.list}}{{title}} {{first}} {{date}} {{if}}{{/each}} {{#with Values.list as |list|}}{{list.[0].title}}{{/with}}",
        "list: [{title: T, first: F, date: D, if: I}]",
        &expect![[r"
            # web/templates/a.hbs
            T F D I T
        "]],
    );
}

#[test]
fn a_template_cannot_go_on_for_ever() {
    let values = format!("text: {}", "x".repeat(1 << 20));
    let t = |text: &str| error_of(&[("templates/a.hbs", text), ("values.yaml", &values)]);
    let p = |text: &str, partial: &str| {
        error_of(&[
            ("templates/a.hbs", text),
            ("templates/_p.hbs", partial),
            ("values.yaml", &values),
        ])
    };
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let each = "{{#each (until 1000)}}";
    let shown = [
        p("{{> p}}", "{{> p}}"),
        p("{{> p}}", "{{#if Release}}{{> p}}{{/if}}"),
        p("{{> p}}", "{{#each Release}}{{> p @root}}{{/each}}"),
        p("{{> p}}", "\n  {{> p a=1}}\n"),
        p("{{include \"p\"}}", "{{nindent 2 (include \"p\" this)}}"),
        t("{{#*inline \"x\"}}{{> x}}{{/inline}}{{> x}}"),
        p("{{> p}}", "{{#> p}}{{> p}}{{/p}}"),
        p(
            "{{> p}}",
            "{{#with Values}}{{#if text}}{{> p @root k=text}}{{/if}}{{/with}}",
        ),
        t(&nested(each, "", "{{/each}}", 4)),
        t(&nested(each, &"x".repeat(10_000), "{{/each}}", 3)),
        t(&nested(each, "{{! nothing }}", "{{/each}}", 4)),
        t(&nested(
            each,
            &format!("{{{{a{}}}}}", ".a".repeat(1000)),
            "{{/each}}",
            3,
        )),
        t(&format!(
            "{{{{#*inline \"y\"}}}}{{{{/inline}}}}{}",
            nested(each, "{{> y}}", "{{/each}}", 3)
        )),
        t(&nested(each, "{{sha256sum @root.Values.text}}", "{{/each}}", 2)),
        t(&format!("{{{{len (list{})}}}}", " @root.Values.text".repeat(100))),
        t("{{repeat 1000000000 \"x\"}}"),
        t("{{toJson (until 100000000)}}"),
        t(&format!("{each}{{{{repeat 100000 \"x\"}}}}{{{{/each}}}}")),
        t(&format!(
            "{{{{#with (repeat 1000000 \"x\")}}}}{}{{{{/with}}}}",
            nested(each, "{{#if ../this}}{{/if}}", "{{/each}}", 2)
        )),
        p(
            &format!(
                "{{{{#> p}}}}{{{{#*inline \"q\"}}}}\n{}{{{{/inline}}}}\n{}{{{{> q}}}}\n{{{{/p}}}}",
                "x\n".repeat(10_000),
                " ".repeat(10_000)
            ),
            "x",
        ),
    ];
    // Which of the budgets is spent first is no matter.
    let budgets = [
        "blocks and partials are nested more than 1000 deep",
        "values need more than 16777216 bytes",
        "rendering takes more than 2000000 steps",
        "output is larger than 4194304 bytes",
    ];
    for error in shown {
        assert!(
            error.starts_with("Budget: template: web/templates/")
                && budgets.iter().any(|budget| error.ends_with(budget)),
            "{error}"
        );
    }
}

/// How deep a template is when the stack ends depends on how the parser was compiled, but it is deep.
fn without_stack_size(error: String) -> String {
    let Some((place, rest)) = error.split_once("): invalid handlebars syntax: stack limit") else {
        return error;
    };
    let (file, column) = place.rsplit_once(':').unwrap_or_default();
    assert!(
        column.parse::<usize>().is_ok_and(|column| column > 5_000),
        "{error}"
    );
    format!("{file}:DEEP): invalid handlebars syntax: stack limit{rest}")
}

#[test]
fn deep_nesting_is_refused() {
    let t = |text: &str| {
        let error = error_of(&[("templates/a.hbs", text)]);
        without_stack_size(error.chars().take(160).collect())
    };
    let times = 20_000;
    let shown = [
        t(&"{{#if a}}".repeat(times)),
        t(&format!("{}{}", "{{#if a}}".repeat(99), "{{/if}}".repeat(99))),
        t(&format!(
            "{{{{print {}1{}}}}}",
            "(print ".repeat(99),
            ")".repeat(99)
        )),
        t(&format!("{}{}", "{{#if a}}".repeat(150), "{{/if}}".repeat(150))),
        t(&format!(
            "{{{{#if a}}}}{}{{{{/if}}}}",
            "{{else if a}}".repeat(150)
        )),
        t(&format!("{{{{upper {}", "(upper ".repeat(times))),
        t(&format!(
            "{{{{upper {}a{}}}}}",
            "(upper ".repeat(150),
            ")".repeat(150)
        )),
        t(&format!("{{{{upper {}", "[".repeat(times))),
        t(&format!("{{{{upper {}1{}}}}}", "[".repeat(150), "]".repeat(150))),
        t(&format!("{{{{upper {}", "{\"a\":".repeat(times))),
        t(&"{{#> a}}".repeat(times)),
        t(&"{{#*inline \"a\"}}".repeat(times)),
        t(&"{{{{raw}}}}".repeat(times)),
        t(&"{{!-- }}".repeat(times)),
        t(&"{{> [".repeat(times)),
        t(&"{{a}}\n".repeat(times)),
        t(&"x".repeat(2 << 20)),
        t(&"\\{{".repeat(times / 2)),
    ];
    expect![[r#"
        [
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "no error",
            "Manifest: YAML parse error on web/templates/a.hbs: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go value of type util.Simple",
            "Parse: parse error at (web/templates/a.hbs:1:901): blocks are nested more than 100 deep",
            "Parse: parse error at (web/templates/a.hbs:1:1): blocks are nested more than 100 deep",
            "Parse: parse error at (web/templates/a.hbs:1:DEEP): invalid handlebars syntax: stack limit reached",
            "Parse: parse error at (web/templates/a.hbs:1:1): expressions are nested more than 100 deep",
            "Parse: parse error at (web/templates/a.hbs:1:DEEP): invalid handlebars syntax: stack limit reached",
            "Parse: parse error at (web/templates/a.hbs): invalid parameter \"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
            "Parse: parse error at (web/templates/a.hbs:1:DEEP): invalid handlebars syntax: stack limit reached",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
            "Parse: parse error at (web/templates/a.hbs): template is larger than 1048576 bytes",
            "Parse: parse error at (web/templates/a.hbs): templates have too many tags",
        ]
    "#]].assert_debug_eq(&shown);
}
