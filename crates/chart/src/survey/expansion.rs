//! Where texts become templates that the chart does not have itself.

use std::sync::Arc;

use steersman_gotemplate::syntax::{Branch, Node, Part};

use super::Place;
use crate::chart::Chart;
use crate::engine::{Templates, is_handlebars};
use crate::error::RenderError;
use crate::outline::Outline;

const EXPANDS: &str = "tpl";

/// Where a chart or one of its subcharts has `tpl` expand a text that may come from values. Who writes such a value writes
/// a template: what it looks up and what it prints is theirs to decide.
///
/// Every call counts, whether anything leads to it or not, unless its text is a literal without another call.
///
/// ```
/// use steersman_chart::{Chart, survey};
///
/// let chart = Chart::from_files([
///     ("Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice()),
///     ("templates/a.yaml", b"a: {{ tpl \"{{ .Release.Name }}\" . }}\nb: {{ tpl (toYaml .Values.b) . }}\n"),
/// ])?;
/// let places = survey::expansions(&chart)?;
/// assert_eq!(places.iter().map(ToString::to_string).collect::<Vec<_>>(), ["web/templates/a.yaml:2"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The templates of the chart cannot be parsed, or its values are not of the form that it needs itself.
pub fn expansions(chart: &Chart) -> Result<Vec<Place>, RenderError> {
    let arrangement = chart.everything()?;
    let templates = arrangement.templates()?;
    let mut places = of_go(templates);
    let outline = chart.outline();
    of_handlebars(&outline, outline.name(), &mut places);
    places.sort();
    places.dedup();
    Ok(places)
}

fn of_go(templates: &Templates) -> Vec<Place> {
    let set = templates.go();
    let roots = set.names().filter_map(|name| set.template(&name.text()));
    let mut left: Vec<Node<'_>> = roots.map(|template| template.root).collect();
    let mut places = Vec::new();
    while let Some(node) = left.pop() {
        match node.part() {
            Part::Action(inner) | Part::Chain(inner, _) | Part::Template(_, Some(inner)) => left.push(inner),
            Part::If(branch) | Part::With(branch) | Part::Range(branch) => {
                let Branch {
                    pipeline,
                    body,
                    otherwise,
                } = branch;
                left.extend([pipeline, body].into_iter().chain(otherwise));
            }
            Part::List(nodes) | Part::Pipeline { commands: nodes, .. } => left.extend(nodes),
            Part::Command(mut words) => {
                if is_open(words.clone()) {
                    places.push(Place {
                        file: node.source().text().as_ref().into(),
                        line: node.line(),
                    });
                }
                left.extend(&mut words);
            }
            _ => {}
        }
    }
    places
}

/// Every line that has the word: what a text in this language calls is not looked at.
fn of_handlebars(outline: &Outline, path: &str, places: &mut Vec<Place>) {
    for (name, text) in outline.templates().filter(|(name, _)| is_handlebars(name)) {
        let file: Arc<str> = format!("{path}/{name}").into();
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(EXPANDS));
        places.extend(lines.map(|(index, _)| Place {
            file: Arc::clone(&file),
            line: index + 1,
        }));
    }
    for subchart in outline.subcharts() {
        of_handlebars(subchart, &format!("{path}/charts/{}", subchart.name()), places);
    }
}

/// Whether a command calls `tpl` with anything but a literal.
fn is_open<'a>(mut words: impl Iterator<Item = Node<'a>>) -> bool {
    let is_call = words
        .next()
        .is_some_and(|first| matches!(first.part(), Part::Function(name) if name.text() == EXPANDS));
    let is_literal = words.next().is_some_and(
        |text| matches!(text.part(), Part::String(literal) if !literal.text().contains(EXPANDS)),
    );
    is_call && !is_literal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &str, text: &str) -> Vec<String> {
        let chart = Chart::from_files([
            (
                "Chart.yaml",
                b"{apiVersion: v2, name: web, version: 1.0.0}".as_slice(),
            ),
            (template, text.as_bytes()),
        ]);
        let places = expansions(&chart.unwrap()).unwrap();
        places.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn calls_are_found_wherever_they_stand() {
        for text in [
            "{{ tpl .Values.a . }}",
            "{{ if (tpl .Values.a .) }}{{ end }}",
            "{{ if .a }}{{ else }}{{ range .b }}{{ with .c }}{{ tpl . $ }}{{ end }}{{ end }}{{ end }}",
            "{{ $a := tpl .Values.a . | quote }}",
            "{{ define \"x\" }}{{ tpl .value .context }}{{ end }}",
            "{{ template \"x\" (tpl .Values.a .) }}{{ define \"x\" }}{{ end }}",
            "{{ (tpl .Values.a . | fromYaml).b }}",
            "{{ tpl (.Files.Get \"a\") . }}",
            "{{ tpl \"{{ tpl .Values.a . }}\" . }}",
            "{{ . | tpl .Values.a }}",
        ] {
            assert_eq!(
                found("templates/a.yaml", text),
                ["web/templates/a.yaml:1"],
                "{text}"
            );
        }
        for text in [
            "{{ tpl \"{{ .Values.a }}\" . }}",
            "{{ include \"web.tpl\" . }}{{ define \"web.tpl\" }}{{ end }}",
        ] {
            assert_eq!(found("templates/a.yaml", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn every_mention_in_handlebars_counts() {
        assert_eq!(
            found("templates/a.hbs", "a: b\nc: {{tpl Values.a this}}\n"),
            ["web/templates/a.hbs:2"]
        );
    }
}
