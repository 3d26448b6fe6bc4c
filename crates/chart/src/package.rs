//! A chart as an archive, as `helm package` makes it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::chart::Chart;
use crate::source::Source;

impl Chart {
    /// The chart with all charts in it as a `.tgz`, its files dated `modified` (seconds since 1970). What the chart
    /// ignores is not in it; `Chart.yaml` is written anew, without what means nothing in it.
    ///
    /// # Errors
    /// The name or a path in the chart cannot be that of a file in an archive.
    pub fn package(&self, modified: u64) -> Result<Vec<u8>, String> {
        let mut archive = Archive {
            builder: tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default())),
            modified,
        };
        archive
            .chart(self.source(), "")
            .map_err(|error| error.to_string())?;
        let zipped = archive.builder.into_inner().and_then(|mut zip| {
            zip.flush()?;
            zip.finish()
        });
        zipped.map_err(|error| error.to_string())
    }
}

struct Archive {
    builder: tar::Builder<GzEncoder<Vec<u8>>>,
    modified: u64,
}

impl Archive {
    fn chart(&mut self, source: &Source, above: &str) -> std::io::Result<()> {
        let base = format!("{above}{}", source.metadata.name);
        let mut metadata = source.metadata.clone();
        let is_old = metadata.api_version == "v1";
        if is_old {
            // They are in requirements.yaml, which is among the files.
            metadata.dependencies.clear();
        }
        self.file(&format!("{base}/Chart.yaml"), metadata.to_yaml().as_bytes())?;
        if let (false, Some(lock)) = (is_old, &source.lock) {
            self.file(&format!("{base}/Chart.lock"), lock.to_yaml().as_bytes())?;
        }
        if let Some(values) = &source.values_file {
            self.file(&format!("{base}/values.yaml"), values)?;
        }
        if let Some(schema) = &source.schema {
            self.file(&format!("{base}/values.schema.json"), schema)?;
        }
        for file in source.templates.iter().chain(&source.files) {
            self.file(&format!("{base}/{}", file.name), &file.content)?;
        }
        for chart in &source.dependencies {
            self.chart(chart, &format!("{base}/charts/"))?;
        }
        Ok(())
    }

    fn file(&mut self, path: &str, content: &[u8]) -> std::io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(self.modified);
        self.builder.append_data(&mut header, path, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packaged_chart_renders_what_it_rendered_before() {
        let files: [(&str, &[u8]); 5] = [
            (
                "Chart.yaml",
                b"apiVersion: v2\nname: web\nversion: 1.0.0\nunknown: x\n",
            ),
            ("values.yaml", b"a: b # kept\n"),
            ("templates/a.yaml", b"kind: {{ .Values.a }}\n"),
            (
                "charts/inner/Chart.yaml",
                b"apiVersion: v1\nname: inner\nversion: 2.0.0\n",
            ),
            ("charts/inner/README.md", b"text"),
        ];
        let chart = Chart::from_files(files).unwrap();
        let again = Chart::from_archive(&chart.package(0).unwrap()).unwrap();
        assert_eq!(again.metadata(), chart.metadata());
        assert_eq!(again.source().values_file, chart.source().values_file);
        assert_eq!(
            again.source().templates[0].content,
            chart.source().templates[0].content
        );
        let inner = &again.source().dependencies[0];
        assert_eq!(
            (inner.metadata.name.as_str(), inner.files[0].name.as_str()),
            ("inner", "README.md")
        );
        assert_eq!(chart.package(0).unwrap(), chart.package(0).unwrap());
    }
}
