//! The chart of a kind: found, fetched, and completed by its dependencies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::anyhow;
use sha2::{Digest as _, Sha256};
use steersman_chart::template::check_type;
use steersman_chart::{Chart, files_of_archive, files_of_chart};
use steersman_model::Environment;
use steersman_registry::Located;
use steersman_registry::dependency::{Manager, Options};

use super::{begin, say, wrong};
use crate::cli::helm::{self, ChartFlags, ConnectionFlags, GlobalFlags, Settings};
use crate::cli::{Failure, dependency};

/// Where a chart comes from, with operator-sdk's flags.
#[derive(Debug, Default, Clone, clap::Args)]
#[command(next_help_heading = "Chart")]
pub(in crate::cli) struct SourceFlags {
    /// The chart: a directory, a `.tgz` file, a URL, `oci://…`, REPOSITORY/CHART, or a name with --helm-chart-repo
    #[arg(long, value_name = "CHART")]
    pub(in crate::cli) helm_chart: Option<String>,
    /// The repository that has the chart
    #[arg(long, value_name = "URL")]
    helm_chart_repo: Option<String>,
    /// Version of the chart, or a range of versions [default: the newest]
    #[arg(long, value_name = "VERSION")]
    helm_chart_version: Option<String>,
    #[command(flatten)]
    connection: ConnectionFlags,
}

/// A chart as it comes into a project.
#[derive(Debug)]
pub(in crate::cli) struct Fetched {
    /// Loaded, and so checked.
    pub(in crate::cli) chart: Chart,
    /// Its files, by their paths in it.
    pub(in crate::cli) files: BTreeMap<String, Vec<u8>>,
}

impl SourceFlags {
    /// The same source with another version; none where it is on this machine, or no chart is named.
    pub(in crate::cli) fn at_version(&self, version: &str) -> Option<Self> {
        let name = self.helm_chart.as_deref()?;
        (!self.is_here(name)).then(|| Self {
            helm_chart_version: Some(version.to_owned()),
            ..self.clone()
        })
    }

    fn is_here(&self, name: &str) -> bool {
        !is_given(self.helm_chart_repo.as_ref()) && Path::new(name).exists()
    }

    /// The chart that is meant; none where none is named.
    ///
    /// # Errors
    /// It cannot be fetched, is none, or flags are missing.
    pub(in crate::cli) fn fetch(
        &self,
        folder: &Path,
        environment: &Environment,
    ) -> Result<Option<Fetched>, Failure> {
        let Some(name) = self.helm_chart.as_deref().filter(|name| !name.trim().is_empty()) else {
            for (flag, value) in [
                ("helm-chart-repo", &self.helm_chart_repo),
                ("helm-chart-version", &self.helm_chart_version),
            ] {
                if is_given(value.as_ref()) {
                    return Err(wrong(
                        format!("value of --{flag} can only be used with --helm-chart"),
                        "name the chart with --helm-chart",
                    ));
                }
            }
            return Ok(None);
        };
        let settings = Settings::new(&GlobalFlags::default(), environment)?;
        let flags = ChartFlags::of(
            self.helm_chart_version.clone(),
            self.helm_chart_repo.clone(),
            self.connection.clone(),
        );
        let is_here = self.is_here(name);
        let fetching = (!is_here).then(|| begin(&format!("fetching {name}")));
        let hint = if is_given(self.helm_chart_repo.as_ref()) || name.contains("://") {
            AWAY
        } else {
            FORMS
        };
        let located = helm::locate_with_advice(name, &flags, &settings, hint)?;
        drop(fetching);
        let fetched = load(&located)?;
        if !is_here {
            let chart = &fetched.chart;
            say(&format!("fetched {} {}", chart.name(), chart.version()));
        }
        fetched.completed(folder, &settings, environment).map(Some)
    }
}

fn is_given(flag: Option<&String>) -> bool {
    flag.is_some_and(|text| !text.trim().is_empty())
}

const FORMS: &str = "a chart is a directory, a `.tgz` file, a URL, `oci://…`, REPOSITORY/CHART of `helm repo add`, or a name \
                     with --helm-chart-repo";
const AWAY: &str = "is the address right, and does the server answer here? Credentials are those of --username and --password or \
                    of `helm registry login`; --ca-file names an authority of its own";

fn load(located: &Located) -> Result<Fetched, Failure> {
    let files = match located {
        Located::Path(path) => files_of_chart(path),
        Located::Archive(content) => files_of_archive(content),
    };
    let files = files.map_err(|error| wrong(error.to_string(), "`steersman lint CHART` says more"))?;
    Fetched::of(files)
}

impl Fetched {
    /// The chart of these files.
    ///
    /// # Errors
    /// They are none.
    pub(in crate::cli) fn of(files: BTreeMap<String, Vec<u8>>) -> Result<Self, Failure> {
        let chart = Chart::from_files(
            files
                .iter()
                .map(|(path, content)| (path.as_str(), content.as_slice())),
        )
        .map_err(|error| wrong(error.to_string(), "`steersman lint CHART` says more"))?;
        check_type(&chart).map_err(|error| {
            let hint = "name a chart that has objects, which may depend on this one";
            wrong(error.to_string(), hint)
        })?;
        let name = chart.name();
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
            return Err(wrong(
                format!("the chart's name `{name}` cannot be that of a folder"),
                "change `name` in Chart.yaml",
            ));
        }
        Ok(Self { chart, files })
    }

    /// The text of `values.yaml`.
    pub(in crate::cli) fn values(&self) -> String {
        let values = self.files.get("values.yaml");
        values.map_or_else(String::new, |values| String::from_utf8_lossy(values).into_owned())
    }

    /// The chart with the dependencies that it lacks, as `dependency build` fetches them.
    fn completed(
        self,
        folder: &Path,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let missing = self.chart.missing_dependencies().join(", ");
        if missing.is_empty() {
            return Ok(self);
        }
        let _fetching = begin(&format!(
            "fetching what {} depends on: {missing}",
            self.chart.name()
        ));
        let place = folder.join(format!(".steersman-chart-{}", std::process::id()));
        let result = self.build_dependencies(&place, settings, environment);
        let _ = fs::remove_dir_all(&place);
        result
    }

    fn build_dependencies(
        &self,
        place: &Path,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        for (path, content) in &self.files {
            let target = place.join(path);
            let written = target
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&target, content));
            written.map_err(|error| {
                Failure::failed(
                    anyhow!(error).context(format!("failed to write `{}`", target.display())),
                    None,
                )
            })?;
        }
        let options = Options {
            say: &|text| say(text.trim_end()),
            ..dependency::options(settings, environment)?
        };
        let hint = "fill the chart's charts/ with `steersman dependency update CHART`, and take the chart from there";
        let failed = |message: String| Failure::failed(anyhow!(message), Some(hint.to_owned()));
        let manager = Manager::new(place, &settings.repository, options);
        let manager = manager.map_err(|error| failed(error.to_string()))?;
        helm::block_on(manager.build())?.map_err(failed)?;
        load(&Located::Path(place.to_owned()))
    }
}

/// The digest of a chart's files: what tells whether somebody has changed one.
pub(in crate::cli) fn digest(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut digest = Sha256::new();
    for (path, content) in files {
        for part in [path.as_bytes(), content] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    format!("sha256:{}", steersman_chart::Digest(digest.finalize().into()))
}
