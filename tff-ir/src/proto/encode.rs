//! Writing computations, no deeper than a peer can read.

use super::opaque;
use crate::build::contains_untyped;
use crate::visit::with_stack;
use crate::{Comp, CompKind, CompPath, CompStep, CompiledComputation, DataContent, TensorFlowBinding, XlaBinding};
use tff_proto::{MAX_DEPTH, v0 as pb};

/// Why a computation cannot be put on the wire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompEncodeError {
    /// Protobuf, in every language, refuses to read what is nested deeper than 100 messages.
    #[error("{path}: the computation nests more than {MAX_DEPTH} messages, more than protobuf reads")]
    TooDeep {
        /// Where the limit is exceeded.
        path: CompPath,
    },
    /// A selection has an index that the wire cannot carry.
    #[error("{path}: the index {index} is more than 32 bits carry")]
    Index {
        /// Where the selection is.
        path: CompPath,
        /// The index.
        index: usize,
    },
}

pub(super) fn encode(comp: &Comp) -> Result<pb::Computation, CompEncodeError> {
    Encoder { path: Vec::new() }.comp(comp, 0)
}

struct Encoder {
    path: Vec<CompStep>,
}

impl Encoder {
    /// Writes a computation below `depth` messages.
    fn comp(&mut self, comp: &Comp, depth: usize) -> Result<pb::Computation, CompEncodeError> {
        let (ty, ty_depth) = if contains_untyped(comp.ty()) {
            (None, 0)
        } else {
            // The type is a message in this one.
            (Some(comp.ty()), 1 + comp.ty().wire_depth() as usize)
        };
        if depth + ty_depth > MAX_DEPTH || depth + 1 + own_depth(comp) > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let ty = ty.map(tff_types::Type::to_proto).transpose().map_err(|_| self.too_deep())?;
        let computation = Some(with_stack(|| self.kind(comp, depth + 1))?);
        Ok(pb::Computation { r#type: ty, computation })
    }

    fn too_deep(&self) -> CompEncodeError {
        CompEncodeError::TooDeep { path: CompPath::new(&self.path) }
    }

    /// Writes what is specific to the kind, a message at `depth`.
    fn kind(&mut self, comp: &Comp, depth: usize) -> Result<pb::computation::Computation, CompEncodeError> {
        use pb::computation::Computation as Kind;
        Ok(match comp.kind() {
            CompKind::Reference(reference) => Kind::Reference(pb::Reference { name: reference.name.to_string() }),
            CompKind::Selection(selection) => {
                let index = i32::try_from(selection.index)
                    .map_err(|_| CompEncodeError::Index { path: CompPath::new(&self.path), index: selection.index })?;
                let source = Some(Box::new(self.part(CompStep::Source, &selection.source, depth + 1)?));
                Kind::Selection(Box::new(pb::Selection { source, index }))
            }
            CompKind::Struct(structure) => {
                let mut element = Vec::with_capacity(structure.elements.len());
                for (index, part) in structure.elements.iter().enumerate() {
                    let name = part.name.as_deref().unwrap_or_default().to_owned();
                    let step = CompStep::Element(index, part.name.clone());
                    let value = Some(self.part(step, &part.value, depth + 2)?);
                    element.push(pb::r#struct::Element { name, value });
                }
                Kind::Struct(pb::Struct { element })
            }
            CompKind::Call(call) => {
                let function = Some(Box::new(self.part(CompStep::Function, &call.function, depth + 1)?));
                let argument = match &call.argument {
                    Some(argument) => Some(Box::new(self.part(CompStep::Argument, argument, depth + 1)?)),
                    None => None,
                };
                Kind::Call(Box::new(pb::Call { function, argument }))
            }
            CompKind::Lambda(lambda) => {
                let parameter_name = lambda.parameter.as_ref().map(|it| it.name.to_string()).unwrap_or_default();
                let result = Some(Box::new(self.part(CompStep::LambdaResult, &lambda.result, depth + 1)?));
                Kind::Lambda(Box::new(pb::Lambda { parameter_name, result }))
            }
            CompKind::Block(block) => {
                let mut local = Vec::with_capacity(block.locals.len());
                for (index, part) in block.locals.iter().enumerate() {
                    let step = CompStep::Local(index, part.name.clone());
                    let value = Some(self.part(step, &part.value, depth + 2)?);
                    local.push(pb::block::Local { name: part.name.to_string(), value });
                }
                let result = Some(Box::new(self.part(CompStep::BlockResult, &block.result, depth + 1)?));
                Kind::Block(Box::new(pb::Block { local, result }))
            }
            CompKind::Intrinsic(intrinsic) => Kind::Intrinsic(pb::Intrinsic { uri: intrinsic.uri().to_owned() }),
            CompKind::Data(data) => Kind::Data(data_to_proto(&data.content)),
            CompKind::Placement(placement) => Kind::Placement(placement.to_proto()),
            CompKind::Literal(literal) => Kind::Literal(pb::Literal { value: Some(literal.array.to_proto_list()) }),
            CompKind::CompiledComputation(CompiledComputation::TensorFlow(tensorflow)) => {
                Kind::Tensorflow(opaque::tensorflow_to_proto(tensorflow))
            }
            CompKind::CompiledComputation(CompiledComputation::Xla(xla)) => Kind::Xla(opaque::xla_to_proto(xla)),
        })
    }

    fn part(&mut self, step: CompStep, comp: &Comp, depth: usize) -> Result<pb::Computation, CompEncodeError> {
        self.path.push(step);
        let proto = self.comp(comp, depth)?;
        self.path.pop();
        Ok(proto)
    }
}

fn data_to_proto(content: &DataContent) -> pb::Data {
    use pb::data::Data as Content;
    let content = match content {
        DataContent::Uri(uri) => Content::Uri(uri.as_ref().to_owned()),
        DataContent::Any(any) => Content::Content(opaque::any_to_proto(any)),
    };
    pb::Data { data: Some(content) }
}

/// How many messages the message of this kind nests, those of its parts aside.
fn own_depth(comp: &Comp) -> usize {
    fn tensorflow(binding: &TensorFlowBinding) -> usize {
        match binding {
            // Struct binding and, in it, the bindings.
            TensorFlowBinding::Struct(elements) => 1 + elements.iter().map(|it| 1 + tensorflow(it)).max().unwrap_or(0),
            TensorFlowBinding::Tensor(_) | TensorFlowBinding::Sequence(_) => 1,
        }
    }
    fn xla(binding: &XlaBinding) -> usize {
        match binding {
            XlaBinding::Struct(elements) => 1 + elements.iter().map(|it| 1 + xla(it)).max().unwrap_or(0),
            XlaBinding::Tensor(_) => 1,
        }
    }
    match comp.kind() {
        CompKind::CompiledComputation(CompiledComputation::TensorFlow(it)) => {
            let bindings = it.parameter.iter().chain([&it.result]);
            // A layout map nests its entries.
            bindings.map(tensorflow).max().unwrap_or(0).max(1) + 1
        }
        CompKind::CompiledComputation(CompiledComputation::Xla(it)) => {
            it.parameter.iter().chain([&it.result]).map(xla).max().unwrap_or(0) + 1
        }
        CompKind::Data(_) => 1,
        // Array, and in it the shape or the list.
        CompKind::Literal(_) => 2,
        CompKind::Struct(_) | CompKind::Block(_) => 1,
        CompKind::Reference(_)
        | CompKind::Selection(_)
        | CompKind::Call(_)
        | CompKind::Lambda(_)
        | CompKind::Intrinsic(_)
        | CompKind::Placement(_) => 0,
    }
}
