use super::{EntryError, WantedEntry, add_procedure, find_entry};
use crate::layout::{NewProcedure, NewSchedule};

const HEAD: &str = "- group: example.com\n  version: v1\n  kind: Web\n";

fn wanted() -> WantedEntry {
    WantedEntry {
        kind: "Web".to_owned(),
        ..WantedEntry::default()
    }
}

fn named(name: &str) -> NewProcedure {
    NewProcedure {
        name: name.to_owned(),
        ..NewProcedure::default()
    }
}

fn added(watches: &str) -> Result<String, EntryError> {
    add_procedure(watches, &find_entry(watches, &wanted())?, &named("backup"))
}

/// The procedure comes where `before` has `@`, with this text.
#[track_caller]
fn check(before: &str, text: &str) {
    let watches = before.replace('@', "");
    assert_eq!(added(&watches), Ok(before.replace('@', text)), "{watches}");
}

#[track_caller]
fn check_form(watches: &str, line: u32) {
    match added(watches) {
        Err(EntryError::Form { line: found, .. }) => assert_eq!(found, line, "{watches}"),
        other => panic!("{watches}\n{other:?}"),
    }
}

const FIRST: &str = "  procedures:\n  - name: backup\n    job: procedures/backup.yaml\n";
const NEXT: &str = "  - name: backup\n    job: procedures/backup.yaml\n";

#[test]
fn the_first_procedure_ends_the_entry() {
    check(&format!("{HEAD}  chart: web\n@"), FIRST);
    check(
        &format!(
            "# mine\n---\n{HEAD}  chart: web # here\n  # of it\n@\n# the next\n- kind: Shop\n  chart: web\n"
        ),
        FIRST,
    );
    check(
        &format!("- kind: Shop\n  chart: web\n{HEAD}# not indented\n  chart: web\n@# the end\n"),
        FIRST,
    );
    check(&format!("{HEAD}  chart: web\n@...\n"), FIRST);
    // A text with lines that look like something else.
    let text = "  chart: web\n  overrideValues:\n    a: |\n      # no comment\n\n      - kind: Web\n@\n";
    check(&format!("{HEAD}{text}"), FIRST);
    let wide = FIRST.replace("\n  ", "\n      ").replacen("  ", "      ", 1);
    check("  -   kind: Web\n      chart: web\n@  # the end\n", &wide);
    check("-\n  kind: Web\n  chart: web\n@", FIRST);
}

#[test]
fn one_more_ends_the_list() {
    let list = "  procedures:\n  - name: restore\n    job: a.yaml\n    # of it\n";
    check(&format!("{HEAD}  chart: web\n{list}@"), NEXT);
    check(
        &format!("{HEAD}{list}@  # Not more than this.\n  chart: web\n"),
        NEXT,
    );
    check(
        &format!(
            "{HEAD}{list}\n  # Another one.\n  - {{name: third, job: b.yaml}}\n@\n  chart: web\n- kind: Shop\n"
        ),
        NEXT,
    );
    let deep = NEXT.replace("  - ", "    - ").replace("    job", "      job");
    check(
        &format!("{HEAD}  procedures:\n    - name: restore\n      job: a.yaml\n@  chart: web\n"),
        &deep,
    );
}

#[test]
fn lines_end_as_those_of_the_file() {
    let watches = format!("{HEAD}  chart: web");
    assert_eq!(added(&watches), Ok(format!("{watches}\n{FIRST}")));
    let watches = format!("{HEAD}  chart: web\n").replace('\n', "\r\n");
    assert_eq!(
        added(&watches),
        Ok(format!("{watches}{}", FIRST.replace('\n', "\r\n")))
    );
}

#[test]
fn what_cannot_be_extended_is_refused() {
    check_form("- {kind: Web, chart: web}\n", 1);
    check_form("[{kind: Web, chart: web}]\n", 1);
    check_form("- &web {kind: Web, chart: web}\n", 1);
    for list in [
        "[]",
        "[{name: a, job: b}]",
        "\n    [{name: a, job: b}]",
        "",
        "null",
        "&a\n  - {name: a, job: b}",
        "{}",
    ] {
        let watches = format!("{HEAD}  chart: web\n  procedures: {list}\n");
        let found = added(&watches);
        // An anchor that nobody else uses is in nobody's way.
        let is_harmless = list.starts_with('&') && found.is_ok();
        assert!(
            is_harmless || matches!(found, Err(EntryError::Form { .. })),
            "{watches}\n{found:?}"
        );
    }
    // Both would get it.
    let shared = "- kind: Shop\n  chart: web\n  procedures: &all\n  - {name: a, job: b}\n- kind: Web\n  chart: web\n  procedures: *all\n";
    check_form(shared, 3);
    // Line breaks at the end of a text are a part of it.
    check_form(
        &format!("{HEAD}  chart: web\n  overrideValues:\n    a: |+\n      b\n\n\n"),
        1,
    );
    check_form("- kind: Web\n  chart: web\n  overrideValues: {a: b,\nc: d}\n", 1);
    assert!(matches!(added("- kind: [\n"), Err(EntryError::Yaml(_))));
    let taken = format!("{HEAD}  chart: web\n  procedures:\n  - job: a\n    name: backup\n");
    assert!(matches!(added(&taken), Err(EntryError::Taken { line: 6, .. })));
}

#[test]
fn the_entry_is_the_one_that_is_meant() {
    let watches = "- {group: a.b, version: v1, kind: Web, chart: one}\n- {group: a.b, version: v2, kind: Web, chart: two}\n\
                   - {group: c.d, version: v1, kind: Web, chart: three}\n- {group: a.b, version: v1, kind: Cache, role: cache}\n";
    let find = |kind: &str, groups: &[&str], version: Option<&str>| {
        let wanted = WantedEntry {
            kind: kind.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            version: version.map(str::to_owned),
        };
        find_entry(watches, &wanted).map(|found| found.chart)
    };
    assert_eq!(find("Web", &["c", "c.d"], None).as_deref(), Ok("three"));
    assert_eq!(find("Web", &["a.b"], Some("v2")).as_deref(), Ok("two"));
    let ambiguous = find("Web", &[], Some("v1")).unwrap_err();
    assert_eq!(
        ambiguous.hint(),
        "name one of a.b/v1, c.d/v1 with --group and --version"
    );
    let missing = find("web", &[], None).unwrap_err();
    assert!(
        missing.hint().ends_with("Web in c.d/v1, Cache in a.b/v1"),
        "{}",
        missing.hint()
    );
    assert_eq!(
        find("Cache", &[], None),
        Err(EntryError::NoChart("Cache".to_owned()))
    );
}

#[test]
fn what_is_said_of_a_procedure_is_yaml() {
    let whole = NewProcedure {
        name: "12".to_owned(),
        run_kind: Some("Yes".to_owned()),
        schedule: Some(NewSchedule::Cron("0 3 * * *".to_owned())),
        before_upgrade: true,
        exclusive: true,
        confirm: true,
        parameters: vec!["keepDays".to_owned(), "on".to_owned()],
    };
    let watches = format!("{HEAD}  chart: web\n");
    let added = add_procedure(&watches, &find_entry(&watches, &wanted()).unwrap(), &whole).unwrap();
    let read = steersman_yaml::to_json(&added).unwrap();
    let nothing = serde_json::json!({"default": ""});
    assert_eq!(
        read[0]["procedures"][0],
        serde_json::json!({"name": "12", "kind": "Yes", "job": "procedures/12.yaml", "schedule": {"cron": "0 3 * * *"},
            "before": {"upgrade": true}, "exclusive": true, "confirm": true, "parameters": {"keepDays": nothing, "on": nothing}})
    );
    let path = NewProcedure {
        schedule: Some(NewSchedule::Value("a, b".to_owned())),
        ..named("x")
    };
    assert!(path.lines().contains(&"schedule: {value: \"a, b\"}".to_owned()));
    assert!(
        whole.job().contains(
            "- name: KEEP_DAYS\n              value: {{ .Procedure.parameters.keepDays | quote }}\n"
        )
    );
}
