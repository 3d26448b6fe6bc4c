//! What is said about an image, in it and of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use steersman_image::{Binary, Reference, Release};

/// The labels of an image: a title, the version where the tag is one, and what the user wants.
pub(super) fn labels(
    reference: &Reference,
    given: &[(String, String)],
    is_base: bool,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut add = |name: &str, value: &str| {
        labels.insert(format!("org.opencontainers.image.{name}"), value.to_owned());
    };
    add("title", reference.name());
    if is_base {
        add("description", "Turns a Helm chart into a Kubernetes operator");
        add("licenses", "Apache-2.0");
    }
    if is_version(reference.tag()) {
        add("version", reference.tag());
    }
    labels.extend(given.iter().cloned());
    labels
}

fn is_version(tag: &str) -> bool {
    let number = tag.strip_prefix('v').unwrap_or(tag);
    number.starts_with(|first: char| first.is_ascii_digit())
}

/// The images with their sizes, as people read them.
pub(super) fn describe(release: &Release, binaries: &[Binary]) -> String {
    let mut text = String::new();
    for image in release.images() {
        let _ = writeln!(
            text,
            "{} for {}: {}, unpacked {}",
            release.reference(),
            image.platform(),
            size(image.size()),
            size(image.unpacked()),
        );
        let of_platform = binaries
            .iter()
            .find(|binary| binary.platform() == image.platform());
        if let Some(binary) = of_platform {
            let _ = writeln!(text, "  program    {:>9}", size(binary.content().len() as u64));
        }
        for layer in image.layers() {
            let blob = layer.blob();
            let size = size(blob.content().len() as u64);
            let _ = writeln!(
                text,
                "  layer      {size:>9}  {}  {}",
                blob.digest(),
                layer.purpose()
            );
        }
        let _ = writeln!(text, "  manifest              {}", image.manifest().digest());
    }
    if release.images().len() > 1
        && let Some(root) = release.root()
    {
        let _ = writeln!(text, "index                   {}", root.digest());
    }
    text
}

/// A number of bytes, with three digits or four.
pub(super) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} B"),
        1_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{:.1} {name}", bytes as f64 / unit)
}

#[cfg(test)]
mod tests {
    use super::{is_version, size};

    #[test]
    fn sizes_are_read_at_a_glance() {
        for (bytes, expect) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_250, "1.2 kB"),
            (8_349_000, "8.3 MB"),
        ] {
            assert_eq!(size(bytes), expect);
        }
    }

    #[test]
    fn some_tags_are_versions() {
        assert!(is_version("v1.0.0") && is_version("2"));
        assert!(!is_version("latest") && !is_version("vnext"));
    }
}
