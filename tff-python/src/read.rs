//! From Python to values, by the type that is asked for.

use crate::buffer::Memory;
use crate::error::{Class, Details, error};
use crate::numpy::{is_format_of, numpy};
use bytes::Bytes;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::cell::Cell;
use tff_exec::{Sequence, Value};
use tff_ir::{Array, Scalar};
use tff_types::{DType, FederatedType, Placement, PlacementSpec, StructType, TensorType, Type, TypeKind};

/// Tensors of fewer bytes are copied: that is cheaper than holding their memory.
const MIN_SHARED: usize = 1024;

/// Why an object is no value of a type.
pub(crate) struct ReadError {
    /// The steps to the place, innermost first.
    path: Vec<String>,
    problem: Problem,
}

enum Problem {
    Mismatch {
        expected: String,
        found: String,
    },
    /// What a user's own object raised, for example while it was iterated over.
    Raised(PyErr),
}

impl From<PyErr> for ReadError {
    fn from(raised: PyErr) -> Self {
        Self { path: Vec::new(), problem: Problem::Raised(raised) }
    }
}

impl ReadError {
    fn mismatch(expected: impl ToString, found: impl Into<String>) -> Self {
        let problem = Problem::Mismatch { expected: expected.to_string(), found: found.into() };
        Self { path: Vec::new(), problem }
    }

    fn at(mut self, step: impl Into<String>) -> Self {
        self.path.push(step.into());
        self
    }

    /// The error as it is raised, for a value that messages call `name`.
    pub(crate) fn raise(self, py: Python<'_>, name: &str) -> PyErr {
        let path = self.path.iter().rev().fold(name.to_owned(), |path, step| path + step);
        match self.problem {
            Problem::Mismatch { expected, found } => {
                let message = format!("{path}: expected {expected}, found {found}");
                let details = Details { path: Some(&path), expected: Some(&expected), found: Some(&found) };
                error(py, Class::Mismatch, &message, details)
            }
            Problem::Raised(raised) => {
                // The user's own error stays what it is; a note says where it was raised.
                let _ = raised.value(py).call_method1("add_note", (format!("while {path} was read"),));
                raised
            }
        }
    }
}

type Read<T> = Result<T, ReadError>;

/// Reads objects, and adds up how much that was.
#[derive(Default)]
pub(crate) struct Reader {
    weight: Cell<u64>,
}

impl Reader {
    /// How much was read: the bytes of all tensors, and some for each.
    pub(crate) fn weight(&self) -> u64 {
        self.weight.get()
    }

    pub(crate) fn read(&self, object: &Bound<'_, PyAny>, ty: &Type) -> Read<Value> {
        if let Ok(known) = object.cast::<crate::value::Value>() {
            let known = known.get();
            if !ty.is_assignable_from(&known.ty) {
                return Err(ReadError::mismatch(ty, known.ty.to_string()));
            }
            self.weight.set(u64::MAX / 2);
            return Ok(known.value.clone());
        }
        match ty.kind() {
            TypeKind::Tensor(tensor) => {
                let array = self.tensor(object, tensor, ty)?;
                self.weight.set(self.weight.get() + 64 + array.as_dense().map_or(0, Bytes::len) as u64);
                Ok(Value::array(array))
            }
            TypeKind::Struct(structure) => self.structure(object, structure, ty),
            TypeKind::Sequence(sequence) => self.sequence(object, &sequence.element, ty),
            TypeKind::Federated(federated) => self.federated(object, federated, ty),
            TypeKind::Function(_) | TypeKind::Abstract(_) | TypeKind::Placement(_) => {
                Err(ReadError::mismatch(ty, describe(object)?))
            }
        }
    }

    fn federated(&self, object: &Bound<'_, PyAny>, federated: &FederatedType, ty: &Type) -> Read<Value> {
        match federated.placement {
            PlacementSpec::Value(Placement::Server) => Ok(Value::at_server(self.read(object, &federated.member)?)),
            PlacementSpec::Value(Placement::Clients) if federated.all_equal => {
                Ok(Value::at_clients_all_equal(self.read(object, &federated.member)?))
            }
            PlacementSpec::Value(Placement::Clients) => {
                let is_list_like = !object.is_instance_of::<PyString>()
                    && !object.is_instance_of::<PyBytes>()
                    && !object.is_instance_of::<PyDict>();
                let Some(members) = is_list_like.then(|| object.try_iter().ok()).flatten() else {
                    return Err(ReadError::mismatch(
                        format!("a list with a value of {} for each client", federated.member),
                        describe(object)?,
                    ));
                };
                let members = members.enumerate().map(|(client_idx, member)| {
                    self.read(&member?, &federated.member).map_err(|error| error.at(format!("[{client_idx}]")))
                });
                Ok(Value::at_clients(members.collect::<Read<Vec<_>>>()?))
            }
            PlacementSpec::Label(_) => Err(ReadError::mismatch(ty, describe(object)?)),
        }
    }

    fn tensor(&self, object: &Bound<'_, PyAny>, tensor: &TensorType, ty: &Type) -> Read<Array> {
        if tensor.dtype == DType::String {
            return strings(object, tensor, ty);
        }
        if tensor.shape.is_scalar()
            && let Some(scalar) = scalar(object, tensor.dtype)?
        {
            return Ok(Array::from_scalar(scalar));
        }
        let py = object.py();
        if object.get_type().is(&numpy(py)?.ndarray)
            && let Some(memory) = Memory::of(object)
            && is_format_of(memory.buffer().format(), memory.buffer().item_size(), tensor.dtype)
        {
            let dims: Vec<u64> = memory.buffer().shape().iter().map(|&size| size as u64).collect();
            return array(object, memory, dims, tensor, ty);
        }
        let converted = helper(py, intern!(py, "array"))?.call1((object, tensor.dtype.name()))?;
        let (converted, dims): (Bound<'_, PyAny>, Vec<u64>) = match converted.extract() {
            Ok(it) => it,
            Err(_) => return Err(ReadError::mismatch(ty, converted.extract::<String>()?)),
        };
        let Some(memory) = Memory::of(&converted) else {
            return Err(ReadError::mismatch(ty, describe(object)?));
        };
        array(&converted, memory, dims, tensor, ty)
    }

    fn structure(&self, object: &Bound<'_, PyAny>, structure: &StructType, ty: &Type) -> Read<Value> {
        let py = object.py();
        let elements = structure.elements();
        if let Ok(list) = object.cast_exact::<PyList>() {
            return self.elements(list.iter().map(Ok), list.len(), structure, ty, object);
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.elements(tuple.iter().map(Ok), tuple.len(), structure, ty, object);
        }
        let fields = if let Ok(mapping) = object.cast::<PyMapping>() {
            Some(mapping.as_any().clone())
        } else {
            let fields = helper(py, intern!(py, "fields"))?.call1((object,))?;
            let fields = if fields.is_none() { helper(py, intern!(py, "columns"))?.call1((object,))? } else { fields };
            (!fields.is_none()).then_some(fields)
        };
        if let Some(fields) = fields {
            return self.fields(&fields, structure, ty);
        }
        // Others with these attributes, such as the structs of federated-language.
        let attribute = |name: &str| object.getattr_opt(name).ok().flatten();
        let is_array = object.hasattr(intern!(py, "__array__"))?;
        let named = elements.iter().map(|element| attribute(element.name.as_deref()?)).collect::<Option<Vec<_>>>();
        match named.filter(|named| !named.is_empty() && !is_array) {
            Some(named) => {
                let len = named.len();
                self.elements(named.into_iter().map(Ok), len, structure, ty, object)
            }
            None => match object.try_iter() {
                Ok(items) if !object.is_instance_of::<PyString>() && !object.is_instance_of::<PyBytes>() => {
                    let items: Vec<_> = items.take(elements.len() + 1).collect::<PyResult<_>>()?;
                    let len = items.len();
                    self.elements(items.into_iter().map(Ok), len, structure, ty, object)
                }
                _ => Err(ReadError::mismatch(ty, describe(object)?)),
            },
        }
    }

    /// A struct from its elements by position.
    fn elements<'py>(
        &self,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
        len: usize,
        structure: &StructType,
        ty: &Type,
        object: &Bound<'py, PyAny>,
    ) -> Read<Value> {
        if len != structure.len() {
            return Err(ReadError::mismatch(ty, describe(object)?));
        }
        let values = structure.elements().iter().zip(items).enumerate().map(|(index, (element, item))| {
            self.read(&item?, &element.ty).map_err(|error| error.at(step(index, element.name.as_deref())))
        });
        Ok(Value::structure(values.collect::<Read<Vec<_>>>()?))
    }

    /// A struct from a mapping of its names, or of the positions of elements without names.
    fn fields(&self, fields: &Bound<'_, PyAny>, structure: &StructType, ty: &Type) -> Read<Value> {
        let mut values = Vec::with_capacity(structure.len());
        for (index, element) in structure.elements().iter().enumerate() {
            let field = match &element.name {
                Some(name) => fields.get_item(name.as_ref()),
                None => fields.get_item(index),
            };
            let step = step(index, element.name.as_deref());
            let Ok(field) = field else {
                return Err(ReadError::mismatch(&element.ty, "nothing").at(step));
            };
            values.push(self.read(&field, &element.ty).map_err(|error| error.at(step))?);
        }
        if fields.len()? != structure.len() {
            let keys = fields.try_iter()?.map(|key| Ok(key?.str()?.to_string())).collect::<PyResult<Vec<_>>>()?;
            return Err(ReadError::mismatch(ty, format!("fields {}", keys.join(", "))));
        }
        Ok(Value::structure(values))
    }

    fn sequence(&self, object: &Bound<'_, PyAny>, element: &Type, ty: &Type) -> Read<Value> {
        let py = object.py();
        if let Ok(list) = object.cast_exact::<PyList>() {
            return self.items(list.iter().map(Ok), element);
        }
        let dataset = helper(py, intern!(py, "dataset"))?.call1((object,))?;
        if let Ok(graph) = dataset.cast::<PyBytes>() {
            let graph = Bytes::copy_from_slice(graph.as_bytes());
            self.weight.set(u64::MAX / 2);
            return Ok(Value::Sequence(Sequence::from_dataset(element.clone(), graph)));
        }
        let columns = match object.cast::<PyMapping>() {
            Ok(mapping) => Some(mapping.as_any().clone()),
            Err(_) => Some(helper(py, intern!(py, "columns"))?.call1((object,))?).filter(|it| !it.is_none()),
        };
        if let Some(columns) = columns {
            return self.rows(&columns, element, ty);
        }
        if object.get_type().is(&numpy(py)?.ndarray)
            && let Some(tensor) = element.as_tensor()
            && let Ok(batch) = self.tensor(object, &TensorType { shape: one_more(tensor), ..tensor.clone() }, ty)
        {
            let rows = rows_of(&batch).into_iter().map(Value::array).collect::<Vec<_>>();
            return Ok(Value::Sequence(Sequence::from_elements(element.clone(), rows)));
        }
        match object.try_iter() {
            Ok(items) if !object.is_instance_of::<PyString>() && !object.is_instance_of::<PyBytes>() => {
                self.items(items, element)
            }
            _ => Err(ReadError::mismatch(ty, describe(object)?)),
        }
    }

    fn items<'py>(&self, items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>, element: &Type) -> Read<Value> {
        let items = items
            .enumerate()
            .map(|(index, item)| self.read(&item?, element).map_err(|error| error.at(format!("[{index}]"))));
        Ok(Value::Sequence(Sequence::from_elements(element.clone(), items.collect::<Read<Vec<_>>>()?)))
    }

    /// A sequence from columns: the rows, or one element that is all of them where the type of the elements has a
    /// dimension more.
    fn rows(&self, columns: &Bound<'_, PyAny>, element: &Type, ty: &Type) -> Read<Value> {
        let Some(structure) = element.as_struct() else {
            return Err(ReadError::mismatch(ty, describe(columns)?));
        };
        let mut batches = Vec::with_capacity(structure.len());
        for (index, member) in structure.elements().iter().enumerate() {
            let step = step(index, member.name.as_deref());
            let (Some(name), Some(tensor)) = (&member.name, member.ty.as_tensor()) else {
                return Err(ReadError::mismatch(ty, describe(columns)?).at(step));
            };
            let Ok(column) = columns.get_item(name.as_ref()) else {
                return Err(ReadError::mismatch(&member.ty, "no such column").at(step));
            };
            let batch = self.tensor(&column, &TensorType { shape: one_more(tensor), ..tensor.clone() }, &member.ty);
            match batch {
                Ok(batch) => batches.push(batch),
                Err(_) if index == 0 => return self.items([Ok(columns.clone())].into_iter(), element),
                Err(error) => return Err(error.at(step)),
            }
        }
        let len = |batch: &Array| batch.dims().first().copied();
        let Some(n_rows) = batches.first().and_then(len) else {
            return self.items([Ok(columns.clone())].into_iter(), element);
        };
        for (batch, member) in batches.iter().zip(structure.elements()) {
            if len(batch) != Some(n_rows) {
                let found = format!("{} rows", len(batch).unwrap_or_default());
                return Err(ReadError::mismatch(format!("{n_rows} rows"), found).at(step(0, member.name.as_deref())));
            }
        }
        self.weight.set(self.weight.get() + n_rows * 64);
        let mut rows: Vec<_> = batches.iter().map(|batch| rows_of(batch).into_iter()).collect();
        let rows = (0..n_rows).map(|_| Value::structure(rows.iter_mut().filter_map(Iterator::next).map(Value::array)));
        Ok(Value::Sequence(Sequence::from_elements(element.clone(), rows.collect::<Vec<_>>())))
    }
}

/// How a path names an element of a struct.
fn step(index: usize, name: Option<&str>) -> String {
    name.map_or_else(|| format!("[{index}]"), |name| format!(".{name}"))
}

/// The shape of so many tensors, one after another.
fn one_more(tensor: &TensorType) -> tff_types::Shape {
    match tensor.shape.dims() {
        Some(dims) => tff_types::Shape::new([None].into_iter().chain(dims.iter().copied())),
        None => tensor.shape.clone(),
    }
}

/// The parts of an array along its first dimension, views of it.
fn rows_of(batch: &Array) -> Vec<Array> {
    let [n_rows, dims @ ..] = batch.dims() else { return Vec::new() };
    let n_rows = usize::try_from(*n_rows).unwrap_or_default();
    let dims: std::sync::Arc<[u64]> = dims.into();
    if let Some(bytes) = batch.as_dense() {
        let size = bytes.len().checked_div(n_rows).unwrap_or_default();
        let row = |index| Array::dense(batch.dtype(), dims.clone(), bytes.slice(index * size..(index + 1) * size));
        return (0..n_rows).filter_map(|index| row(index).ok()).collect();
    }
    let strings = batch.as_strings().unwrap_or_default();
    let size = strings.len().checked_div(n_rows).unwrap_or_default();
    let rows = (0..n_rows).filter_map(|index| strings.get(index * size..(index + 1) * size));
    rows.filter_map(|row| Array::strings(dims.clone(), row.to_vec()).ok()).collect()
}

/// A function of the module that knows NumPy's ways.
fn helper<'py>(py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    static HELPERS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let helpers = HELPERS.get_or_try_init(py, || py.import("federated_runtime._convert").map(Bound::unbind))?;
    helpers.bind(py).getattr(name)
}

pub(crate) fn describe(object: &Bound<'_, PyAny>) -> PyResult<String> {
    helper(object.py(), intern!(object.py(), "describe"))?.call1((object,))?.extract()
}

/// An array of this memory, which is that of `object`.
fn array(object: &Bound<'_, PyAny>, memory: Memory, dims: Vec<u64>, tensor: &TensorType, ty: &Type) -> Read<Array> {
    let py = object.py();
    if !tensor.shape.admits(&dims) {
        return Err(ReadError::mismatch(ty, Type::tensor(tensor.dtype, tff_types::Shape::fixed(dims)).to_string()));
    }
    let is_shared = memory.buffer().readonly()
        && memory.buffer().len_bytes() >= MIN_SHARED
        && helper(py, intern!(py, "is_immutable"))?.call1((object,))?.extract()?;
    let bytes = if is_shared { memory.shared() } else { memory.copied(py) };
    Array::dense(tensor.dtype, dims, bytes).map_err(|error| ReadError::mismatch(ty, error.to_string()))
}

/// A scalar from Python's own numbers; `None` for other objects.
fn scalar(object: &Bound<'_, PyAny>, dtype: DType) -> Read<Option<Scalar>> {
    let unfit = || Ok::<_, ReadError>(ReadError::mismatch(dtype, describe(object)?));
    if object.is_exact_instance_of::<PyBool>() {
        return if dtype == DType::Bool { Ok(Some(Scalar::Bool(object.extract()?))) } else { Err(unfit()?) };
    }
    let is_int = object.is_exact_instance_of::<PyInt>();
    if !is_int && !object.is_exact_instance_of::<PyFloat>() {
        return Ok(None);
    }
    if is_int && dtype.is_integer() {
        let scalar = object.extract().ok().and_then(|value| Scalar::of_integer(dtype, value));
        return scalar.map(Some).map_or_else(|| Err(unfit()?), Ok);
    }
    if dtype.is_integer() || dtype == DType::Bool {
        return Err(unfit()?);
    }
    float(object, dtype).and_then(|scalar| scalar.map(Some).map_or_else(|| Err(unfit()?), Ok))
}

/// A number with a point from one of Python's; `None` where it is finite and too large.
fn float(object: &Bound<'_, PyAny>, dtype: DType) -> Read<Option<Scalar>> {
    let Ok(value) = object.extract::<f64>() else { return Ok(None) };
    Ok(match dtype {
        DType::Complex64 => match Scalar::of_float(DType::Float32, value) {
            Some(Scalar::Float32(value)) => Some(Scalar::Complex64(value, 0.0)),
            _ => None,
        },
        DType::Complex128 => Some(Scalar::Complex128(value, 0.0)),
        dtype => Scalar::of_float(dtype, value),
    })
}

fn strings(object: &Bound<'_, PyAny>, tensor: &TensorType, ty: &Type) -> Read<Array> {
    let (dims, strings) = if let Ok(text) = object.cast::<PyString>() {
        (Vec::new(), vec![Bytes::copy_from_slice(text.to_cow()?.as_bytes())])
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        (Vec::new(), vec![Bytes::copy_from_slice(bytes.as_bytes())])
    } else {
        let converted = helper(object.py(), intern!(object.py(), "strings"))?.call1((object,))?;
        let (dims, elements): (Vec<u64>, Vec<Bound<'_, PyBytes>>) = match converted.extract() {
            Ok(it) => it,
            Err(_) => return Err(ReadError::mismatch(ty, converted.extract::<String>()?)),
        };
        (dims, elements.iter().map(|it| Bytes::copy_from_slice(it.as_bytes())).collect())
    };
    if !tensor.shape.admits(&dims) {
        return Err(ReadError::mismatch(ty, Type::tensor(DType::String, tff_types::Shape::fixed(dims)).to_string()));
    }
    Array::strings(dims, strings).map_err(|error| ReadError::mismatch(ty, error.to_string()))
}
