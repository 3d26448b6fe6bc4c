//! An evaluation ends, takes little, and says nothing about values.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steersman_expressions::{EvaluationError, Expression, Variables};

fn parsed(source: &str) -> Expression {
    Expression::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn refusal(source: &str) -> String {
    Expression::parse(source).expect_err(source).to_string()
}

#[test]
fn what_is_too_long_or_too_deep_is_refused() {
    assert_eq!(refusal(&"a".repeat(4097)), "it is longer than 4096 bytes");
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("!-", ""),
        ("a?b:", ""),
        ("{1:", "}"),
        ("f(", ")"),
        ("", ".a"),
        ("1+", ""),
    ] {
        let most = 4000 / (open.len() + close.len());
        let source = format!("{}a{}", open.repeat(most), close.repeat(most));
        // Parentheses are nothing in themselves.
        if let Ok(read) = Expression::parse(&source) {
            assert_eq!(open, "(", "{open}a{close}");
            assert!(read.names("a"));
        }
    }
    let two = "a.all(x, x.all(y, y.b))";
    parsed(two);
    let message = refusal(&format!("a.all(z, {two})"));
    assert_eq!(message, "comprehensions stand more than 2 deep in each other");
    // One after the other is no nest.
    parsed("a.filter(x, x.b).map(x, x.c).filter(x, x.d).all(x, x.e)");
}

#[test]
fn what_can_not_be_read_says_where() {
    assert_eq!(
        refusal("status.ready ="),
        "syntax error: mismatched input '=' expecting <EOF> at column 14"
    );
    assert!(refusal("a &&\n  b c").ends_with("at line 2, column 5 of it"));
    assert_eq!(refusal("status.reddy()"), "the function `reddy` is not known");
    assert_eq!(refusal("size(1, 2)"), "the function `size` is not called so");
}

/// A long list, text and object.
fn large() -> Value {
    let list: Vec<Value> = (0..100_000).map(Value::from).collect();
    json!({"list": list, "text": "x".repeat(500_000), "deep": {"a": {"b": [1, 2, 3]}}})
}

#[test]
fn what_takes_long_or_much_is_stopped() {
    let object = large();
    let variables = Variables::of_fields(&object);
    let doubled = (0..12).fold("text".to_owned(), |text, _| format!("[{text}].map(x, x + x)[0]"));
    for source in [
        "list.all(x, list.all(y, y >= 0))",
        "list.map(x, list.map(y, y))",
        "list.map(x, list)",
        "list.map(x, text + text)",
        "list.map(x, [x, x, x, x, x, x, x, x, x, x])",
        "list.all(x, x in list)",
        "list.exists(x, text.contains('y'))",
        "list.exists(x, text.matches('(x|y)*z'))",
        "list.exists(x, 'a'.matches(string(x) + '{1,900}'))",
        "list.exists(x, text == text + 'y')",
        "text.replace('', text)",
        "text.split('')",
        "[text, text, text, text, text, text, text, text].join(text)",
        "sets.equivalent(list, list.filter(x, true))",
        "list.filter(x, list == [x])  == list + list + list + list",
        &doubled,
    ] {
        let started = Instant::now();
        let result = parsed(source).evaluate(&variables);
        let took = started.elapsed();
        assert_eq!(result.err(), Some(EvaluationError::Exhausted), "{source}");
        assert!(took < Duration::from_secs(3), "{source}: {took:?}");
    }
    // What is exhausted is no matter of chance: nothing stands for its result.
    for source in [
        "list.all(x, list.all(y, y >= 0)) || true",
        "false && list.all(x, list.all(y, y >= 0)) ? 1 : list.map(x, list.map(y, y)).size()",
        "[1].exists(x, list.map(y, [y, y, y, y, y, y, y, y]).size() > 0 || true)",
    ] {
        let result = parsed(source).evaluate(&variables);
        assert_eq!(result, Err(EvaluationError::Exhausted), "{source}");
    }
    let all = parsed("list.all(x, x >= 0) && text.size() == 500000");
    assert_eq!(all.holds(&variables), Ok(true));
}

#[test]
fn what_is_too_large_or_too_deep_is_not_looked_at() {
    let object = json!({"large": "x".repeat(2 << 20), "small": 1});
    let variables = Variables::of_fields(&object);
    assert_eq!(
        parsed("large.size()").evaluate(&variables),
        Err(EvaluationError::TooLarge(3 << 19))
    );
    assert_eq!(parsed("small == 1").holds(&variables), Ok(true));
    let deep = (0..300).fold(Value::Null, |inner, _| json!([inner]));
    let object = json!({ "deep": deep });
    assert_eq!(
        parsed("deep == deep").holds(&Variables::of_fields(&object)),
        Err(EvaluationError::TooDeep)
    );
}

#[test]
fn no_error_has_a_value_in_it() {
    let object = json!({"data": {"password": "canary", "list": ["canary"], "key": "canary", "number": 4711}});
    let variables = Variables::of_fields(&object);
    for source in [
        "data.password",
        "data.password + 1",
        "data.password < 1",
        "data.password.field",
        "data.list.field",
        "data[data.key]",
        "data.list[data.number]",
        "int(data.password)",
        "duration(data.password)",
        "timestamp(data.password)",
        "'a'.matches('(' + data.password)",
        "data.password && true",
        "data.password ? 1 : 2",
        "data.list.all(x, x)",
        "{data.key: 1, data.key: 2}",
        "base64.decode(data.password + '%')",
        "data.password.substring(data.number)",
        "!data.number",
        "-data.password",
        "data.number / 0",
        "timestamp(0).getHours(data.password)",
    ] {
        let error = parsed(source).holds(&variables).expect_err(source);
        let said = format!("{error} {error:?}");
        assert!(
            !said.contains("canary") && !said.contains("4711"),
            "{source}: {said}"
        );
    }
}

#[test]
fn no_text_brings_the_parser_down() {
    let pieces = [
        "a",
        ".",
        "?",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "'",
        "\"",
        "\\",
        "b'",
        "r\"",
        "1",
        "0x",
        "1e",
        "u",
        "-",
        "!",
        "+",
        "&&",
        "||",
        "==",
        " in ",
        ",",
        ":",
        "has(",
        ".map(x,",
        ".all(",
        "\u{e9}",
        "\u{1f600}",
        "\n",
        "//",
        "'''",
        "`",
        "@",
        "\\u00",
        "9999999999999999999",
        "null",
        "optional.of(",
        ".?",
        "[?",
    ];
    // A fixed sequence, so that a failure is one tomorrow.
    let mut state: u64 = 42;
    let mut next = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % bound
    };
    let object = json!({"a": {"a": [1, "b"]}});
    let mut read = 0;
    for _ in 0..20_000 {
        let source: String = (0..=next(12)).map(|_| pieces[next(pieces.len())]).collect();
        match Expression::parse(&source) {
            Ok(expression) => {
                read += 1;
                let _ = expression.evaluate(&Variables::of_fields(&object));
            }
            Err(error) => assert_ne!(error.to_string(), "it can't be read", "{source}"),
        }
    }
    assert!(read > 50, "only {read} were expressions");
}
