//! Values as files of tensors with names: `.safetensors` and NumPy's `.npz`.
//!
//! A tensor is called by its path in the type, `trainable.0` or `weights.bias`.

use crate::files::{FileError, FileProblem, name_of, write_bytes};
use std::path::Path;
use tff_exec::Value;
use tff_ir::Array;
use tff_types::{DType, FederatedType, Placement, PlacementSpec, Type, TypeKind};
use thiserror::Error;

/// Why a value is no file of tensors, or a file no value.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorsError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The name of the file says no format that is known, and built in.
    #[error("{name}: expected a name that ends in .safetensors or .npz")]
    Format {
        /// The file.
        name: String,
    },
    /// A part of the value is no tensor.
    #[error("{path}: expected tensors and structs of them, found {ty}")]
    NotTensors {
        /// Where it is.
        path: String,
        /// Its type.
        ty: Type,
    },
    /// The value has no such part.
    #[error("expected a part of {ty}, found `{path}`")]
    NoPart {
        /// The type of the value.
        ty: Type,
        /// The path.
        path: String,
    },
    /// The file cannot hold elements of this type.
    #[error("{path}: expected elements that {name} can hold, found {dtype}")]
    Elements {
        /// The file.
        name: String,
        /// Where it is.
        path: String,
        /// The type.
        dtype: DType,
    },
}

type Result<T> = std::result::Result<T, TensorsError>;

/// Whether the name of a file says that it holds tensors with names.
#[must_use]
pub fn is_tensors(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "safetensors" || it == "npz")
}

/// The part of a value at a path such as `model.trainable`; the whole value where it is empty.
///
/// # Errors
/// [`TensorsError::NoPart`].
pub fn part(value: &Value, ty: &Type, path: &str) -> Result<(Value, Type)> {
    let (mut value, mut part_ty) = at_server(value, ty);
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let no_part = || TensorsError::NoPart { ty: ty.clone(), path: path.to_owned() };
        let structure = part_ty.as_struct().ok_or_else(no_part)?;
        let index = structure.index_of(step).or_else(|| step.parse().ok()).ok_or_else(no_part)?;
        let element = structure.elements().get(index).ok_or_else(no_part)?.ty.clone();
        value = match &value {
            Value::Struct(elements) => elements.get(index).cloned().ok_or_else(no_part)?,
            _ => return Err(no_part()),
        };
        part_ty = element;
    }
    Ok((value, part_ty))
}

/// What is at the server, without the placement.
fn at_server(value: &Value, ty: &Type) -> (Value, Type) {
    match (value, ty.kind()) {
        (Value::Server(member), TypeKind::Federated(FederatedType { member: ty, .. })) => {
            ((**member).clone(), ty.clone())
        }
        _ => (value.clone(), ty.clone()),
    }
}

/// The tensors of a value, each with its path.
///
/// # Errors
/// [`TensorsError::NotTensors`].
pub fn named(value: &Value, ty: &Type) -> Result<Vec<(String, Array)>> {
    let (value, ty) = at_server(value, ty);
    let mut tensors = Vec::new();
    collect(&value, &ty, String::new(), &mut tensors)?;
    Ok(tensors)
}

fn collect(value: &Value, ty: &Type, path: String, tensors: &mut Vec<(String, Array)>) -> Result<()> {
    match (value, ty.kind()) {
        (Value::Tensor(tensor), _) => {
            let name = if path.is_empty() { "value".to_owned() } else { path };
            tensors.push((name, tensor.array().clone()));
            Ok(())
        }
        (Value::Struct(elements), TypeKind::Struct(structure)) => {
            for (index, (value, element)) in elements.iter().zip(structure.elements()).enumerate() {
                collect(value, &element.ty, below(&path, index, element.name.as_deref()), tensors)?;
            }
            Ok(())
        }
        _ => Err(TensorsError::NotTensors { path, ty: ty.clone() }),
    }
}

/// The path of an element.
fn below(path: &str, index: usize, name: Option<&str>) -> String {
    let step = name.map_or_else(|| index.to_string(), str::to_owned);
    if path.is_empty() { step } else { format!("{path}.{step}") }
}

/// Writes the tensors of a value to a file, whose name says the format.
///
/// # Errors
/// [`TensorsError`].
pub fn write(path: &Path, value: &Value, ty: &Type) -> Result<()> {
    let tensors = named(value, ty)?;
    let name = name_of(path);
    let bytes = match path.extension().and_then(|it| it.to_str()) {
        #[cfg(feature = "safetensors")]
        Some("safetensors") => safetensors(&name, &tensors)?,
        #[cfg(feature = "numpy")]
        Some("npz") => npz(&name, &tensors)?,
        _ => return Err(TensorsError::Format { name }),
    };
    Ok(write_bytes(path, &bytes)?)
}

#[cfg(feature = "safetensors")]
fn safetensors(name: &str, tensors: &[(String, Array)]) -> Result<Vec<u8>> {
    use safetensors::tensor::{Dtype, TensorView};
    let mut views = Vec::with_capacity(tensors.len());
    for (path, array) in tensors {
        // The format has a list of types of its own.
        let dtype = match array.dtype() {
            DType::Bool => Dtype::BOOL,
            DType::Int8 => Dtype::I8,
            DType::Int16 => Dtype::I16,
            DType::Int32 => Dtype::I32,
            DType::Int64 => Dtype::I64,
            DType::UInt8 => Dtype::U8,
            DType::UInt16 => Dtype::U16,
            DType::UInt32 => Dtype::U32,
            DType::UInt64 => Dtype::U64,
            DType::Float16 => Dtype::F16,
            DType::BFloat16 => Dtype::BF16,
            DType::Float32 => Dtype::F32,
            DType::Float64 => Dtype::F64,
            DType::Complex64 | DType::Complex128 | DType::String => {
                let (name, path) = (name.to_owned(), path.clone());
                return Err(TensorsError::Elements { name, path, dtype: array.dtype() });
            }
        };
        let dims = array.dims().iter().map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX)).collect();
        let bytes = array.as_dense().map(|bytes| &bytes[..]).unwrap_or_default();
        views.push((path.as_str(), TensorView::new(dtype, dims, bytes).map_err(|error| other(name, &error))?));
    }
    safetensors::serialize(views, None).map_err(|error| other(name, &error))
}

#[cfg(feature = "numpy")]
fn npz(name: &str, tensors: &[(String, Array)]) -> Result<Vec<u8>> {
    use std::io::{Cursor, Write};
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // No time: what is written twice is the same.
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default());
    for (path, array) in tensors {
        let options = options.large_file(array.as_dense().is_some_and(|bytes| bytes.len() >= 1 << 31));
        archive.start_file(format!("{path}.npy"), options).map_err(|error| other(name, &error))?;
        archive.write_all(&crate::npy::write(array)).map_err(|error| FileProblem::Io(error).of(name))?;
    }
    Ok(archive.finish().map_err(|error| other(name, &error))?.into_inner())
}

fn other(name: &str, error: &dyn std::fmt::Display) -> TensorsError {
    FileProblem::Io(std::io::Error::other(error.to_string())).of(name).into()
}

/// Reads a value of this type from a file, whose name says the format: each tensor by its path in the type.
///
/// # Errors
/// [`TensorsError`], also where a tensor is missing, or is of another type.
pub fn read(path: &Path, ty: &Type) -> Result<Value> {
    let name = name_of(path);
    let io = |error| TensorsError::from(FileProblem::Io(error).of(name.clone()));
    let tensors = match path.extension().and_then(|it| it.to_str()) {
        #[cfg(feature = "safetensors")]
        Some("safetensors") => {
            let bytes = bytes::Bytes::from(std::fs::read(path).map_err(io)?);
            read_safetensors(&name, &bytes)?
        }
        #[cfg(feature = "numpy")]
        Some("npz") => read_npz(&name, std::fs::File::open(path).map_err(io)?)?,
        _ => return Err(TensorsError::Format { name }),
    };
    assemble(&name, &tensors, ty, String::new())
}

type Named = std::collections::BTreeMap<String, Array>;

#[cfg(feature = "safetensors")]
fn read_safetensors(name: &str, bytes: &bytes::Bytes) -> Result<Named> {
    use safetensors::tensor::{Dtype, SafeTensors};
    let file = SafeTensors::deserialize(bytes).map_err(|error| other(name, &error))?;
    let mut tensors = Named::new();
    for (path, view) in file.iter() {
        // The same list, the other way round.
        let dtype = match view.dtype() {
            Dtype::BOOL => DType::Bool,
            Dtype::I8 => DType::Int8,
            Dtype::I16 => DType::Int16,
            Dtype::I32 => DType::Int32,
            Dtype::I64 => DType::Int64,
            Dtype::U8 => DType::UInt8,
            Dtype::U16 => DType::UInt16,
            Dtype::U32 => DType::UInt32,
            Dtype::U64 => DType::UInt64,
            Dtype::F16 => DType::Float16,
            Dtype::BF16 => DType::BFloat16,
            Dtype::F32 => DType::Float32,
            Dtype::F64 => DType::Float64,
            // Tensors have no such elements; it may lie beside those that are needed.
            _ => continue,
        };
        let dims: Vec<u64> = view.shape().iter().map(|&dim| dim as u64).collect();
        let array = Array::dense(dtype, dims, bytes.slice_ref(view.data())).map_err(|error| other(name, &error))?;
        tensors.insert(path.to_owned(), array);
    }
    Ok(tensors)
}

#[cfg(feature = "numpy")]
fn read_npz(name: &str, file: std::fs::File) -> Result<Named> {
    const MAX_ARRAY: usize = 16 << 30;
    let fail = |error: &dyn std::fmt::Display| other(name, error);
    let mut archive = zip::ZipArchive::new(std::io::BufReader::new(file)).map_err(|it| fail(&it))?;
    let mut tensors = Named::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|it| fail(&it))?;
        let Some(path) = entry.name().strip_suffix(".npy").map(str::to_owned) else { continue };
        let array = crate::npy::read(&mut entry, MAX_ARRAY).map_err(|it| fail(&format!("array {path}: {it}")))?;
        tensors.insert(path, array);
    }
    Ok(tensors)
}

fn assemble(name: &str, tensors: &Named, ty: &Type, path: String) -> Result<Value> {
    match ty.kind() {
        TypeKind::Tensor(tensor) => {
            let path = if path.is_empty() { "value".to_owned() } else { path };
            let place = format!("{name}: {path}");
            let unexpected = |found: String| FileProblem::unexpected(ty.to_string(), found).of(&place);
            let array = tensors.get(&path).ok_or_else(|| unexpected("no such tensor".to_owned()))?;
            if array.dtype() != tensor.dtype || !tensor.shape.admits(array.dims()) {
                return Err(unexpected(array.ty().to_string()).into());
            }
            Ok(Value::array(array.clone()))
        }
        TypeKind::Struct(structure) => {
            let mut elements = Vec::with_capacity(structure.len());
            for (index, element) in structure.elements().iter().enumerate() {
                elements.push(assemble(name, tensors, &element.ty, below(&path, index, element.name.as_deref()))?);
            }
            Ok(Value::structure(elements))
        }
        TypeKind::Federated(federated) if path.is_empty() && is_at_server(federated) => {
            Ok(Value::at_server(assemble(name, tensors, &federated.member, path)?))
        }
        _ => Err(TensorsError::NotTensors { path, ty: ty.clone() }),
    }
}

fn is_at_server(ty: &FederatedType) -> bool {
    ty.placement == PlacementSpec::Value(Placement::Server)
}

#[cfg(all(feature = "safetensors", feature = "numpy"))]
#[cfg(test)]
mod tests {
    use super::*;
    use tff_ir::Scalar;

    fn model() -> (Value, Type) {
        let ty = "<w=<float32[2],<b=bfloat16>>,n=int64,empty=<>>@SERVER".parse().unwrap();
        let w = Array::from_scalars(DType::Float32, vec![2], &[1.5, -2.0].map(Scalar::Float32)).unwrap();
        let b = Value::scalar(Scalar::BFloat16(half::bf16::from_f32(0.5)));
        let w = Value::structure([Value::array(w), Value::structure([b])]);
        let value = Value::structure([w, Value::scalar(Scalar::Int64(7)), Value::structure([])]);
        (Value::at_server(value), ty)
    }

    #[test]
    fn values_are_written_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (value, ty) = model();
        for name in ["model.safetensors", "model.npz"] {
            let path = folder.path().join(name);
            // NumPy has no bfloat16.
            let read_ty: Type = if name.ends_with("npz") {
                ty.to_string().replace("bfloat16", "float32").parse().unwrap()
            } else {
                ty.clone()
            };
            write(&path, &value, &ty).unwrap();
            let first = std::fs::read(&path).unwrap();
            let read = read(&path, &read_ty).unwrap();
            let names: Vec<String> = named(&read, &read_ty).unwrap().into_iter().map(|it| it.0).collect();
            assert_eq!(names, ["w.0", "w.1.b", "n"]);
            write(&path, &read, &read_ty).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), first, "{name}");
        }
    }

    #[test]
    fn parts_are_found_by_their_path() {
        let (value, ty) = model();
        let check =
            |path: &str| part(&value, &ty, path).map(|it| it.1.to_string()).unwrap_or_else(|error| error.to_string());
        insta::assert_snapshot!(check("w.1"), @"<b=bfloat16>");
        insta::assert_snapshot!(check(""), @"<w=<float32[2],<b=bfloat16>>,n=int64,empty=<>>");
        insta::assert_snapshot!(check("w.x"), @"expected a part of <w=<float32[2],<b=bfloat16>>,n=int64,empty=<>>@SERVER, found `w.x`");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (value, ty) = model();
        let path = folder.path().join("m.safetensors");
        write(&path, &value, &ty).unwrap();
        let error = |ty: &str| {
            read(&path, &ty.parse().unwrap()).unwrap_err().to_string().replace(&path.display().to_string(), "m")
        };
        insta::assert_snapshot!(error("<n=int32>"), @"m: n: expected int32, found int64");
        insta::assert_snapshot!(error("<m=int32>"), @"m: m: expected int32, found no such tensor");
        insta::assert_snapshot!(error("<n=int32*>"), @"n: expected tensors and structs of them, found int32*");
        std::fs::write(&path, b"\x08\0\0\0\0\0\0\0{\"a\":{}}").unwrap();
        assert!(error("<n=int64>").starts_with("m: "));
    }
}
