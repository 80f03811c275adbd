//! From values to Python, by their type.

use crate::buffer::Buffer;
use crate::error::{Class, from_exec, plain};
use crate::numpy::numpy;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyList, PyTuple};
use tff_exec::{Clients, Executor, Value};
use tff_ir::{Array, Scalar};
use tff_types::{StructType, Type, TypeKind};

/// Writes values as Python's and NumPy's.
pub(crate) struct Writer<'a, 'py> {
    pub(crate) py: Python<'py>,
    /// What makes a struct of a list of names and values; by default dicts and tuples.
    pub(crate) structure: Option<&'a Bound<'py, PyAny>>,
    /// What reads the elements of datasets.
    pub(crate) executor: Option<&'a Executor>,
}

impl<'py> Writer<'_, 'py> {
    pub(crate) fn write(&self, value: &Value, ty: &Type) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match (value, ty.kind()) {
            (Value::Tensor(tensor), _) => array(py, tensor.array()),
            (Value::Struct(elements), TypeKind::Struct(structure)) => self.structure(elements, structure),
            (Value::Server(member) | Value::Clients(Clients::AllEqual(member)), TypeKind::Federated(federated)) => {
                self.write(member, &federated.member)
            }
            (Value::Clients(Clients::Each(members)), TypeKind::Federated(federated)) => {
                self.list(members, &federated.member)
            }
            (Value::Sequence(sequence), TypeKind::Sequence(sequence_ty)) => {
                let elements = match (self.executor, sequence.known_elements()) {
                    (_, Some(elements)) => Ok(elements.clone()),
                    (Some(executor), None) => py.detach(|| sequence.elements(executor.tensorflow())),
                    (None, None) => {
                        return Err(plain(py, Class::Run, "a dataset needs an executor that reads its elements"));
                    }
                };
                self.list(&elements.map_err(|error| from_exec(py, &error))?, &sequence_ty.element)
            }
            _ => Err(plain(py, Class::Run, format!("a result of type {ty} has no form in Python"))),
        }
    }

    fn list(&self, values: &[Value], ty: &Type) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::empty(self.py);
        for value in values {
            list.append(self.write(value, ty)?)?;
        }
        Ok(list.into_any())
    }

    fn structure(&self, values: &[Value], structure: &StructType) -> PyResult<Bound<'py, PyAny>> {
        let elements = structure.elements().iter().zip(values);
        if let Some(make) = self.structure {
            let elements =
                elements.map(|(element, value)| Ok((element.name.as_deref(), self.write(value, &element.ty)?)));
            return make.call1((elements.collect::<PyResult<Vec<_>>>()?,));
        }
        if structure.elements().iter().all(|element| element.name.is_none()) {
            let elements = elements.map(|(element, value)| self.write(value, &element.ty));
            return Ok(PyTuple::new(self.py, elements.collect::<PyResult<Vec<_>>>()?)?.into_any());
        }
        let dict = PyDict::new(self.py);
        for (index, (element, value)) in elements.enumerate() {
            let value = self.write(value, &element.ty)?;
            match element.name.as_deref() {
                Some(name) => dict.set_item(name, value)?,
                None => dict.set_item(index, value)?,
            }
        }
        Ok(dict.into_any())
    }
}

fn array<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    if array.dims().is_empty() {
        return match array.get(0) {
            Some(element) => scalar(py, &element, array),
            None => Ok(py.None().into_bound(py)),
        };
    }
    let numpy = numpy(py)?;
    let dims = PyTuple::new(py, array.dims())?;
    let flat = if let Some(strings) = array.as_strings() {
        let strings = PyList::new(py, strings.iter().map(|string| PyBytes::new(py, string)))?;
        numpy.array.bind(py).call1((strings, "O"))?
    } else {
        let (dtype, _) = numpy.dtype(py, array.dtype())?;
        match array.as_dense().filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => numpy.frombuffer.bind(py).call1((Buffer(bytes.clone()), dtype))?,
            None => numpy.empty.bind(py).call1((0, dtype))?,
        }
    };
    if array.dims().len() == 1 { Ok(flat) } else { flat.call_method1(intern!(py, "reshape"), (dims,)) }
}

fn scalar<'py>(py: Python<'py>, scalar: &Scalar, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    if let Scalar::String(string) = scalar {
        return Ok(PyBytes::new(py, string).into_any());
    }
    let (_, class) = numpy(py)?.dtype(py, array.dtype())?;
    match *scalar {
        Scalar::Bool(value) => class.call1((value,)),
        Scalar::Int8(value) => class.call1((value,)),
        Scalar::Int16(value) => class.call1((value,)),
        Scalar::Int32(value) => class.call1((value,)),
        Scalar::Int64(value) => class.call1((value,)),
        Scalar::UInt8(value) => class.call1((value,)),
        Scalar::UInt16(value) => class.call1((value,)),
        Scalar::UInt32(value) => class.call1((value,)),
        Scalar::UInt64(value) => class.call1((value,)),
        Scalar::Float16(value) => class.call1((value.to_f64(),)),
        Scalar::BFloat16(value) => class.call1((value.to_f64(),)),
        Scalar::Float32(value) => class.call1((value,)),
        Scalar::Float64(value) => class.call1((value,)),
        Scalar::Complex64(re, im) => class.call1((PyComplex::from_doubles(py, re.into(), im.into()),)),
        Scalar::Complex128(re, im) => class.call1((PyComplex::from_doubles(py, re, im),)),
        Scalar::String(_) => Ok(py.None().into_bound(py)),
    }
}
