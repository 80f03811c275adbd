//! NumPy, imported when it is first needed, and its element types.

use crate::error::{Class, plain};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::CStr;
use tff_types::DType;

/// What is needed of NumPy again and again.
pub(crate) struct NumPy {
    pub(crate) ndarray: Py<PyAny>,
    pub(crate) frombuffer: Py<PyAny>,
    pub(crate) empty: Py<PyAny>,
    pub(crate) array: Py<PyAny>,
    /// For each of `DType::ALL` its `numpy.dtype`, and the class of its scalars; `None` where a package is missing.
    dtypes: Vec<Option<(Py<PyAny>, Py<PyAny>)>>,
}

/// NumPy.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&'static NumPy> {
    static NUMPY: PyOnceLock<NumPy> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || {
        let module = py.import("numpy")?;
        let get = |name: &str| module.getattr(name).map(Bound::unbind);
        let dtype = module.getattr("dtype")?;
        let one = |ty: DType| {
            let made = match ty {
                DType::String => dtype.call1(("O",))?,
                DType::BFloat16 => match py.import("ml_dtypes") {
                    Ok(package) => dtype.call1((package.getattr("bfloat16")?,))?,
                    Err(_) => return Ok(None),
                },
                ty => dtype.call1((ty.name(),))?,
            };
            let class = made.getattr("type")?.unbind();
            Ok(Some((made.unbind(), class)))
        };
        let dtypes = DType::ALL.into_iter().map(one).collect::<PyResult<_>>()?;
        Ok(NumPy {
            ndarray: get("ndarray")?,
            frombuffer: get("frombuffer")?,
            empty: get("empty")?,
            array: get("array")?,
            dtypes,
        })
    })
}

impl NumPy {
    /// The element type of arrays, and the class of scalars.
    pub(crate) fn dtype<'a, 'py>(
        &'a self,
        py: Python<'py>,
        ty: DType,
    ) -> PyResult<(&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>)> {
        let position = DType::ALL.iter().position(|it| *it == ty);
        match position.and_then(|position| self.dtypes.get(position)) {
            Some(Some((dtype, class))) => Ok((dtype.bind(py), class.bind(py))),
            _ => Err(plain(py, Class::Library, format!("{ty} needs the package ml_dtypes: pip install ml_dtypes"))),
        }
    }
}

/// Whether the format of a buffer, in the notation of Python's `struct`, says elements of this type in the
/// machine's byte order.
pub(crate) fn is_format_of(format: &CStr, item_size: usize, ty: DType) -> bool {
    let letter = match format.to_bytes() {
        [letter] => &[*letter][..],
        [b'Z', letter] => &[b'Z', *letter][..],
        _ => return false,
    };
    let fits = match ty {
        DType::Bool => letter == b"?",
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => matches!(letter, b"b" | b"h" | b"i" | b"l" | b"q"),
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => {
            matches!(letter, b"B" | b"H" | b"I" | b"L" | b"Q")
        }
        DType::Float16 => letter == b"e",
        DType::Float32 => letter == b"f",
        DType::Float64 => letter == b"d",
        DType::Complex64 => letter == b"Zf",
        DType::Complex128 => letter == b"Zd",
        DType::BFloat16 | DType::String => false,
    };
    fits && ty.size() == Some(item_size)
}
