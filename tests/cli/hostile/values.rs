//! B11 to B13: values and schemas.

use std::fmt::Write as _;

use super::{Ended, Hostile};

fn render_values(values: impl AsRef<[u8]>) -> Ended {
    Hostile::of_template("values: {{ .Values | toJson }}\n")
        .with("values.yaml", values)
        .render(&[])
}

#[test]
fn odd_yaml_is_read_or_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let alias = format!("*a{}", level - 1);
        let _ = writeln!(bomb, "a{level}: &a{level} [{}]", [alias.as_str(); 10].join(", "));
    }
    render_values(&bomb).says("document contains excessive aliasing");
    render_values("a: ".to_owned() + &"[".repeat(10_000)).says("exceeded max depth");
    render_values("a: ".to_owned() + &"x".repeat(100 << 20)).says("is larger than the maximum");
    render_values(format!("a: [{}]\n", "1,".repeat(2_600_000 - 10)))
        .says("document needs more than 67108864 bytes");
    render_values("a:\n\t- b\n").says("found character that cannot start any token");
    render_values("a: \0\n").says("control characters are not allowed");
    render_values(b"a: \xff\n").says("invalid leading UTF-8 octet");
    render_values("\u{feff}a: 1\n").renders(r#"{"a":1}"#);
    render_values(b"\xff\xfea\0:\0 \x001\0").renders(r#"{"a":1}"#);
    render_values("a: 1\na: 2\n").renders(r#"{"a":2}"#);
    render_values("a: !!binary aGk=\n").renders(r#"{"a":"hi"}"#);
    render_values("a: !!python/object:os.system x\n").renders(r#"{"a":"x"}"#);
    render_values("a: no\nb: 0o17\nc: 017\nd: 1_000\n").renders(r#"{"a":false,"b":15,"c":15,"d":1000}"#);
    for value in [".nan", ".inf", "-.inf"] {
        render_values(format!("a: {value}\n")).says("unsupported value");
    }
    render_values("a: 1e400\n").renders(r#"{"a":"1e400"}"#);
    render_values("? [a]\n: b\n").says("invalid map key");
}

#[test]
fn values_are_a_map() {
    for values in ["[]\n", "text\n", "1\n", "- a\n"] {
        render_values(values).says("into Go value of type map[string]interface {}");
    }
    render_values("null\n").renders("{}");
    let chart = Hostile::of_template("a: {{ .Values.a }}\n").with("values.yaml", "a: 1\n");
    for set in ["a[65537]=x", "a[-1]=x", "a={x", &"a.".repeat(10_000)] {
        let ended = chart.render(&["--set", set]);
        assert_eq!(ended.code, Some(1), "{set}");
        ended.says("failed parsing --set data");
    }
}

fn render_schema(schema: &str, values: &str) -> Ended {
    Hostile::of_template("done: true\n")
        .with("values.schema.json", schema)
        .with("values.yaml", values)
        .render(&[])
}

#[test]
fn schemas_reach_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    for url in [
        "file:///dev/zero",
        "file:///etc/passwd",
        "other.json",
        &format!("http://{address}/x.json"),
        &format!("https://{address}/x.json"),
    ] {
        render_schema(&format!(r#"{{"$ref": "{url}"}}"#), "{}")
            .says("references to other files and to the network are not followed");
    }
    assert!(listener.accept().is_err(), "somebody has connected");
}

#[test]
fn schemas_take_no_long_time() {
    let mut links: Vec<String> = (0..10_000)
        .map(|link| format!("\"a{link}\":{{\"$ref\":\"#/definitions/a{}\"}}", link + 1))
        .collect();
    links.push("\"a10000\":{\"required\":[\"b\"]}".to_owned());
    let chain = format!(
        "{{\"$ref\":\"#/definitions/a0\",\"definitions\":{{{}}}}}",
        links.join(",")
    );
    render_schema(&chain, "{}").says("missing property 'b'");
    render_schema(
        r##"{"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}"##,
        "{}",
    )
    .says("web:");
    let text = "a".repeat(1 << 20);
    render_schema(
        r#"{"properties": {"a": {"pattern": "^(a+)+$"}}}"#,
        &format!("a: {text}!\n"),
    )
    .says("does not match pattern");
    render_schema(
        r#"{"properties": {"a": {"pattern": "((((((((((x{100}){100}){100}){100}){100}){100}){100}){100}){100}){100})"}}}"#,
        "a: x\n",
    )
    .says("web:");
    render_schema(&format!("{{\"enum\": [{}]}}", "1,".repeat(3 << 20)), "{}")
        .says("is larger than the maximum file size");
    for schema in [
        "",
        "null",
        "[]",
        "1",
        "{\"type\": 1}",
        "{\"$schema\": \"http://x\"}",
        &"[".repeat(100_000),
    ] {
        let ended = render_schema(schema, "a: 1\n");
        assert!(matches!(ended.code, Some(0 | 1)), "{schema}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{schema}: {}", ended.stderr);
    }
}
