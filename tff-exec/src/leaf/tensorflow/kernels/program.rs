//! A program: steps that each make one tensor from earlier ones.

use super::super::status::LEAF;
use super::arithmetic::Binary;
use super::convert::{broadcast, cast};
use crate::{ExecError, Tensor};
use bytes::Bytes;
use std::collections::TryReserveError;
use tff_ir::Array;
use tff_types::DType;

/// Steps without branches. Tensors lie in registers, the arguments in the first ones.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) n_registers: usize,
    /// Whether the types of the arguments leave open what shapes meet in a step.
    pub(super) has_unknown_shapes: bool,
    pub(super) constants: Vec<(usize, Tensor)>,
    pub(super) steps: Vec<Step>,
    pub(super) results: Vec<Operand>,
}

/// What a step takes: the content of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) register: usize,
    /// Nothing takes it later, so that the step may have it for itself.
    pub(super) is_last: bool,
}

#[derive(Debug)]
pub(super) struct Step {
    /// Where the result goes.
    pub(super) register: usize,
    pub(super) op: Op,
}

#[derive(Debug)]
pub(super) enum Op {
    Binary(Binary, [Operand; 2]),
    Cast(DType, Operand),
    /// To these dimensions.
    Broadcast(Box<[u64]>, Operand),
}

impl Op {
    pub(super) fn operands_mut(&mut self) -> &mut [Operand] {
        match self {
            Self::Binary(_, operands) => operands,
            Self::Cast(_, operand) | Self::Broadcast(_, operand) => std::slice::from_mut(operand),
        }
    }
}

impl Program {
    /// Whether the shapes of these arguments are such that every step knows what to do: operands
    /// of the same shape, or one of them a scalar.
    pub(super) fn fits(&self, arguments: &[Tensor]) -> bool {
        if !self.has_unknown_shapes {
            return true;
        }
        let mut shapes: Vec<&[u64]> = vec![&[]; self.n_registers];
        let known = arguments.iter().enumerate().chain(self.constants.iter().map(|(register, it)| (*register, it)));
        for (register, tensor) in known {
            if let Some(shape) = shapes.get_mut(register) {
                *shape = tensor.array().dims();
            }
        }
        self.steps.iter().all(|step| {
            let of = |operand: &Operand| shapes.get(operand.register).copied().unwrap_or_default();
            let shape = match &step.op {
                Op::Binary(_, [left, right]) => match (of(left), of(right)) {
                    ([], shape) | (shape, []) => Some(shape),
                    (left, right) => (left == right).then_some(left),
                },
                Op::Cast(_, operand) => Some(of(operand)),
                Op::Broadcast(dims, operand) => can_broadcast(of(operand), dims).then_some(&**dims),
            };
            match (shape, shapes.get_mut(step.register)) {
                (Some(shape), Some(slot)) => *slot = shape,
                _ => return false,
            }
            true
        })
    }

    /// Runs the steps. Results and arguments that nobody else holds make room for one another.
    ///
    /// # Errors
    /// [`ExecError::Run`] if memory runs out.
    pub(super) fn run(&self, arguments: Vec<Tensor>) -> Result<Vec<Option<Tensor>>, ExecError> {
        let mut registers: Vec<Option<Tensor>> = arguments.into_iter().map(Some).collect();
        registers.resize_with(self.n_registers, || None);
        for (register, tensor) in &self.constants {
            if let Some(slot) = registers.get_mut(*register) {
                *slot = Some(tensor.clone());
            }
        }
        let take = |registers: &mut Vec<Option<Tensor>>, operand: &Operand| {
            let register = registers.get_mut(operand.register)?;
            if operand.is_last { register.take() } else { register.clone() }
        };
        let missing = || ExecError::Internal("a register is empty");
        for step in &self.steps {
            let mut operand = |operand: &Operand| take(&mut registers, operand).ok_or_else(missing);
            let tensor = match &step.op {
                Op::Binary(op, [left, right]) => binary(*op, operand(left)?, operand(right)?)?,
                Op::Cast(dtype, source) => cast_to(*dtype, &operand(source)?)?,
                Op::Broadcast(dims, source) => broadcast_to(dims, &operand(source)?)?,
            };
            if let Some(register) = registers.get_mut(step.register) {
                *register = Some(tensor);
            }
        }
        Ok(self.results.iter().map(|result| take(&mut registers, result)).collect())
    }
}

/// Whether numpy broadcasts the one shape to the other.
pub(super) fn can_broadcast(from: &[u64], to: &[u64]) -> bool {
    let mut pairs = from.iter().rev().zip(to.iter().rev());
    from.len() <= to.len() && pairs.all(|(from, to)| *from == 1 || from == to)
}

fn binary(op: Binary, mut left: Tensor, mut right: Tensor) -> Result<Tensor, ExecError> {
    let dtype = left.array().dtype();
    // Into the operand that has the shape of the result, if nobody else holds it.
    let is_left = right.array().dims().is_empty() || !left.array().dims().is_empty();
    let is_right = left.array().dims().is_empty() || !right.array().dims().is_empty();
    if is_left && left.write_if_unique(|bytes| op.update_left(dtype, bytes, dense(&right))) {
        return Ok(left);
    }
    if is_right && right.write_if_unique(|bytes| op.update_right(dtype, dense(&left), bytes)) {
        return Ok(right);
    }
    let dims = if is_left { left.array().dims() } else { right.array().dims() };
    tensor(dtype, dims, op.compute(dtype, dense(&left), dense(&right)))
}

fn cast_to(dtype: DType, source: &Tensor) -> Result<Tensor, ExecError> {
    let array = source.array();
    tensor(dtype, array.dims(), cast(array.dtype(), dtype, dense(source)))
}

fn broadcast_to(dims: &[u64], source: &Tensor) -> Result<Tensor, ExecError> {
    let array = source.array();
    let missing = dims.len().saturating_sub(array.dims().len());
    let from: Vec<u64> = std::iter::repeat_n(1, missing).chain(array.dims().iter().copied()).collect();
    let to: Vec<usize> = dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX)).collect();
    let size = array.dtype().size().unwrap_or(1);
    tensor(array.dtype(), dims, Some(broadcast(dense(source), size, &from, &to)))
}

fn dense(tensor: &Tensor) -> &[u8] {
    tensor.array().as_dense().map_or(&[], |bytes| bytes)
}

fn tensor(dtype: DType, dims: &[u64], bytes: Option<Result<Vec<u8>, TryReserveError>>) -> Result<Tensor, ExecError> {
    let bytes = bytes.ok_or(ExecError::Internal("an op that takes no such elements"))?;
    let bytes = bytes.map_err(|error| LEAF.failed(error.into()))?;
    Ok(Tensor::new(Array::dense(dtype, dims, Bytes::from(bytes))?))
}
