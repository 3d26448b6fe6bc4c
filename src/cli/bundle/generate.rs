//! `bundle generate`: writes a bundle, with the flags of `operator-sdk generate bundle`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use serde_json::Value;
use steersman_image::Reference;
use steersman_model::Environment;
use steersman_project::bundle::{
    Bundle, MetadataRequest, Replaces, Request, annotations, dockerfile, generate, image_names, pin_images,
    service_version_file, to_yaml,
};

use super::super::Failure;
use super::super::cluster::block_on;
use super::super::helm::ConnectionFlags;
use super::super::report::print_line;
use super::super::style::{Style, Tone, harmless};
use super::source::{Places, Source};
use crate::cli::files;

const DEFAULT_OUTPUT: &str = "bundle";

/// What `bundle` takes.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct GenerateArgs {
    /// Version of the operator. That of the base or of the bundle before if left out, else 0.0.1
    #[arg(short, long, value_name = "VERSION")]
    version: Option<String>,
    /// Image of the operator
    #[arg(long, value_name = "REF")]
    image: Option<String>,
    /// Name of the package. That of the project if left out
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Channels of the bundle, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "alpha")]
    channels: String,
    /// The channel that is taken by default
    #[arg(long, value_name = "NAME")]
    default_channel: Option<String>,
    /// The version that this one replaces, or its name; empty for none. What the base says if left out, else the version
    /// that is written over
    #[arg(long, value_name = "VERSION")]
    replaces: Option<String>,
    /// Names of versions that an upgrade may leave out, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    skips: Vec<String>,
    /// Versions from which an upgrade may come directly, such as `>=0.1.0 <0.3.0`
    #[arg(long, value_name = "RANGE")]
    skip_range: Option<String>,
    /// Folder with manifests to read instead of the project; `-` reads standard input
    #[arg(long, value_name = "DIR")]
    input_dir: Option<PathBuf>,
    /// Folder with manifests to read instead of the project, without its definitions where --crds-dir names them
    #[arg(long, value_name = "DIR", conflicts_with = "input_dir")]
    deploy_dir: Option<PathBuf>,
    /// Folder with the definitions of custom resources
    #[arg(long, value_name = "DIR", requires = "deploy_dir")]
    crds_dir: Option<PathBuf>,
    /// Folder with the kustomization and the base
    #[arg(long, value_name = "DIR", default_value = "config/manifests")]
    kustomize_dir: PathBuf,
    /// Folder to write the bundle to
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUTPUT)]
    output_dir: PathBuf,
    /// Service accounts besides that of the Deployment whose roles belong to the operator, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    extra_service_accounts: Vec<String>,
    /// Write manifests/ only; together with --metadata everything, as without both
    #[arg(long)]
    manifests: bool,
    /// Write metadata/ and bundle.Dockerfile only
    #[arg(long)]
    metadata: bool,
    /// Write metadata/ and bundle.Dockerfile where they exist already
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    overwrite: bool,
    /// Write no files, and print the manifests
    #[arg(long)]
    stdout: bool,
    /// Name images by the digests that their registries have for the tags, and list all of them as related images
    #[arg(long)]
    use_image_digests: bool,
    #[command(flatten)]
    connection: ConnectionFlags,
    /// Print only what is worth a warning
    #[arg(short, long)]
    quiet: bool,
}

/// Writes the bundle.
pub(super) fn exec(arguments: &GenerateArgs, environment: &Environment) -> Result<(), Failure> {
    let everything = arguments.manifests == arguments.metadata;
    let source = arguments.places().read(environment)?;
    let (package, layout) = (source.package.clone(), source.layout.clone());
    let mut written = source.written.clone();
    let has_scorecard = if everything || arguments.manifests {
        let bundle = arguments.bundle(source, environment)?;
        warn(&bundle.notices, environment);
        if arguments.stdout {
            return print(&bundle);
        }
        for (path, text) in bundle.files() {
            files::write(&arguments.output_dir.join(path), &text)?;
        }
        warn(&left_over(&arguments.output_dir, &bundle)?, environment);
        arguments.say(&format!(
            "wrote version {} of {package} to `{}`",
            bundle.version,
            arguments.output_dir.display()
        ))?;
        bundle.scorecard.is_some()
    } else {
        arguments.output_dir.join("tests/scorecard/config.yaml").exists()
    };
    if (everything || arguments.metadata) && !arguments.stdout {
        written.extend(arguments.write_metadata(package, layout, has_scorecard)?);
    }
    for path in written {
        arguments.say(&format!("wrote `{}`", path.display()))?;
    }
    Ok(())
}

impl GenerateArgs {
    fn places(&self) -> Places<'_> {
        Places {
            input: self.input_dir.as_deref(),
            deploy: self.deploy_dir.as_deref(),
            definitions: self.crds_dir.as_deref(),
            kustomize: self.kustomize_dir.clone(),
            package: self.package.as_deref(),
        }
    }

    fn bundle(&self, source: Source, environment: &Environment) -> Result<Bundle, Failure> {
        let file = service_version_file(&source.package);
        let previous = previous(&self.output_dir.join("manifests").join(file))?;
        let request = Request {
            package: source.package,
            version: self.version.clone(),
            replaces: match self.replaces.as_deref() {
                None => Replaces::Automatic,
                Some("") => Replaces::Nothing,
                Some(name) => Replaces::Named(name.to_owned()),
            },
            skips: self.skips.clone(),
            skip_range: self.skip_range.clone(),
            image: self.image.clone(),
            extra_service_accounts: self.extra_service_accounts.clone(),
            builder: builder(),
            layout: source.layout,
            resources: source.resources,
            base: source.base,
            previous,
        };
        let mut bundle =
            generate(source.manifests, &request).map_err(|error| Failure::failed(error, None))?;
        if self.use_image_digests {
            let pinned = self.digests(&bundle.service_version, environment)?;
            pin_images(&mut bundle.service_version, &pinned);
        }
        bundle.stamp(request.previous.as_ref(), &now(environment)?);
        Ok(bundle)
    }

    /// For each image with a tag, the name with the digest that its registry has now.
    fn digests(
        &self,
        service_version: &Value,
        environment: &Environment,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let settings = steersman_registry::Settings::of(environment);
        let mut pinned = BTreeMap::new();
        for image in image_names(service_version) {
            if image.contains('@') {
                continue;
            }
            let attempt = format!("failed to find the digest of {image}");
            let reference: Reference = image
                .parse()
                .map_err(|error| Failure::failed(anyhow::Error::new(error).context(attempt.clone()), None))?;
            let asked = steersman_registry::image_digest(&reference, self.connection.access(), &settings);
            let digest = block_on(async { Ok(asked.await) })?.map_err(|error| {
                let hint = "push the image first; --image names that of the operator".to_owned();
                Failure::failed(anyhow::Error::new(error).context(attempt), Some(hint))
            })?;
            let name = format!("{}/{}@{digest}", reference.registry(), reference.repository());
            pinned.insert(image, name);
        }
        Ok(pinned)
    }

    /// Writes what describes the bundle, and gives the files.
    fn write_metadata(
        &self,
        package: String,
        layout: String,
        has_scorecard: bool,
    ) -> Result<Vec<PathBuf>, Failure> {
        let request = MetadataRequest {
            package,
            channels: self
                .channels
                .split(',')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(","),
            default_channel: self.default_channel.clone(),
            builder: builder(),
            layout,
            has_scorecard,
            folder: self.output_dir.to_string_lossy().trim_end_matches('/').to_owned(),
        };
        let path = self.output_dir.join("metadata/annotations.yaml");
        if !self.overwrite && path.exists() {
            return Ok(Vec::new());
        }
        let image = PathBuf::from("bundle.Dockerfile");
        files::write(&path, &annotations(&request))?;
        files::write(&image, &dockerfile(&request))?;
        Ok(vec![path, image])
    }

    fn say(&self, line: &str) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { print_line(line) }
    }
}

/// The `ClusterServiceVersion` that is written over. One that can't be read is none.
fn previous(path: &Path) -> Result<Option<Value>, Failure> {
    let text = files::read_if_there(path)?;
    Ok(text.and_then(|text| steersman_yaml::to_json(&text).ok()))
}

/// Files of manifests/ that are not of this bundle: of a version before, or put there by hand.
fn left_over(output: &Path, bundle: &Bundle) -> Result<Vec<String>, Failure> {
    let files = bundle.files();
    let there = files::read_all(&output.join("manifests"))?;
    let others = there
        .into_keys()
        .filter(|name| !files.contains_key(&format!("manifests/{name}")));
    Ok(others
        .map(|name| {
            format!(
                "`{}` is in the bundle and not in the project",
                output.join("manifests").join(name).display()
            )
        })
        .collect())
}

fn warn(notices: &[String], environment: &Environment) {
    let style = Style::of(&io::stderr(), environment);
    for notice in notices {
        let line = format!(
            "{}: {}\n",
            style.paint(Tone::Doubtful, "warning"),
            harmless(notice)
        );
        // Nobody may listen.
        let _ = io::Write::write_all(&mut io::stderr().lock(), line.as_bytes());
    }
}

fn print(bundle: &Bundle) -> Result<(), Failure> {
    print_line(&format!("---\n{}", to_yaml(&bundle.service_version).trim_end()))?;
    for object in bundle.objects.values() {
        print_line(&format!("---\n{}", to_yaml(object).trim_end()))?;
    }
    Ok(())
}

fn builder() -> String {
    format!("steersman-v{}", env!("CARGO_PKG_VERSION"))
}

/// Now, or the time that `SOURCE_DATE_EPOCH` says, for builds that can be repeated.
fn now(environment: &Environment) -> Result<String, Failure> {
    let time = match environment.get("SOURCE_DATE_EPOCH") {
        Some(text) => text
            .parse()
            .ok()
            .and_then(|seconds| Timestamp::from_second(seconds).ok())
            .ok_or_else(|| {
                Failure::usage(
                    anyhow!("SOURCE_DATE_EPOCH: `{text}` is no number of seconds"),
                    None,
                )
            })?,
        None => Timestamp::now(),
    };
    let whole = Timestamp::from_second(time.as_second()).context("failed to read the clock")?;
    Ok(whole.to_string())
}
