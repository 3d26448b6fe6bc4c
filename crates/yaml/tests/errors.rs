//! Texts that goyaml v2 or sigs.k8s.io/yaml refuse, and their messages.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use steersman_yaml::to_json;

fn check(cases: &[(&str, &str)]) {
    for (text, expect) in cases {
        assert_eq!(to_json(text).unwrap_err().to_string(), *expect, "{text:?}");
    }
}

#[test]
fn scanner_errors_have_goyamls_words() {
    check(&[
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        (
            "a: 1\nb: c: d\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        (
            "a: 1\n  b: 2\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        ("a: [1\nb: 2", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: 'x", "yaml: found unexpected end of stream"),
        ("a: \"x", "yaml: found unexpected end of stream"),
        ("a: \"\\q\"", "yaml: found unknown escape character"),
        ("a: \"\\/\"", "yaml: found unknown escape character"),
        (
            "a: \"\\uD83D\"",
            "yaml: found invalid Unicode character escape code",
        ),
        ("a: \"\\xZZ\"", "yaml: did not find expected hexdecimal number"),
        ("\ta: 1", "yaml: found character that cannot start any token"),
        (
            "a:\n\tb: 1\n",
            "yaml: line 2: found character that cannot start any token",
        ),
        ("a: @x", "yaml: found character that cannot start any token"),
        ("a: `x`", "yaml: found character that cannot start any token"),
        ("a: %x", "yaml: found character that cannot start any token"),
        ("a: |0\n x", "yaml: found an indentation indicator equal to 0"),
        ("a: |x\n y", "yaml: did not find expected comment or line break"),
        (
            "a: |\n \t x\n\ty",
            "yaml: line 2: found a tab character where an indentation space is expected",
        ),
        ("- a\nb: 1\n", "yaml: line 1: did not find expected '-' indicator"),
        (
            "a\nb: 1\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        ("a: 1\nb\n", "yaml: line 3: could not find expected ':'"),
        ("a: 1\nb\nc: 2\n", "yaml: line 3: could not find expected ':'"),
        (
            "a: - b",
            "yaml: block sequence entries are not allowed in this context",
        ),
        (
            "x: &\ny: 1",
            "yaml: did not find expected alphabetic or numeric character",
        ),
        (
            "x: *",
            "yaml: did not find expected alphabetic or numeric character",
        ),
        (
            "x: &a*b",
            "yaml: did not find expected alphabetic or numeric character",
        ),
        ("a: !<x", "yaml: did not find the expected '>'"),
        ("a: !x!", "yaml: did not find expected tag URI"),
        ("%FOO\n---\n", "yaml: found unknown directive name"),
        ("%YAML 1.2\n---\na", "yaml: found incompatible YAML document"),
        (
            "%YAML 1.1\n%YAML 1.1\n---\n",
            "yaml: line 1: found duplicate %YAML directive",
        ),
        ("%YAML 1\n", "yaml: did not find expected digit or '.' character"),
        ("%YAML 111.1\n", "yaml: found extremely long version number"),
        (
            "%TAG ! x\n%TAG ! y\n---\n",
            "yaml: line 1: found duplicate %TAG directive",
        ),
        ("%TAG x\n", "yaml: did not find expected '!'"),
        ("%", "yaml: could not find expected directive name"),
        ("!<%zz> a", "yaml: did not find URI escaped octet"),
        (
            "a: 'x\n---\ny'",
            "yaml: line 2: found unexpected document indicator",
        ),
        (
            "a: x\n  y\n\tz: 1\n",
            "yaml: line 3: found a tab character that violates indentation",
        ),
        (
            "{{ .Values.x }}: y\n- b",
            "yaml: line 1: did not find expected key",
        ),
        ("a:\n  - b\n c: d\n", "yaml: line 2: did not find expected key"),
    ]);
}

#[test]
fn grammar_errors_have_goyamls_words() {
    check(&[
        (
            "- a\n b: [\n",
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        ("[a, b", "yaml: line 1: did not find expected ',' or ']'"),
        ("{a: b", "yaml: line 1: did not find expected ',' or '}'"),
        ("[a b: c\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("{a b", "yaml: line 1: did not find expected ',' or '}'"),
        ("[a, , b]", "yaml: did not find expected node content"),
        ("{,}", "yaml: did not find expected node content"),
        ("[?]", "yaml: line 1: did not find expected ',' or ']'"),
        ("- a\n- b\nc\n", "yaml: line 4: could not find expected ':'"),
        ("a: !e!x y", "yaml: found undefined tag handle"),
        (
            "a: 1\nb:\n  - 1\n  c: 2\n",
            "yaml: line 3: did not find expected '-' indicator",
        ),
        ("a: *x\n", "yaml: unknown anchor 'x' referenced"),
        ("a: 1\n- b\n", "yaml: line 1: did not find expected key"),
        ("]", "yaml: did not find expected node content"),
        ("}", "yaml: did not find expected node content"),
        ("a: ]", "yaml: did not find expected node content"),
        (
            "key: [a\nother: b]: c",
            "yaml: line 1: did not find expected ',' or ']'",
        ),
    ]);
}

#[test]
fn contents_that_mean_nothing_are_refused() {
    check(&[
        (
            "{{ .Values.x }}: y",
            r#"yaml: invalid map key: map[interface {}]interface {}{".Values.x":interface {}(nil)}"#,
        ),
        ("? [a]\n: b", r#"yaml: invalid map key: []interface {}{"a"}"#),
        ("[a]: b", r#"yaml: invalid map key: []interface {}{"a"}"#),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!float x", "yaml: cannot decode !!str `x` as a !!float"),
        ("a: !!bool 1", "yaml: cannot decode !!int `1` as a !!bool"),
        ("a: !!null x", "yaml: cannot decode !!str `x` as a !!null"),
        (
            "a: !!timestamp x",
            "yaml: cannot decode !!str `x` as a !!timestamp",
        ),
        (
            "a: !!binary \"@\"",
            "yaml: !!binary value contains invalid base64 data",
        ),
        (
            "<<: 1",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        (
            "<<: [1]",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        (
            "a: &a [1]\n<<: *a",
            "yaml: map merge requires map or sequence of maps as the value",
        ),
        ("&a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a: &a {b: *a}", "yaml: anchor 'a' value contains itself"),
        (
            "!!float 18446744073709551615",
            "yaml: cannot decode !!int `18446744073709551615` as a !!float",
        ),
    ]);
}

#[test]
fn values_that_json_lacks_are_refused() {
    check(&[
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        (
            "~: a",
            r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "a""#,
        ),
        (
            "18446744073709551615: a",
            r#"unsupported map key of type: uint64, key: 0xffffffffffffffff, value: "a""#,
        ),
        (
            "? !!null ''\n: {b: [1, yes, 2.5, ~]}",
            r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: map[interface {}]interface {}{"b":[]interface {}{1, true, 2.5, interface {}(nil)}}"#,
        ),
    ]);
}

#[test]
fn characters_that_yaml_lacks_are_refused() {
    check(&[
        ("a: \u{1}", "yaml: control characters are not allowed"),
        ("a: \u{7f}", "yaml: control characters are not allowed"),
        ("a: \u{fffe}", "yaml: control characters are not allowed"),
        (
            "a: 'bxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\u{1}",
            "yaml: control characters are not allowed",
        ),
    ]);
}
