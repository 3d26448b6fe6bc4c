//! A terminal's text as an SVG: in a window, in the colours of the reader's page.
//!
//! `anstyle-svg`, with which cargo draws its own, has neither the window nor the two schemes of colours.

use std::fmt::Write as _;

const WIDTH_OF_LETTER: f64 = 8.4;
const HEIGHT_OF_LINE: usize = 19;
const MARGIN: usize = 16;
const BAR: usize = 34;

/// Plain rules, in the order in which they win: not every viewer knows variables.
const STYLE: &str = "\
text { fill: #1f2328; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }
.window { fill: #ffffff; stroke: #d0d7de; } .bold { font-weight: bold; } .dim { fill: #6e7781; }
.red { fill: #cf222e; } .green { fill: #116329; } .yellow { fill: #8a6100; } .blue { fill: #0550ae; } .cyan { fill: #1b7c83; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .window { fill: #0d1117; stroke: #30363d; } .dim { fill: #8b949e; }
.red { fill: #ff7b72; } .green { fill: #3fb950; } .yellow { fill: #d29922; } .blue { fill: #79c0ff; } .cyan { fill: #56d4dd; }
}
";

/// How letters look: a colour or `dim`, and whether they are bold.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    colour: Option<&'static str>,
    is_bold: bool,
}

/// Draws lines of text with the codes of their colours.
pub(crate) fn draw(title: &str, lines: &[String]) -> String {
    let spans: Vec<_> = lines.iter().map(|line| spans(line)).collect();
    let longest = spans
        .iter()
        .map(|line| line.iter().map(|(_, text)| text.chars().count()).sum::<usize>())
        .max()
        .unwrap_or_default();
    let width = (longest as f64 * WIDTH_OF_LETTER).ceil() as usize + 2 * MARGIN;
    let height = BAR + lines.len() * HEIGHT_OF_LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"window\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        escaped(title),
        width - 1,
        height - 1
    );
    for (index, colour) in ["red", "yellow", "green"].iter().enumerate() {
        let _ = writeln!(
            svg,
            "<circle class=\"{colour}\" cx=\"{}\" cy=\"17\" r=\"5\"/>",
            20 + 18 * index
        );
    }
    for (index, line) in spans.iter().enumerate() {
        let y = BAR + (index + 1) * HEIGHT_OF_LINE - 5;
        let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">");
        for (look, text) in line {
            let bold = if look.is_bold { Some("bold") } else { None };
            let classes: Vec<&str> = bold.into_iter().chain(look.colour).collect();
            if classes.is_empty() {
                svg.push_str(&escaped(text));
            } else {
                let _ = write!(
                    svg,
                    "<tspan class=\"{}\">{}</tspan>",
                    classes.join(" "),
                    escaped(text)
                );
            }
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// A line in pieces that look alike.
fn spans(line: &str) -> Vec<(Look, String)> {
    let mut look = Look::default();
    let mut pieces = line.split("\u{1b}[");
    let mut spans = vec![(look, pieces.next().unwrap_or_default().to_owned())];
    for piece in pieces {
        let (codes, text) = piece.split_once('m').expect("a code that sets a colour");
        for code in codes.split(';') {
            look = match code {
                "0" | "" => Look::default(),
                "1" => Look {
                    is_bold: true,
                    ..look
                },
                "2" => coloured(look, "dim"),
                "31" => coloured(look, "red"),
                "32" => coloured(look, "green"),
                "33" => coloured(look, "yellow"),
                "34" => coloured(look, "blue"),
                "36" => coloured(look, "cyan"),
                other => panic!("no colour is known for the code {other}"),
            };
        }
        spans.push((look, text.to_owned()));
    }
    spans.retain(|(_, text)| !text.is_empty());
    spans
}

fn coloured(look: Look, colour: &'static str) -> Look {
    Look {
        colour: Some(colour),
        ..look
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[test]
fn colours_become_classes_and_text_stays_text() {
    let svg = draw("a", &["x \u{1b}[1;32ma<b\u{1b}[0m y".to_owned()]);
    assert!(
        svg.contains(">x <tspan class=\"bold green\">a&lt;b</tspan> y</text>"),
        "{svg}"
    );
}
