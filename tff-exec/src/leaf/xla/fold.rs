//! A fold over a sequence as one module: a step in a loop over elements that lie one after another in memory.
//!
//! Local training is a step for each batch. A step of a small model takes less time than a library needs to
//! begin and end a run, so that one run for all steps is several times as fast. The loop has room for a number
//! of elements, and how many there are is an argument: one module serves sequences of every length. Its body
//! calls the computation of the step as it came.

use super::binding::Slot;
use super::signature::{ArrayShape, Signature};
use crate::{ExecError, Tensor};
use prost::Message;
use tff_ir::{Array, Scalar};
use tff_proto::xla::{
    HloComputationProto, HloInstructionProto, HloModuleProto, LayoutProto, LiteralProto, PrimitiveType,
    ProgramShapeProto, ShapeProto,
};
use tff_types::DType;

/// The most elements that one run takes.
const MAX_ROOM: usize = 64;

/// The least: for fewer, a loop is not worth its copy of the elements.
const MIN_ROOM: usize = 8;

/// How many bytes the elements of one run take, unless `MIN_ROOM` of them take more.
const BYTES: usize = 1 << 19;

/// How many bytes they take at most.
const MAX_BYTES: usize = 1 << 24;

/// What happens outside of a module as well, and may not be what it was if it is in a loop.
const EFFECTS: [&str; 8] =
    ["infeed", "outfeed", "send", "send-done", "recv", "recv-done", "rng", "rng-get-and-update-state"];

/// A step, as the module of a fold needs it: `(<S,E> -> S)`.
#[derive(Debug)]
pub(super) struct Fold {
    /// The tensors of the state, which are those of the result, and of an element, each in depth-first order.
    pub(super) state: Slot,
    pub(super) element: Slot,
    pub(super) result: Slot,
    /// The arrays of an element.
    pub(super) elements: Vec<ArrayShape>,
    /// How many elements one run takes.
    pub(super) room: usize,
    /// The serialized module. It takes the tensors of the state, then for each tensor of an element an array of
    /// `room` such tensors, then how many there are; it gives the tensors of the state.
    pub(super) module: Vec<u8>,
    pub(super) signature: Signature,
}

impl Fold {
    /// The fold of the step in a module with this signature and these bindings; `None` for a module that is no
    /// step, or is better run step by step.
    pub(super) fn new(module: &[u8], signature: &Signature, parameter: &Slot, result: &Slot) -> Option<Self> {
        let Slot::Struct(pair) = parameter else { return None };
        let [(_, state), (_, element)] = pair.as_slice() else { return None };
        if signature.is_tupled || !state.has_form_of(result) {
            return None;
        }
        let (states, elements, results) = (state.positions(), element.positions(), result.positions());
        let of = |position: &usize| signature.parameters.get(*position).cloned();
        let (state_shapes, element_shapes): (Option<Vec<_>>, Option<Vec<_>>) =
            (states.iter().map(of).collect(), elements.iter().map(of).collect());
        let (state_shapes, element_shapes) = (state_shapes?, element_shapes?);
        let alike = |(shape, position): (&ArrayShape, &usize)| signature.results.get(*position) == Some(shape);
        // A product that is a result of its own is rounded before it is added to something: one that is left out
        // might not be.
        let is_complete = (0..signature.results.len()).all(|position| results.contains(&position));
        if elements.is_empty() || !is_complete || !state_shapes.iter().zip(&results).all(alike) {
            return None;
        }
        let room = room(&element_shapes)?;
        let stacks = element_shapes.iter().map(|shape| shape.stacked(room));
        let count = ArrayShape { dtype: DType::Int32, dims: Vec::new() };
        let parameters = state_shapes.iter().cloned().chain(stacks).chain([count]).collect();
        Some(Self {
            module: Writer::module(module, &states, &elements, &results, room)?,
            state: state.in_order(),
            element: element.in_order(),
            result: result.in_order(),
            elements: element_shapes,
            room,
            signature: Signature {
                place: signature.place.clone(),
                parameters,
                results: state_shapes,
                is_tupled: false,
            },
        })
    }

    /// What the module takes beside the state, for elements that there is room for.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for an element without a tensor.
    pub(super) fn inputs(&self, elements: &[Vec<Option<&Tensor>>]) -> Result<Vec<Array>, ExecError> {
        let mut inputs = Vec::with_capacity(self.elements.len() + 1);
        for (at, shape) in self.elements.iter().enumerate() {
            let stacked = shape.stacked(self.room);
            let mut bytes = Vec::with_capacity(stacked.size().unwrap_or(0));
            for element in elements {
                let tensor = element.get(at).copied().flatten();
                let tensor = tensor.and_then(|tensor| tensor.array().as_dense());
                bytes.extend_from_slice(tensor.ok_or(ExecError::Internal("an element without its tensor"))?);
            }
            bytes.resize(bytes.len() / elements.len().max(1) * self.room, 0);
            inputs.push(Array::dense(stacked.dtype, stacked.dims, bytes.into())?);
        }
        let n = i32::try_from(elements.len()).unwrap_or(i32::MAX);
        inputs.push(Array::from_scalar(Scalar::Int32(n)));
        Ok(inputs)
    }
}

/// How many elements of these arrays one run takes; `None` where they are too large to be copied.
fn room(element: &[ArrayShape]) -> Option<usize> {
    let sizes = element.iter().map(ArrayShape::size);
    let size = sizes.sum::<Option<usize>>()?.max(1);
    let room = (BYTES / size).clamp(MIN_ROOM, MAX_ROOM);
    (room.checked_mul(size)? <= MAX_BYTES).then_some(room)
}

/// Writes the computations of the loop beside those of the step.
struct Writer {
    next_id: i64,
    computations: Vec<HloComputationProto>,
}

impl Writer {
    /// The module of the fold. The positions are those of the tensors of state, element and result in the
    /// parameters and results of the step; `None` where the step must not be in a loop.
    fn module(step: &[u8], states: &[usize], elements: &[usize], results: &[usize], room: usize) -> Option<Vec<u8>> {
        let step = HloModuleProto::decode(step).ok()?;
        let shape = step.host_program_shape?;
        let mut last_id = 0;
        for computation in &step.computations {
            let computation = HloComputationProto::decode(computation.clone()).ok()?;
            if computation.instructions.iter().any(|it| EFFECTS.contains(&it.opcode.as_str())) {
                return None;
            }
            last_id = computation.instructions.iter().map(|it| it.id).chain([computation.id, last_id]).max()?;
        }
        let result = shape.result?;
        let parameters: Vec<ShapeProto> = shape.parameters.iter().map(row_major).collect();
        let of = |positions: &[usize]| positions.iter().map(|&at| parameters.get(at).cloned()).collect();
        let (state_shapes, element_shapes): (Option<Vec<_>>, Option<Vec<_>>) = (of(states), of(elements));
        let (state_shapes, element_shapes) = (state_shapes?, element_shapes?);
        let stack_shapes: Vec<ShapeProto> = element_shapes.iter().map(|shape| resized(shape, room)).collect();

        let mut writer = Self { next_id: last_id.checked_add(1)?, computations: Vec::new() };
        // What goes around: the number of the element, how many there are, the state, the elements.
        let scalar = || array(PrimitiveType::S32, Vec::new());
        let carried: Vec<ShapeProto> =
            [scalar(), scalar()].into_iter().chain(state_shapes.iter().chain(&stack_shapes).cloned()).collect();

        let mut condition = writer.computation();
        let parts = condition.parts(&carried);
        let (index, count) = (*parts.first()?, *parts.get(1)?);
        let compare =
            HloInstructionProto { comparison_direction: "LT".to_owned(), ..operation("compare", &[index, count]) };
        let root = condition.push(array(PrimitiveType::Pred, Vec::new()), compare);
        let condition = writer.finish("condition", condition, root, vec![tuple(&carried)]);

        let mut body = writer.computation();
        let parts = body.parts(&carried);
        let (index, count) = (*parts.first()?, *parts.get(1)?);
        let (before, stacks) = parts.get(2..)?.split_at_checked(states.len())?;
        let (zero, one) = (body.constant(0), body.constant(1));
        let mut arguments = vec![None; parameters.len()];
        for (id, &at) in before.iter().zip(states) {
            *arguments.get_mut(at)? = Some(*id);
        }
        for ((&stack, shape), &at) in stacks.iter().zip(&element_shapes).zip(elements) {
            let mut operands = vec![stack, index];
            operands.resize(shape.dimensions.len() + 2, zero);
            let slice = resized(shape, 1);
            let dynamic_slice_sizes = slice.dimensions.clone();
            let taken = HloInstructionProto { dynamic_slice_sizes, ..operation("dynamic-slice", &operands) };
            let taken = body.push(slice, taken);
            *arguments.get_mut(at)? = Some(body.push(shape.clone(), operation("reshape", &[taken])));
        }
        let arguments = arguments.into_iter().collect::<Option<Vec<_>>>()?;
        let called = HloInstructionProto {
            called_computation_ids: vec![step.entry_computation_id],
            ..operation("call", &arguments)
        };
        let called = body.push(row_major(&result), called);
        let next = body.push(scalar(), operation("add", &[index, one]));
        let mut after = vec![next, count];
        for (shape, &at) in state_shapes.iter().zip(results) {
            after.push(match result.element_type() {
                PrimitiveType::Tuple => body.part(called, at, shape.clone()),
                _ => called,
            });
        }
        after.extend(stacks);
        let root = body.push(tuple(&carried), operation("tuple", &after));
        let body = writer.finish("body", body, root, vec![tuple(&carried)]);

        let mut entry = writer.computation();
        let inputs: Vec<ShapeProto> = state_shapes.iter().chain(&stack_shapes).cloned().chain([scalar()]).collect();
        let mut inside: Vec<i64> = inputs.iter().enumerate().map(|(at, shape)| entry.parameter(at, shape)).collect();
        let count = inside.pop()?;
        let begin = [entry.constant(0), count].into_iter().chain(inside).collect::<Vec<_>>();
        let begin = entry.push(tuple(&carried), operation("tuple", &begin));
        let repeat =
            HloInstructionProto { called_computation_ids: vec![body, condition], ..operation("while", &[begin]) };
        let repeat = entry.push(tuple(&carried), repeat);
        let ends: Vec<i64> =
            state_shapes.iter().enumerate().map(|(at, shape)| entry.part(repeat, at + 2, shape.clone())).collect();
        let root = entry.push(tuple(&state_shapes), operation("tuple", &ends));
        let program_shape = ProgramShapeProto::new(inputs.clone(), tuple(&state_shapes));
        let entry = writer.finish("fold", entry, root, inputs);

        let added = writer.computations.iter().map(|computation| computation.encode_to_vec().into());
        let module = HloModuleProto {
            name: step.name,
            entry_computation_name: "fold".to_owned(),
            entry_computation_id: entry,
            computations: step.computations.iter().cloned().chain(added).collect(),
            host_program_shape: Some(program_shape),
            id: step.id,
        };
        Some(module.encode_to_vec())
    }

    fn computation(&self) -> Computation {
        Computation { first_id: self.next_id, instructions: Vec::new() }
    }

    /// Ends a computation; gives its id.
    fn finish(&mut self, name: &str, computation: Computation, root_id: i64, parameters: Vec<ShapeProto>) -> i64 {
        let id = computation.next_id();
        let result = computation.instructions.last().and_then(|root| root.shape.clone()).unwrap_or_default();
        self.next_id = id.saturating_add(1);
        self.computations.push(HloComputationProto {
            name: format!("{name}.{id}"),
            instructions: computation.instructions,
            program_shape: Some(ProgramShapeProto::new(parameters, result)),
            id,
            root_id,
        });
        id
    }
}

/// A computation that is being written.
struct Computation {
    first_id: i64,
    instructions: Vec<HloInstructionProto>,
}

impl Computation {
    fn next_id(&self) -> i64 {
        self.first_id.saturating_add(i64::try_from(self.instructions.len()).unwrap_or(i64::MAX))
    }

    fn push(&mut self, shape: ShapeProto, instruction: HloInstructionProto) -> i64 {
        let id = self.next_id();
        let name = format!("{}.{id}", instruction.opcode);
        self.instructions.push(HloInstructionProto { name, shape: Some(shape), id, ..instruction });
        id
    }

    fn parameter(&mut self, position: usize, shape: &ShapeProto) -> i64 {
        let parameter_number = i64::try_from(position).unwrap_or(i64::MAX);
        self.push(shape.clone(), HloInstructionProto { parameter_number, ..operation("parameter", &[]) })
    }

    /// An element of a tuple.
    fn part(&mut self, tuple: i64, position: usize, shape: ShapeProto) -> i64 {
        let tuple_index = i64::try_from(position).unwrap_or(i64::MAX);
        self.push(shape, HloInstructionProto { tuple_index, ..operation("get-tuple-element", &[tuple]) })
    }

    /// The only parameter, a tuple, and its elements.
    fn parts(&mut self, shapes: &[ShapeProto]) -> Vec<i64> {
        let parameter = self.parameter(0, &tuple(shapes));
        shapes.iter().enumerate().map(|(at, shape)| self.part(parameter, at, shape.clone())).collect()
    }

    fn constant(&mut self, value: i32) -> i64 {
        let shape = array(PrimitiveType::S32, Vec::new());
        let literal = LiteralProto { shape: Some(shape.clone()), s32s: vec![value], ..LiteralProto::default() };
        self.push(shape, HloInstructionProto { literal: Some(literal), ..operation("constant", &[]) })
    }
}

fn operation(opcode: &str, operands: &[i64]) -> HloInstructionProto {
    HloInstructionProto::operation(opcode, operands.to_vec())
}

/// An array of which the elements lie in row-major order.
fn array(element_type: PrimitiveType, dimensions: Vec<i64>) -> ShapeProto {
    let minor_to_major = (0..).take(dimensions.len()).collect::<Vec<i64>>().into_iter().rev().collect();
    let layout = Some(LayoutProto { minor_to_major }.encode_to_vec().into());
    ShapeProto { layout, ..ShapeProto::array(element_type, dimensions) }
}

fn tuple(shapes: &[ShapeProto]) -> ShapeProto {
    ShapeProto::tuple(shapes.to_vec())
}

/// That many arrays of this shape as one.
fn resized(shape: &ShapeProto, n: usize) -> ShapeProto {
    let n = i64::try_from(n).unwrap_or(i64::MAX);
    array(shape.element_type(), [n].into_iter().chain(shape.dimensions.iter().copied()).collect())
}

/// The shape with every array in row-major order.
fn row_major(shape: &ShapeProto) -> ShapeProto {
    match shape.element_type() {
        PrimitiveType::Tuple => tuple(&shape.tuple_shapes.iter().map(row_major).collect::<Vec<_>>()),
        element_type => array(element_type, shape.dimensions.clone()),
    }
}
