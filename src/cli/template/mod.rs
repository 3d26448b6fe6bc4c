//! `template`: renders a chart on this machine, with the flags of `helm template`.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use steersman_chart::template::{
    Document, TemplateError, TemplateOutput, TemplateRequest, ValueSources, name_from_template, template,
};
use steersman_chart::{Limits, RenderErrorKind};

use super::Failure;
use super::report::print_line;
use crate::world::SystemWorld;

/// The name of a release that is given none.
const DEFAULT_NAME: &str = "release-name";

const EXAMPLES: &str = "\
Examples:
  # Everything that the chart renders with its own values
  steersman template my-release helm-charts/visitors

  # One template, with other values, for another version of Kubernetes
  steersman template my-release helm-charts/visitors --set ingress.enabled=true \\
    --set ingress.host=visitors.example.com --kube-version 1.31 --show-only templates/ingress.yaml";

/// What `template` takes.
#[derive(Debug, clap::Args)]
#[command(override_usage = "steersman template [OPTIONS] [NAME] <CHART>", after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Args {
    /// The name of the release, and the chart's directory or `.tgz` file; the chart alone for a release called
    /// `release-name`
    #[arg(value_names = ["NAME", "CHART"], num_args = 1..=2, required = true)]
    name_and_chart: Vec<String>,

    /// Namespace of the release
    #[arg(short, long, default_value = "default", help_heading = "Release")]
    namespace: String,
    /// Template for the name of the release
    #[arg(long, value_name = "TEMPLATE", help_heading = "Release")]
    name_template: Option<String>,
    /// Accepted for scripts that set it; the name is `release-name`, as with Helm
    #[arg(short = 'g', long, help_heading = "Release")]
    generate_name: bool,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall
    #[arg(long, help_heading = "Release")]
    is_upgrade: bool,

    /// Values in a YAML file (`-` for standard input); later files override earlier ones
    #[arg(
        short = 'f',
        long,
        value_name = "FILE",
        value_delimiter = ',',
        help_heading = "Values"
    )]
    values: Vec<String>,
    /// Set values: key1=val1,key2=val2
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Values")]
    set: Vec<String>,
    /// Set texts: key1=val1,key2=val2
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Values")]
    set_string: Vec<String>,
    /// Set values to the contents of files: key1=path1,key2=path2
    #[arg(long, value_name = "KEY=FILE", help_heading = "Values")]
    set_file: Vec<String>,
    /// Set JSON values: key1=jsonval1, or one object
    #[arg(long, value_name = "KEY=JSON", help_heading = "Values")]
    set_json: Vec<String>,
    /// Set one key to all that follows, as it is
    #[arg(long, value_name = "KEY=TEXT", help_heading = "Values")]
    set_literal: Vec<String>,
    /// Do not check values against values.schema.json
    #[arg(long, help_heading = "Values")]
    skip_schema_validation: bool,

    /// Version of Kubernetes for .Capabilities.KubeVersion
    #[arg(long, value_name = "VERSION", help_heading = "Capabilities")]
    kube_version: Option<String>,
    /// API versions for .Capabilities.APIVersions, besides those that Helm knows
    #[arg(
        short,
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        help_heading = "Capabilities"
    )]
    api_versions: Vec<String>,

    /// Show the files of crds/, too
    #[arg(long, help_heading = "Output")]
    include_crds: bool,
    /// Show only what these templates render, such as templates/service.yaml
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    show_only: Vec<String>,
    /// Leave out tests
    #[arg(long, help_heading = "Output")]
    skip_tests: bool,
    /// Leave out hooks
    #[arg(long, help_heading = "Output")]
    no_hooks: bool,
    /// Write a file for each template into this directory instead
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    output_dir: Option<PathBuf>,
    /// Write into a directory of the release's name in --output-dir
    #[arg(long, requires = "output_dir", help_heading = "Output")]
    release_name: bool,

    /// Refused: there is no cluster here to ask
    #[arg(long, hide = true)]
    validate: bool,
    /// Refused but for `client`: there is no cluster here to ask
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<String>,
    /// Refused: pipe the output through the program
    #[arg(long, hide = true)]
    post_renderer: Option<String>,
    /// Refused: charts come with their dependencies
    #[arg(long, hide = true)]
    dependency_update: bool,
    /// Refused: templates do not ask the network
    #[arg(long, hide = true)]
    enable_dns: bool,
    /// Accepted without effect, as with `helm template`
    #[arg(long, hide = true)]
    skip_crds: bool,
    /// Accepted without effect, as with `helm template`
    #[arg(long, hide = true)]
    create_namespace: bool,
    /// Accepted without effect: errors name their place already
    #[arg(long, hide = true)]
    debug: bool,
}

/// Renders the chart to standard output, or into files.
pub(super) fn exec(arguments: Args) -> Result<(), Failure> {
    refuse(&arguments)?;
    let request = request(&arguments)?;
    let output = template(&request, &read_file, &SystemWorld, Limits::default()).map_err(failure)?;
    if let Some(folder) = &arguments.output_dir {
        let folder = if arguments.release_name {
            folder.join(&request.release)
        } else {
            folder.clone()
        };
        return write_files(&output, &folder);
    }
    let text = if arguments.show_only.is_empty() {
        output.text()
    } else {
        output.text_of(&arguments.show_only).map_err(failure)?
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        // A reader that has seen enough (`| head`) is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::failed(error, None)),
        _ => Ok(()),
    }
}

/// Names what `helm template` can do and this cannot, before it is missed in the output.
fn refuse(arguments: &Args) -> Result<(), Failure> {
    let no_cluster = "there is no cluster to ask; `steersman run` renders against one";
    let refused = match arguments {
        Args { validate: true, .. } => Some(("--validate", no_cluster)),
        Args {
            dry_run: Some(strategy),
            ..
        } if strategy != "client" => Some(("--dry-run", no_cluster)),
        Args {
            post_renderer: Some(_),
            ..
        } => Some(("--post-renderer", "pipe the output through the program instead")),
        Args {
            dependency_update: true,
            ..
        } => Some((
            "--dependency-update",
            "run `helm dependency update` once and keep the result in charts/",
        )),
        Args { enable_dns: true, .. } => Some(("--enable-dns", "templates do not ask the network")),
        _ => None,
    };
    match refused {
        Some((flag, hint)) => Err(Failure::usage(
            anyhow!("{flag} is not supported"),
            Some(hint.to_owned()),
        )),
        None => Ok(()),
    }
}

fn request(arguments: &Args) -> Result<TemplateRequest, Failure> {
    let (name, chart) = match arguments.name_and_chart.as_slice() {
        [name, _] if arguments.name_template.is_some() || arguments.generate_name => {
            let flag = if arguments.generate_name {
                "--generate-name"
            } else {
                "--name-template"
            };
            return Err(anyhow!("cannot set {flag} and also specify a name ({name})").into());
        }
        [name, chart] => (name.clone(), chart),
        [chart] => (release_name(arguments)?, chart),
        _ => return Err(anyhow!("expected a name and a chart").into()),
    };
    if !Path::new(chart).exists() {
        return Err(Failure::failed(
            anyhow!("path {chart:?} not found"),
            Some("charts are read from this machine; fetch others with `helm pull` first".to_owned()),
        ));
    }
    Ok(TemplateRequest {
        release: name,
        namespace: arguments.namespace.clone(),
        chart: PathBuf::from(chart),
        values: ValueSources {
            files: arguments.values.clone(),
            json: arguments.set_json.clone(),
            typed: arguments.set.clone(),
            text: arguments.set_string.clone(),
            from_files: arguments.set_file.clone(),
            literal: arguments.set_literal.clone(),
        },
        kube_version: arguments.kube_version.clone(),
        api_versions: arguments.api_versions.clone(),
        is_upgrade: arguments.is_upgrade,
        include_crds: arguments.include_crds,
        no_hooks: arguments.no_hooks,
        skip_tests: arguments.skip_tests,
        skip_schema_validation: arguments.skip_schema_validation,
    })
}

fn release_name(arguments: &Args) -> Result<String, Failure> {
    match &arguments.name_template {
        Some(text) => name_from_template(text, &SystemWorld).map_err(|message| anyhow!(message).into()),
        None => Ok(DEFAULT_NAME.to_owned()),
    }
}

/// Reads a file of values; `-` is standard input.
fn read_file(path: &str) -> Result<Vec<u8>, String> {
    let content = if path.trim() == "-" {
        let mut content = Vec::new();
        io::stdin().lock().read_to_end(&mut content).map(|_| content)
    } else {
        fs::read(path)
    };
    content.map_err(|error| format!("open {path}: {error}"))
}

fn failure(error: TemplateError) -> Failure {
    let hint = match &error {
        TemplateError::Render(error) if error.kind() == RenderErrorKind::Budget => Some(
            "the chart needs more than one rendering may use; look for a template without an end".to_owned(),
        ),
        _ => None,
    };
    Failure::failed(error, hint)
}

/// Writes each document into the file that it is named after, below `folder`, and says so.
fn write_files(output: &TemplateOutput, folder: &Path) -> Result<(), Failure> {
    let mut written = BTreeSet::new();
    for document in output.documents.iter().chain(&output.hooks) {
        let path = document
            .path_below(folder)
            .with_context(|| format!("`{}` leads out of the output directory", document.source))?;
        let is_first = written.insert(path.clone());
        write_file(document, &path, is_first)
            .with_context(|| format!("failed to write `{}`", path.display()))?;
        print_line(&format!("wrote {}", path.display()))?;
    }
    // As with Helm, an empty line stands for the output that went into files.
    print_line("")
}

fn write_file(document: &Document, path: &Path, is_first: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut text = String::new();
    document.write(&mut text);
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(is_first)
        .append(!is_first)
        .open(path)?
        .write_all(text.as_bytes())
}
