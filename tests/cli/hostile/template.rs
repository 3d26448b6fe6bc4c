//! B14 to B24: templates, and what they print.

use super::{Ended, Hostile};

fn render(template: &str) -> Ended {
    Hostile::of_template(template).render(&[])
}

const STEPS: &str = "rendering takes more than 20000000 steps";
const VALUES: &str = "values need more than 67108864 bytes";

#[test]
fn recursion_ends() {
    let nested = "rendering template has a nested reference name: a: unable to execute template";
    render(r#"{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#).says(nested);
    render(
        r#"{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#,
    )
    .says(nested);
    render(r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#)
        .says("exceeded maximum template depth (5000)");
    render(r#"{{ $x := dict "t" "{{ tpl .t . }}" }}{{ tpl $x.t $x }}"#)
        .says("expansions are nested more than 200 times");
}

#[test]
fn amplification_is_stopped() {
    for template in [
        "{{ range until 1000000000 }}{{ end }}",
        "{{ repeat 1000000000 \"x\" }}",
        "{{ seq 1 1000000000000 }}",
        "{{ indent 1000000000 \"a\\nb\" }}",
        "{{ $s := \"xxxxxxxx\" }}{{ range 60 }}{{ $s = cat $s $s }}{{ end }}",
        "{{ $l := list 1 }}{{ range 60 }}{{ $l = concat $l $l }}{{ end }}",
        "{{ $s := repeat 1000000 \"\\n\" }}{{ nindent 100 $s }}",
        "{{ $d := dict }}{{ range 60 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ deepCopy $d | len }}",
        "{{ range 100000000 }}{{ $d := dict \"s\" (repeat 100 \"x\") }}{{ $_ := set $d \"self\" $d }}{{ end }}",
        "{{ splitList \"\" (repeat 60000000 \"x\") | len }}",
        "{{ printf \"[%s1]\" (repeat 7000000 \"1,\") | fromJsonArray | len }}",
    ] {
        render(template).says(VALUES);
    }
    render("{{ range 100000 }}{{ range 100000 }}x{{ end }}{{ end }}").says(STEPS);
    render("{{ printf \"%x\" (repeat 60000000 \"x\") | len }}").says("value is too large to print");
    render("{{ printf \"% #x\" (repeat 60000000 \"x\") | len }}").says("value is too large to print");
    render("{{ printf \"%q\" (repeat 60000000 \"x\") | len }}").says("value is too large to print");
    render("{{ $s := repeat 60000000 \"x\" }}{{ range 100000 }}{{ $x := sha256sum $s }}{{ end }}")
        .says(STEPS);
    render("{{ $d := dict }}{{ range $i, $_ := until 1000000 }}{{ $_ := set $d (print $i) 1 }}{{ end }}")
        .says(STEPS);
    render("{{ $s := repeat 1000000 \"x\" }}{{ range 100 }}{{ $s }}{{ end }}")
        .says("output is larger than 33554432 bytes");
    render("{{ $d := dict }}{{ range 60 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ toYaml $d }}")
        .says("YAML is larger than 16777216 bytes");
    render("a: {{ trimAll (printf \"%sx\" (repeat 600000 \"y\")) (repeat 600000 \"x\") | quote }}")
        .renders("a: \"\"");
    render("a: {{ printf \"%*d\" 999999 1 | len }}").renders("a: 999999");
    render("a: {{ printf \"%1000000000d\" 1 | quote }}").renders("a: ");
    render("{{ $s := repeat 100000 \"---\\na: 1\\n\" }}{{ $s }}")
        .says("100000 documents are rendered, and 50000 are allowed");
    render(&"{{ 1 }}".repeat(700_000)).says("the templates of the chart need more than 67108864 bytes");
}

#[test]
fn mistakes_are_errors_with_a_place() {
    for (template, expect) in [
        ("{{ .Values.x.y.z }}", "nil pointer evaluating interface {}.y"),
        ("{{ mod 1 0 }}", "integer divide by zero"),
        ("{{ div 1 0 }}", "integer divide by zero"),
        ("{{ index (list 1) 5 }}", "out of range"),
        ("{{ index (list 1) -1 }}", "out of range"),
        ("{{ index \"abc\" 9223372036854775807 }}", "out of range"),
        ("{{ slice (list 1 2) 2 1 }}", "slice index out of bounds"),
        ("{{ substr 5 2 \"abc\" }}", "slice bounds out of range"),
        ("{{ chunk 0 (list 1) }}", "makeslice: len out of range"),
        ("{{ randInt 5 5 }}", "invalid argument to Intn"),
        ("{{ add 1 }}{{ upper 1 }}", "expected string; found 1"),
        ("{{ 9223372036854775808 }}", "9223372036854775808 overflows int"),
        ("{{ repeat -1 \"x\" }}", "negative Repeat count"),
        ("{{ first 1 }}", "Cannot find first on type int"),
        ("{{ b64dec 1 }}", "expected string"),
    ] {
        let ended = render(template);
        ended.says(expect);
        ended.says("web/templates/t.yaml:1");
    }
    for template in [
        "a: {{ div -9223372036854775808 -1 }}",
        "a: {{ mul 9223372036854775807 9223372036854775807 }}",
        "a: {{ add1 9223372036854775807 }}",
        "a: {{ durationRound \"9223372036854775807s\" }}",
        "a: {{ date \"2006\" 9223372036854775807 | quote }}",
        "a: {{ atoi \"99999999999999999999\" }}",
        "a: {{ round 1e308 400 | quote }}",
        "a: {{ trunc -9223372036854775808 \"abc\" }}",
        "a: {{ toDate (repeat 1000000 \"2006 \") (repeat 1000000 \"2 \") | quote }}",
    ] {
        render(template).renders("a: ");
    }
}

#[test]
fn messages_of_charts_are_shown() {
    render("{{ fail \"no \\u001b[2J good\" }}").says("no \u{1b}[2J good");
    render("{{ required \"a is needed\" .Values.a }}").says("a is needed");
    render("{{ fail (repeat 60000000 \"x\") }}").says("xxx");
}

#[test]
fn the_environment_is_out_of_reach() {
    for function in ["env", "expandenv"] {
        render(&format!("{{{{ {function} \"CANARY\" }}}}"))
            .says(&format!("function \"{function}\" not defined"));
    }
}

#[test]
fn the_network_is_out_of_reach() {
    render("host: {{ getHostByName \"localhost\" | quote }}").renders("host: \"\"");
}

#[test]
fn lookup_finds_nothing() {
    render("found: {{ lookup \"v1\" \"Secret\" \"kube-system\" \"x\" | toJson }}").renders("found: {}");
    Hostile::of_template("found: {{ tpl .Values.t . }}")
        .with(
            "values.yaml",
            "t: '{{ lookup \"v1\" \"Secret\" \"kube-system\" \"x\" | toJson }}'\n",
        )
        .render(&[])
        .renders("found: {}");
}

#[test]
fn expensive_functions_are_bounded() {
    render(&format!(
        "{{{{ range 100000000 }}}}{{{{ $x := semverCompare \"{}\" \"6.0.0\" }}}}{{{{ end }}}}",
        [">=1.2.3 <2.0.0 || ~3.4"; 10].join(" || ")
    ))
    .says(STEPS);
    for step in [
        "genPrivateKey \"rsa\"",
        "genCA \"x\" 3",
        "bcrypt \"x\"",
        "htpasswd \"x\" \"y\"",
        "derivePassword 1 \"long\" \"p\" \"u\" \"s\"",
    ] {
        render(&format!(
            "{{{{ range 1000 }}}}{{{{ $x := {step} }}}}{{{{ end }}}}"
        ))
        .says(STEPS);
    }
}

#[test]
fn regular_expressions_take_linear_time() {
    render("a: {{ regexMatch \"^(a+)+$\" (printf \"%s!\" (repeat 1000000 \"a\")) }}").renders("a: false");
    render("a: {{ regexFind \"((a{1000}){1000}){1000}\" \"a\" }}").says("expression too large");
    render("{{ regexFindAll \"a.*b|a\" (repeat 1000000 \"a\") -1 | len }}").says(STEPS);
    render("{{ range $i, $_ := until 100000 }}{{ $x := regexMatch (printf \"(x{90}){90}%d\" $i) \"a\" }}{{ end }}")
        .says(STEPS);
}

#[test]
fn odd_output_is_named() {
    let place = "web/templates/t.yaml";
    for output in [
        "a: [",
        "text",
        "- a",
        "1",
        "a: b: c",
        "kind: ConfigMap\n---\n- a\n",
        "metadata: 1",
    ] {
        let ended = render(output);
        assert_eq!(ended.code, Some(1), "{output}");
        ended.says("YAML parse error on");
        ended.says(place);
        assert!(!ended.stdout.contains("ConfigMap"), "{}", ended.stdout);
    }
    render("---\n---\n# nothing\n").renders("");
    for output in [
        "kind: List\nitems: [1]",
        "kind: Unheard\nmetadata: {name: A_B}",
        "a: 1\n---\na: 1",
        "apiVersion: x\nkind: y",
    ] {
        render(output).renders(output.lines().next().unwrap());
    }
    render("a: [{{ repeat 2000000 \"1,\" }}]").says("document needs more than 67108864 bytes");
}
