use serde_json::json;
use steersman_model::{CUT_OFF, chain};

use super::*;

fn secret_with(data: &Value) -> Redactor {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": data});
    let objects = RenderedObject::from_document("t", &secret).unwrap();
    Redactor::new(&objects, &json!({}))
}

#[test]
fn secrets_are_masked_plain_and_encoded() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"a": "aHVudGVyMg=="}, "stringData": {"b": "canary-1"}});
    let objects = RenderedObject::from_document("t", &secret).unwrap();
    let values = json!({"db": {"rootPassword": "canary-2", "secretName": "my-secret"}, "x": {"secret": {"deep": ["canary-3"]}}});
    let redactor = Redactor::new(&objects, &values);
    let shown = redactor.mask("hunter2 aHVudGVyMg== canary-1 Y2FuYXJ5LTE= canary-2 canary-3 my-secret");
    assert_eq!(
        shown,
        "******** ******** ******** ******** ******** ******** my-secret"
    );
}

#[test]
fn numbers_are_masked_as_json_and_as_go_write_them() {
    let redactor = secret_with(&json!({"pin": 12_345_678, "list": [8_765_432.5], "short": 12}));
    let said = "expected string, got &value.valueUnstructured{Value:12345678}, 1.2345678e+07, 8765432.5, 12";
    assert_eq!(
        redactor.mask(said),
        "expected string, got &value.valueUnstructured{Value:********}, ********, ********, 12"
    );
    let redactor = secret_with(&json!({"pin": "12345678", "port": "1.5e+06"}));
    assert_eq!(
        redactor.mask("1.2345678e+07 1500000 12345678"),
        "******** ******** ********"
    );
    let redactor = Redactor::new([], &json!({"auth": {"token": 12_345_678}, "replicas": 54_321}));
    assert_eq!(redactor.mask("12345678 of 54321"), "******** of 54321");
}

#[test]
fn a_secret_is_masked_in_every_writing() {
    const KEY: &str =
        "-----BEGIN PRIVATE KEY-----\nMIIcanary+line/1\nMIIcanary+line/2\n-----END PRIVATE KEY-----\n";
    const QUOTED: &str = "can\"ary\\with 'quotes' & <more>\t%";
    for secret in [KEY, QUOTED, "canary ö 1?=&", "plain-canary"] {
        let redactor = secret_with(&json!({"key": secret}));
        let go = steersman_gotemplate::format::quote(secret);
        let json = serde_json::to_string(secret).unwrap();
        let error = std::io::Error::other(format!("bad\n{secret}"));
        let writings = [
            secret.to_owned(),
            chain(&error),
            steersman_gotemplate::format::quote(&go),
            serde_json::to_string(&json).unwrap(),
            go,
            json,
            STANDARD.encode(secret),
            STANDARD
                .encode(secret)
                .replace('+', "%2B")
                .replace('/', "%2F")
                .replace('=', "%3D"),
            STANDARD.encode(
                json!({"a": 1, "key": secret})
                    .to_string()
                    .replace('<', "\\u003c")
                    .replace('>', "\\u003e")
                    .replace('&', "\\u0026"),
            ),
            STANDARD.encode(secret.trim()),
            forms::hex(secret.as_bytes()),
            forms::hex(secret.as_bytes()).to_uppercase(),
            format!("k: '{}'", secret.replace('\'', "''")),
            format!("  k: |\n    {}", secret.replace('\n', "\n    ")),
        ];
        for writing in &writings {
            let masked = redactor.mask(writing).to_lowercase();
            for part in ["can", "ary", "quotes", "mii", "63616e", "y2fu", "tulj"] {
                assert!(!masked.contains(part), "{part} of {writing} is in {masked}");
            }
        }
    }
}

#[test]
fn secrets_in_urls_are_masked() {
    let redactor = secret_with(&json!({"a": "can\"ary ö/@$", "b": "x:y&z=+", "c": "can!(a)'=b*/"}));
    for url in [
        // As `encodeURIComponent` and `URL` of JavaScript have it.
        "https://x/?q=can!(a)'%3Db*%2F",
        "https://anna:can!(a)'%3Db*%2F@x/",
        "https://x/?q=can%22ary+%C3%B6%2F%40%24",
        "https://x/can%22ary%20%C3%B6%2F@$",
        "https://anna:can%22ary%20%C3%B6%2F%40$@x/",
        "https://x/x:y&z=+",
        "https://x/?q=x%3Ay%26z%3D%2B",
    ] {
        let masked = redactor.mask(url);
        assert!(
            masked.contains("********") && !masked.contains("can") && !masked.contains("x/x"),
            "{masked}"
        );
    }
}

#[test]
fn secrets_are_masked_as_roles_write_them() {
    let secret = "Sw0rd'f1sh+Batt/ery=99";
    let redactor = secret_with(&json!({ "password": secret }));
    let python = "Sw0rd%27f1sh%2BBatt/ery%3D99";
    let shell = "'Sw0rd'\"'\"'f1sh+Batt/ery=99'";
    let posix = r"'Sw0rd'\''f1sh+Batt/ery=99'";
    for text in [python, shell, posix] {
        let masked = redactor.mask(text);
        assert!(!masked.contains("f1sh") && !masked.contains("Batt"), "{masked}");
    }
    let letters = secret_with(&json!({ "password": "Sw0rd-ü-Bättery\"😀" }));
    let once = r#"Sw0rd-\u00fc-B\u00e4ttery\"\ud83d\ude00"#;
    for text in [once.to_owned(), serde_json::to_string(once).unwrap()] {
        let masked = letters.mask(&text);
        assert!(!masked.contains("ttery"), "{masked}");
    }
    // What clients send for a name and a password.
    for name in ["a", "ab", "abc", "abcd"] {
        let encoded = STANDARD.encode(format!("{name}:{secret}"));
        let masked = redactor.mask(&format!("Authorization: Basic {encoded}"));
        let left = masked
            .trim_start_matches("Authorization: Basic ")
            .replace('*', "");
        assert!(left.len() < 15, "{name}: {masked}");
    }
}

#[test]
fn what_a_shell_or_python_is_given_is_masked_in_json_too() {
    let in_json = |text: &str| serde_json::to_string(text).unwrap();
    let shell = |text: &str| format!("mysql -p'{}'", text.replace('\'', "'\"'\"'"));
    let python = |text: &str| format!("['{}']", text.replace('\\', r"\\").replace('\'', r"\'"));
    for secret in ["CANARYxy'zt9word", "CANARYxy'zt\"9\\word", "CANARYxy'zt'9wörd"] {
        let redactor = secret_with(&json!({ "password": secret }));
        for text in [
            shell(secret),
            shell(&in_json(secret)),
            format!("mysql -p'{}'", secret.replace('\'', r"'\''")),
            python(secret),
            python(&shell(secret)),
        ] {
            let once = in_json(&text);
            for writing in [in_json(&once), once, text] {
                let masked = redactor.mask(&writing);
                for part in ["CANARY", "xy", "zt", "9", "rd"] {
                    assert!(!masked.contains(part), "{part} of {writing} is in {masked}");
                }
            }
        }
    }
    let redactor = secret_with(&json!({"password": "CANARY'ä\u{1b}"}));
    for writing in [
        r#"{"cmd": "mysql -p'CANARY'\"'\"'ä\u001b'"}"#,
        r#"'CANARY'\"'\"'\u00e4\u001b'"#,
        r#"'CANARY'\\\"'\\\"'\\u00e4\\u001b'"#,
        r#"["CANARY'ä\x1b"]"#,
        r#"[\"CANARY'ä\\x1b\"]"#,
    ] {
        let masked = redactor.mask(writing);
        assert!(
            masked.contains("********") && !masked.contains("CANARY"),
            "{masked}"
        );
        assert!(!masked.contains("1b") && !masked.contains("e4"), "{masked}");
    }
}

#[test]
fn what_other_encoders_write_is_masked() {
    let redactor = secret_with(&json!({"password": "Zq9\"x<V&7w'é$K mN/+p,#~a"}));
    for writing in [
        // `printf %q` of bash.
        r#"Zq9\"x\<V\&7w\'é\$K\ mN/+p\,#~a"#,
        "Zq9%22x%3cV%267w%27%c3%a9%24K%20mN%2f%2bp%2c%23~a",
        "Zq9&#x22;x&#x3c;V&#x26;7w&#x27;&#xe9;&#x24;K&#x20;mN&#x2f;&#x2b;p&#x2c;&#x23;&#x7e;a",
        "Zq9&#34;x&#60;V&#38;7w&#39;&#233;&#36;K&#32;mN&#47;&#43;p&#44;&#35;&#126;a",
        r"Zq9\x22x\x3cV\x267w\x27\xe9\x24K\x20mN\x2f\x2bp\x2c\x23\x7ea",
        // `export -p` of bash, CSV, and Java's properties.
        r#"Zq9\"x<V&7w'é\$K mN/+p,#~a"#,
        r#"Zq9""x<V&7w'é$K mN/+p,#~a"#,
        r#"Zq9"x<V&7w'\u00E9$K mN/+p,\#~a"#,
    ] {
        assert_eq!(redactor.mask(&format!("no {writing}!")), "no ********!");
    }
}

#[test]
fn no_writing_is_longer_than_what_is_looked_through() {
    for character in "'\"\\<&\u{1b}\u{7f}\u{85}\nä\u{2028}😀 =a$/".chars() {
        let secret = format!("a{}a", character.to_string().repeat(50));
        forms::for_each_form(&secret, usize::MAX, &mut |form| {
            assert!(form.len() <= forms::longest_form(&secret), "{form}");
        });
    }
}

#[test]
fn what_is_secret_in_a_text_is_masked_by_itself() {
    let config = "[db]\npassword = \"canary-a\"\nuser = anna\nurl=postgres://anna:canary-b@db/x\n";
    let docker = r#"{"auths": {"r": {"password": "canary-c"}}}"#;
    let values = json!({"env": [{"name": "DB_PASSWORD", "value": "canary-d"}, {"name": "COLOR", "value": "crimson"}],
        "url": "redis://:canary-e@cache", "tls": {"key": "-----BEGIN PRIVATE KEY-----\ncanary-f\n-----END"}});
    let mut redactor = secret_with(&json!({"config": config, "docker": docker}));
    redactor.add_values(&values);
    for secret in [
        "canary-a", "canary-b", "canary-c", "canary-d", "canary-e", "canary-f",
    ] {
        assert_eq!(redactor.mask(&format!("no {secret}!")), "no ********!");
    }
    assert_eq!(redactor.mask("crimson anna"), "crimson anna");
}

#[test]
fn what_connects_to_others_has_secrets_in_it() {
    let urls = "A=postgres://app:S3cr%40t-p%2Fw@db/x\nB=redis://:second-canary@cache";
    let redactor = secret_with(
        &json!({"urls": urls, "libpq": "host=db password='third-canary' port=5432",
        "ado": "Server=db;Uid=sa;Pwd=fourth-canary;", "jdbc": "jdbc:postgresql://db/x?user=a&password=fifth-canary",
        "dotenv": "DB_PW=sixth-canary"}),
    );
    for secret in [
        "S3cr@t-p/w",
        "S3cr%40t-p%2Fw",
        "second-canary",
        "third-canary",
        "fourth-canary",
        "fifth-canary",
        "sixth-canary",
    ] {
        assert_eq!(
            redactor.mask(&format!("no {secret}!")),
            "no ********!",
            "{secret}"
        );
    }
    assert_eq!(redactor.mask("host=db port=5432"), "host=db port=5432");
}

#[test]
fn base64_is_masked_line_by_line() {
    let secret = "a-long-canary-of-several-lines-".repeat(6);
    let redactor = secret_with(&json!({ "a": secret }));
    let encoded = STANDARD.encode(&secret);
    for width in [64, 76] {
        let lines: Vec<&str> = encoded
            .as_bytes()
            .chunks(width)
            .map(|line| std::str::from_utf8(line).unwrap().trim_end_matches('='))
            .collect();
        for between in ["\n", " ", "\r\n  "] {
            let masked = redactor.mask(&lines.join(between));
            assert!(lines.iter().all(|line| !masked.contains(line)), "{masked}");
        }
    }
}

#[test]
fn secrets_that_overlap_leave_nothing_of_each_other() {
    let redactor = secret_with(&json!({"a": "abcdef", "b": "defghi", "c": "cde1"}));
    assert_eq!(
        redactor.mask("xabcdefghix cde1cde1"),
        "x********x ****************"
    );
}

#[test]
fn binary_data_is_masked_as_base64_and_hexadecimal() {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "/v8A/v8A"}});
    let objects = RenderedObject::from_document("t", &secret).unwrap();
    let redactor = Redactor::new(&objects, &json!({}));
    assert_eq!(redactor.mask("/v8A/v8A feff00feff00"), "******** ********");
}

#[test]
fn secrets_are_masked_as_markup_and_scripts_have_them() {
    let redactor = secret_with(&json!({"a": "pass word&<>\"Canary'=x", "b": "two\tCanary"}));
    for writing in [
        "pass word&amp;&lt;&gt;&#34;Canary&#39;=x",
        "pass word&amp;&lt;&gt;&quot;Canary&apos;=x",
        "pass word&amp;&lt;&gt;&quot;Canary&#x27;=x",
        "pass word&amp;&lt;&gt;\"Canary'=x",
        r"pass word\u0026amp;\u0026lt;\u0026gt;\u0026#34;Canary\u0026#39;=x",
        r#"pass word\u0026\u003C\u003E\"Canary\'\u003Dx"#,
        "two&#x9;Canary",
        r"two\u0009Canary",
    ] {
        assert_eq!(
            redactor.mask(&format!("<p>{writing}</p>")),
            "<p>********</p>",
            "{writing}"
        );
    }
}

#[test]
fn secrets_are_masked_in_capitals_and_without() {
    let redactor = secret_with(&json!({"a": "Canary-Wörd", "b": "canary"}));
    let said = redactor.mask("CANARY-WÖRD canary-wörd CANARY-WORD canary");
    assert_eq!(said, "******** ******** ********-WORD ********");
}

#[test]
fn what_is_encoded_twice_is_masked() {
    for secret in ["pw-1", "canary/1?+", "the canary of a registry~~?"] {
        let redactor = secret_with(&json!({ "password": secret }));
        let once = STANDARD.encode(secret);
        assert_eq!(
            redactor.mask(&format!("<{}>", STANDARD.encode(&once))),
            "<********>"
        );
        for name in ["", "a:", "ab:", "abc:"] {
            let auth = STANDARD.encode(format!("{name}{secret}"));
            for before in ["", "a", "ab"] {
                let config = STANDARD.encode(format!("{before}{{\"auth\":\"{auth}\"}}"));
                let masked = redactor.mask(&config);
                let hidden = config.len() - masked.replace('*', "").len();
                // Some characters are decided by what stands around them, too.
                let part = (secret.len() * 16 / 9).saturating_sub(10);
                assert!(secret.len() < 12 || hidden >= part, "{name}{before}: {masked}");
            }
        }
    }
}

/// A text of `length` bytes that repeats a short one.
fn text_of(part: &str, length: usize) -> String {
    part.repeat(length / part.len())
}

#[test]
fn forty_thousand_secrets_are_masked_in_a_megabyte() {
    let secrets: Vec<String> = (0..40_000_u32)
        .map(|number| format!("{:08x}", number.wrapping_mul(0x9e37_79b1)))
        .collect();
    let redactor = Redactor::new([], &json!({ "passwords": secrets }));
    let quoted = secrets.iter().step_by(40).map(|secret| format!("{secret} "));
    let text = quoted.collect::<String>() + &text_of("x", 500_000) + &text_of("no secret at all; ", 500_000);
    let masked = redactor.mask(&text);
    assert!(masked.starts_with("******** ******** "));
    assert!(masked.ends_with("no secret at all; no secret at all; "));
    assert!(secrets.iter().step_by(40).all(|secret| !masked.contains(secret)));
}

#[test]
fn secrets_that_repeat_themselves_take_no_longer() {
    let mut secrets: Vec<String> = (4..1000).map(|length| "a".repeat(length)).collect();
    secrets.push("a".repeat(500_000));
    secrets.push("a".repeat(900) + "b");
    let redactor = Redactor::new([], &json!({ "passwords": secrets }));
    assert_eq!(redactor.mask(&"a".repeat(1_000_000)), "********");
    assert_eq!(redactor.mask(&text_of("aaa ", 400_000)), text_of("aaa ", 400_000));
}

#[test]
fn over_the_bound_nothing_is_shown() {
    let secrets: Vec<String> = (0..=MOST_SECRETS)
        .map(|number| format!("secret-{number}"))
        .collect();
    let large = "x".repeat(MOST_BYTES);
    for values in [
        json!({ "passwords": secrets }),
        json!({ "password": large + "y" }),
    ] {
        let redactor = Redactor::new([], &values);
        let untold = "(not shown: it may have secrets that can't be looked for in it)";
        assert_eq!(redactor.mask("secret-1"), untold);
        assert_eq!(redactor.mask_start("secret-1", 10), untold);
        let learning = LearningRedactor::default();
        learning.learn(Redactor::new([], &json!({"password": "canary"})));
        learning.learn(redactor);
        learning.learn(Redactor::new([], &json!({"password": "canary"})));
        assert_eq!(learning.mask("anything"), untold);
    }
    let redactor = Redactor::new([], &json!({"password": "canary"}));
    let long = redactor.mask_all(&["canary", &text_of("canary ", 1_100_000), "canary"]);
    assert_eq!(long[0], "********");
    assert!(
        long[1].starts_with("(not shown: 1") && !long[1].contains("canary"),
        "{}",
        long[1]
    );
    assert_eq!(long[2], "********");
}

#[test]
fn a_text_is_cut_after_its_secrets_are_masked() {
    let redactor = Redactor::new([], &json!({"password": "can\"ary-of-some-length"}));
    for before in 0..60 {
        let text = format!(
            "{} {:?} {}",
            "x".repeat(before),
            "can\"ary-of-some-length",
            "y".repeat(90)
        );
        let start = redactor.mask_start(&text, 40);
        assert!(!start.contains("can") && start.ends_with('…'), "{start}");
        assert!(start.chars().count() <= 40 + MASK.len() + 1, "{start}");
    }
    assert_eq!(redactor.mask_start("short", 40), "short");
    let long = redactor.mask_start(&text_of("many words ", 9_000_000), 20);
    assert_eq!(long, "many words many word…");
}

#[test]
fn a_text_that_was_cut_off_ends_with_no_part_of_a_secret() {
    let secret = "canary \"of\" some-ä-length";
    let redactor = secret_with(&json!({ "password": secret }));
    let base64 = STANDARD.encode(secret);
    let json = serde_json::to_string(secret).unwrap();
    for form in [secret, &base64, &json[1..json.len() - 1]] {
        let ends = form.char_indices().map(|(at, _)| at).skip(1);
        for end in ends {
            let cut = &form[..end];
            let text = format!(
                "{} {cut}{CUT_OFF}… and {} {cut}{CUT_OFF}…",
                "x".repeat(300),
                "ä".repeat(150)
            );
            for masked in [
                redactor.mask(&text),
                redactor.mask_all(&["before", &text])[1].clone(),
                redactor.mask_start(&text, 2000),
            ] {
                assert!(
                    masked.starts_with("xxx") && !masked.contains(&cut[..1]),
                    "{masked}"
                );
                assert!(
                    masked.ends_with("********…") && masked.contains("… and ä"),
                    "{masked}"
                );
            }
            let start = redactor.mask_start(&text, 150);
            assert!(start.starts_with("xxx") && !start.contains(&cut[..1]), "{start}");
        }
    }
    let short = [format!("a{CUT_OFF}…"), "before".to_owned()];
    assert_eq!(
        redactor.mask_all(&[&short[1], &short[0]]),
        ["before", "********…"]
    );
    assert_eq!(Redactor::default().mask(&short[0]), "a…");
}

#[test]
fn what_is_kept_of_secrets_masks_the_same() {
    let redactor = secret_with(&json!({"a": "canary-ä", "b": "two\nlines-of-canary"}));
    let kept = CompactSecrets::new(&redactor).unwrap();
    let text = "canary-ä and dHdvCmxpbmVzLW9mLWNhbmFyeQ== and lines-of-canary";
    assert_eq!(kept.redactor().mask(text), redactor.mask(text));
    assert_eq!(redactor.mask(text), "******** and ******** and ********");
    assert!(CompactSecrets::new(&Redactor::new([], &json!({"password": "x".repeat(20_000)}))).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_tasks_go_on_while_much_is_looked_through() {
    let secrets: Vec<String> = (0..40_000).map(|number| format!("secret-{number}")).collect();
    let redactor = LearningRedactor::default();
    redactor.learn(Redactor::new([], &json!({ "passwords": secrets })));
    let (send, receive) = std::sync::mpsc::channel();
    // Only another task can end this one.
    let blocked = tokio::spawn(async move { redactor.with(1, |_| receive.recv()) });
    tokio::spawn(async move { send.send(()) }).await.unwrap().unwrap();
    blocked.await.unwrap().unwrap();
}

/// Words of several lines are put on one before they are masked.
#[test]
fn a_secret_with_blanks_is_found_on_one_line_in_any_writing() {
    let mut redactor = Redactor::default();
    let secret = "Gamma\tdelta  P<ass";
    redactor.add_values(&json!({ "password": secret }));
    let writings = [
        secret.to_owned(),
        secret.to_uppercase(),
        secret.to_lowercase(),
        "Gamma\tdelta  P&lt;ass".to_owned(),
        "Gamma&#9;delta  P&lt;ass".to_owned(),
        "Gamma&#x9;delta  P&lt;ass".to_owned(),
    ];
    for writing in writings {
        for told in [writing.clone(), steersman_model::one_line(&writing)] {
            assert_eq!(redactor.mask(&format!("no {told}")), "no ********", "{told}");
        }
    }
}
