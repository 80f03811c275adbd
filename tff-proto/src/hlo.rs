//! Messages of XLA modules, of their parts.

use crate::xla::{HloInstructionProto, PrimitiveType, ProgramShapeProto, ShapeProto};

impl ShapeProto {
    /// The shape of an array of these sizes, without a layout: XLA chooses it.
    #[must_use]
    pub fn array(element_type: PrimitiveType, dimensions: Vec<i64>) -> Self {
        let is_dynamic_dimension = vec![false; dimensions.len()];
        Self { element_type: element_type.into(), is_dynamic_dimension, dimensions, ..Self::default() }
    }

    /// The shape of a tuple.
    #[must_use]
    pub fn tuple(tuple_shapes: Vec<Self>) -> Self {
        Self { element_type: PrimitiveType::Tuple.into(), tuple_shapes, ..Self::default() }
    }
}

impl ProgramShapeProto {
    /// The parameters, called `arg0`, `arg1` and so on, and the result.
    #[must_use]
    pub fn new(parameters: Vec<ShapeProto>, result: ShapeProto) -> Self {
        let parameter_names = (0..parameters.len()).map(|number| format!("arg{number}")).collect();
        Self { parameters, result: Some(result), parameter_names }
    }
}

impl HloInstructionProto {
    /// An instruction on what the instructions with these ids give. It has no shape and no id yet.
    #[must_use]
    pub fn operation(opcode: &str, operand_ids: Vec<i64>) -> Self {
        Self { opcode: opcode.to_owned(), operand_ids, ..Self::default() }
    }
}
