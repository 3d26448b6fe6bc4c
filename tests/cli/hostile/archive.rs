//! B1 to B7: archives and folders.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{EntryType, Header};

use super::Hostile;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";

/// A member of an archive: some of them after each other are an archive, too.
fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The header of an entry, whatever its path is like.
fn header(path: &str, kind: EntryType, size: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn file(path: &str, content: &[u8]) -> Vec<u8> {
    let mut entry = header(path, EntryType::Regular, content.len() as u64);
    entry.extend_from_slice(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// An archive of a chart with more entries.
fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = file("web/Chart.yaml", CHART.as_bytes());
    tar.extend(entries.concat());
    tar.resize(tar.len() + 1024, 0);
    compressed(&tar)
}

#[test]
fn paths_that_lead_out_of_the_chart_are_refused() {
    for (path, expect) in [
        ("web/../../x", "illegally references parent directory"),
        ("web\\..\\..\\x", "illegally references parent directory"),
        ("web//etc/x", "illegally contains absolute paths"),
        ("web/C:/x", "contains illegally named files"),
        ("x", "illegally contains content outside the base directory"),
    ] {
        Hostile::empty()
            .render_archive(&archive(&[file(path, b"x")]))
            .says(expect);
    }
    // As in Helm the first element, whatever it is, stands for the folder of the chart.
    for path in ["../templates/t.yaml", "/templates/t.yaml"] {
        Hostile::empty()
            .render_archive(&archive(&[file(path, b"a: {{ .Template.Name }}")]))
            .renders("a: web/templates/t.yaml");
    }
}

#[test]
fn links_in_an_archive_show_nothing() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::Block,
    ] {
        let mut link = Header::new_gnu();
        link.set_path("web/templates/t.yaml").unwrap();
        link.set_entry_type(kind);
        link.set_size(0);
        link.set_link_name("/etc/passwd").unwrap();
        link.set_cksum();
        let ended = Hostile::empty().render_archive(&archive(&[link.as_bytes().to_vec()]));
        ended.renders("");
        assert!(!ended.stdout.contains("root"), "{}", ended.stdout);
    }
}

#[test]
fn only_files_are_read_from_a_folder() {
    let chart = Hostile::new();
    std::os::unix::fs::symlink("/etc/passwd", chart.chart().join("passwd")).unwrap();
    chart
        .render(&[])
        .says("symbolic link passwd leads out of the chart");

    let chart = Hostile::new();
    let pipe = chart.chart().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    chart.render(&[]).says("cannot load irregular file");

    let chart = Hostile::new();
    std::os::unix::fs::symlink("/dev/zero", chart.chart().join("values.yaml")).unwrap();
    chart
        .render(&[])
        .says("symbolic link values.yaml leads out of the chart");
}

#[test]
fn a_bomb_is_not_unpacked() {
    // Ten gibibytes in little more than a megabyte: the members are all the same.
    let zeros = compressed(&vec![0; 64 << 20]).repeat(160);
    for (kind, expect) in [
        (
            EntryType::Regular,
            "decompressed chart is larger than the maximum size 104857600",
        ),
        (
            EntryType::GNULongName,
            "more than 1048576 bytes lie between two files",
        ),
        (
            EntryType::GNULongLink,
            "more than 1048576 bytes lie between two files",
        ),
        (
            EntryType::XHeader,
            "more than 1048576 bytes lie between two files",
        ),
        (
            EntryType::XGlobalHeader,
            "more than 1048576 bytes lie between two files",
        ),
        (
            EntryType::Directory,
            "more than 1048576 bytes lie between two files",
        ),
    ] {
        let bomb = [compressed(&header("web/x", kind, 7 << 30)), zeros.clone()].concat();
        Hostile::empty().render_archive(&bomb).says(expect);
    }
}

#[test]
fn a_large_file_is_refused() {
    let expect = "is larger than the maximum file size 5242880";
    let large = vec![b'#'; 6 << 20];
    Hostile::empty()
        .render_archive(&archive(&[file("web/large", &large)]))
        .says(&format!("decompressed chart file \"web/large\" {expect}"));
    Hostile::new()
        .with("large", &large)
        .render(&[])
        .says(&format!("decompressed chart file \"large\" {expect}"));
}

#[test]
fn a_large_chart_is_refused() {
    let piece = vec![b'#'; 5 << 20];
    let entries: Vec<_> = (0..21)
        .map(|number| file(&format!("web/{number}"), &piece))
        .collect();
    let expect = "decompressed chart is larger than the maximum size 104857600";
    let large = archive(&entries);
    Hostile::empty().render_archive(&large).says(expect);
    // Archives in archives count with their contents.
    let nested: Vec<_> = (0..4)
        .map(|number| file(&format!("web/charts/{number}.tgz"), &archive(&entries[..6])))
        .collect();
    Hostile::empty().render_archive(&archive(&nested)).says(expect);
}

#[test]
fn a_million_empty_files_are_refused() {
    let thousand: Vec<u8> = (0..1000)
        .flat_map(|number| file(&format!("web/{number}"), b""))
        .collect();
    let many = compressed(&thousand).repeat(1000);
    Hostile::empty()
        .render_archive(&many)
        .says("chart has more than the maximum of 100000 files");
}

#[test]
fn broken_archives_are_refused() {
    let whole = archive(&[file("web/templates/t.yaml", b"a: b\n")]);
    Hostile::empty().render_archive(&whole).renders("a: b");
    for length in [20, whole.len() / 2] {
        Hostile::empty()
            .render_archive(&whole[..length])
            .says("chart archive is broken");
    }
    for other in [b"".as_slice(), b"apiVersion: v2\n", b"\x1f\x8b", b"PK\x03\x04"] {
        Hostile::empty()
            .render_archive(other)
            .says("does not appear to be a gzipped archive");
    }
    Hostile::empty()
        .render_archive(&[whole.as_slice(), b"garbage"].concat())
        .renders("a: b");

    // The size that counts is that of the extended header; a reader that believes the plain one sees other files.
    let mut record = file("x", b"11 size=20\n");
    record[156] = b'x';
    let mut tar = Header::from_byte_slice(&record[..512]).clone();
    tar.set_cksum();
    record[..512].copy_from_slice(tar.as_bytes());
    let mut content = header("web/templates/t.yaml", EntryType::Regular, 0);
    let mut text = Vec::new();
    "extended: header-size\n"
        .as_bytes()
        .take(20)
        .read_to_end(&mut text)
        .unwrap();
    content.extend(&text);
    content.resize(1024, 0);
    Hostile::empty()
        .render_archive(&archive(&[record, content]))
        .renders("extended: header-siz\n");
}
