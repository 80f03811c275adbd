//! Values to JSON.

use super::{BASE64, Members, WriteError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tff_exec::Value;
use tff_ir::{Array, Scalar, Wide};
use tff_types::{Element, Type, TypeKind};

type Result<T> = std::result::Result<T, WriteError>;

/// Writes a value of type `ty`; the conventions are those of the module. `members` gets at what is
/// inside of sequences and federated values.
///
/// # Errors
/// [`WriteError`].
pub fn write(value: &Value, ty: &Type, members: &Members<'_>) -> Result<String> {
    let mut writer = Writer { out: String::new(), members };
    writer.value(value, ty)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    members: &'a Members<'a>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<()> {
        match (value, ty.kind()) {
            (Value::Tensor(tensor), TypeKind::Tensor(_)) => self.array(tensor.array()),
            (Value::Struct(values), TypeKind::Struct(structure)) if values.len() == structure.len() => {
                self.structure(values, structure.elements())
            }
            (Value::Sequence(sequence), TypeKind::Sequence(ty)) => {
                let elements = self.members.elements(sequence)?;
                self.items(elements.iter(), &ty.element)
            }
            (Value::Server(member), TypeKind::Federated(ty)) => self.value(member, &ty.member),
            (Value::Clients(clients), TypeKind::Federated(ty)) if ty.all_equal => {
                self.value(self.members.common(clients)?, &ty.member)
            }
            (Value::Clients(clients), TypeKind::Federated(ty)) => {
                let members = self.members.each(clients)?;
                self.items(members.into_iter(), &ty.member)
            }
            (Value::Placement(placement), TypeKind::Placement(_)) => {
                self.out.push_str(&quoted(placement.uri()));
                Ok(())
            }
            (Value::Function(_), _) => Err(WriteError::Function(ty.clone())),
            _ => Err(WriteError::Mismatch { expected: ty.clone(), found: value.describe() }),
        }
    }

    fn structure(&mut self, values: &[Value], elements: &[Element]) -> Result<()> {
        let is_named = !elements.is_empty() && elements.iter().all(|element| element.name.is_some());
        self.out.push(if is_named { '{' } else { '[' });
        for (index, (value, element)) in values.iter().zip(elements).enumerate() {
            self.comma(index);
            if let Some(name) = element.name.as_deref().filter(|_| is_named) {
                self.out.push_str(&quoted(name));
                self.out.push(':');
            }
            self.value(value, &element.ty)?;
        }
        self.out.push(if is_named { '}' } else { ']' });
        Ok(())
    }

    fn items<'v>(&mut self, items: impl Iterator<Item = &'v Value>, ty: &Type) -> Result<()> {
        self.out.push('[');
        for (index, item) in items.enumerate() {
            self.comma(index);
            self.value(item, ty)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn array(&mut self, array: &Array) -> Result<()> {
        // The empty arrays that stand above a dimension of 0.
        let outer = array.dims().iter().take_while(|&&dim| dim > 0).fold(1u64, |all, dim| all.saturating_mul(*dim));
        if array.is_empty() && outer > MAX_EMPTY {
            return Err(WriteError::TooManyArrays(array.ty()));
        }
        if array.dims().len() > MAX_RANK {
            return Err(WriteError::TooDeep { rank: array.dims().len() });
        }
        self.nested(array.dims(), &mut array.scalars());
        Ok(())
    }

    fn nested(&mut self, dims: &[u64], scalars: &mut impl Iterator<Item = Scalar>) {
        let Some((&dim, rest)) = dims.split_first() else {
            if let Some(element) = scalars.next() {
                self.out.push_str(&scalar(&element));
            }
            return;
        };
        self.out.push('[');
        for index in 0..dim {
            if index > 0 {
                self.out.push(',');
            }
            self.nested(rest, scalars);
        }
        self.out.push(']');
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }
}

/// The most empty arrays that are written for one tensor: a shape such as `[2^60,0]` is valid.
const MAX_EMPTY: u64 = 1 << 20;

/// The most dimensions of a tensor, which JSON readers follow: they limit nesting to 128 levels.
const MAX_RANK: usize = 100;

/// Writes one element of a tensor.
#[must_use]
pub fn scalar(scalar: &Scalar) -> String {
    match scalar.wide() {
        Wide::Bool(value) => value.to_string(),
        Wide::Integer(value) => value.to_string(),
        Wide::Float32(value) => float32(value),
        Wide::Float64(value) => float64(value),
        Wide::Complex64(re, im) => format!("[{},{}]", float32(re), float32(im)),
        Wide::Complex128(re, im) => format!("[{},{}]", float64(re), float64(im)),
        Wide::String(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => quoted(text),
            Err(_) => format!("{{\"{BASE64}\":\"{}\"}}", STANDARD.encode(bytes)),
        },
    }
}

/// The fewest digits that read back as the same number.
fn float32(value: f32) -> String {
    if value.is_finite() { format!("{value:?}") } else { float64(value.into()) }
}

fn float64(value: f64) -> String {
    if value.is_nan() {
        "\"nan\"".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "\"inf\"" } else { "\"-inf\"" }.to_owned()
    } else {
        format!("{value:?}")
    }
}

fn quoted(text: &str) -> String {
    // The display of a JSON string is JSON.
    serde_json::Value::String(text.to_owned()).to_string()
}
