use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The next times after this one, or what is wrong.
fn next(cron: &str, zone: Option<&str>, after: &str, count: usize) -> Result<Vec<String>, String> {
    let schedule = Schedule::parse(cron, zone, "uid").map_err(|error| error.to_string())?;
    let times = std::iter::successors(schedule.next_after(at(after)), |time| schedule.next_after(*time));
    Ok(times.take(count).map(|time| time.to_string()).collect())
}

#[test]
fn times_are_those_of_cron() {
    for (cron, after, expect) in [
        (
            "*/20 * * * *",
            "2026-01-01T00:00:00Z",
            &["2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z"][..],
        ),
        ("30 3 * * *", "2026-01-01T03:30:00Z", &["2026-01-02T03:30:00Z"]),
        ("0 0 1 1 *", "2026-01-01T00:00:01Z", &["2027-01-01T00:00:00Z"]),
        (
            "@weekly",
            "2026-01-01T00:00:00Z",
            &["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"],
        ),
        ("@hourly", "2026-01-01T00:00:00Z", &["2026-01-01T01:00:00Z"]),
        // One of both is enough where both are said.
        (
            "0 0 13 * FRI",
            "2026-02-01T00:00:00Z",
            &["2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z"],
        ),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", &["2028-02-29T00:00:00Z"]),
        ("0 0 30 2 *", "2026-01-01T00:00:00Z", &[]),
    ] {
        let expect: Vec<String> = expect.iter().map(|time| (*time).to_owned()).collect();
        let count = expect.len().max(1);
        assert_eq!(next(cron, None, after, count), Ok(expect), "{cron}");
    }
}

#[test]
fn a_time_zone_changes_to_summer_time() {
    let times = next("30 2 * * *", Some("Europe/Berlin"), "2026-03-28T00:00:00Z", 3).unwrap();
    // There is no half past two on the 29th.
    assert_eq!(
        times,
        [
            "2026-03-28T01:30:00Z",
            "2026-03-30T00:30:00Z",
            "2026-03-31T00:30:00Z"
        ]
    );
}

#[test]
fn what_is_no_schedule_is_named() {
    let long = format!("{} * * * *", ["1"; 200].join(","));
    for (cron, zone, expect) in [
        ("* * * *", None, "it has 4 fields, not five"),
        ("* * * * * *", None, "it has 6 fields, not five"),
        ("@every 1h", None, "it has 2 fields, not five"),
        ("", None, "it has 0 fields, not five"),
        ("61 * * * *", None, "`61 * * * *` is no schedule"),
        (
            "a\u{1b}[31m * * * *",
            None,
            r"`a\u{1b}[31m * * * *` is no schedule",
        ),
        (&long, None, "it is longer than 256 bytes"),
        (
            "* * * * *",
            Some("Mars/Olympus"),
            "there is no time zone `Mars/Olympus`",
        ),
    ] {
        let error = next(cron, zone, "2026-01-01T00:00:00Z", 1).unwrap_err();
        assert!(error.contains(expect), "{error}");
    }
}

#[test]
fn the_end_of_time_is_no_end_of_the_process() {
    let schedule = Schedule::parse("* * * * *", None, "uid").unwrap();
    assert_eq!(schedule.next_after(Timestamp::MAX), None);
    assert!(schedule.next_after(Timestamp::MIN).is_some());
}

#[test]
fn starts_are_spread_and_each_resource_keeps_its_own() {
    let jitter = Duration::from_mins(10);
    let mut minutes = [0; 10];
    for number in 0..1000 {
        let uid = format!("0b53-{number}");
        let moved = delay(jitter, &uid);
        assert_eq!(moved, delay(jitter, &uid));
        minutes[usize::try_from(moved.as_secs() / 60).unwrap()] += 1;
    }
    assert!(
        minutes.iter().all(|count| (50..200).contains(count)),
        "{minutes:?}"
    );
    let hashed = |uid: &str| Schedule::parse("H 3 * * *", None, uid).unwrap();
    let first = |uid: &str| hashed(uid).next_after(at("2026-01-01T00:00:00Z"));
    assert_eq!(first("a"), first("a"));
    assert_ne!(first("a"), first("b"));
}

#[test]
fn what_a_run_says_is_of_the_type_that_is_declared() {
    let parameter = |name: &str, r#type, required| Parameter {
        name: name.to_owned(),
        r#type,
        required,
        default: None,
        description: None,
        allowed: Vec::new(),
    };
    let parameters = [
        parameter("snapshot", ParameterType::String, true),
        Parameter {
            default: Some(json!(3)),
            ..parameter("keep", ParameterType::Integer, false)
        },
        Parameter {
            allowed: vec![json!("fast"), json!("safe")],
            ..parameter("how", ParameterType::String, false)
        },
        parameter("force", ParameterType::Boolean, false),
    ];
    let read = |given: Json| {
        let read = Parameter::read(&parameters, given.as_object().unwrap());
        read.map(Json::Object).map_err(|error| error.to_string())
    };
    assert_eq!(
        read(json!({"snapshot": "monday", "how": null})),
        Ok(json!({"snapshot": "monday", "keep": 3}))
    );
    for (given, expect) in [
        (json!({}), "parameter `snapshot` is missing"),
        (
            json!({"snapshot": 1}),
            "parameter `snapshot` is not a text of at most 4096 bytes",
        ),
        (
            json!({"snapshot": "x".repeat(4097)}),
            "parameter `snapshot` is not a text of at most 4096 bytes",
        ),
        (
            json!({"snapshot": "a", "keep": 1.5}),
            "parameter `keep` is not a whole number",
        ),
        (
            json!({"snapshot": "a", "force": "yes"}),
            "parameter `force` is not true or false",
        ),
        (
            json!({"snapshot": "a", "how": "loud"}),
            "parameter `how` is none of \"fast\", \"safe\"",
        ),
        (
            json!({"snapshot": "a", "snap\nshot": 1}),
            r"there is no parameter `snap\nshot`",
        ),
    ] {
        assert_eq!(read(given), Err(expect.to_owned()));
    }
}

#[test]
fn values_of_a_step_are_made_of_the_run_and_no_more_than_numbers_words_and_texts() {
    let step = json!({
        "members": "{{ .Procedure.to }}", "on": "{{ .Procedure.parameters.on }}", "fixed": [1, "{{ no }}"],
        "image": {"tag": "v{{ .Procedure.to }}", "other": 7}, "said": "{{ .Procedure.parameters.said }}", "none": null,
    });
    let step = StepValues::parse(step.as_object().unwrap()).unwrap();
    let procedure = json!({"to": 3, "parameters": {"on": true, "said": "{a: [1, 2]}"}});
    let subject = Subject::new(&json!({}), &Values::new()).with("Procedure", &procedure);
    assert_eq!(
        json!(step.of(&subject).unwrap()),
        json!({
            "members": 3, "on": true, "fixed": [1, "{{ no }}"], "image": {"tag": "v3", "other": 7},
            "said": "{a: [1, 2]}", "none": null,
        })
    );
    for (text, expect) in [
        ("007", json!("007")),
        ("-1", json!(-1)),
        ("1.5", json!("1.5")),
        ("", json!("")),
        ("null", json!("null")),
    ] {
        let said = json!({"parameters": {"said": text}});
        let subject = Subject::new(&json!({}), &Values::new()).with("Procedure", &said);
        assert_eq!(step.of(&subject).unwrap()["said"], expect);
    }
    assert!(StepValues::parse(json!({"a": "{{ env \"HOME\" }}"}).as_object().unwrap()).is_err());
}
