//! The messages are those of the reference and of TensorFlow: every name,
//! number, type and oneof is compared with their own descriptors.
//!
//! `executor.desc` is the reference's at 0.87, `tensorflow.desc` holds what is
//! reachable from graphs and options in TensorFlow 2.21, and of an XLA module
//! the signature and those fields of its code that are written. What differs on
//! purpose is listed here, with the reason.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// From the name of a message, field, enum value or RPC to all that the wire
/// depends on.
type Wire = BTreeMap<String, String>;

/// Names that only our sources have, or that differ, with the reason.
const OURS: [(&str, &str); 9] = [
    ("tensorflow_federated.v0.TensorFlow.LayoutMap", "type of layout_map"),
    ("tensorflow_federated.v0.TensorFlow.LayoutMap.name_to_sharding_spec", "field of layout_map"),
    ("tensorflow_federated.v0.TensorFlow.layout_map", "known to 0.80, reserved at 0.87"),
    ("tensorflow_federated.v0.Value.Sequence.Element", "type of element"),
    ("tensorflow_federated.v0.Value.Sequence.Element.flat_value", "field of element"),
    ("tensorflow_federated.v0.Value.Sequence.element", "how 0.88 writes sequences"),
    ("tensorflow_federated.v0.Value.tensor", "how 0.80 writes arrays, reserved at 0.87"),
    ("xla.HloModuleProto.computations", "kept as bytes, never read"),
    ("xla.ShapeProto.layout", "kept as bytes, never read"),
];

/// What only an XLA module of XLA itself has: everything but its signature and its code.
const NOT_READ: [&str; 23] = [
    "xla.HloModuleProto.ProfileInfo",
    "xla.HloModuleProto.ProfileInfo.changelist",
    "xla.HloModuleProto.ProfileInfo.compilation_event",
    "xla.HloModuleProto.ProfileInfo.fingerprint",
    "xla.HloModuleProto.ProfileInfo.original_changelist",
    "xla.HloModuleProto.ProfileInfo.profile_generation_strategy",
    "xla.HloModuleProto.ProfileInfo.profile_source",
    "xla.HloModuleProto.ProfileInfo.profile_type",
    "xla.HloModuleProto.ProfileInfo.relative_speedup",
    "xla.HloModuleProto.ProfileType",
    "xla.HloModuleProto.buffer_donor",
    "xla.HloModuleProto.cross_program_prefetches",
    "xla.HloModuleProto.device_assignment",
    "xla.HloModuleProto.frontend_attributes",
    "xla.HloModuleProto.input_output_alias",
    "xla.HloModuleProto.is_dynamic",
    "xla.HloModuleProto.original_value_recovery_table",
    "xla.HloModuleProto.profile_info",
    "xla.HloModuleProto.schedule",
    "xla.HloModuleProto.spmd_output_sharding",
    "xla.HloModuleProto.spmd_parameters_shardings",
    "xla.HloModuleProto.stack_frame_index",
    "xla.HloModuleProto.use_auto_spmd_partitioning",
];

fn path_of(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto").join(relative)
}

/// The descriptors of everything below `proto/`.
fn ours() -> Wire {
    let mut sources = Vec::new();
    let mut dirs = vec![path_of("")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|ext| ext == "proto") {
                sources.push(path);
            }
        }
    }
    let set = protox::compile(sources, [path_of("")]).unwrap();
    wire(set.file)
}

/// The descriptors to compare with.
fn theirs() -> Wire {
    let files = ["executor.desc", "tensorflow.desc"].map(|name| {
        let bytes = fs::read(path_of("testdata").join(name)).unwrap();
        FileDescriptorSet::decode(bytes.as_slice()).unwrap().file
    });
    wire(files.concat())
}

fn wire(files: Vec<FileDescriptorProto>) -> Wire {
    let mut wire = Wire::new();
    for file in files {
        let package = file.package().to_owned();
        for message in &file.message_type {
            add_message(&mut wire, &package, message, file.syntax());
        }
        for item in &file.enum_type {
            add_enum(&mut wire, &package, item);
        }
        for service in &file.service {
            for method in &service.method {
                let name = format!("{package}.{}.{}", service.name(), method.name());
                let value = format!(
                    "{} {} -> {} {}",
                    method.client_streaming(),
                    method.input_type(),
                    method.server_streaming(),
                    method.output_type()
                );
                wire.insert(name, value);
            }
        }
    }
    wire
}

fn add_message(wire: &mut Wire, scope: &str, message: &DescriptorProto, syntax: &str) {
    let name = format!("{scope}.{}", message.name());
    let kind = if is_map_entry(message) { "map entry" } else { "message" };
    wire.insert(name.clone(), kind.to_owned());
    for field in &message.field {
        let value = describe(message, field, syntax);
        wire.insert(format!("{name}.{}", field.name()), value);
    }
    for nested in &message.nested_type {
        add_message(wire, &name, nested, syntax);
    }
    for item in &message.enum_type {
        add_enum(wire, &name, item);
    }
}

fn add_enum(wire: &mut Wire, scope: &str, item: &EnumDescriptorProto) {
    let values = item.value.iter();
    let values: BTreeSet<_> = values.map(|v| (v.number(), v.name())).collect();
    wire.insert(format!("{scope}.{}", item.name()), format!("{values:?}"));
}

fn describe(message: &DescriptorProto, field: &FieldDescriptorProto, syntax: &str) -> String {
    let ty = match field.r#type() {
        Type::Message | Type::Enum => field.type_name().to_owned(),
        scalar => format!("{scalar:?}"),
    };
    let is_proto3 = syntax == "proto3";
    let presence = match field.label() {
        Label::Repeated if is_packable(field) => {
            let packed = field.options.as_ref().and_then(|options| options.packed);
            format!("repeated, packed {}", packed.unwrap_or(is_proto3))
        }
        Label::Repeated => "repeated".to_owned(),
        _ if is_map_entry(message) => "always".to_owned(),
        _ if field.proto3_optional() || !is_proto3 => "optional".to_owned(),
        _ => match field.oneof_index {
            Some(idx) => format!("in {}", message.oneof_decl[idx as usize].name()),
            None => "plain".to_owned(),
        },
    };
    format!("{} {ty}, {presence}", field.number())
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|o| o.map_entry())
}

fn is_packable(field: &FieldDescriptorProto) -> bool {
    !matches!(field.r#type(), Type::Message | Type::String | Type::Bytes)
}

#[test]
fn every_field_is_the_references() {
    let (mut ours, mut theirs) = (ours(), theirs());
    ours.retain(|name, value| {
        let same = theirs.get(name) == Some(value);
        if same {
            theirs.remove(name);
        }
        !same
    });
    // `layout_map` has an entry type, which is that of a map.
    ours.retain(|name, _| !name.contains(".NameToShardingSpecEntry"));
    theirs.remove("xla.HloModuleProto.computations");
    theirs.remove("xla.ShapeProto.layout");
    let only_ours: Vec<_> = ours.keys().map(String::as_str).collect();
    assert_eq!(only_ours, OURS.map(|(name, _)| name), "ours: {ours:#?}");
    let only_theirs: Vec<_> = theirs.keys().map(String::as_str).collect();
    assert_eq!(only_theirs, NOT_READ, "theirs: {theirs:#?}");
}

/// The numbers of what the reference no longer or not yet has, as its versions
/// 0.80 and 0.88 define them.
#[test]
fn fields_of_other_versions_have_their_numbers() {
    let wire = ours();
    let v0 = "tensorflow_federated.v0";
    let cases = [
        ("TensorFlow.layout_map", format!("7 .{v0}.TensorFlow.LayoutMap, plain")),
        (
            "TensorFlow.LayoutMap.name_to_sharding_spec",
            format!("1 .{v0}.TensorFlow.LayoutMap.NameToShardingSpecEntry, repeated"),
        ),
        ("Value.tensor", "1 .google.protobuf.Any, plain".to_owned()),
        ("Value.Sequence.element", format!("4 .{v0}.Value.Sequence.Element, repeated")),
        ("Value.Sequence.Element.flat_value", format!("1 .{v0}.Array, repeated")),
    ];
    for (name, expected) in cases {
        assert_eq!(wire[&format!("{v0}.{name}")], expected, "{name}");
    }
    assert_eq!(wire["xla.HloModuleProto.computations"], "3 Bytes, repeated");
    assert_eq!(wire["xla.ShapeProto.layout"], "5 Bytes, optional");
}
