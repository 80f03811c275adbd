//! JSON to values.

use super::BASE64;
use crate::files::{line, quoted};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value as Json;
use std::fmt;
use tff_exec::{Sequence, Value};
use tff_ir::{Array, Scalar};
use tff_types::{DType, Path, Placement, PlacementSpec, Step, StructType, TensorType, Type, TypeKind};

/// Some part of a JSON text is not of the type that is needed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonMismatch {
    /// The path to the part.
    pub path: Path,
    /// What is needed there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for JsonMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, found } = self;
        if !path.steps().is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "expected {}, found {}", line(expected), line(found))
    }
}

impl std::error::Error for JsonMismatch {}

/// Reads a value of type `ty`; the conventions are those of the module.
///
/// # Errors
/// [`JsonMismatch`], for the first part that is not of its type.
pub fn read(json: &Json, ty: &Type) -> Result<Value, JsonMismatch> {
    Reader { path: Path::root() }.value(json, ty)
}

struct Reader {
    path: Path,
}

impl Reader {
    fn mismatch(&self, expected: impl ToString, found: impl ToString) -> JsonMismatch {
        JsonMismatch { path: self.path.clone(), expected: expected.to_string(), found: found.to_string() }
    }

    /// Reads a part that is reached by this step.
    fn below<T>(
        &mut self,
        step: Step,
        read: impl FnOnce(&mut Self) -> Result<T, JsonMismatch>,
    ) -> Result<T, JsonMismatch> {
        self.path.push(step);
        let part = read(self)?;
        self.path.pop();
        Ok(part)
    }

    fn value(&mut self, json: &Json, ty: &Type) -> Result<Value, JsonMismatch> {
        match ty.kind() {
            TypeKind::Tensor(tensor) => self.tensor(json, ty, tensor),
            TypeKind::Struct(structure) => self.structure(json, ty, structure),
            TypeKind::Sequence(sequence) => {
                let elements = self.items(json, ty, "array of elements", &sequence.element)?;
                Ok(Value::Sequence(Sequence::from_elements(sequence.element.clone(), elements)))
            }
            TypeKind::Federated(federated) => match (&federated.placement, federated.all_equal) {
                (PlacementSpec::Value(Placement::Clients), false) => {
                    self.items(json, ty, "array with one item a client", &federated.member).map(Value::at_clients)
                }
                (PlacementSpec::Value(Placement::Clients), true) => {
                    self.value(json, &federated.member).map(Value::at_clients_all_equal)
                }
                (PlacementSpec::Value(Placement::Server), _) => {
                    self.value(json, &federated.member).map(Value::at_server)
                }
                (PlacementSpec::Label(_), _) => Err(self.mismatch("a value that JSON can express", ty)),
            },
            TypeKind::Placement(_) => {
                let placement = json.as_str().and_then(|uri| uri.parse().ok()).map(Value::Placement);
                placement.ok_or_else(|| self.mismatch("\"clients\" or \"server\"", describe(json)))
            }
            TypeKind::Function(_) | TypeKind::Abstract(_) => {
                Err(self.mismatch("a parameter that JSON can express", format_args!("one of type {ty}")))
            }
        }
    }

    fn items(&mut self, json: &Json, ty: &Type, what: &str, item: &Type) -> Result<Vec<Value>, JsonMismatch> {
        let items = json.as_array().ok_or_else(|| self.mismatch(format_args!("{ty}, an {what}"), describe(json)))?;
        let read = |(index, json)| self.below(Step::Index(index), |this| this.value(json, item));
        items.iter().enumerate().map(read).collect()
    }

    fn structure(&mut self, json: &Json, ty: &Type, structure: &StructType) -> Result<Value, JsonMismatch> {
        let is_named = structure.elements().iter().all(|element| element.name.is_some());
        let members = match json {
            Json::Array(items) if items.len() == structure.len() => items.iter().collect(),
            Json::Array(items) => {
                let expected = format!("{ty}, {} members", structure.len());
                return Err(self.mismatch(expected, items.len()));
            }
            Json::Object(members) if is_named => self.members_by_name(members, ty, structure)?,
            other => {
                let expected = format!("{ty}, an {}", if is_named { "object" } else { "array" });
                return Err(self.mismatch(expected, describe(other)));
            }
        };
        let read = |(index, (element, json)): (usize, (&tff_types::Element, &Json))| {
            self.below(Step::Element(index, element.name.clone()), |this| this.value(json, &element.ty))
        };
        let members: Result<Vec<_>, _> = structure.elements().iter().zip(members).enumerate().map(read).collect();
        Ok(Value::structure(members?))
    }

    /// The members in the order of the type: every one that it names, and no other.
    fn members_by_name<'a>(
        &self,
        members: &'a serde_json::Map<String, Json>,
        ty: &Type,
        structure: &StructType,
    ) -> Result<Vec<&'a Json>, JsonMismatch> {
        if let Some(unknown) = members.keys().find(|name| structure.index_of(name).is_none()) {
            return Err(self.mismatch(ty, format_args!("an unknown member `{unknown}`")));
        }
        let names = structure.elements().iter().filter_map(|element| element.name.as_deref());
        names
            .map(|name| {
                members.get(name).ok_or_else(|| self.mismatch(ty, format_args!("an object without member `{name}`")))
            })
            .collect()
    }

    fn tensor(&mut self, json: &Json, ty: &Type, tensor: &TensorType) -> Result<Value, JsonMismatch> {
        let rank = tensor.shape.rank().unwrap_or_else(|| nesting(json, tensor.dtype));
        let mut found = Nested { dims: vec![None; rank], scalars: Vec::new() };
        self.nested(json, tensor, 0, &mut found)?;
        // Below an empty array nothing shows a size: it is that of the type, or 0.
        let declared = |axis: usize| tensor.shape.dims().and_then(|dims| dims.get(axis).copied().flatten());
        let dims: Vec<u64> =
            found.dims.iter().enumerate().map(|(axis, dim)| dim.or_else(|| declared(axis)).unwrap_or(0)).collect();
        let array = Array::from_scalars(tensor.dtype, dims, &found.scalars).map_err(|it| self.mismatch(ty, it))?;
        if !tensor.shape.admits(array.dims()) {
            return Err(self.mismatch(ty, array.ty()));
        }
        Ok(Value::array(array))
    }

    /// Reads what is nested below this axis, row-major.
    fn nested(
        &mut self,
        json: &Json,
        tensor: &TensorType,
        axis: usize,
        found: &mut Nested,
    ) -> Result<(), JsonMismatch> {
        let Some(dim) = found.dims.get_mut(axis) else {
            let scalar = scalar(json, tensor.dtype).ok_or_else(|| self.mismatch(tensor.dtype, describe(json)))?;
            found.scalars.push(scalar);
            return Ok(());
        };
        let Json::Array(items) = json else {
            let rest = found.dims.len() - axis;
            let expected = format!("{}, {rest} more nested array{}", tensor.dtype, if rest == 1 { "" } else { "s" });
            return Err(self.mismatch(expected, describe(json)));
        };
        let length = items.len() as u64;
        let known = *dim.get_or_insert(length);
        if known != length {
            return Err(self.mismatch(format_args!("{known} items, as before"), length));
        }
        items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| self.below(Step::Index(index), |it| it.nested(item, tensor, axis + 1, found)))
    }
}

/// The content of nested arrays.
struct Nested {
    /// The size of each dimension, where an array showed it.
    dims: Vec<Option<u64>>,
    scalars: Vec<Scalar>,
}

/// How many dimensions the first item has.
fn nesting(json: &Json, dtype: DType) -> usize {
    let mut depth = 0usize;
    let mut item = Some(json);
    while let Some(Json::Array(items)) = item {
        depth += 1;
        item = items.first();
    }
    depth.saturating_sub(usize::from(dtype.is_complex()))
}

fn scalar(json: &Json, dtype: DType) -> Option<Scalar> {
    match dtype {
        DType::Bool => json.as_bool().map(Scalar::Bool),
        DType::String => string(json).map(Scalar::String),
        DType::Complex64 => match complex(json, DType::Float32)? {
            (Scalar::Float32(re), Scalar::Float32(im)) => Some(Scalar::Complex64(re, im)),
            _ => None,
        },
        DType::Complex128 => match complex(json, DType::Float64)? {
            (Scalar::Float64(re), Scalar::Float64(im)) => Some(Scalar::Complex128(re, im)),
            _ => None,
        },
        dtype if dtype.is_integer() => {
            let number = json.as_number()?;
            let wide = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))?;
            Scalar::of_integer(dtype, wide)
        }
        dtype => Scalar::of_float(dtype, float(json)?),
    }
}

fn float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn complex(json: &Json, part: DType) -> Option<(Scalar, Scalar)> {
    let [re, im] = json.as_array()?.as_slice() else { return None };
    Some((Scalar::of_float(part, float(re)?)?, Scalar::of_float(part, float(im)?)?))
}

fn string(json: &Json) -> Option<Bytes> {
    match json {
        Json::String(text) => Some(text.clone().into()),
        Json::Object(members) if members.len() == 1 => {
            STANDARD.decode(members.get(BASE64)?.as_str()?).ok().map(Bytes::from)
        }
        _ => None,
    }
}

/// A JSON value in a few words.
fn describe(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("an array of {}", items.len()),
        Json::Object(_) => "an object".to_owned(),
    }
}
