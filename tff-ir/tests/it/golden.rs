//! The computations that the reference printed, against what this crate reads, prints and writes.

use bytes::Bytes;
use prost::Message;
use serde_json::Value;
use tff_ir::text::{Bodies, Environment, Layout, PrintOptions, parse, print};
use tff_ir::{Comp, Severity, validate, validate_proto};
use tff_proto::v0 as pb;
use tff_testing::{bytes, field as text};

/// Every record of the reference's computations.
fn records() -> Vec<Value> {
    ["comps.jsonl", "comps_random.jsonl"]
        .iter()
        .flat_map(|file| tff_testing::records(&format!("testdata/golden/{file}")))
        .collect()
}

/// The computations of a record: as it was traced, and after two compilations.
const KEYS: [&str; 3] = ["proto", "call_dominant_proto", "native_proto"];

fn read(bytes: &Bytes) -> Comp {
    let proto = pb::Computation::decode(bytes.clone()).expect("a computation");
    Comp::from_proto(&proto).unwrap_or_else(|error| panic!("{error}"))
}

/// The computations of the digits example, by file name.
fn examples() -> Vec<(String, Bytes)> {
    let folder = tff_testing::repository("examples/digits");
    let paths = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "pb")).collect();
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), Bytes::from(std::fs::read(path).expect("a file")))).collect()
}

#[test]
fn what_is_read_is_written_byte_for_byte() {
    let mut count = 0;
    for record in records() {
        for key in KEYS {
            let bytes = bytes(&record, key);
            let written = read(&bytes).to_proto().expect("not too deep").encode_to_vec();
            assert_eq!(Bytes::from(written), bytes, "{} {key}", record["name"]);
            count += 1;
        }
    }
    assert_eq!(count, 300);
}

#[test]
fn example_processes_are_read_and_written_byte_for_byte() {
    let mut count = 0;
    for (name, bytes) in examples() {
        let written = read(&bytes).to_proto().expect("not too deep").encode_to_vec();
        assert_eq!(Bytes::from(written), bytes, "{name}");
        count += 1;
    }
    assert!(count >= 8, "{count} files");
}

#[test]
fn forms_print_as_the_reference_prints_them() {
    for record in records() {
        let comp = read(&bytes(&record, "proto"));
        assert_eq!(comp.ty().to_string(), text(&record, "type"), "{}", record["name"]);
        assert_eq!(comp.to_string(), text(&record, "compact"), "{}", record["name"]);
        assert_eq!(comp.formatted().to_string(), text(&record, "formatted"), "{}", record["name"]);
        let (drawn, expected) = (comp.structural().to_string(), text(&record, "structural"));
        assert_eq!(drawn, expected, "{}\n{drawn}\nexpected\n{expected}", record["name"]);
    }
}

#[test]
fn what_the_reference_wrote_is_valid() {
    for record in records() {
        for key in KEYS {
            let bytes = bytes(&record, key);
            let errors: Vec<_> =
                validate(&read(&bytes)).into_iter().filter(|it| it.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{} {key}: {errors:?}", record["name"]);
            let proto = pb::Computation::decode(bytes).expect("a computation");
            assert_eq!(validate_proto(&proto), validate(&Comp::from_proto(&proto).expect("a computation")));
        }
    }
}

#[test]
fn the_text_form_is_lossless() {
    let aside = PrintOptions { bodies_aside: true, ..PrintOptions::default() };
    let one_line = PrintOptions { layout: Layout::OneLine, ..PrintOptions::default() };
    for (name, bytes) in records()
        .iter()
        .flat_map(|record| KEYS.map(|key| (format!("{} {key}", record["name"]), bytes(record, key))))
        .chain(examples())
    {
        let comp = read(&bytes);
        for options in [PrintOptions::default(), aside, one_line] {
            let printed = print(&comp, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(printed.bodies.is_empty(), !options.bodies_aside || !printed.text.contains('#'), "{name}");
            // What lies aside is read back from its own text.
            let bodies = Bodies::parse(&printed.bodies.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let environment = Environment { bodies, ..Environment::default() };
            let parsed =
                parse(&printed.text, &environment).unwrap_or_else(|error| panic!("{name}: {error}\n{}", printed.text));
            assert_eq!(parsed.comp, comp, "{name}");
            assert_eq!(Bytes::from(parsed.comp.to_proto().expect("a message").encode_to_vec()), bytes, "{name}");
            assert_eq!(print(&parsed.comp, &options).expect("text"), printed, "{name}");
        }
    }
}

/// What the reference prints leaves out types; all else follows.
#[test]
fn what_the_reference_prints_is_read_as_what_it_printed() {
    let mut count = 0;
    for record in records() {
        let comp = read(&bytes(&record, "proto"));
        let mut environment = Environment {
            parameter: comp.ty().as_function().and_then(|function| function.parameter.clone()),
            ..Environment::default()
        };
        for compiled in comp.preorder().filter(|it| it.as_compiled().is_some()) {
            let body = compiled.to_proto().expect("a message").encode_to_vec();
            environment.bodies.insert_comp(compiled.checksum(), body.into());
        }
        for form in ["compact", "formatted"] {
            let printed = text(&record, form);
            let parsed = parse(printed, &environment).unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(parsed.comp, comp, "{} {form}", record["name"]);
            count += 1;
        }
    }
    assert_eq!(count, 200);
}
