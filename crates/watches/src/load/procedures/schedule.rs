//! `schedule`: when a procedure runs by itself.

use crate::load::fields::{Fields, Findings};
use crate::procedure::{Concurrency, Cron, Schedule, ScheduleError, ScheduleSource};

pub(in crate::load) const FIELDS: &[&str] =
    &["cron", "value", "timeZone", "jitter", "deadline", "concurrency"];

/// `None` where there is none, or it is wrong.
pub(super) fn read(procedure: &Fields<'_>, findings: &mut Findings) -> Option<ScheduleSource> {
    let (_, node) = procedure.get("schedule")?;
    let fields = Fields::read_all(node, procedure.key("schedule"), FIELDS, findings)?;
    let cron = fields.text("cron", findings);
    let value = fields.text("value", findings);
    let cron = match (cron, value) {
        (Some((text, _)), None) => Some(Cron::Fixed(text)),
        (None, Some((path, _))) => Some(Cron::Value(path)),
        (Some(_), Some(_)) | (None, None) => {
            let message =
                "says either `cron`, as in `cron: \"0 3 * * *\"`, or `value`, where among the values that is";
            findings.problem(node, &fields.path, message);
            None
        }
    };
    let source = ScheduleSource {
        cron: cron?,
        time_zone: fields.text("timeZone", findings).map(|(zone, _)| zone),
        jitter: super::duration(&fields, "jitter", findings)
            .map_or(ScheduleSource::JITTER, |(jitter, _)| jitter),
        deadline: super::time(&fields, "deadline", findings),
        concurrency: concurrency(&fields, findings),
    };
    check(&source, &fields, findings);
    Some(source)
}

/// What is the same for each resource is checked now: the fields of cron, or the zone alone.
fn check(source: &ScheduleSource, fields: &Fields<'_>, findings: &mut Findings) {
    let (text, field) = match &source.cron {
        Cron::Fixed(text) => (text.as_str(), "cron"),
        Cron::Value(_) => ("@daily", "value"),
    };
    match Schedule::parse(text, source.time_zone.as_deref(), "") {
        Ok(schedule) if schedule.next_after(jiff::Timestamp::UNIX_EPOCH).is_none() => {
            findings.problem(
                fields.node,
                &fields.key(field),
                format_args!("`{text}` never comes"),
            );
        }
        Ok(_) => {}
        Err(error @ ScheduleError::TimeZone(_)) => {
            findings.problem(fields.node, &fields.key("timeZone"), error);
        }
        Err(error) => findings.problem(fields.node, &fields.key(field), error),
    }
}

fn concurrency(fields: &Fields<'_>, findings: &mut Findings) -> Concurrency {
    let Some((text, node)) = fields.text("concurrency", findings) else {
        return Concurrency::default();
    };
    match text.as_str() {
        "forbid" => Concurrency::Forbid,
        "replace" => Concurrency::Replace,
        "allow" => Concurrency::Allow,
        _ => {
            let message = format!(
                "`{}` is none of `forbid`, `replace`, `allow`",
                text.escape_debug()
            );
            findings.problem(node, &fields.key("concurrency"), message);
            Concurrency::default()
        }
    }
}
