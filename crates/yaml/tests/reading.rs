//! Texts and the JSON that sigs.k8s.io/yaml makes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use steersman_yaml::{parse, to_json};

/// Each text and its JSON, both as Go gives them.
fn check(cases: &[(&str, &str)]) {
    for (text, expect) in cases {
        let expect: Value = serde_json::from_str(expect).unwrap();
        assert_eq!(without_point(to_json(text).unwrap()), expect, "{text:?}");
        assert_eq!(
            without_point(parse(text).unwrap().to_json().unwrap()),
            expect,
            "{text:?}"
        );
    }
}

/// Go's JSON writes a whole float like an integer.
fn without_point(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(without_point).collect(),
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| (key, without_point(value)))
            .collect(),
        other => other,
    }
}

#[test]
fn booleans_are_those_of_yaml_1_1() {
    check(&[
        (
            "[yes, No, on, OFF, y, N, true, False]",
            "[true,false,true,false,true,false,true,false]",
        ),
        ("y: 1\nno: 2\n", r#"{"false":2,"true":1}"#),
        ("'yes'", r#""yes""#),
    ]);
}

#[test]
fn numbers_are_those_of_yaml_1_1() {
    check(&[
        (
            "[0777, 0o17, 0x1F, 0b101, -0b1, 1_000, 08, +5, -0]",
            "[511,15,31,5,-1,1000,8,5,0]",
        ),
        (
            "[1e3, 1., .5, -.5e-1, 1e400, 12:30:45, 1.2.3]",
            r#"[1000,1,0.5,-0.05,"1e400","12:30:45","1.2.3"]"#,
        ),
        (
            "[9223372036854775807, 9223372036854775808, 18446744073709551615, 18446744073709551616, -9223372036854775809]",
            "[9223372036854775807,9223372036854775808,18446744073709551615,18446744073709552000,-9223372036854776000]",
        ),
    ]);
}

#[test]
fn nulls_have_many_forms() {
    check(&[
        (
            "[~, null, Null, NULL, nULL, '']",
            r#"[null,null,null,null,"nULL",""]"#,
        ),
        ("a:\nb: ~\n? c\n", r#"{"a":null,"b":null,"c":null}"#),
        ("", "null"),
    ]);
}

#[test]
fn dates_stay_strings() {
    check(&[(
        "[2001-01-01, 2001-12-14t21:59:43.10-05:00, !!timestamp 2001-01-01]",
        r#"["2001-01-01","2001-12-14t21:59:43.10-05:00","2001-01-01"]"#,
    )]);
}

#[test]
fn tags_convert() {
    check(&[
        ("!!str 123", r#""123""#),
        (
            "[!!int '3', !!float 3, !!bool 'yes', !!null '', !!binary aGVsbG8=, !custom 5, ! 5]",
            r#"[3,3,true,null,"hello","5","5"]"#,
        ),
        ("!!set {a, b}", r#"{"a":null,"b":null}"#),
        ("!<tag:yaml.org,2002:str> 1", r#""1""#),
        ("%TAG !e! tag:yaml.org,2002:\n---\n!e!str 1", r#""1""#),
    ]);
}

#[test]
fn the_last_of_equal_keys_counts() {
    check(&[
        ("a: 1\nb: 2\na: 3\n", r#"{"a":3,"b":2}"#),
        ("1: a\n'1': b\n", r#"{"1":"b"}"#),
    ]);
}

#[test]
fn keys_become_strings() {
    check(&[(
        "1: a\n1.5: b\ntrue: c\n0x10: d\n1e6: e\n",
        r#"{"1":"a","1.5":"b","16":"d","1e+06":"e","true":"c"}"#,
    )]);
}

#[test]
fn aliases_are_expanded() {
    check(&[
        ("a: &x {b: 1}\nc: *x\n", r#"{"a":{"b":1},"c":{"b":1}}"#),
        ("- &x 1\n- &x 2\n- *x\n", "[1,2,2]"),
        ("a: &a\n  - 1\nb:\n  - *a\n  - *a\n", r#"{"a":[1],"b":[[1],[1]]}"#),
    ]);
}

#[test]
fn merge_keys_are_applied_in_their_place() {
    check(&[
        (
            "base: &b {x: 1, y: 2}\nd:\n  x: 0\n  <<: *b\n  y: 3\n",
            r#"{"base":{"true":2,"x":1},"d":{"true":3,"x":1}}"#,
        ),
        (
            "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n",
            r#"{"a":{"x":1},"b":{"x":2,"z":3},"c":{"x":1,"z":3}}"#,
        ),
        ("<<: {a: 1}\nb: 2\n", r#"{"a":1,"b":2}"#),
        ("'<<': 1\n", "{\"\\u003c\\u003c\":1}"),
    ]);
}

#[test]
fn plain_scalars_span_lines() {
    check(&[
        (
            "a: one\n  two\n\n  three # no\nb: x#y\n",
            "{\"a\":\"one two\\nthree\",\"b\":\"x#y\"}",
        ),
        ("[a b, c\n d, e:f, http://x]", r#"["a b","c d","e:f","http://x"]"#),
        ("a: -1 -\nb: ?x\nc: :x\n", r#"{"a":"-1 -","b":"?x","c":":x"}"#),
    ]);
}

#[test]
fn quoted_scalars_are_joined_and_unescaped() {
    check(&[
        ("'it''s\n  two\n\n  three'", "\"it's two\\nthree\""),
        (
            "\"a\\tb\\x41\\u00e9\\U0001F600\\\n   c\\_\\N\\L\\P\\e\\0\"",
            "\"a\\tbAé😀c\u{a0}\u{85}\\u2028\\u2029\\u001b\\u0000\"",
        ),
        ("\"one\n  two  \n\n three\"", "\"one two\\nthree\""),
        ("\"a\\  \n b\"", r#""a  b""#),
    ]);
}

#[test]
fn block_scalars_are_chomped_and_folded() {
    check(&[
        (
            "a: |\n  x\n   y\n\nb: |-\n  x\n\nc: |+\n  x\n\nd: end\n",
            "{\"a\":\"x\\n y\\n\",\"b\":\"x\",\"c\":\"x\\n\\n\",\"d\":\"end\"}",
        ),
        (
            "a: >\n  one\n  two\n\n  three\n    four\n  five\n",
            "{\"a\":\"one two\\nthree\\n  four\\nfive\\n\"}",
        ),
        ("a: |2\n    x\n", "{\"a\":\"  x\\n\"}"),
        ("- |\n x\n- >-\n  y", "[\"x\\n\",\"y\"]"),
        ("a: |\n\n\n  x\nb: 1\n", "{\"a\":\"\\n\\nx\\n\",\"b\":1}"),
        ("a: |  # comment\n  x", r#"{"a":"x"}"#),
        ("|\r\n a\r\n b\r\n", "\"a\\nb\\n\""),
    ]);
}

#[test]
fn sequences_need_no_indentation() {
    check(&[
        ("a:\n- 1\n- 2\nb:\n  - 3\n", r#"{"a":[1,2],"b":[3]}"#),
        ("- - 1\n  - 2\n-\n  - 3\n- - - 4\n", "[[1,2],[3],[[4]]]"),
    ]);
}

#[test]
fn flow_collections_nest_and_trail() {
    check(&[
        (
            "{a: [1, {b: 2}, ], c: {}, d}",
            r#"{"a":[1,{"b":2}],"c":{},"d":null}"#,
        ),
        ("[a: 1, ? b : 2, ]", r#"[{"a":1},{"b":2}]"#),
        ("{\"a\":1,'b':2}", r#"{"a":1,"b":2}"#),
        ("{a: b,}\n", r#"{"a":"b"}"#),
        ("[[], {}]", "[[],{}]"),
        ("{a:1}", r#"{"a:1":null}"#),
        ("{? a, b}", r#"{"a":null,"b":null}"#),
    ]);
}

#[test]
fn complex_keys_may_be_scalars() {
    check(&[("? a\n: b\n? |\n  c\n: d\n", "{\"a\":\"b\",\"c\\n\":\"d\"}")]);
}

#[test]
fn only_the_first_document_is_read() {
    check(&[
        ("a: 1\n---\nb: [\n", r#"{"a":1}"#),
        ("---\n...\n---\na\n", "null"),
        ("--- a\n...\n", r#""a""#),
        ("# only a comment\n", "null"),
        ("{a: 1} trailing", r#"{"a":1}"#),
    ]);
}

#[test]
fn comments_and_blanks_are_skipped() {
    check(&[
        ("# c\na: 1 # c\n\n# c\nb: 2\n", r#"{"a":1,"b":2}"#),
        ("a:\t1\n", r#"{"a":1}"#),
        ("a: 'x' #y\n", r#"{"a":"x"}"#),
    ]);
}

#[test]
fn line_breaks_have_five_forms() {
    check(&[
        (
            "a: 1\r\nb: 2\rc: 3\u{85}d: 4\u{2028}e: 5\n",
            r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#,
        ),
        ("'a\u{2028}b'", "\"a\\u2028b\""),
        ("'a\r\nb'", r#""a b""#),
    ]);
}

#[test]
fn json_is_yaml() {
    check(&[(
        "{\"a\": [1, 2.5, true, null, \"x\\u003cy\"], \"b\": {\"c\": -1e-7}}",
        "{\"a\":[1,2.5,true,null,\"x\\u003cy\"],\"b\":{\"c\":-1e-7}}",
    )]);
}

#[test]
fn empty_flow_collections_lose_their_colon() {
    check(&[("[]: a", "[]"), ("{}: >+\n\n", "{}")]);
}
