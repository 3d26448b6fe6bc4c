//! The figures as tables of Markdown.

use std::fmt::Write as _;

use crate::candidate::Candidate;
use crate::phases::Figures;

/// One figure of each side, and what is asked of ours.
struct Row {
    what: &'static str,
    value: fn(&Figures, f64) -> f64,
    decimals: usize,
    bound: Bound,
}

/// What a figure of ours must be.
#[derive(Clone, Copy)]
enum Bound {
    /// At most this.
    Most(f64),
    /// At most the other side's, divided by this.
    Fraction(f64),
    /// Told only.
    None,
}

const ROWS: [Row; 19] = [
    row(
        "resident without resources, MB",
        |f, _| f.resident_at_start,
        1,
        Bound::None,
    ),
    row(
        "resident, all installed, MB",
        |f, _| f.resident_installed,
        1,
        Bound::Fraction(8.0),
    ),
    row(
        "peak of installing, MB",
        |f, _| f.peak_installing,
        1,
        Bound::Fraction(8.0),
    ),
    row(
        "resident, settled after a restart, MB",
        |f, _| f.resident_settled,
        1,
        Bound::Fraction(8.0),
    ),
    row(
        "peak of a restart, MB",
        |f, _| f.peak_restarting,
        1,
        Bound::Fraction(8.0),
    ),
    row(
        "requests for each install",
        |f, n| f.requests_installing as f64 / n,
        1,
        Bound::Most(8.0),
    ),
    row(
        "CPU ms for each install",
        |f, n| f.processor_installing / n * 1e3,
        1,
        Bound::Fraction(10.0),
    ),
    row("installing all, s", |f, _| f.installing, 1, Bound::None),
    row(
        "deleted object back, median, s",
        |f, _| median(&f.healing),
        3,
        Bound::Most(0.5),
    ),
    row(
        "deleted object back, slowest, s",
        |f, _| f.healing.last().copied().unwrap_or(f64::NAN),
        3,
        Bound::None,
    ),
    row(
        "deleted objects that came back",
        |f, _| f.healing.len() as f64,
        0,
        Bound::None,
    ),
    row(
        "restart until all were looked at, s",
        |f, _| f.restarting,
        1,
        Bound::Most(15.0),
    ),
    row(
        "reads of a restart for each resource",
        |f, n| f.reads_restarting as f64 / n,
        2,
        Bound::Most(3.0),
    ),
    row(
        "writes of a restart",
        |f, _| f.writes_restarting as f64,
        0,
        Bound::Most(0.0),
    ),
    row(
        "CPU ms of a restart for each resource",
        |f, n| f.processor_restarting / n * 1e3,
        1,
        Bound::None,
    ),
    row(
        "requests in an hour for each settled resource",
        |f, n| hourly(f.requests_settled as f64, f, n),
        1,
        Bound::Most(0.0),
    ),
    row(
        "CPU ms in an hour for each settled resource",
        |f, n| hourly(f.processor_settled * 1e3, f, n),
        1,
        Bound::None,
    ),
    row(
        "growth with objects of others, MB",
        |f, _| f.resident_foreign.1 - f.resident_foreign.0,
        1,
        Bound::None,
    ),
    row(
        "peak of a start beside objects of others, MB",
        |f, _| f.restarted_foreign.1,
        1,
        Bound::Fraction(8.0),
    ),
];

const fn row(what: &'static str, value: fn(&Figures, f64) -> f64, decimals: usize, bound: Bound) -> Row {
    Row {
        what,
        value,
        decimals,
        bound,
    }
}

/// What is printed: where and how it was measured, and a table.
pub(crate) fn tables(
    all: &[(&Candidate, &Figures)],
    kubernetes: &str,
    (resources, foreign): (usize, usize),
) -> String {
    let mut text = String::from(
        "# The operator, measured\n\n`make bench-operator` prints this table and writes it here; \
         [benches/](../benches/README.md) says how.\n\n",
    );
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let ours = all.first().map(|(_, figures)| *figures);
    let theirs = all.get(1).map(|(_, figures)| *figures);
    let _ = writeln!(
        text,
        "{processors} processors, Kubernetes {kubernetes}; {resources} resources of a chart of `helm create`; objects of others: {foreign} Secrets, {foreign} ConfigMaps and \
         {foreign} Deployments of 10 kB.\n"
    );
    text.push_str(
        "| | steersman | helm-operator | ratio | asked for | met |\n|---|---:|---:|---:|---:|:---:|\n",
    );
    let Some(ours) = ours else { return text };
    for row in &ROWS {
        let own = (row.value)(ours, resources as f64);
        let other = theirs.map(|figures| (row.value)(figures, resources as f64));
        let _ = writeln!(text, "{}", line(row, own, other));
    }
    text
}

fn line(row: &Row, own: f64, other: Option<f64>) -> String {
    let number = |value: f64| {
        if value.is_nan() {
            "none".to_owned()
        } else {
            format!("{value:.*}", row.decimals)
        }
    };
    let (asked, is_met) = match (row.bound, other) {
        (Bound::Most(most), _) => (format!("≤ {most}"), Some(own <= most)),
        (Bound::Fraction(part), Some(other)) => (format!("≤ 1/{part}"), Some(own * part <= other)),
        (Bound::Fraction(part), None) => (format!("≤ 1/{part}"), None),
        (Bound::None, _) => (String::new(), None),
    };
    let met = is_met.map_or("", |is_met| if is_met { "yes" } else { "**no**" });
    let ratio = other
        .filter(|other| own > 0.0 && *other > 0.0)
        .map(|other| format!("{:.1}", other / own));
    format!(
        "| {} | {} | {} | {} | {asked} | {met} |",
        row.what,
        number(own),
        other.map(number).unwrap_or_default(),
        ratio.unwrap_or_default(),
    )
}

fn hourly(amount: f64, figures: &Figures, resources: f64) -> f64 {
    amount / resources / figures.settled * 3600.0
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
