//! Writes elements as a dataset, without calling TensorFlow.

use super::layout::Layout;
use super::nodes::{attr_list, check_dims, constant, node, tensor_shape};
use crate::ExecError;
use crate::values::Value;
use bytes::{Bytes, BytesMut};
use prost::Message;
use std::iter;
use tff_ir::Array;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{DataType, GraphDef, NodeDef, TensorProto, VersionDef};
use tff_types::{DType, Dim, Shape, Step, TensorType, Type};

/// The most bytes that a protobuf message may have.
const MAX_BYTES: usize = i32::MAX as usize;

/// The versions of graphs for which what is written here has the meaning intended.
const VERSIONS: VersionDef = VersionDef { producer: 1575, min_consumer: 12, bad_consumers: Vec::new() };

/// The dataset of these elements of type `element`: the graph of one op for each run of elements
/// with equal shapes, chained where there are several. Equal elements give equal bytes.
///
/// # Errors
/// [`ExecError::Mismatch`], with the path, where an element is not of the type,
/// [`ExecError::Unsupported`] for element types that no dataset can hold, [`ExecError::Limit`]
/// where the result would be larger than a message may be.
pub(crate) fn write(elements: &[Value], element: &Type) -> Result<Bytes, ExecError> {
    let layout = Layout::of(element)?;
    let rows = elements
        .iter()
        .enumerate()
        .map(|(index, value)| layout.flatten(value).map_err(|error| error.at(Step::Index(index))))
        .collect::<Result<Vec<_>, _>>()?;
    check_size(&rows)?;
    let mut graph = Writer { nodes: Vec::new() };
    let mut datasets = Vec::new();
    for run in rows.chunk_by(|a, b| iter::zip(a, b).all(|(a, b)| a.dims() == b.dims())) {
        datasets.push(graph.slices(&stack_all(run)?));
    }
    if datasets.is_empty() {
        datasets.push(graph.slices(&empty(layout.components())?));
    }
    let dataset = graph.concatenate(datasets);
    let retval = [("T", Attr::Type(DataType::DtVariant as i32)), ("index", Attr::I(0))];
    graph.nodes.push(node("dataset", "_Retval", &[&dataset.name], retval));
    let graph = GraphDef { node: graph.nodes, versions: Some(VERSIONS), ..GraphDef::default() };
    Ok(graph.encode_to_vec().into())
}

/// Refuses what could not be encoded, before anything is copied.
fn check_size(rows: &[Vec<&Array>]) -> Result<(), ExecError> {
    const PER_STRING: usize = 12;
    let bytes = rows.iter().flatten().map(|array| match array.as_strings() {
        Some(strings) => strings.iter().map(|string| string.len().saturating_add(PER_STRING)).sum(),
        None => array.as_dense().map_or(0, Bytes::len),
    });
    let total = bytes.fold(0usize, usize::saturating_add);
    if total < MAX_BYTES {
        Ok(())
    } else {
        Err(ExecError::Limit { what: "the size in bytes of a serialized dataset", limit: MAX_BYTES })
    }
}

/// The rows of a run, one tensor for each component.
fn stack_all(run: &[Vec<&Array>]) -> Result<Vec<TensorProto>, ExecError> {
    let width = run.first().map_or(0, Vec::len);
    (0..width).map(|index| stack(&run.iter().filter_map(|row| row.get(index).copied()).collect::<Vec<_>>())).collect()
}

/// One tensor of arrays that agree in element type and shape, along a new first dimension.
fn stack(arrays: &[&Array]) -> Result<TensorProto, ExecError> {
    let Some(first) = arrays.first() else { return Ok(TensorProto::default()) };
    let dims: Vec<u64> = iter::once(arrays.len() as u64).chain(first.dims().iter().copied()).collect();
    let mut tensor = tensor(first.dtype(), &dims)?;
    if let ([_], Some(bytes)) = (arrays, first.as_dense()) {
        // Shared, not copied.
        tensor.tensor_content = bytes.clone();
        return Ok(tensor);
    }
    let mut content = BytesMut::new();
    for array in arrays {
        content.extend_from_slice(array.as_dense().map_or(&[], |bytes| bytes));
        tensor.string_val.extend(array.as_strings().unwrap_or_default().iter().cloned());
    }
    tensor.tensor_content = content.freeze();
    Ok(tensor)
}

/// No rows of these types; what is not known of their shapes is empty.
fn empty(components: &[TensorType]) -> Result<Vec<TensorProto>, ExecError> {
    let no_rows = |ty: &TensorType| {
        let dims = ty.shape.dims().unwrap_or_default().iter().map(|dim| dim.unwrap_or(0));
        tensor(ty.dtype, &iter::once(0).chain(dims).collect::<Vec<_>>())
    };
    components.iter().map(no_rows).collect()
}

fn tensor(dtype: DType, dims: &[u64]) -> Result<TensorProto, ExecError> {
    check_dims(dims)?;
    let tensor_shape = Some(tensor_shape(&Shape::fixed(dims.iter().copied())));
    Ok(TensorProto { dtype: dtype.number(), tensor_shape, ..TensorProto::default() })
}

/// A dataset node, with what its outputs are.
struct Dataset {
    name: String,
    types: Vec<i32>,
    shapes: Vec<Shape>,
}

/// The nodes of the graph, each after those that it consumes.
struct Writer {
    nodes: Vec<NodeDef>,
}

impl Writer {
    /// A dataset of the rows of these tensors.
    fn slices(&mut self, tensors: &[TensorProto]) -> Dataset {
        let mut inputs = Vec::with_capacity(tensors.len());
        let mut dataset = Dataset { name: String::new(), types: Vec::new(), shapes: Vec::new() };
        for tensor in tensors {
            let name = self.name("Const");
            self.nodes.push(constant(&name, tensor.clone()));
            inputs.push(name);
            dataset.types.push(tensor.dtype);
            let dims = tensor.tensor_shape.iter().flat_map(|shape| shape.dim.iter().skip(1));
            dataset.shapes.push(Shape::new(dims.map(|dim| u64::try_from(dim.size).ok())));
        }
        dataset.name = self.name("TensorSliceDataset");
        let attrs = [
            ("Toutput_types", attr_list::types(&dataset.types)),
            ("output_shapes", attr_list::shapes(&dataset.shapes)),
            ("is_files", Attr::B(false)),
            ("replicate_on_split", Attr::B(false)),
            ("metadata", Attr::S(Bytes::new())),
        ];
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.nodes.push(node(&dataset.name, "TensorSliceDataset", &inputs, attrs));
        dataset
    }

    /// The datasets one after the other: pairs, then pairs of these, so that reading an element
    /// goes through few of them.
    fn concatenate(&mut self, mut datasets: Vec<Dataset>) -> Dataset {
        while datasets.len() > 1 {
            let mut pairs = Vec::with_capacity(datasets.len().div_ceil(2));
            let mut rest = datasets.into_iter();
            while let Some(first) = rest.next() {
                pairs.push(match rest.next() {
                    Some(second) => self.pair(first, &second),
                    None => first,
                });
            }
            datasets = pairs;
        }
        datasets.pop().unwrap_or(Dataset { name: String::new(), types: Vec::new(), shapes: Vec::new() })
    }

    fn pair(&mut self, first: Dataset, second: &Dataset) -> Dataset {
        let name = self.name("ConcatenateDataset");
        let shapes: Vec<Shape> = iter::zip(&first.shapes, &second.shapes).map(|(a, b)| common(a, b)).collect();
        let attrs = [
            ("output_types", attr_list::types(&first.types)),
            ("output_shapes", attr_list::shapes(&shapes)),
            ("metadata", Attr::S(Bytes::new())),
        ];
        self.nodes.push(node(&name, "ConcatenateDataset", &[&first.name, &second.name], attrs));
        Dataset { name, types: first.types, shapes }
    }

    fn name(&self, op: &str) -> String {
        format!("{op}/_{}", self.nodes.len())
    }
}

/// The most precise shape that admits what either admits.
fn common(a: &Shape, b: &Shape) -> Shape {
    match (a.dims(), b.dims()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            Shape::new(iter::zip(a, b).map(|(a, b): (&Dim, &Dim)| if a == b { *a } else { None }))
        }
        _ => Shape::unknown_rank(),
    }
}
