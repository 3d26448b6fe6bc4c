//! Which partial a name means.

use std::collections::BTreeMap;

/// The partials of all charts: by the path of the chart and then by name, with the name of the
/// file.
#[derive(Debug, Default)]
pub(super) struct Partials(BTreeMap<String, BTreeMap<String, String>>);

impl Partials {
    /// Takes note of a file; if it is a partial, it can be found from now on.
    pub(super) fn add(&mut self, file: &str) {
        let (chart, path) = in_chart(file);
        let (folder, base) = path
            .rsplit_once('/')
            .map_or(("", path), |(folder, base)| (folder, base));
        let Some(name) = base.strip_prefix('_').and_then(|base| base.strip_suffix(".hbs")) else {
            return;
        };
        let name = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{folder}/{name}")
        };
        let partials = self.0.entry(chart.to_owned()).or_default();
        partials.insert(name, file.to_owned());
    }

    /// The file that a name means in another file: a partial of the same chart, or, as
    /// `CHART/NAME`, of the nearest chart of that name: a dependency of the file's chart or of one
    /// of those around it, or one of these.
    pub(super) fn find(&self, from: &str, name: &str) -> Option<&str> {
        let (own, _) = in_chart(from);
        if let Some(file) = self.0.get(own).and_then(|partials| partials.get(name)) {
            return Some(file);
        }
        let (chart, name) = name.split_once('/')?;
        let mut around = Some(own);
        while let Some(path) = around {
            let below = format!("{path}/charts/{chart}");
            let (parent, local) = path
                .rsplit_once("/charts/")
                .map_or((None, path), |(parent, local)| (Some(parent), local));
            let itself = if local == chart { path } else { "" };
            for candidate in [below.as_str(), itself] {
                if let Some(file) = self.0.get(candidate).and_then(|partials| partials.get(name)) {
                    return Some(file);
                }
            }
            around = parent;
        }
        None
    }

    /// The names that a file can use without that of a chart.
    pub(super) fn own(&self, from: &str) -> impl Iterator<Item = &str> {
        let partials = self.0.get(in_chart(from).0);
        partials.into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }
}

/// Divides the name of a file into the path of its chart and its path below `templates/`.
fn in_chart(file: &str) -> (&str, &str) {
    let mut end = file.find('/').unwrap_or(file.len());
    while let Some(rest) = file[end..].strip_prefix("/charts/") {
        let start = file.len() - rest.len();
        end = rest.find('/').map_or(file.len(), |length| start + length);
    }
    let rest = &file[end..];
    (&file[..end], rest.strip_prefix("/templates/").unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_nearest_partial() {
        let files = [
            "web/templates/_labels.hbs",
            "web/templates/parts/_port.hbs",
            "web/templates/service.hbs",
            "web/charts/common/templates/_labels.hbs",
            "web/charts/database/templates/_name.hbs",
            "web/charts/database/charts/common/templates/_labels.hbs",
        ];
        let mut partials = Partials::default();
        for file in files {
            partials.add(file);
        }
        let web = "web/templates/service.hbs";
        let database = "web/charts/database/templates/service.hbs";
        assert_eq!(partials.find(web, "labels"), Some(files[0]));
        assert_eq!(partials.find(web, "parts/port"), Some(files[1]));
        assert_eq!(partials.find(web, "common/labels"), Some(files[3]));
        assert_eq!(partials.find(database, "labels"), None);
        assert_eq!(partials.find(database, "web/labels"), Some(files[0]));
        assert_eq!(partials.find(database, "database/name"), Some(files[4]));
        assert_eq!(partials.find(database, "common/labels"), Some(files[5]));
        assert_eq!(partials.find(web, "service"), None);
    }
}
