//! Figures as tables of Markdown.

use std::fmt::Write as _;

/// One figure of each side, and what is asked of ours.
pub(crate) struct Row<F> {
    what: &'static str,
    value: fn(&F) -> f64,
    decimals: usize,
    bound: Bound,
}

/// What a figure of ours must be.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// At most this.
    Most(f64),
    /// At most this part of the other side's: numerator and denominator.
    Fraction(u32, u32),
    /// Told only.
    None,
}

pub(crate) const fn row<F>(
    what: &'static str,
    value: fn(&F) -> f64,
    decimals: usize,
    bound: Bound,
) -> Row<F> {
    Row {
        what,
        value,
        decimals,
        bound,
    }
}

/// What stands around a table.
pub(crate) struct Page {
    pub(crate) title: &'static str,
    /// The target of the Makefile that writes it.
    pub(crate) target: &'static str,
    /// The other operator.
    pub(crate) peer: &'static str,
    /// The variable that names its binary.
    pub(crate) variable: &'static str,
    /// What was measured, and where.
    pub(crate) conditions: String,
}

/// What is printed: where and how it was measured, and a table. Ours are the first figures; there may be others.
pub(crate) fn page<F>(page: &Page, rows: &[Row<F>], figures: &[&F]) -> String {
    let Page {
        title,
        target,
        peer,
        variable,
        conditions,
    } = page;
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let mut text = format!(
        "# {title}\n\n`make {target}` prints this table and writes it here; [benches/](../benches/README.md) says how.\n\n\
         {processors} processors, {conditions}\n\n"
    );
    let (Some(ours), theirs) = (figures.first(), figures.get(1)) else {
        return text;
    };
    if theirs.is_none() {
        let _ = writeln!(
            text,
            "`{variable}` named no binary: the figures are ours alone, and no bound that is a part of another's is judged.\n"
        );
    }
    let _ = writeln!(
        text,
        "| | steersman | {peer} | ratio | asked for | met |\n|---|---:|---:|---:|---:|:---:|"
    );
    for row in rows {
        let other = theirs.map(|figures| (row.value)(figures));
        let _ = writeln!(text, "{}", line(row, (row.value)(ours), other));
    }
    text
}

fn line<F>(row: &Row<F>, own: f64, other: Option<f64>) -> String {
    let number = |value: f64| {
        if value.is_nan() {
            "none".to_owned()
        } else {
            format!("{value:.*}", row.decimals)
        }
    };
    let (asked, is_met) = match row.bound {
        Bound::Most(most) => (format!("≤ {most}"), Some(own <= most)),
        Bound::Fraction(part, of) => (
            format!("≤ {part}/{of}"),
            other.map(|other| own * f64::from(of) <= other * f64::from(part)),
        ),
        Bound::None => (String::new(), None),
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

pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn slowest(sorted: &[f64]) -> f64 {
    sorted.last().copied().unwrap_or(f64::NAN)
}
