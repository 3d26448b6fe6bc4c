//! `dependency list`: what is declared, and what of that is there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use steersman_chart::{Chart, Dependency};
use steersman_sprig::semver::{Constraint, Version};

use super::super::Failure;
use super::super::helm::{self, in_words_of_go, print};

/// Prints the dependencies of the chart as a table, and what lies in charts/ without being declared.
pub(super) fn list(path: &Path, width: usize) -> Result<(), Failure> {
    let name = path.display().to_string();
    fs::metadata(path)
        .map_err(|error| Failure::helm(anyhow::anyhow!(in_words_of_go("stat", &name, &error))))?;
    let chart = Chart::load_any(path).map_err(Failure::helm)?;
    chart.notices().iter().for_each(helm::log);
    let declared = &chart.metadata().dependencies;
    if declared.is_empty() {
        let charts = join(path, "charts");
        return print(&format!("WARNING: no dependencies at {}\n", charts.display()));
    }
    let mut rows = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned)];
    for dependency in declared {
        let status = status(path, dependency, &chart).to_owned();
        rows.push([
            dependency.name.clone(),
            dependency.version.clone(),
            dependency.repository.clone(),
            status,
        ]);
    }
    let mut text = table(&rows, width);
    text.push_str("\n\n");
    add_undeclared(path, declared, &mut text);
    print(&text)
}

/// A path below another one; below `.` it stands for itself.
fn join(path: &Path, name: &str) -> PathBuf {
    if path == Path::new(".") {
        PathBuf::from(name)
    } else {
        path.join(name)
    }
}

/// Columns with a tab between them, each as wide as its widest cell.
fn table(rows: &[[String; 4]], width: usize) -> String {
    let length = |text: &str| text.chars().count();
    let mut widths = [0; 4];
    for row in rows {
        for (cell, column) in row.iter().zip(&mut widths) {
            let wide = length(cell);
            *column = wide.min(if width == 0 { wide } else { width }).max(*column);
        }
    }
    let line = |row: &[String; 4]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            if length(cell) > width {
                let kept: String = cell.chars().take(width.saturating_sub(3).max(1)).collect();
                return format!("{kept}...");
            }
            format!("{cell:width$}")
        });
        cells.collect::<Vec<_>>().join("\t")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What Helm says of a dependency.
fn status(path: &Path, dependency: &Dependency, chart: &Chart) -> &'static str {
    let archives = archives(path, &dependency.name);
    let of_archive = match archives.as_slice() {
        [] => None,
        [archive] => Some(archive_status(archive, dependency)),
        several => {
            let start = format!("{}-", dependency.name);
            let is_version = |archive: &&PathBuf| {
                let name = archive.file_stem().unwrap_or_default().to_string_lossy();
                name.strip_prefix(&start).is_some_and(is_strict_version)
            };
            let found: Vec<&PathBuf> = several.iter().filter(is_version).collect();
            match found.as_slice() {
                [] => None,
                [archive] => Some(archive_status(archive, dependency)),
                _ => return "too many matches",
            }
        }
    };
    if let Some(status) = of_archive {
        return status;
    }
    let found = chart
        .dependencies()
        .filter(|known| known.name == dependency.name)
        .last();
    match found {
        None => "missing",
        Some(found) => version_status(&found.version, dependency).unwrap_or("unpacked"),
    }
}

/// The archives in charts/ whose names begin like that of a dependency.
fn archives(path: &Path, name: &str) -> Vec<PathBuf> {
    let start = format!("{name}-");
    let mut found: Vec<PathBuf> = entries(path)
        .into_iter()
        .filter(|entry| {
            let file = entry
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            file.starts_with(&start) && entry.extension().is_some_and(|ending| ending == "tgz")
        })
        .collect();
    found.sort();
    found
}

/// What is in charts/, but for hidden files, by name.
fn entries(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(join(path, "charts")) else {
        return Vec::new();
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

fn archive_status(archive: &Path, dependency: &Dependency) -> &'static str {
    match Chart::load_any(archive) {
        Err(_) => "corrupt",
        Ok(chart) if chart.name() != dependency.name => "misnamed",
        Ok(chart) => version_status(chart.version(), dependency).unwrap_or("ok"),
    }
}

/// What is wrong with a version, if something is.
fn version_status(found: &str, dependency: &Dependency) -> Option<&'static str> {
    if found == dependency.version {
        return None;
    }
    match (Constraint::parse(&dependency.version), Version::parse(found)) {
        (Ok(range), Ok(version)) => (!range.check(&version)).then_some("wrong version"),
        _ => Some("invalid version"),
    }
}

fn is_strict_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    core.split('.').count() == 3
        && text.starts_with(|first: char| first.is_ascii_digit())
        && Version::parse(text).is_ok()
}

/// Adds what lies in charts/ without being declared.
fn add_undeclared(path: &Path, declared: &[Dependency], text: &mut String) {
    for entry in entries(path) {
        let is_archive = entry.extension().is_some_and(|ending| ending == "tgz");
        if !entry.is_dir() && !is_archive {
            continue;
        }
        let name = entry.display().to_string();
        match Chart::load_any(&entry) {
            Err(_) => {
                let _ = writeln!(text, "WARNING: {name:?} is not a chart.");
            }
            Ok(chart) if declared.iter().any(|known| known.name == chart.name()) => {}
            Ok(_) => {
                let _ = writeln!(text, "WARNING: {name:?} is not in Chart.yaml.");
            }
        }
    }
}
