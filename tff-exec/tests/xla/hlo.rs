//! Small modules, written as XLA's own messages: as much of them as the tests need.

use bytes::Bytes;
use prost::Message;
use tff_ir::{Opaque, XlaBinding};
use tff_proto::xla::{PrimitiveType, ProgramShapeProto, ShapeProto};

pub(crate) const TYPE_URL: &str = "type.googleapis.com/xla.HloModuleProto";

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Module {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) entry: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) computations: Vec<Computation>,
    #[prost(message, optional, tag = "4")]
    pub(crate) shape: Option<ProgramShapeProto>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) entry_id: i64,
    #[prost(message, optional, tag = "8")]
    pub(crate) aliases: Option<Aliases>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Computation {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) instructions: Vec<Instruction>,
    #[prost(message, optional, tag = "4")]
    pub(crate) shape: Option<ProgramShapeProto>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) root: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Instruction {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) opcode: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) shape: Option<ShapeProto>,
    #[prost(int64, tag = "9")]
    pub(crate) parameter_number: i64,
    #[prost(int64, repeated, tag = "14")]
    pub(crate) dimensions: Vec<i64>,
    #[prost(int64, tag = "35")]
    pub(crate) id: i64,
    #[prost(int64, repeated, tag = "36")]
    pub(crate) operands: Vec<i64>,
}

/// The [`Alias`] that a runtime may leave out, and the one that it may not.
pub(crate) const MAY_ALIAS: i32 = 1;
pub(crate) const MUST_ALIAS: i32 = 2;

/// Which results take the place of which parameters.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Aliases {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<Alias>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Alias {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) result: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(crate) parameter: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) within_parameter: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub(crate) kind: i32,
}

pub(crate) fn shape(ty: PrimitiveType, dims: &[i64]) -> ShapeProto {
    ShapeProto {
        element_type: ty.into(),
        dimensions: dims.to_vec(),
        is_dynamic_dimension: vec![false; dims.len()],
        ..ShapeProto::default()
    }
}

pub(crate) fn tuple(shapes: Vec<ShapeProto>) -> ShapeProto {
    ShapeProto { element_type: PrimitiveType::Tuple.into(), tuple_shapes: shapes, ..ShapeProto::default() }
}

/// A module of one computation: `parameters`, then `ops` (opcode, shape, operands, dimensions) that refer to
/// what is before them by position, and the tuple of `results`.
pub(crate) fn module(parameters: &[ShapeProto], ops: &[(&str, ShapeProto, &[i64], &[i64])], results: &[i64]) -> Module {
    let mut instructions: Vec<Instruction> = Vec::new();
    let mut push = |opcode: &str, shape: &ShapeProto, number: i64, operands: Vec<i64>, dimensions: &[i64]| {
        let id = instructions.len() as i64 + 1;
        instructions.push(Instruction {
            name: format!("{opcode}.{id}"),
            opcode: opcode.to_owned(),
            shape: Some(shape.clone()),
            parameter_number: number,
            dimensions: dimensions.to_vec(),
            id,
            operands,
        });
    };
    for (number, shape) in parameters.iter().enumerate() {
        push("parameter", shape, number as i64, vec![], &[]);
    }
    for (opcode, shape, operands, dimensions) in ops {
        push(opcode, shape, 0, operands.iter().map(|position| position + 1).collect(), dimensions);
    }
    let shapes: Vec<&ShapeProto> = parameters.iter().chain(ops.iter().map(|(_, shape, ..)| shape)).collect();
    let result = tuple(results.iter().map(|&position| shapes[position as usize].clone()).collect());
    push("tuple", &result, 0, results.iter().map(|position| position + 1).collect(), &[]);
    let program = ProgramShapeProto {
        parameters: parameters.to_vec(),
        result: Some(result),
        parameter_names: (0..parameters.len()).map(|number| format!("p{number}")).collect(),
    };
    let root = instructions.len() as i64;
    Module {
        name: "test".to_owned(),
        entry: "main".to_owned(),
        computations: vec![Computation {
            name: "main".to_owned(),
            instructions,
            shape: Some(program.clone()),
            id: 7,
            root,
        }],
        shape: Some(program),
        id: 7,
        entry_id: 7,
        aliases: None,
    }
}

/// The element-wise sum of a parameter with itself.
pub(crate) fn double(ty: PrimitiveType, dims: &[i64]) -> Module {
    let shape = shape(ty, dims);
    let opcode = if ty == PrimitiveType::Pred { "or" } else { "add" };
    module(std::slice::from_ref(&shape), &[(opcode, shape.clone(), &[0, 0], &[])], &[1])
}

/// The computation of a module.
pub(crate) fn comp(module: &Module, parameter: Option<XlaBinding>, result: XlaBinding) -> tff_ir::Xla {
    raw(TYPE_URL, &module.encode_to_vec(), parameter, result)
}

/// The computation of whatever these bytes are.
pub(crate) fn raw(type_url: &str, module: &[u8], parameter: Option<XlaBinding>, result: XlaBinding) -> tff_ir::Xla {
    let value = Bytes::copy_from_slice(module);
    tff_ir::Xla { hlo_module: Opaque { type_url: type_url.into(), value }, parameter, result }
}

pub(crate) fn tensor(index: i32) -> XlaBinding {
    XlaBinding::Tensor(index)
}

pub(crate) fn tensors(indices: &[i32]) -> XlaBinding {
    XlaBinding::Struct(indices.iter().map(|&index| tensor(index)).collect())
}
