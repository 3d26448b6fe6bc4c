//! Values and what Helm's `toYaml` and `toYamlPretty` write for them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use steersman_yaml::{Style, marshal};

/// Each value as JSON, its YAML in `Style::V2`, and its YAML in `Style::V3Pretty`.
fn check(cases: &[(&str, &str, &str)]) {
    for (json, v2, v3) in cases {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(marshal(&value, Style::V2).unwrap(), *v2, "{json}");
        assert_eq!(marshal(&value, Style::V3Pretty).unwrap(), *v3, "{json}");
    }
}

#[test]
fn strings_that_look_like_something_else_are_quoted() {
    check(&[(
        r#"["", "yes", "No", "~", "null", "1", "0x1f", "1_0", "1e3", ".5", "2001-01-01", "12:30", ".inf", "<<", "=", "08", "0o-7", "true "]"#,
        "- \"\"\n\
- \"yes\"\n\
- \"No\"\n\
- \"~\"\n\
- \"null\"\n\
- \"1\"\n\
- \"0x1f\"\n\
- \"1_0\"\n\
- \"1e3\"\n\
- \".5\"\n\
- \"2001-01-01\"\n\
- \"12:30\"\n\
- \".inf\"\n\
- <<\n\
- =\n\
- \"08\"\n\
- 0o-7\n\
- 'true '\n\
",
        "- \"\"\n\
- \"yes\"\n\
- \"No\"\n\
- \"~\"\n\
- \"null\"\n\
- \"1\"\n\
- \"0x1f\"\n\
- \"1_0\"\n\
- \"1e3\"\n\
- \".5\"\n\
- \"2001-01-01\"\n\
- \"12:30\"\n\
- \".inf\"\n\
- <<\n\
- =\n\
- \"08\"\n\
- \"0o-7\"\n\
- 'true '\n\
",
    )]);
}

#[test]
fn strings_are_quoted_where_syntax_asks_for_it() {
    check(&[(
        "[\"a: b\", \"a #b\", \"#a\", \"- a\", \"-\", \"a:\", \"-a\", \"?a\", \"? a\", \"[a\", \"{a\", \"a]\", \"&a\", \"*a\", \"!a\", \"|\", \"> x\", \"'\", \"a'b\", \"\\\"\", \"a\\\"b\", \"%a\", \"@a\", \"`a\", \"---\", \"--- a\", \"...x\", \" a\", \"a \", \"a  b\", \", a\", \"a, b\", \"a\\tb\", \"\\ta\", \"\\u00e9\", \"a\\u00a0b\", \"\\u2603\", \"\\ud83d\\ude00\", \"\\u0000\", \"\\u0007\\u001b\", \"\\r\", \"\\u2028\", \"x\\u2028y\", \"\\ufeffab\", \"a\\u0085b\", \"a \\u0085 \\u0085 b\"]",
        "- 'a: b'\n\
- 'a #b'\n\
- '#a'\n\
- '- a'\n\
- '-'\n\
- 'a:'\n\
- -a\n\
- ?a\n\
- '? a'\n\
- '[a'\n\
- '{a'\n\
- a]\n\
- '&a'\n\
- '*a'\n\
- '!a'\n\
- '|'\n\
- '> x'\n\
- ''''\n\
- a'b\n\
- '\"'\n\
- a\"b\n\
- '%a'\n\
- '@a'\n\
- '`a'\n\
- '---'\n\
- '--- a'\n\
- '...x'\n\
- ' a'\n\
- 'a '\n\
- a  b\n\
- ', a'\n\
- a, b\n\
- \"a\\tb\"\n\
- \"\\ta\"\n\
- é\n\
- a\u{a0}b\n\
- ☃\n\
- \"\\U0001F600\"\n\
- \"\\0\"\n\
- \"\\a\\e\"\n\
- \"\\r\"\n\
- '\u{2028}'\n\
- 'x\u{2028}  y'\n\
- \"\\uFEFF\\x61\\x62\"\n\
- a b\n\
- |-\n\
\x20 a\n\
\x20 b\n\
",
        "- 'a: b'\n\
- 'a #b'\n\
- '#a'\n\
- '- a'\n\
- '-'\n\
- 'a:'\n\
- -a\n\
- ?a\n\
- '? a'\n\
- '[a'\n\
- '{a'\n\
- a]\n\
- '&a'\n\
- '*a'\n\
- '!a'\n\
- '|'\n\
- '> x'\n\
- ''''\n\
- a'b\n\
- '\"'\n\
- a\"b\n\
- '%a'\n\
- '@a'\n\
- '`a'\n\
- '---'\n\
- '--- a'\n\
- '...x'\n\
- ' a'\n\
- 'a '\n\
- a  b\n\
- ', a'\n\
- a, b\n\
- \"a\\tb\"\n\
- \"\\ta\"\n\
- é\n\
- a\u{a0}b\n\
- ☃\n\
- \"\\U0001F600\"\n\
- \"\\0\"\n\
- \"\\a\\e\"\n\
- \"\\r\"\n\
- '\u{2028}'\n\
- 'x\u{2028}  y'\n\
- \"\\uFEFF\\x61\\x62\"\n\
- \"a\\Nb\"\n\
- \"a \\N \\N b\"\n\
",
    )]);
}

#[test]
fn multi_line_strings_are_blocks() {
    check(&[
        (
            "[\"a\\nb\", \"a\\nb\\n\", \"a\\n\\n\", \"\\n\", \"\\n\\n\", \"a\\n b\\n\", \" a\\nb\", \"a \\nb\", \"a\\n \\nb\", \"a\\n\\tb\\n\", \"a\\n\\nb\\n\", \"  \\na\", \"a\\u2028b\\n\"]",
            "- |-\n\
\x20 a\n\
\x20 b\n\
- |\n\
\x20 a\n\
\x20 b\n\
- |+\n\
\x20 a\n\
\n\
- |2+\n\
\n\
- |2+\n\
\n\
\n\
- |\n\
\x20 a\n\
\x20  b\n\
- |2-\n\
\x20  a\n\
\x20 b\n\
- \"a \\nb\"\n\
- \"a\\n \\nb\"\n\
- \"a\\n\\tb\\n\"\n\
- |\n\
\x20 a\n\
\n\
\x20 b\n\
- \"  \\na\"\n\
- |\n\
\x20 a\u{2028}  b\n\
",
            "- |-\n\
\x20 a\n\
\x20 b\n\
- |\n\
\x20 a\n\
\x20 b\n\
- |+\n\
\x20 a\n\
\n\
- |2+\n\
\n\
- |2+\n\
\n\
\n\
- |\n\
\x20 a\n\
\x20  b\n\
- |2-\n\
\x20  a\n\
\x20 b\n\
- \"a \\nb\"\n\
- \"a\\n \\nb\"\n\
- |\n\
\x20 a\n\
\x20 \tb\n\
- |\n\
\x20 a\n\
\n\
\x20 b\n\
- \"  \\na\"\n\
- |\n\
\x20 a\u{2028}  b\n\
",
        ),
        (
            "{\"a\\nb\": \"c\\nd\\n\"}",
            "? |-\n  a\n  b\n: |\n  c\n  d\n",
            "? |-\n  a\n  b\n: |\n  c\n  d\n",
        ),
    ]);
}

#[test]
fn long_strings_are_folded_at_80_columns() {
    check(&[
        (
            "[\"word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end\", \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz  w\", \"it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's it's : x\", \"\\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\t\", \"a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b end\"]",
            "- word word word word word word word word word word word word word word word word\n\
\x20 word word word word word word word word word word word word word word word word\n\
\x20 word word word word word word word word end\n\
- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\
\x20 y zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz  w\n\
- 'it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s\n\
\x20 it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s\n\
\x20 it''s it''s : x'\n\
- \"\\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\"\n\
\x20 \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\"\n\
\x20 \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\t\"\n\
- a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b\n\
\x20 a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b\n\
\x20 a  b a  b a  b a  b a  b a  b a  b a  b end\n\
",
            "- word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end\n\
- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz  w\n\
- 'it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s it''s : x'\n\
- \"\\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\\"q\\\" \\t\"\n\
- a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b a  b end\n\
",
        ),
        (
            r#"{"k": "word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end"}"#,
            "k: word word word word word word word word word word word word word word word word\n\
\x20 word word word word word word word word word word word word word word word word\n\
\x20 word word word word word word word word end\n\
",
            "k: word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word end\n\
",
        ),
        (
            r#"{"a": {"b": ["word word word word word word word word word word word word word word word word word word word word end"]}}"#,
            "a:\n\
\x20 b:\n\
\x20 - word word word word word word word word word word word word word word word word\n\
\x20   word word word word end\n\
",
            "a:\n\
\x20 b:\n\
\x20   - word word word word word word word word word word word word word word word word word word word word end\n\
",
        ),
    ]);
}

#[test]
fn collections_are_laid_out() {
    check(&[
        (
            r#"{"a": [1, {"b": 2, "c": []}, [], {}, [[1], [2, [3]]]], "d": {}, "e": {"f": null}}"#,
            "a:\n\
- 1\n\
- b: 2\n\
\x20 c: []\n\
- []\n\
- {}\n\
- - - 1\n\
\x20 - - 2\n\
\x20   - - 3\n\
d: {}\n\
e:\n\
\x20 f: null\n\
",
            "a:\n\
\x20 - 1\n\
\x20 - b: 2\n\
\x20   c: []\n\
\x20 - []\n\
\x20 - {}\n\
\x20 - - - 1\n\
\x20   - - 2\n\
\x20     - - 3\n\
d: {}\n\
e:\n\
\x20 f: null\n\
",
        ),
        ("[]", "[]\n", "[]\n"),
        ("{}", "{}\n", "{}\n"),
        ("[[]]", "- []\n", "- []\n"),
        (
            r#"[{"a": 1, "b": [1]}]"#,
            "- a: 1\n  b:\n  - 1\n",
            "- a: 1\n  b:\n    - 1\n",
        ),
        (
            r#"{"a": {"b": {"c": [{"d": [1]}]}}}"#,
            "a:\n  b:\n    c:\n    - d:\n      - 1\n",
            "a:\n  b:\n    c:\n      - d:\n          - 1\n",
        ),
        (r#""x""#, "x\n", "x\n"),
        ("null", "null\n", "null\n"),
        (
            "[null, true, false]",
            "- null\n- true\n- false\n",
            "- null\n- true\n- false\n",
        ),
    ]);
}

#[test]
fn long_keys_are_complex() {
    check(&[
        (
            r#"{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": [1, 2], "a": 1}"#,
            "a: 1\n\
? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: - 1\n\
\x20 - 2\n\
",
            "a: 1\n\
? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: - 1\n\
\x20 - 2\n\
",
        ),
        (
            r#"{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": {"b": 1}}"#,
            "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: b: 1\n\
",
            "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: b: 1\n\
",
        ),
        (
            r#"{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": "v"}"#,
            "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: v\n\
",
            "? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
: v\n\
",
        ),
        (
            "{\"a\\nb\": [1]}",
            "? |-\n  a\n  b\n: - 1\n",
            "? |-\n  a\n  b\n: - 1\n",
        ),
        (
            r#"[{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": [[1]]}]"#,
            "- ? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
\x20 : - - 1\n\
",
            "- ? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n\
\x20 : - - 1\n\
",
        ),
    ]);
}

#[test]
fn keys_are_quoted_like_values() {
    check(&[(
        "{\"yes\": 1, \"\": 2, \"a b\": 3, \"a: b\": 4, \"1\": 5, \"#\": 6, \"y\\u2028\": 7}",
        "\"\": 2\n'#': 6\n\"1\": 5\na b: 3\n'a: b': 4\n? 'y\u{2028}'\n: 7\n\"yes\": 1\n",
        "\"\": 2\n'#': 6\n\"1\": 5\na b: 3\n'a: b': 4\n? 'y\u{2028}'\n: 7\n\"yes\": 1\n",
    )]);
}

#[test]
fn numbers_are_written_as_go_writes_them() {
    check(&[(
        "[1.0, -1.0, 0.0, 1.5, 1000000.0, 1234567.5, 1e+20, 1e+21, 1e-05, 0.0001, 9007199254740992.0, 9.223372036854776e+18, 1.2e+19, -1e+19, -0.0]",
        "- 1\n\
- -1\n\
- 0\n\
- 1.5\n\
- 1000000\n\
- 1.2345675e+06\n\
- 1e+20\n\
- 1e+21\n\
- 1e-05\n\
- 0.0001\n\
- 9007199254740992\n\
- 9223372036854776000\n\
- 12000000000000000000\n\
- -1e+19\n\
- 0\n\
",
        "- 1\n\
- -1\n\
- 0\n\
- 1.5\n\
- 1e+06\n\
- 1.2345675e+06\n\
- 1e+20\n\
- 1e+21\n\
- 1e-05\n\
- 0.0001\n\
- 9.007199254740992e+15\n\
- 9.223372036854776e+18\n\
- 1.2e+19\n\
- -1e+19\n\
- -0\n\
",
    )]);
}
