//! Clients' data in every format gives the same elements: the files in `testdata/formats` hold the digits, each written
//! by the library that its users have.
#![cfg(all(feature = "arrow", feature = "compression", feature = "numpy", feature = "sqlite", feature = "tfrecord"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tff_exec::Value;
use tff_sim::data::{DataConfig, Source};
use tff_sim::json::{self, Members};
use tff_types::Type;

const ELEMENT: &str = "<x=float32[?,64],label=int32[?]>";

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/formats").join(name)
}

fn open(path: &Path, config: &str, element: &str) -> Result<Box<dyn Source>, String> {
    let mut config: DataConfig = toml::from_str(&format!("file = \"\"\n{config}")).unwrap();
    config.file = vec![path.to_owned()];
    let opened = config.open(&element.parse().unwrap());
    opened
        .map(|opened| opened.into_sources().0)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
}

/// The data of each client as JSON.
fn data(source: &dyn Source, element: &str) -> Vec<String> {
    let sequence = Type::sequence(element.parse().unwrap()).unwrap();
    let members = Members::new(|it| Ok(Arc::clone(it.known_elements().unwrap())), None);
    let client = |client_idx| json::write(&source.data(client_idx).unwrap(), &sequence, &members).unwrap();
    (0..source.clients().len()).map(client).collect()
}

#[track_caller]
fn check(name: &str, config: &str) -> Vec<String> {
    let source = open(&testdata(name), &format!("batch_size = 20\n{config}"), ELEMENT)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    data(&*source, ELEMENT)
}

fn expected() -> Vec<String> {
    check("../../examples/digits/digits.csv", "clients = {modulo = 20}\ncolumns = {x = \"p0..p63\", label = \"label\"}")
}

#[test]
fn every_format_gives_the_same_elements() {
    let expected = expected();
    assert_eq!(expected.len(), 20);
    let modulo = "clients = {modulo = 20}";
    let columns = "clients = {modulo = 20}\ncolumns = {x = \"p0..p63\", label = \"label\"}";
    let by_client = "clients = {column = \"client\"}";
    for (name, config) in [
        ("digits.parquet", columns),
        ("digits.feather", modulo),
        ("digits.feather", by_client),
        ("digits.arrow", modulo),
        ("digits.arrow", by_client),
        ("digits.npz", modulo),
        ("digits_compressed.npz", modulo),
        ("digits.tfrecord", by_client),
        ("digits", ""),
        ("digits", by_client),
        ("digits.sqlite", ""),
        ("digits.sqlite", by_client),
        ("digits.sqlite.lzma", ""),
    ] {
        assert!(check(name, config) == expected, "{name}: {config}");
    }
}

#[test]
fn a_split_of_a_database_is_read_alone() {
    let count = |split: &str| {
        let source =
            open(&testdata("digits.sqlite"), &format!("batch_size = 1\nsplit = \"{split}\""), ELEMENT).unwrap();
        data(&*source, ELEMENT).iter().map(|it| it.matches("\"label\"").count()).collect::<Vec<_>>()
    };
    assert!(count("train").iter().all(|&count| count == 81));
    assert_eq!(count("test").iter().sum::<usize>(), 1797 - 20 * 81);
}

#[test]
fn records_can_be_taken_as_they_are() {
    for name in ["digits.sqlite", "digits.tfrecord"] {
        let source = open(&testdata(name), "clients = {modulo = 1}", "str").unwrap();
        let Value::Sequence(records) = source.data(0).unwrap() else { panic!("{name}: no sequence") };
        assert_eq!(records.known_elements().unwrap().len(), 1797, "{name}");
    }
}

#[test]
fn several_files_and_compressed_ones_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let table = std::fs::read_to_string(testdata("../../examples/digits/digits.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    let gzip = |text: String| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    std::fs::write(path("a.csv.gz"), gzip(part(&lines[1..701]))).unwrap();
    std::fs::write(path("b.csv.zst"), zstd::encode_all(part(&lines[701..1001]).as_bytes(), 1).unwrap()).unwrap();
    std::fs::write(path("c.csv"), part(&lines[1001..])).unwrap();
    let config =
        "file = \"\"\nbatch_size = 20\nclients = {modulo = 20}\ncolumns = {x = \"p0..p63\", label = \"label\"}";
    let mut config: DataConfig = toml::from_str(config).unwrap();
    config.file = ["a.csv.gz", "b.csv.zst", "c.csv"].map(path).to_vec();
    let (source, _) = config.open(&ELEMENT.parse().unwrap()).unwrap().into_sources();
    assert!(data(&*source, ELEMENT) == expected());
}

#[test]
fn a_dialect_gaps_and_categories_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.csv");
    std::fs::write(&path, "x;y;kind\n1.5;1;cat\nNA;2.0;dog\n;3;cat\n").unwrap();
    let config =
        "clients = {modulo = 1}\ndelimiter = \";\"\nmissing = [\"NA\", \"\"]\ncategories = {kind = [\"cat\", \"dog\"]}";
    let element = "<x=float32,y=int32,kind=int8>";
    let source = open(&path, config, element).unwrap();
    insta::assert_snapshot!(data(&*source, element)[0], @r#"[{"x":1.5,"y":1,"kind":0},{"x":"nan","y":2,"kind":1},{"x":"nan","y":3,"kind":0}]"#);
    let filled = open(&path, &format!("{config}\nfill = \"-1\""), element).unwrap();
    insta::assert_snapshot!(data(&*filled, element)[0], @r#"[{"x":1.5,"y":1,"kind":0},{"x":-1.0,"y":2,"kind":1},{"x":-1.0,"y":3,"kind":0}]"#);
    std::fs::write(&path, "x;y;kind\n1.5;1;cow\n").unwrap();
    insta::assert_snapshot!(open(&path, config, element).unwrap_err(), @r#"FILE:2: column kind: expected one of ["cat", "dog"], found "cow""#);
}

#[test]
fn a_table_of_tabs_and_a_single_array_are_known_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("d.tsv"), "x\ty\n1,5\t2\n").unwrap();
    let source = open(&path("d.tsv"), "clients = {modulo = 1}", "<x=str,y=int32>").unwrap();
    insta::assert_snapshot!(data(&*source, "<x=str,y=int32>")[0], @r#"[{"x":"1,5","y":2}]"#);

    let mut archive = zip::ZipArchive::new(std::fs::File::open(testdata("digits.npz")).unwrap()).unwrap();
    for name in ["x.npy", "label.npy"] {
        std::io::copy(&mut archive.by_name(name).unwrap(), &mut std::fs::File::create(path(name)).unwrap()).unwrap();
    }
    let config = "clients = {modulo = 20}\nbatch_size = 20";
    let of = |path: &Path| data(&*open(path, config, "<x=float32[?,64]>").unwrap(), "<x=float32[?,64]>");
    let x = of(&path("x.npy"));
    assert_eq!(x.len(), 20);
    assert!(x == of(&testdata("digits.npz")));
    let error = open(&path("label.npy"), config, "<x=float32[?,64]>").unwrap_err();
    insta::assert_snapshot!(error, @"FILE: data.columns.x: no column `x`, found label");
    std::fs::write(path("x.npy"), &std::fs::read(path("x.npy")).unwrap()[..200]).unwrap();
    let error = open(&path("x.npy"), config, "<x=float32[?,64]>").unwrap_err();
    insta::assert_snapshot!(error, @"FILE: array x: expected 115008 bytes of elements, found 72");
}

/// What is said about a file that is cut or changed.
fn spoilt(name: &str, config: &str, element: &str, spoil: impl Fn(&mut Vec<u8>)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(testdata(name)).unwrap();
    spoil(&mut bytes);
    let path = folder.path().join(Path::new(name).file_name().unwrap());
    std::fs::write(&path, bytes).unwrap();
    let shown = path.display().to_string();
    match open(&path, config, element) {
        Ok(source) => match (0..source.clients().len()).find_map(|client_idx| source.data(client_idx).err()) {
            Some(error) => error.to_string().replace(&shown, "FILE"),
            None => "nothing".to_owned(),
        },
        Err(error) => error,
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_the_place() {
    let modulo = "batch_size = 20\nclients = {modulo = 20}";
    let columns = "batch_size = 20\nclients = {modulo = 20}\ncolumns = {x = \"p0..p63\", label = \"label\"}";
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    for (name, config) in [
        ("digits.parquet", columns),
        ("digits.feather", modulo),
        ("digits.arrow", modulo),
        ("digits.npz", modulo),
        ("digits_compressed.npz", modulo),
        ("digits.tfrecord", modulo),
        ("digits.sqlite", modulo),
        ("digits.sqlite.lzma", modulo),
    ] {
        let error = spoilt(name, config, ELEMENT, cut);
        assert!(error.starts_with("FILE: ") && error.lines().count() == 1, "{name}: {error}");
    }
    let as_is = |_: &mut Vec<u8>| {};
    insta::assert_snapshot!(spoilt("digits.tfrecord", modulo, ELEMENT, cut), @"FILE: record 898: expected 162 more bytes, found the end of the file");
    insta::assert_snapshot!(spoilt("digits.tfrecord", modulo, ELEMENT, |bytes| bytes[40] ^= 1), @"FILE: record 0: expected the checksum 0x224429bd of its bytes, found 0x0fab6b22");
    insta::assert_snapshot!(spoilt("digits.tfrecord", modulo, "<x=float32[?,64],label=int32[?],y=int32[?]>", as_is), @"FILE: data.columns.y: no column `y`, found client, label, x, serialized_example_proto");
    insta::assert_snapshot!(spoilt("digits.parquet", columns, "<x=bool[?,64],label=int32[?]>", as_is), @"FILE: row 0: column p2: expected bool, found int64 5");
    insta::assert_snapshot!(spoilt("digits.npz", modulo, "<x=str[?,64],label=int32[?]>", as_is), @"FILE: row 0: column x: expected str, found uint8 0");
    insta::assert_snapshot!(spoilt("digits.npz", modulo, "<x=float32[?,63],label=int32[?]>", as_is), @"FILE: data.columns.x: expected 63 columns for a row of float32[?,63], found 64");
    insta::assert_snapshot!(spoilt("digits.sqlite", modulo, "<x=bool[?,64],label=int32[?]>", as_is), @"FILE: record 0: feature x: expected bool, found float32 5");
    insta::assert_snapshot!(spoilt("digits.sqlite", "batch_size = 20\nsplit = \"dev\"", ELEMENT, as_is), @"FILE: expected clients in the split dev, found none");
    insta::assert_snapshot!(spoilt("digits.feather", "batch_size = 20", ELEMENT, as_is), @"data.clients: missing, and FILE does not say itself which rows belong to which client");
    insta::assert_snapshot!(spoilt("digits.feather", "batch_size = 20\nclients = {column = \"user\"}", ELEMENT, as_is), @"FILE: data.clients.column: no column `user`, found x, label, client");
}
