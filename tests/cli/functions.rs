//! `functions`.

use crate::program::Project;

#[test]
fn all_functions_are_listed_one_a_line() {
    let ended = Project::new().run(&["functions"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().count(), 251);
    let line = ended.stdout.lines().find(|line| line.starts_with("now\t"));
    assert_eq!(
        line,
        Some("now\tclock\tnow() time.Time\tThe present moment, with Go's fields and methods of a time.")
    );
}

#[test]
fn one_function_is_shown_with_an_example() {
    let ended = Project::new().run(&["functions", "round"]);
    assert_eq!(
        ended.stdout,
        "round(number any, places int, threshold ...float64) float64\n\n\
         The number rounded to so many decimal places; a last digit from 0.5, or from the threshold, is rounded up.\n\n\
         Effect: pure\n\n\
         Example:\n  {{ round 123.5555 3 }}\ngives:\n  123.556\n"
    );
}

#[test]
fn the_table_can_be_had_as_json() {
    let ended = Project::new().run(&["functions", "lookup", "set", "--output", "json"]);
    let rows: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(rows[0]["effect"], "lookup");
    assert_eq!(
        rows[1]["signature"],
        "set(map map[string]any, key string, value any) map[string]any"
    );
    assert_eq!(rows[1]["example"]["output"], "{\"a\":1}");
}

#[test]
fn an_unknown_name_is_a_mistake_with_a_hint() {
    let ended = Project::new().run(&["functions", "toYml"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        ended.stderr,
        "error: no function is called `toYml`\n\nhint: did you mean `toYaml`?\n"
    );
}
