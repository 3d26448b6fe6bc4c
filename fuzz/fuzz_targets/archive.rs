//! Chart archives: what is in a `.tgz`, and files by their names, is a chart or refused.
//!
//! The first byte says what the rest is: an archive as it is, a tar file whose headers get right checksums
//! before it is compressed, or pairs of names and contents, separated by zero bytes.

#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use steersman_chart::{Chart, Values};
use steersman_fuzz::render;

/// The size of a tar block.
const BLOCK: usize = 512;

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else {
        return;
    };
    match kind % 3 {
        0 => load_subchart(rest),
        1 => load_subchart(&compressed(&with_checksums(rest))),
        _ => load_files(rest),
    }
});

/// Loads an archive by way of `charts/`, which takes bytes.
fn load_subchart(archive: &[u8]) {
    use_chart(Chart::from_files([
        (
            "Chart.yaml",
            "apiVersion: v2\nname: fuzz\nversion: 1.0.0\n".as_bytes(),
        ),
        ("charts/inner.tgz", archive),
    ]));
}

fn load_files(input: &[u8]) {
    let pieces: Vec<&[u8]> = input.split(|byte| *byte == 0).collect();
    let files = pieces.chunks(2).filter_map(|pair| {
        let [name, content] = pair else { return None };
        Some((std::str::from_utf8(name).ok()?, *content))
    });
    use_chart(Chart::from_files(files));
}

fn use_chart(chart: Result<Chart, steersman_chart::LoadError>) {
    let Ok(chart) = chart else { return };
    let _ = (chart.crds(), chart.missing_dependencies(), chart.uses_lookup());
    let _ = chart.coalesce(&Values::new());
    let _ = render(&chart, &Values::new());
}

/// The blocks of `tar` with the checksum that each would have if it was a header.
fn with_checksums(tar: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::new();
    for block in tar.chunks(BLOCK) {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes().fill(0);
        header.as_mut_bytes()[..block.len()].copy_from_slice(block);
        if block.get(257..262) == Some(b"ustar") {
            header.set_cksum();
        }
        blocks.extend_from_slice(header.as_bytes());
    }
    blocks
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(content).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}
