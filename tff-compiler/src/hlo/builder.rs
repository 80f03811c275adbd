//! The builder of one module: its parameters, its instructions, and the message it becomes.

use super::shape::{array, literal, scalar_ty};
use prost::Message;
use tff_ir::Scalar;
use tff_proto::xla::{HloComputationProto, HloInstructionProto, HloModuleProto, ProgramShapeProto, ShapeProto};
use tff_types::{DType, Shape, TensorType};

/// What the one computation of a module is called.
const ENTRY: &str = "main";

/// The id of that computation, and of the module.
const ID: i64 = 1;

/// An array within a module, the result of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    id: i64,
    pub(super) ty: TensorType,
}

/// Makes a module of one computation. The caller makes sure that operands go together.
#[derive(Debug, Default)]
pub(super) struct ModuleBuilder {
    instructions: Vec<HloInstructionProto>,
    parameters: Vec<ShapeProto>,
}

impl ModuleBuilder {
    /// The next parameter.
    pub(super) fn parameter(&mut self, ty: &TensorType) -> Tensor {
        let parameter_number = i64::try_from(self.parameters.len()).unwrap_or(i64::MAX);
        self.parameters.push(array(ty));
        self.push(ty.clone(), HloInstructionProto { parameter_number, ..operation("parameter", &[]) })
    }

    /// A constant of this shape whose every element is the scalar; `None` for a string.
    pub(super) fn fill(&mut self, scalar: &Scalar, shape: &Shape) -> Option<Tensor> {
        let constant = HloInstructionProto { literal: Some(literal(scalar)?), ..operation("constant", &[]) };
        let constant = self.push(scalar_ty(scalar.dtype()), constant);
        self.broadcast(&constant, shape)
    }

    /// The tensor repeated to this shape, as numpy repeats; `None` where that cannot be.
    pub(super) fn broadcast(&mut self, tensor: &Tensor, shape: &Shape) -> Option<Tensor> {
        if tensor.ty.shape == *shape {
            return Some(tensor.clone());
        }
        let (from, to) = (tensor.ty.shape.dims()?, shape.dims()?);
        let offset = to.len().checked_sub(from.len())?;
        let (mut kept, mut dimensions) = (Vec::new(), Vec::new());
        for ((position, to), from) in to.iter().enumerate().skip(offset).zip(from) {
            if from == to {
                kept.push(*from);
                dimensions.push(i64::try_from(position).ok()?);
            } else if *from != Some(1) {
                return None;
            }
        }
        // XLA repeats along new dimensions only, so those of size 1 go first.
        let tensor = self.reshape(tensor, Shape::new(kept));
        let ty = TensorType { dtype: tensor.ty.dtype, shape: shape.clone() };
        Some(self.push(ty, HloInstructionProto { dimensions, ..operation("broadcast", &[&tensor]) }))
    }

    fn reshape(&mut self, tensor: &Tensor, shape: Shape) -> Tensor {
        if tensor.ty.shape == shape {
            return tensor.clone();
        }
        self.push(TensorType { dtype: tensor.ty.dtype, shape }, operation("reshape", &[tensor]))
    }

    /// The elements converted to another dtype.
    pub(super) fn convert(&mut self, tensor: &Tensor, dtype: DType) -> Tensor {
        if tensor.ty.dtype == dtype {
            return tensor.clone();
        }
        self.push(TensorType { dtype, shape: tensor.ty.shape.clone() }, operation("convert", &[tensor]))
    }

    /// An instruction on the elements of two tensors of one type, which gives a third one.
    pub(super) fn binary(&mut self, name: &str, left: &Tensor, right: &Tensor) -> Tensor {
        self.push(left.ty.clone(), operation(name, &[left, right]))
    }

    /// Where the comparison, `NE` or `LT`, holds of the elements of two tensors of one type.
    pub(super) fn compare(&mut self, direction: &str, left: &Tensor, right: &Tensor) -> Tensor {
        let comparison_direction = direction.to_owned();
        let ty = TensorType { dtype: DType::Bool, shape: left.ty.shape.clone() };
        self.push(ty, HloInstructionProto { comparison_direction, ..operation("compare", &[left, right]) })
    }

    /// The elements of one tensor where the condition holds, of the other one where not.
    pub(super) fn select(&mut self, condition: &Tensor, holds: &Tensor, other: &Tensor) -> Tensor {
        self.push(other.ty.clone(), operation("select", &[condition, holds, other]))
    }

    fn push(&mut self, ty: TensorType, instruction: HloInstructionProto) -> Tensor {
        let id = self.add(array(&ty), instruction);
        Tensor { id, ty }
    }

    fn add(&mut self, shape: ShapeProto, instruction: HloInstructionProto) -> i64 {
        let id = i64::try_from(self.instructions.len()).unwrap_or(i64::MAX).saturating_add(1);
        let name = format!("{}.{id}", instruction.opcode);
        self.instructions.push(HloInstructionProto { name, shape: Some(shape), id, ..instruction });
        id
    }

    /// The module that gives these tensors.
    pub(super) fn finish(mut self, results: &[Tensor]) -> HloModuleProto {
        let result = ShapeProto::tuple(results.iter().map(|tensor| array(&tensor.ty)).collect());
        let root_id = self.add(result.clone(), operation("tuple", &results.iter().collect::<Vec<_>>()));
        let program_shape = ProgramShapeProto::new(self.parameters, result);
        let computation = HloComputationProto {
            name: ENTRY.to_owned(),
            instructions: self.instructions,
            program_shape: Some(program_shape.clone()),
            id: ID,
            root_id,
        };
        HloModuleProto {
            name: ENTRY.to_owned(),
            entry_computation_name: ENTRY.to_owned(),
            entry_computation_id: ID,
            computations: vec![computation.encode_to_vec().into()],
            host_program_shape: Some(program_shape),
            id: ID,
        }
    }
}

fn operation(name: &str, operands: &[&Tensor]) -> HloInstructionProto {
    HloInstructionProto::operation(name, operands.iter().map(|tensor| tensor.id).collect())
}
