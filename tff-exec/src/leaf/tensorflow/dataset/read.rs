//! Reads the elements of a dataset through TensorFlow, without an iterator.
//!
//! One run reads all: the elements are batched into tensors of one more dimension, of which the
//! elements are views. Where shapes may differ between elements, each tensor is serialized first
//! and the strings are batched. The size is checked before anything is read.

use super::super::TensorFlow;
use super::super::ffi::{Api, Native, NativeSession, Port};
use super::super::prepared::{import, operation};
use super::super::session;
use super::super::status::LEAF;
use super::read_graph::{serialized, stacked};
use crate::values::Layout;
use crate::{ExecError, Value};
use bytes::Bytes;
use prost::Message;
use std::iter;
use std::sync::Arc;
use tff_ir::{Array, Scalar};
use tff_proto::tensorflow::TensorProto;
use tff_proto::{Limits, decode};
use tff_types::{DType, Step, TensorType, Type};

/// How many elements are read at first where their size, and so how many fit, is not known.
const FIRST_READ: usize = 1 << 12;

/// How elements are batched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Form {
    /// As they are: all are of the same shape.
    Stacked,
    /// Each tensor as the string of its message.
    Serialized,
}

/// A graph that reads datasets of one element type.
pub(in super::super) struct Reader {
    library: &'static Api,
    layout: Layout,
    form: Form,
    session: NativeSession,
    dataset: Port,
    limit: Port,
    /// The cardinality of the dataset, then the batch of each component.
    fetches: Vec<Port>,
}

/// The elements that a serialized dataset of type `element` makes.
///
/// # Errors
/// [`ExecError::Run`] where TensorFlow cannot read it or its elements are of other dtypes,
/// [`ExecError::Mismatch`], with the path, where their shapes are others, [`ExecError::Limit`]
/// where there are more than the options of `tensorflow` allow, or no end.
pub(in super::super) fn read(
    tensorflow: &TensorFlow,
    graph: &Bytes,
    element: &Type,
) -> Result<Arc<[Value]>, ExecError> {
    let layout = Layout::of(element)?;
    let dataset = Native::from_string(tensorflow.library()?, graph.clone())?;
    if layout.components().iter().all(|ty| ty.shape.is_fully_defined())
        && let Ok(elements) = read_stacked(tensorflow, &dataset, element)
    {
        return elements;
    }
    // Also where stacking failed: this says which element is wrong, and how.
    read_serialized(tensorflow, &dataset, element)
}

/// Reads elements of fixed shapes. The outer error says that they are not, or that the dataset is
/// damaged.
fn read_stacked(
    tensorflow: &TensorFlow,
    dataset: &Native,
    element: &Type,
) -> Result<Result<Arc<[Value]>, ExecError>, ExecError> {
    let options = tensorflow.options();
    let reader = tensorflow.reader(element, Form::Stacked)?;
    let size: u64 = reader.layout.components().iter().map(size_of_tensor).fold(0, u64::saturating_add);
    let by_size = usize::try_from(options.max_sequence_bytes as u64 / size.max(1)).unwrap_or(usize::MAX);
    let max = options.max_sequence_elements.min(by_size);
    let batch = reader.run(dataset, max.saturating_add(1))?;
    if batch.is_endless() || batch.len > max {
        return Ok(Err(too_many(max)));
    }
    Ok(reader.elements(&batch))
}

/// Reads elements of any shapes, a few at first, then more as far as their sizes allow.
fn read_serialized(tensorflow: &TensorFlow, dataset: &Native, element: &Type) -> Result<Arc<[Value]>, ExecError> {
    let options = tensorflow.options();
    let reader = tensorflow.reader(element, Form::Serialized)?;
    let mut max = options.max_sequence_elements;
    let mut limit = max.saturating_add(1).min(FIRST_READ);
    loop {
        let batch = reader.run(dataset, limit)?;
        let bytes = batch.string_bytes();
        if bytes > options.max_sequence_bytes {
            let limit = options.max_sequence_bytes;
            return Err(ExecError::Limit { what: "the size in bytes of a sequence", limit });
        }
        if batch.is_endless() || batch.len > max {
            return Err(too_many(max));
        }
        if batch.len < limit {
            return reader.elements(&batch);
        }
        // The others are taken to be about as large as these.
        let by_size = options.max_sequence_bytes / (bytes / batch.len.max(1)).max(1);
        max = max.min(by_size.max(limit));
        let more = usize::try_from(batch.cardinality).unwrap_or(limit.saturating_mul(16));
        limit = more.max(limit).saturating_add(1).min(max.saturating_add(1));
    }
}

fn too_many(limit: usize) -> ExecError {
    ExecError::Limit { what: "the number of elements of a sequence", limit }
}

/// The bytes of a tensor of known shape; strings count as what an empty one takes.
fn size_of_tensor(ty: &TensorType) -> u64 {
    const STRING: usize = 24;
    let element = ty.dtype.size().unwrap_or(STRING) as u64;
    ty.shape.num_elements().unwrap_or(u64::MAX).saturating_mul(element)
}

/// What one run has read.
struct Batch {
    /// As TensorFlow counts it: -1 for no end, -2 for unknown.
    cardinality: i64,
    /// How many elements were read, without the marker.
    len: usize,
    /// For each component, the tensors of the elements and the marker along the first dimension.
    components: Vec<Arc<Native>>,
}

impl Batch {
    const fn is_endless(&self) -> bool {
        self.cardinality == -1
    }

    fn string_bytes(&self) -> usize {
        let size = |native: &Arc<Native>| (0..self.len).filter_map(|index| native.string(index)).map(<[u8]>::len).sum();
        self.components.iter().map(size).fold(0, usize::saturating_add)
    }
}

impl Reader {
    /// Makes the graph and its session.
    ///
    /// # Errors
    /// [`ExecError::Unsupported`] for element types that no dataset can hold.
    pub(in super::super) fn new(library: &'static Api, element: &Type, form: Form) -> Result<Self, ExecError> {
        let layout = Layout::of(element)?;
        let def = match form {
            Form::Stacked => stacked(layout.components()),
            Form::Serialized => serialized(layout.components()),
        };
        let graph = import(library, &def.encode_to_vec())?;
        let port = |name, index| {
            let found = operation(&graph, name)?.output(index);
            found.map(|(port, _)| port).ok_or(ExecError::Internal("an op without its output"))
        };
        let batches = (0..).take(layout.components().len()).map(|index| port("batch", index));
        let fetches = iter::once(port("cardinality", 0)).chain(batches).collect::<Result<_, _>>()?;
        let session = session::open(&graph).map_err(|failure| LEAF.refuses(failure.into()))?;
        Ok(Self { library, dataset: port("graph", 0)?, limit: port("limit", 0)?, layout, form, session, fetches })
    }

    /// Reads up to `limit` elements; none of a dataset without an end.
    fn run(&self, dataset: &Native, limit: usize) -> Result<Batch, ExecError> {
        let limit = Array::from_scalar(Scalar::Int64(i64::try_from(limit).unwrap_or(i64::MAX)));
        let limit = Native::from_array(self.library, &limit)?;
        let feeds = [(&self.dataset, dataset), (&self.limit, &limit)];
        let fetched = session::run(&self.session, feeds, &[], &self.fetches);
        let mut fetched = fetched.map_err(|failure| LEAF.failed(failure.into()))?.into_iter().map(Arc::new);
        let cardinality = match fetched.next().map(|native| native.to_array()).transpose()?.and_then(|it| it.get(0)) {
            Some(Scalar::Int64(cardinality)) => cardinality,
            _ => return Err(LEAF.gave("a dataset without a cardinality")),
        };
        let components: Vec<_> = fetched.collect();
        let rows = components.first().and_then(|native| native.dims().first().copied()).unwrap_or(0);
        let len = usize::try_from(rows).unwrap_or(usize::MAX).saturating_sub(1);
        Ok(Batch { cardinality, len, components })
    }

    fn elements(&self, batch: &Batch) -> Result<Arc<[Value]>, ExecError> {
        let rows = batch.components.iter().zip(self.layout.components());
        let rows = rows.map(|(native, ty)| Rows::new(native, ty, self.form)).collect::<Result<Vec<_>, ExecError>>()?;
        let element = |index| {
            let component =
                |component: usize| rows.get(component).ok_or_else(|| LEAF.gave("a component is missing"))?.get(index);
            self.layout.build(&component).map_err(|error| error.at(Step::Index(index)))
        };
        (0..batch.len).map(element).collect()
    }
}

/// One component of all elements.
enum Rows {
    /// Views of one array.
    Dense {
        dtype: DType,
        dims: Arc<[u64]>,
        size: usize,
        bytes: Bytes,
    },
    Strings {
        dims: Arc<[u64]>,
        size: usize,
        native: Arc<Native>,
    },
    Serialized(Arc<Native>),
}

impl Rows {
    fn new(native: &Arc<Native>, ty: &TensorType, form: Form) -> Result<Self, ExecError> {
        if form == Form::Serialized {
            return Ok(Self::Serialized(native.clone()));
        }
        let dims: Arc<[u64]> = native.dims().iter().skip(1).copied().collect();
        let count = usize::try_from(dims.iter().product::<u64>()).unwrap_or(0);
        Ok(match ty.dtype.size() {
            None => Self::Strings { dims, size: count, native: native.clone() },
            Some(size) => {
                let bytes = native.to_array()?.as_dense().cloned().unwrap_or_default();
                Self::Dense { dtype: native.dtype(), dims, size: count.saturating_mul(size), bytes }
            }
        })
    }

    fn get(&self, index: usize) -> Result<Array, ExecError> {
        match self {
            Self::Dense { dtype, dims, size, bytes } => {
                let start = index.saturating_mul(*size);
                let end = start.saturating_add(*size);
                let row = if end <= bytes.len() { bytes.slice(start..end) } else { Bytes::new() };
                Ok(Array::dense(*dtype, dims.clone(), row)?)
            }
            Self::Strings { dims, size, native } => {
                let start = index.saturating_mul(*size);
                let strings: Vec<Bytes> =
                    (start..start.saturating_add(*size)).filter_map(|it| native.string_bytes(it)).collect();
                Ok(Array::strings(dims.clone(), strings)?)
            }
            Self::Serialized(native) => {
                let message = native.string_bytes(index).ok_or_else(|| LEAF.gave("an element is missing"))?;
                let tensor: TensorProto =
                    decode(&message, &Limits::default()).map_err(|it| LEAF.gave(it.to_string()))?;
                parse_tensor(tensor)
            }
        }
    }
}

/// The array in a message as the op `SerializeTensor` writes it: raw bytes, or all strings.
fn parse_tensor(tensor: TensorProto) -> Result<Array, ExecError> {
    let dtype = DType::from_number(tensor.dtype).ok_or_else(|| LEAF.gave("an element of no known dtype"))?;
    let dims = tensor.tensor_shape.iter().flat_map(|shape| &shape.dim);
    let dims: Vec<u64> = dims.map(|dim| u64::try_from(dim.size).unwrap_or(0)).collect();
    Ok(match dtype {
        DType::String => Array::strings(dims, tensor.string_val)?,
        _ => Array::dense(dtype, dims, tensor.tensor_content)?,
    })
}
