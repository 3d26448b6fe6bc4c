//! Times and durations: Go's values, layouts and time zones.

use steersman_gotemplate::Parameter::{Any, Named, String as Text};
use steersman_gotemplate::{Effect, Function, Parameter};

use crate::date;

const TIME: Parameter = Named(date::TIME);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("now", &[], Effect::Clock, date::now)
        .signature("", "time.Time")
        .documentation("The present moment, with Go's fields and methods of a time.")
        .example("{{ kindOf now }}", "struct"),
    Function::new("date", &[Text, Any], Effect::Clock, date::date)
        .signature("layout moment", "string")
        .documentation(
            "The moment (a time, or seconds since 1970) written by a layout of Go. What is no moment is \
             taken for now.",
        )
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-29" | date "Jan 2, 2006" }}"#,
            "Feb 29, 2024",
        ),
    Function::new(
        "dateInZone",
        &[Text, Any, Text],
        Effect::Clock,
        date::date_in_zone,
    )
    .signature("layout moment zone", "string")
    .documentation(
        "The moment written by a layout, as clocks in the time zone show it. An unknown zone is taken \
             for UTC, and what is no moment for now.",
    )
    .example(
        r#"{{ dateInZone "15:04 MST" (toDate "2006-01-02" "2024-07-01") "Europe/Berlin" }}"#,
        "02:00 CEST",
    ),
    Function::new(
        "date_in_zone",
        &[Text, Any, Text],
        Effect::Clock,
        date::date_in_zone,
    )
    .signature("layout moment zone", "string")
    .documentation("The old name of `dateInZone`.")
    .example(
        r#"{{ date_in_zone "15:04" (toDate "2006-01-02" "2024-07-01") "UTC" }}"#,
        "00:00",
    ),
    Function::new("htmlDate", &[Any], Effect::Clock, date::html_date)
        .signature("moment", "string")
        .documentation("The day of the moment as `2006-01-02`. What is no moment is taken for now.")
        .example(
            r#"{{ toDate "02.01.2006" "29.02.2024" | htmlDate }}"#,
            "2024-02-29",
        ),
    Function::new(
        "htmlDateInZone",
        &[Any, Text],
        Effect::Clock,
        date::html_date_in_zone,
    )
    .signature("moment zone", "string")
    .documentation("The day of the moment as `2006-01-02`, as calendars in the time zone show it.")
    .example(
        r#"{{ htmlDateInZone (toDate "2006-01-02 15:04" "2024-02-29 23:30") "Asia/Tokyo" }}"#,
        "2024-03-01",
    ),
    Function::pure("dateModify", &[Text, TIME], date::date_modify)
        .signature("duration time", "time.Time")
        .documentation("The time moved by a duration such as `-1h30m`; unmoved where that is no duration.")
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-28" | dateModify "24h" | date "2006-01-02" }}"#,
            "2024-02-29",
        ),
    Function::pure("date_modify", &[Text, TIME], date::date_modify)
        .signature("duration time", "time.Time")
        .documentation("The old name of `dateModify`.")
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-28" | date_modify "24h" | date "2006-01-02" }}"#,
            "2024-02-29",
        ),
    Function::pure("mustDateModify", &[Text, TIME], date::must_date_modify)
        .signature("duration time", "time.Time")
        .documentation("Like `dateModify`, but fails for what is no duration.")
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-28" | mustDateModify "-24h" | date "2006-01-02" }}"#,
            "2024-02-27",
        ),
    Function::pure("must_date_modify", &[Text, TIME], date::must_date_modify)
        .signature("duration time", "time.Time")
        .documentation("The old name of `mustDateModify`.")
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-28" | must_date_modify "24h" | date "2006-01-02" }}"#,
            "2024-02-29",
        ),
    Function::pure("toDate", &[Text, Text], date::to_date)
        .signature("layout text", "time.Time")
        .documentation(
            "The time that the text says, read by a layout of Go. What cannot be read gives the zero \
             time.",
        )
        .example(r#"{{ (toDate "2006-01-02" "2024-02-29").Weekday }}"#, "Thursday"),
    Function::pure("mustToDate", &[Text, Text], date::must_to_date)
        .signature("layout text", "time.Time")
        .documentation("Like `toDate`, but fails for what cannot be read.")
        .example(r#"{{ (mustToDate "2006-01-02" "2024-02-29").YearDay }}"#, "60"),
    Function::pure("unixEpoch", &[TIME], date::unix_epoch)
        .signature("time", "string")
        .documentation("The seconds from 1970 to the time.")
        .example(
            r#"{{ toDate "2006-01-02" "2024-02-29" | unixEpoch }}"#,
            "1709164800",
        ),
    Function::new("ago", &[Any], Effect::Clock, date::ago)
        .signature("moment", "string")
        .documentation(
            "The duration from the moment (a time, or seconds since 1970) until now, in whole seconds.",
        )
        .example("{{ now | ago }}", "0s"),
    Function::pure("duration", &[Any], date::duration)
        .signature("seconds", "string")
        .documentation("So many seconds as a duration; 0s for what is no number.")
        .example(r#"{{ duration "95" }}"#, "1m35s"),
    Function::new("durationRound", &[Any], Effect::Clock, date::duration_round)
        .signature("duration", "string")
        .documentation(
            "The duration (a text such as `2h10m`, nanoseconds, or the time that it began) in whole parts \
             of its greatest unit.",
        )
        .example(r#"{{ durationRound "2h10m5s" }}"#, "2h"),
];
