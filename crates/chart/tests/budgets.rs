//! Templates that would take all memory or time end with an error that names the budget.
//!
//! Each stands for a way to make much of little: text that doubles, values that share others, large things that
//! many calls look at. How much memory and time the whole process takes is tested in `tests/cli/hostile`.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use steersman_chart::{
    Capabilities, Chart, Failure, Limits, LookupQuery, Operation, ReleaseInfo, RenderInput, Rendered,
    Timestamp, Value, Values, World,
};
use steersman_gotemplate::{Object, Str};

mod support;

/// Renders `template` with a budget of few steps, which a debug build takes in a moment.
fn render(template: &str) -> Result<Rendered, String> {
    let chart = Chart::from_files([
        ("Chart.yaml", support::SNIPPET_CHART.as_bytes()),
        ("templates/t.yaml", template.as_bytes()),
        ("files/a.txt", b"text"),
    ])
    .map_err(|error| error.to_string())?;
    let release = ReleaseInfo {
        name: "rel".to_owned(),
        namespace: "ns".to_owned(),
        revision: 1,
        operation: Operation::Install,
    };
    let rendered = chart.render(&RenderInput {
        release: &release,
        values: &Values::new(),
        capabilities: &Capabilities::default(),
        world: &support::TestWorld::new(),
        limits: Limits {
            steps: 600_000,
            ..Limits::default()
        },
        expired: None,
        skip_schema_validation: false,
        subchart_notes: false,
    });
    rendered.map_err(|error| error.to_string())
}

#[track_caller]
fn check(template: &str, expect: &str) {
    match render(template) {
        Ok(_) => panic!("it is rendered: {template}"),
        Err(error) => {
            let start: String = error.chars().take(300).collect();
            assert!(error.contains(expect), "{template}: {start}…");
        }
    }
}

const VALUES: &str = "values need more than 67108864 bytes";
const STEPS: &str = "rendering takes more than 600000 steps";
const PRINTED: &str = "value is too large to print";

#[test]
fn values_that_double_are_stopped() {
    for start in ["$s := \"xxxxxxxx\"", "$s := list 1 2"] {
        for step in [
            "cat $s $s",
            "printf \"%s%s\" $s $s",
            "join \"\" (list $s $s)",
            "concat $s $s",
            "quote $s $s",
            "b64enc $s",
            "b32enc $s",
            "repeat 2 $s",
            "replace \"x\" \"xx\" $s",
            "regexReplaceAll \"x\" $s \"xx\"",
        ] {
            if start.contains("list") != step.contains("concat") {
                continue;
            }
            let result = render(&format!(
                "{{{{ {start} }}}}{{{{ range 200 }}}}{{{{ $s = {step} }}}}{{{{ end }}}}"
            ));
            let error = result.err().unwrap_or_default();
            assert!(
                [VALUES, STEPS, PRINTED]
                    .iter()
                    .any(|budget| error.ends_with(budget)),
                "{step}: {error}"
            );
        }
    }
}

#[test]
fn what_is_made_is_accounted_for_whoever_makes_it() {
    for (start, step) in [
        ("repeat 3000000 \"x\"", "upper $s"),
        ("repeat 3000000 \"x\"", "trunc 2999999 $s"),
        ("repeat 3000000 \"x\"", "substr 1 2999999 $s"),
        ("until 300000", "rest $s"),
        ("until 300000", "initial $s"),
        ("until 300000", "compact $s"),
        ("until 300000", "slice $s 1"),
        ("until 300000", "toStrings $s"),
        ("splitList \",\" (repeat 300000 \"x,\")", "rest $s"),
    ] {
        let template = format!(
            "{{{{ $s := {start} }}}}{{{{ $kept := list }}}}{{{{ range 1000 }}}}{{{{ $kept = append $kept ({step}) }}}}{{{{ end }}}}"
        );
        let error = render(&template).err().unwrap_or_default();
        assert!(
            error.ends_with(VALUES) || error.ends_with(STEPS),
            "{step}: {error}"
        );
    }
}

#[test]
fn looking_at_large_things_takes_steps() {
    for (start, step) in [
        ("repeat 200000 \"x\"", "sha256sum $s"),
        ("repeat 200000 \"x\"", "adler32sum $s"),
        ("repeat 200000 \"x\"", "contains \"y\" $s"),
        ("repeat 200000 \"x\"", "regexMatch \"y\" $s"),
        ("repeat 200000 \"1\"", "int64 $s"),
        ("until 100000", "has -1 $s"),
        ("until 100000", "deepEqual $s $s"),
        ("splitList \",\" (repeat 9000 \",\")", "compact $s"),
        (
            "fromJson (printf \"{%s\\\"a\\\":1}\" (repeat 9000 \"\\\"b\\\":1,\"))",
            "keys $s",
        ),
    ] {
        check(
            &format!("{{{{ $s := {start} }}}}{{{{ range 1000000 }}}}{{{{ $x := {step} }}}}{{{{ end }}}}"),
            STEPS,
        );
    }
    check(
        "{{ $d := dict }}{{ range $i, $_ := until 5000 }}{{ $_ := set $d (print $i) 1 }}{{ end }}\
         {{ range 1000000 }}{{ range $d }}{{ break }}{{ end }}{{ end }}",
        STEPS,
    );
}

#[test]
fn values_that_share_others_many_times_are_not_unfolded() {
    let map = "{{ $d := dict \"a\" 1 }}{{ range 60 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}";
    let list = "{{ $d := list }}{{ range 60 }}{{ $d = list $d $d }}{{ end }}";
    let cycle = "{{ $d := dict }}{{ $_ := set $d \"a\" (list $d $d) }}{{ $_ := set $d \"b\" $d }}";
    for (values, step, expect) in [
        (map, "toYaml $d", "YAML is larger than 16777216 bytes"),
        (list, "toYamlPretty $d", "YAML is larger than 16777216 bytes"),
        (map, "toString $d", PRINTED),
        (map, "quote $d", PRINTED),
        (map, "cat $d", PRINTED),
        (list, "join \"\" $d", PRINTED),
    ] {
        check(&format!("{values}{{{{ {step} }}}}"), expect);
    }
    for (step, expect) in [
        ("toJson $d", "its text is too large"),
        ("toToml $d", "TOML is larger than 16777216 bytes"),
        ("deepCopy $d", VALUES),
        ("merge (dict) $d (deepCopy $d)", VALUES),
    ] {
        let error = render(&format!("{map}{{{{ {step} }}}}"))
            .err()
            .unwrap_or_default();
        assert!(
            error.ends_with(expect) || error.ends_with(STEPS),
            "{step}: {error}"
        );
    }
    let other = map.replace("$d", "$e");
    check(&format!("{map}{other}{{{{ deepEqual $d $e }}}}"), STEPS);
    for step in [
        "toYaml",
        "toJson",
        "toToml",
        "deepCopy",
        "toString",
        "merge (dict \"b\" (dict)) (dict \"b\" $d) |",
    ] {
        let error = render(&format!("{cycle}{{{{ {step} $d | len }}}}"));
        assert!(error.is_err(), "{step}");
    }
}

#[test]
fn regular_expressions_cost_what_they_take() {
    for template in [
        // Compiling, which differs each time.
        r#"{{ range $i, $_ := until 100000 }}{{ $x := regexMatch (printf "(x{90}){90}%d" $i) "a" }}{{ end }}"#,
        r#"{{ range $i, $_ := until 100000 }}{{ $x := regexMatch (printf "\\pL{900}%d" $i) "a" }}{{ end }}"#,
        // Looking at all the rest of the text for each match.
        r#"{{ regexFindAll "a.*b|a" (repeat 100000 "a") -1 | len }}"#,
        r#"{{ regexReplaceAll "a.*b|a" (repeat 100000 "a") "x" | len }}"#,
        // Many places at which a search is at the same time.
        r#"{{ regexMatch "(\\b\\pL+\\b|x?){500}" (repeat 50000 "é x") }}"#,
    ] {
        check(template, STEPS);
    }
    check(
        r#"{{ mustRegexMatch (repeat 70000 "a") "a" }}"#,
        "expression too large",
    );
    let split = render(r#"{{ regexSplit "," (repeat 20000 "x,") -1 | len | quote | fail }}"#);
    assert!(split.is_err_and(|error| error.ends_with("\"20001\"")));
}

#[test]
fn expensive_functions_take_many_steps() {
    for step in [
        "genPrivateKey \"rsa\"",
        "genCA \"x\" 3",
        "bcrypt \"x\"",
        "htpasswd \"x\" \"y\"",
        "derivePassword 1 \"long\" \"p\" \"u\" \"s\"",
    ] {
        check(
            &format!("{{{{ range 100 }}}}{{{{ $x := {step} }}}}{{{{ end }}}}"),
            STEPS,
        );
    }
    check(
        "{{ range 100 }}{{ $x := $.Files.Glob (repeat 3000 \"[!a]*\") }}{{ end }}",
        STEPS,
    );
}

#[test]
fn data_is_as_large_as_what_it_becomes() {
    for (step, piece) in [
        ("fromJsonArray (printf \"[%s1]\" $s)", "1,"),
        ("fromJsonArray (printf \"[%s1]\" $s)", "{},"),
        ("fromYamlArray (printf \"[%s]\" $s)", "{},"),
        ("fromYaml (printf \"a: [%s]\" $s)", "a,"),
        ("fromToml (printf \"a = [%s]\" $s)", "1,"),
    ] {
        check(
            &format!("{{{{ $s := repeat 1200000 \"{piece}\" }}}}{{{{ {step} | len }}}}"),
            VALUES,
        );
    }
}

#[test]
fn templates_and_documents_are_counted() {
    check(
        &"{{ 1 }}".repeat(500_000),
        "the templates of the chart need more than 67108864 bytes",
    );
    check("{{ tpl (repeat 400000 \"{{ 1 }}\") . | len }}", VALUES);
    check(
        "{{ $s := repeat 60000 \"---\\na: 1\\n\" }}{{ $s }}",
        "60000 documents are rendered, and 50000 are allowed",
    );
    check(
        "a: [{{ repeat 2000000 \"1,\" }}]",
        "yaml: document needs more than 67108864 bytes",
    );
    check(
        "{{ range 100 }}{{ repeat 600000 \"x\" }}{{ end }}",
        "output is larger than 33554432 bytes",
    );
}

#[test]
fn many_definitions_are_parsed_in_a_moment() {
    let definitions: Vec<String> = (0..100_000)
        .map(|number| format!("{{{{define \"{number}\"}}}}x{{{{end}}}}"))
        .collect();
    assert!(render(&definitions.concat()).is_ok());
}

/// A value that tells when it is freed.
#[derive(Debug)]
struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

impl Object for Counted {
    fn type_name(&self) -> &'static str {
        "counted"
    }

    fn kind_name(&self) -> &'static str {
        "struct"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn text(&self) -> Option<Str> {
        Some("counted".into())
    }
}

struct Counting(Rc<Cell<usize>>);

impl World for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn lookup(&self, _: LookupQuery<'_>) -> Result<Value, Failure> {
        Ok(Value::object(Counted(Rc::clone(&self.0))))
    }
}

#[test]
fn values_that_contain_themselves_are_freed() {
    for template in [
        "{{ $d := dict }}{{ $_ := set $d \"self\" $d }}{{ $_ := set $d \"o\" (lookup \"\" \"\" \"\" \"\") }}",
        "{{ $d := dict }}{{ $_ := set $d \"l\" (list (dict \"up\" $d) (lookup \"\" \"\" \"\" \"\")) }}",
        "{{ $_ := set .Values \"root\" $ }}{{ $_ := set $ \"o\" (lookup \"\" \"\" \"\" \"\") }}",
        "{{ $m := dict }}{{ $a := dict \"x\" $m \"o\" 1 }}{{ $b := dict \"y\" $m \"o\" (lookup \"\" \"\" \"\" \"\") }}\
         {{ $_ := merge $a (dict \"x\" $b) }}",
    ] {
        let chart = Chart::from_files([
            ("Chart.yaml", support::SNIPPET_CHART.as_bytes()),
            ("templates/t.yaml", template.as_bytes()),
        ])
        .unwrap();
        let freed = Rc::new(Cell::new(0));
        let release = ReleaseInfo {
            name: "rel".to_owned(),
            namespace: "ns".to_owned(),
            revision: 1,
            operation: Operation::Install,
        };
        chart
            .render(&RenderInput {
                release: &release,
                values: &Values::new(),
                capabilities: &Capabilities::default(),
                world: &Counting(Rc::clone(&freed)),
                limits: Limits::default(),
                expired: None,
                skip_schema_validation: false,
                subchart_notes: false,
            })
            .unwrap();
        assert_eq!(freed.get(), 1, "{template}");
    }
}
