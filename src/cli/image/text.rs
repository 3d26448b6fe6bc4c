//! Images as text: platforms, sizes, layers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use steersman_image::{Platform, Release};

/// The images with their sizes, as people read them. `programs` are the lengths of the programs in them.
pub(super) fn describe(release: &Release, programs: &BTreeMap<Platform, u64>) -> String {
    let mut text = String::new();
    for image in release.images() {
        let unpacked = image.unpacked();
        let _ = writeln!(
            text,
            "{} for {}: {}{}",
            release.reference(),
            image.platform(),
            size(image.size()),
            unpacked.map_or_else(String::new, |bytes| format!(", unpacked {}", size(bytes))),
        );
        if let Some(length) = programs.get(image.platform()) {
            let _ = writeln!(text, "  program    {:>9}", size(*length));
        }
        for layer in image.layers() {
            let blob = layer.blob();
            let size = size(blob.size());
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
    use super::size;

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
}
