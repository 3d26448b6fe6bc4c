//! What the table says of an operator.

use super::phases::Figures;
use crate::report::{Bound, Row, median, row, slowest};

pub(super) const ROWS: [Row<Figures>; 19] = [
    row(
        "resident without resources, MB",
        |f| f.resident_at_start,
        1,
        Bound::None,
    ),
    row(
        "resident, all installed, MB",
        |f| f.resident_installed,
        1,
        Bound::Fraction(1, 8),
    ),
    row(
        "peak of installing, MB",
        |f| f.peak_installing,
        1,
        Bound::Fraction(1, 8),
    ),
    row(
        "resident, settled after a restart, MB",
        |f| f.resident_settled,
        1,
        Bound::Fraction(1, 8),
    ),
    row(
        "peak of a restart, MB",
        |f| f.peak_restarting,
        1,
        Bound::Fraction(1, 8),
    ),
    row(
        "requests for each install",
        |f| f.requests_installing as f64 / f.resources,
        1,
        Bound::Most(8.0),
    ),
    row(
        "CPU ms for each install",
        |f| f.processor_installing / f.resources * 1e3,
        1,
        Bound::Fraction(1, 10),
    ),
    row("installing all, s", |f| f.installing, 1, Bound::None),
    row(
        "deleted object back, median, s",
        |f| median(&f.healing),
        3,
        Bound::Most(0.5),
    ),
    row(
        "deleted object back, slowest, s",
        |f| slowest(&f.healing),
        3,
        Bound::None,
    ),
    row(
        "deleted objects that came back",
        |f| f.healing.len() as f64,
        0,
        Bound::None,
    ),
    row(
        "restart until all were looked at, s",
        |f| f.restarting,
        1,
        Bound::Most(15.0),
    ),
    row(
        "reads of a restart for each resource",
        |f| f.reads_restarting as f64 / f.resources,
        2,
        Bound::Most(3.0),
    ),
    row(
        "writes of a restart",
        |f| f.writes_restarting as f64,
        0,
        Bound::Most(0.0),
    ),
    row(
        "CPU ms of a restart for each resource",
        |f| f.processor_restarting / f.resources * 1e3,
        1,
        Bound::None,
    ),
    row(
        "requests in an hour for each settled resource",
        |f| hourly(f.requests_settled as f64, f),
        1,
        Bound::Most(0.0),
    ),
    row(
        "CPU ms in an hour for each settled resource",
        |f| hourly(f.processor_settled * 1e3, f),
        1,
        Bound::None,
    ),
    row(
        "growth with objects of others, MB",
        |f| f.resident_foreign.1 - f.resident_foreign.0,
        1,
        Bound::None,
    ),
    row(
        "peak of a start beside objects of others, MB",
        |f| f.restarted_foreign.1,
        1,
        Bound::Fraction(1, 8),
    ),
];

fn hourly(amount: f64, figures: &Figures) -> f64 {
    amount / figures.resources / figures.settled * 3600.0
}
