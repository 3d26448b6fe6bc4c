//! The chart that a kind gets where none is named: a Deployment and its Service, within the restricted Pod Security
//! Standard.

use std::collections::BTreeMap;

use super::templates::filled;

const FILES: &[(&str, &str)] = &[
    (".helmignore", include_str!("starter/helmignore")),
    ("Chart.yaml", include_str!("starter/Chart.yaml")),
    ("templates/NOTES.txt", include_str!("starter/templates/NOTES.txt")),
    (
        "templates/_helpers.tpl",
        include_str!("starter/templates/_helpers.tpl"),
    ),
    (
        "templates/deployment.yaml",
        include_str!("starter/templates/deployment.yaml"),
    ),
    (
        "templates/service.yaml",
        include_str!("starter/templates/service.yaml"),
    ),
    ("values.schema.json", include_str!("starter/values.schema.json")),
    ("values.yaml", include_str!("starter/values.yaml")),
];

/// The files of a chart for a kind; the chart is called as the kind, in small letters.
#[must_use]
pub fn starter_chart(kind: &str) -> BTreeMap<String, Vec<u8>> {
    let chart = kind.to_lowercase();
    FILES
        .iter()
        .map(|(path, text)| {
            let text = filled(text, &[("chart", &chart), ("kind", kind)]);
            ((*path).to_owned(), text.into_bytes())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::starter_chart;
    use steersman_chart::Chart;

    #[test]
    fn the_chart_of_a_kind_is_one() {
        let files = starter_chart("WebShop");
        let chart =
            Chart::from_files(files.iter().map(|(path, text)| (path.as_str(), text.as_slice()))).unwrap();
        assert_eq!(chart.name(), "webshop");
        assert!(
            files
                .values()
                .all(|text| !String::from_utf8_lossy(text).contains("%chart%"))
        );
    }
}
