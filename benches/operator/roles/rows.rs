//! What the table says of an operator.

use super::phases::Figures;
use crate::report::{Bound, Row, median, row, slowest};

pub(super) const ROWS: [Row<Figures>; 19] = [
    row(
        "resident without resources, MB",
        |f| f.resident_at_start,
        1,
        Bound::Fraction(1, 1),
    ),
    row(
        "resident, all settled beside objects of others, MB",
        |f| f.resident_settled,
        1,
        Bound::Fraction(1, 4),
    ),
    row(
        "runs while all are settled",
        |f| f.runs_settled,
        0,
        Bound::Most(0.0),
    ),
    row(
        "requests while all are settled",
        |f| f.requests_settled,
        0,
        Bound::Most(0.0),
    ),
    row(
        "CPU s while all are settled",
        |f| f.processor_settled,
        2,
        Bound::None,
    ),
    row(
        "installing the resources of five tasks, s",
        |f| f.installing,
        1,
        Bound::Fraction(3, 5),
    ),
    row(
        "runs for each of these installs",
        |f| f.runs_installing / f.installs,
        2,
        Bound::None,
    ),
    row(
        "CPU s of all processes for a run",
        |f| f.processor_installing / f.runs_installing,
        2,
        Bound::None,
    ),
    row(
        "CPU ms of the operator's own program for a run",
        |f| f.processor_own / f.runs_installing * 1e3,
        1,
        Bound::Most(50.0),
    ),
    row(
        "resident at the peak, all processes, MB",
        |f| f.peak_installing,
        1,
        Bound::None,
    ),
    row("processes at the peak", |f| f.most_processes, 0, Bound::None),
    row(
        "deleted object: next run begins, median, s",
        |f| median(&f.drift.until_run),
        3,
        Bound::Most(1.0),
    ),
    row(
        "deleted object: next run begins, slowest, s",
        |f| slowest(&f.drift.until_run),
        3,
        Bound::Most(1.0),
    ),
    row(
        "deleted object: first request of its role, median, s",
        |f| median(&f.drift.until_role),
        3,
        Bound::None,
    ),
    row(
        "deleted object: first request of its role, slowest, s",
        |f| slowest(&f.drift.until_role),
        3,
        Bound::None,
    ),
    row(
        "deleted object back, median, s",
        |f| median(&f.drift.back_after),
        3,
        Bound::None,
    ),
    row(
        "deleted object back, slowest, s",
        |f| slowest(&f.drift.back_after),
        3,
        Bound::None,
    ),
    row(
        "deleted objects that came back",
        |f| f.drift.back_after.len() as f64,
        0,
        Bound::None,
    ),
    row(
        "installing the resources of one task, s",
        |f| f.installing_settled,
        1,
        Bound::None,
    ),
];
