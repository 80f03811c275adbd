//! Operators on values of a module, applied to each tensor: with the rules of graphs, and with
//! their results.

use super::builder::{ModuleBuilder, Tensor};
use super::value::Value;
use crate::elementwise::{BinaryOp, Fill, broadcast_shape};
use tff_types::{DType, Type, TypeKind};

/// Applies an operator as [`GraphBuilder::binary`](crate::graph::GraphBuilder::binary) does; `None`
/// where that is an error, and for operators that no module is needed for.
pub(super) fn binary(module: &mut ModuleBuilder, op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    let (elements, others) = match (left, right) {
        (Value::Tensor(left), Value::Tensor(right)) => return of_tensors(module, op, left, right).map(Value::Tensor),
        (Value::Tensor(_), Value::Struct(_)) => return None,
        (Value::Struct(elements), Value::Tensor(_)) => (elements, None),
        (Value::Struct(elements), Value::Struct(others)) => (elements, Some(others)),
    };
    let names = |elements: &'_ [_]| elements.iter().map(|(name, _)| name).cloned().collect::<Vec<_>>();
    if others.is_some_and(|others| names(elements) != names(others)) {
        return None;
    }
    let results = elements.iter().enumerate().map(|(index, (name, left))| {
        let right = others.map_or(Some(right), |others| others.get(index).map(|(_, right)| right))?;
        Some((name.clone(), binary(module, op, left, right)?))
    });
    results.collect::<Option<_>>().map(Value::Struct)
}

/// Makes a value of type `ty` fit for an operator whose other operand is of type `target`, as
/// [`GraphBuilder::upcast`](crate::graph::GraphBuilder::upcast) does; `None` where that is an error,
/// or XLA would convert to other numbers.
pub(super) fn upcast(module: &mut ModuleBuilder, value: &Value, ty: &Type, target: &Type) -> Option<Value> {
    if target.is_assignable_from(ty) {
        return Some(value.clone());
    }
    match (value, target.kind()) {
        (Value::Tensor(tensor), TypeKind::Tensor(target)) => {
            // Scalars stay: operators broadcast them by themselves.
            let is_scalar = tensor.ty.shape.is_scalar();
            let tensor = if is_scalar { tensor.clone() } else { module.broadcast(tensor, &target.shape)? };
            convert(module, &tensor, target.dtype).map(Value::Tensor)
        }
        (Value::Tensor(_), TypeKind::Struct(structure)) => {
            let elements = structure.elements().iter();
            let elements = elements.map(|it| Some((it.name.clone(), upcast(module, value, ty, &it.ty)?)));
            elements.collect::<Option<_>>().map(Value::Struct)
        }
        _ => None,
    }
}

/// The elements as those of another dtype; `None` where a graph would give others. TensorFlow leaves
/// it to the processor which integer a float becomes, and drops imaginary parts; XLA takes a factor
/// that was a truth value for a condition.
fn convert(module: &mut ModuleBuilder, tensor: &Tensor, dtype: DType) -> Option<Tensor> {
    let from = tensor.ty.dtype;
    if from == dtype {
        return Some(tensor.clone());
    }
    let is_same =
        from.is_integer() || from.is_floating() && !dtype.is_integer() || from.is_complex() && dtype.is_complex();
    if !is_same || dtype == DType::Bool {
        return None;
    }
    // TensorFlow rounds to 16 bits after it has rounded to 32.
    let is_half = matches!(dtype, DType::Float16 | DType::BFloat16);
    let tensor = if is_half { module.convert(tensor, DType::Float32) } else { tensor.clone() };
    Some(module.convert(&tensor, dtype))
}

fn of_tensors(module: &mut ModuleBuilder, op: BinaryOp, left: &Tensor, right: &Tensor) -> Option<Tensor> {
    if left.ty.dtype != right.ty.dtype {
        return None;
    }
    let shape = broadcast_shape(&left.ty.shape, &right.ty.shape)?;
    let dtype = op.operand(left.ty.dtype)?;
    let mut operand = |tensor: &Tensor| {
        let converted = module.convert(tensor, dtype);
        module.broadcast(&converted, &shape)
    };
    let (left, right) = (&operand(left)?, &operand(right)?);
    let name = match op {
        BinaryOp::Add => "add",
        BinaryOp::Subtract => "subtract",
        BinaryOp::Multiply => "multiply",
        BinaryOp::Divide => "divide",
        BinaryOp::Minimum => return Some(extreme(module, "minimum", left, right)),
        BinaryOp::Maximum => return Some(extreme(module, "maximum", left, right)),
        BinaryOp::FloorMod => return floor_mod(module, left, right),
        // Only sums that can fail need them.
        BinaryOp::LeftShift | BinaryOp::LessEqual => return None,
    };
    Some(module.binary(name, left, right))
}

/// NaN where either is, which a runtime of XLA may see otherwise.
fn extreme(module: &mut ModuleBuilder, name: &str, left: &Tensor, right: &Tensor) -> Tensor {
    let mut result = module.binary(name, left, right);
    if left.ty.dtype.is_floating() {
        for operand in [left, right] {
            let is_nan = module.compare("NE", operand, operand);
            result = module.select(&is_nan, operand, &result);
        }
    }
    result
}

/// XLA's remainder has the sign of the dividend. Modulo zero, which is an error of a graph of
/// integers, an integer stays as it is.
fn floor_mod(module: &mut ModuleBuilder, left: &Tensor, right: &Tensor) -> Option<Tensor> {
    let zero = module.fill(&Fill::Zero.scalar(left.ty.dtype)?, &left.ty.shape)?;
    let remainder = module.binary("remainder", left, right);
    let is_negative = module.compare("LT", &remainder, &zero);
    let should_be = module.compare("LT", right, &zero);
    let differs = module.compare("NE", &is_negative, &should_be);
    let is_some = module.compare("NE", &remainder, &zero);
    let is_wrong = module.binary("and", &differs, &is_some);
    let other = module.binary("add", &remainder, right);
    Some(module.select(&is_wrong, &other, &remainder))
}
