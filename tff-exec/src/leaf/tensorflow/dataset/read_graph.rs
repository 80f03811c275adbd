//! The graphs that read a dataset, fed as a string, into one batch of all its elements.
//!
//! A marker follows the last element, so that there is a batch even without elements.
//! An endless dataset is read as an empty one; its cardinality tells the two apart.

use super::super::graph::dataset_options;
use crate::values::nodes::{attr_list, constant, node, tensor_shape};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::iter;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{
    DataType, FunctionDef, FunctionDefLibrary, GraphDef, NameAttrList, NodeDef, OpDef, TensorProto, VersionDef, op_def,
};
use tff_types::{Shape, TensorType};

const BOOL: i32 = DataType::DtBool as i32;
const INT64: i32 = DataType::DtInt64 as i32;
const STRING: i32 = DataType::DtString as i32;

/// The name of the function that serializes the tensors of an element.
const SERIALIZE: &str = "serialize";

/// More than any limit on elements, so that there is one batch.
const BATCH_SIZE: i64 = 1 << 60;

/// Stacks elements of fixed shapes; the marker is an element of zeros.
pub(super) fn stacked(components: &[TensorType]) -> GraphDef {
    let types: Vec<i32> = components.iter().map(|ty| ty.dtype.number()).collect();
    let shapes: Vec<Shape> = components.iter().map(|ty| ty.shape.clone()).collect();
    // A message without values is all zeros.
    let zeros = components.iter().map(|ty| TensorProto {
        dtype: ty.dtype.number(),
        tensor_shape: Some(tensor_shape(&ty.shape)),
        ..TensorProto::default()
    });
    let mut nodes = head(components, &types, &shapes);
    nodes.extend(tail("take", zeros, &types, &shapes));
    graph_def(nodes, Vec::new())
}

/// Serializes the tensors of elements and stacks the strings; the marker is an element of empty
/// ones.
pub(super) fn serialized(components: &[TensorType]) -> GraphDef {
    let types: Vec<i32> = components.iter().map(|ty| ty.dtype.number()).collect();
    let strings = vec![STRING; components.len()];
    let scalars = vec![Shape::scalar(); components.len()];
    let empty = TensorProto { string_val: vec![Bytes::new()], ..scalar(STRING) };
    let mut nodes = head(components, &types, &unknown(components.len()));
    let function = NameAttrList { name: SERIALIZE.to_owned(), attr: BTreeMap::new() };
    let attrs = [("f", Attr::Func(function)), ("Targuments", attr_list::types(&[]))];
    nodes.push(node("map", "MapDataset", &["take"], attrs.into_iter().chain(outputs(&strings, &scalars))));
    nodes.extend(tail("map", iter::repeat_n(empty, components.len()), &strings, &scalars));
    graph_def(nodes, vec![serialize(&types)])
}

fn graph_def(node: Vec<NodeDef>, function: Vec<FunctionDef>) -> GraphDef {
    let library = Some(FunctionDefLibrary { function, ..FunctionDefLibrary::default() });
    let versions = Some(VersionDef { producer: 1575, min_consumer: 12, ..VersionDef::default() });
    GraphDef { node, library, versions, ..GraphDef::default() }
}

/// From the string `graph` to the dataset `take` of at most `limit` elements.
fn head(components: &[TensorType], types: &[i32], shapes: &[Shape]) -> Vec<NodeDef> {
    let placeholder = |name, dtype| {
        let shape = Attr::Shape(tensor_shape(&Shape::scalar()));
        node(name, "Placeholder", &[], [("dtype", Attr::Type(dtype)), ("shape", shape)])
    };
    let int64 = |name, value| constant(name, TensorProto { int64_val: vec![value], ..scalar(INT64) });
    vec![
        placeholder("graph", STRING),
        placeholder("limit", INT64),
        node("dataset", "DatasetFromGraph", &["graph"], []),
        node("cardinality", "DatasetCardinality", &["dataset"], []),
        int64("endless", -1),
        int64("none", 0),
        node("is_endless", "Equal", &["cardinality", "endless"], [("T", Attr::Type(INT64))]),
        node("count", "SelectV2", &["is_endless", "none", "limit"], [("T", Attr::Type(INT64))]),
        dataset_options("options", "dataset", components),
        node("take", "TakeDataset", &["options", "count"], outputs(types, shapes)),
    ]
}

/// From the dataset `source` to `batch`, all of its elements and the marker in one.
fn tail(source: &str, marker: impl Iterator<Item = TensorProto>, types: &[i32], shapes: &[Shape]) -> Vec<NodeDef> {
    let mut nodes: Vec<_> =
        marker.enumerate().map(|(index, tensor)| constant(&format!("marker_{index}"), tensor)).collect();
    let components: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let components: Vec<&str> = components.iter().map(String::as_str).collect();
    let marker = [("Toutput_types", attr_list::types(types)), ("output_shapes", attr_list::shapes(shapes))];
    let batched: Vec<Shape> = shapes.iter().map(batch_shape).collect();
    nodes.extend([
        node("marker", "TensorDataset", &components, marker),
        node("marked", "ConcatenateDataset", &[source, "marker"], outputs(types, &unknown(shapes.len()))),
        constant("batch_size", TensorProto { int64_val: vec![BATCH_SIZE], ..scalar(INT64) }),
        constant("drop_remainder", TensorProto { bool_val: vec![false], ..scalar(BOOL) }),
        node("batches", "BatchDatasetV2", &["marked", "batch_size", "drop_remainder"], outputs(types, &batched)),
        node("batch", "DatasetToSingleElement", &["batches"], outputs(types, &batched)),
    ]);
    nodes
}

/// The attributes that say what the elements of a dataset are.
fn outputs(types: &[i32], shapes: &[Shape]) -> [(&'static str, Attr); 2] {
    [("output_types", attr_list::types(types)), ("output_shapes", attr_list::shapes(shapes))]
}

fn unknown(count: usize) -> Vec<Shape> {
    vec![Shape::unknown_rank(); count]
}

fn batch_shape(shape: &Shape) -> Shape {
    shape.dims().map_or(Shape::unknown_rank(), |dims| Shape::new(iter::once(None).chain(dims.iter().copied())))
}

fn scalar(dtype: i32) -> TensorProto {
    TensorProto { dtype, tensor_shape: Some(tensor_shape(&Shape::scalar())), ..TensorProto::default() }
}

/// The function that serializes each of its arguments.
fn serialize(types: &[i32]) -> FunctionDef {
    let arg = |name, r#type| op_def::ArgDef { name, r#type, ..op_def::ArgDef::default() };
    let mut function = FunctionDef::default();
    let mut signature = OpDef { name: SERIALIZE.to_owned(), ..OpDef::default() };
    for (index, &ty) in types.iter().enumerate() {
        let (input, output, op) = (format!("in_{index}"), format!("out_{index}"), format!("serialize_{index}"));
        function.node_def.push(node(&op, "SerializeTensor", &[&input], [("T", Attr::Type(ty))]));
        function.ret.insert(output.clone(), format!("{op}:serialized:0"));
        signature.input_arg.push(arg(input, ty));
        signature.output_arg.push(arg(output, STRING));
    }
    function.signature = Some(signature);
    function
}
