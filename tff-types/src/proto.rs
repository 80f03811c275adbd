//! Types to and from the wire: the protocol's `Type` and the messages within.
//!
//! Decoding accepts every type of the protocol, abstract types and placement labels included; what is
//! wrong is reported with its place in the type. Encoding is deterministic.

use crate::{
    DType, FederatedType, Path, Placement, PlacementSpec, Shape, Step, Type, TypeError, TypeKind, UnknownPlacement,
};
use std::sync::Arc;
use tff_proto::v0 as pb;

/// Why a message is no type, and where in the type it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}{}{path}", if path.steps().is_empty() { "" } else { " at " })]
pub struct TypeDecodeError {
    /// From the root of the decoded type to the part that is wrong.
    pub path: Path,
    /// What is wrong there.
    pub problem: TypeDecodeProblem,
}

/// What can be wrong with a part of an encoded type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeDecodeProblem {
    /// There is no `Type` message where the type needs one, such as a function's result.
    #[error("expected a type, found none")]
    Missing,
    /// There is a `Type` message that sets none of the seven kinds.
    #[error(
        "expected one of function, struct, sequence, tensor, abstract, placement, federated; found a type of no known kind"
    )]
    NoKind,
    /// The number is not one of the sixteen element types; 0 is `DT_INVALID`.
    #[error("expected the number of a dtype, found {0}")]
    UnknownDType(i32),
    /// A federated type has neither a placement nor a placement label.
    #[error("expected a placement or a placement label, found neither")]
    MissingPlacement,
    /// A federated type has an unknown placement.
    #[error(transparent)]
    UnknownPlacement(#[from] UnknownPlacement),
    /// The parts do not make a type.
    #[error(transparent)]
    Invalid(#[from] TypeError),
}

/// Why a type cannot be put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeEncodeError {
    /// Protobuf, in every language, refuses to read what is nested deeper than 100 messages.
    #[error("the type nests {depth} messages, protobuf reads at most {}", tff_proto::MAX_DEPTH)]
    TooDeep {
        /// [`Type::wire_depth`].
        depth: u32,
    },
}

impl TypeDecodeError {
    fn new(problem: impl Into<TypeDecodeProblem>) -> Self {
        Self { path: Path::root(), problem: problem.into() }
    }

    fn below(mut self, step: Step) -> Self {
        self.path.prepend(step);
        self
    }
}

impl Type {
    /// Reads a type.
    ///
    /// Negative dimensions are unknown ones, and dimensions beside `unknown_rank` are ignored. A
    /// federated type without `all_equal` is not all-equal, wherever it is placed.
    ///
    /// # Errors
    /// The first part that is no type, or that cannot be where it is.
    pub fn from_proto(proto: &pb::Type) -> Result<Self, TypeDecodeError> {
        decode(proto, crate::MAX_DEPTH)
    }

    /// Writes the type: the bytes of the message are those of the reference, where that can write
    /// the type at all.
    ///
    /// # Errors
    /// [`TypeEncodeError::TooDeep`] where the message would nest more than 100 messages below the
    /// outermost one and no peer could read it. A struct takes 3 of them, a sequence, function or
    /// federated type 2, a tensor at the end 1: at least 33 levels of structs can be written.
    pub fn to_proto(&self) -> Result<pb::Type, TypeEncodeError> {
        check_wire_depth(self.wire_depth())?;
        Ok(encode(self))
    }

    /// Reads a federated type from the message that a federated value carries.
    ///
    /// # Errors
    /// As [`Type::from_proto`].
    pub fn from_federated_proto(proto: &pb::FederatedType) -> Result<Self, TypeDecodeError> {
        decode_federated(proto, crate::MAX_DEPTH)
    }
}

impl FederatedType {
    /// Writes the type as the message that a federated value carries.
    ///
    /// # Errors
    /// As [`Type::to_proto`].
    pub fn to_proto(&self) -> Result<pb::FederatedType, TypeEncodeError> {
        check_wire_depth(self.member.wire_depth() + 1)?;
        Ok(encode_federated(self))
    }
}

impl Placement {
    /// Reads a placement by its uri.
    ///
    /// # Errors
    /// The uri is neither `clients` nor `server`.
    pub fn from_proto(proto: &pb::Placement) -> Result<Self, UnknownPlacement> {
        proto.uri.parse()
    }

    /// Writes the placement.
    #[must_use]
    pub fn to_proto(self) -> pb::Placement {
        pb::Placement { uri: self.uri().to_owned() }
    }
}

impl From<DType> for pb::DataType {
    fn from(dtype: DType) -> Self {
        // The numbers are the same, which a test compares.
        Self::try_from(dtype.number()).unwrap_or_default()
    }
}

/// Reads a type of at most `levels` levels, so that a message built in memory cannot exhaust the
/// stack.
fn decode(proto: &pb::Type, levels: u32) -> Result<Type, TypeDecodeError> {
    use pb::r#type::Type as Kind;
    let Some(below) = levels.checked_sub(1) else {
        return Err(TypeDecodeError::new(TypeError::TooDeep));
    };
    match proto.r#type.as_ref().ok_or_else(|| TypeDecodeError::new(TypeDecodeProblem::NoKind))? {
        Kind::Tensor(tensor) => {
            let dtype = DType::from_number(tensor.dtype)
                .ok_or_else(|| TypeDecodeError::new(TypeDecodeProblem::UnknownDType(tensor.dtype)))?;
            Ok(Type::tensor(dtype, Shape::from_wire(&tensor.dims, tensor.unknown_rank)))
        }
        Kind::Struct(structure) => decode_struct(structure, below),
        Kind::Sequence(sequence) => {
            let element = decode_child(sequence.element.as_deref(), below, Step::SequenceElement)?;
            Type::sequence(element).map_err(TypeDecodeError::new)
        }
        Kind::Function(function) => {
            let parameter = match function.parameter.as_deref() {
                Some(parameter) => Some(decode_child(Some(parameter), below, Step::Parameter)?),
                None => None,
            };
            let result = decode_child(function.result.as_deref(), below, Step::Result)?;
            Type::function(parameter, result).map_err(TypeDecodeError::new)
        }
        Kind::Abstract(it) => Ok(Type::abstract_type(it.label.as_str())),
        Kind::Placement(placement) => Ok(match &placement.instance_label {
            Some(label) => Type::labelled_placement(label.label.as_str()),
            None => Type::placement(),
        }),
        Kind::Federated(federated) => decode_federated(federated, levels),
    }
}

fn decode_child(proto: Option<&pb::Type>, levels: u32, step: Step) -> Result<Type, TypeDecodeError> {
    proto
        .ok_or_else(|| TypeDecodeError::new(TypeDecodeProblem::Missing))
        .and_then(|proto| decode(proto, levels))
        .map_err(|error| error.below(step))
}

fn decode_struct(proto: &pb::StructType, levels: u32) -> Result<Type, TypeDecodeError> {
    let mut elements = Vec::with_capacity(proto.element.len());
    for (index, element) in proto.element.iter().enumerate() {
        let name: Option<Arc<str>> = (!element.name.is_empty()).then(|| element.name.as_str().into());
        let ty = decode_child(element.value.as_ref(), levels, Step::Element(index, name.clone()))?;
        elements.push((name, ty));
    }
    Type::structure(elements).map_err(TypeDecodeError::new)
}

fn decode_federated(proto: &pb::FederatedType, levels: u32) -> Result<Type, TypeDecodeError> {
    use pb::placement_spec::Placement as Spec;
    let placement = match proto.placement.as_ref().and_then(|spec| spec.placement.as_ref()) {
        Some(Spec::Value(placement)) => Placement::from_proto(placement).map_err(TypeDecodeError::new)?.into(),
        Some(Spec::Label(label)) => PlacementSpec::Label(label.label.as_str().into()),
        None => return Err(TypeDecodeError::new(TypeDecodeProblem::MissingPlacement)),
    };
    let member = decode_child(proto.member.as_deref(), levels.saturating_sub(1), Step::Member)?;
    Type::federated(member, placement, proto.all_equal).map_err(TypeDecodeError::new)
}

fn check_wire_depth(depth: u32) -> Result<(), TypeEncodeError> {
    let fits = usize::try_from(depth).is_ok_and(|depth| depth <= tff_proto::MAX_DEPTH);
    if fits { Ok(()) } else { Err(TypeEncodeError::TooDeep { depth }) }
}

fn encode(ty: &Type) -> pb::Type {
    use pb::r#type::Type as Kind;
    let boxed = |ty: &Type| Some(Box::new(encode(ty)));
    let kind = match ty.kind() {
        TypeKind::Tensor(tensor) => {
            let (dims, unknown_rank) = tensor.shape.to_wire();
            Kind::Tensor(pb::TensorType { dtype: tensor.dtype.number(), dims, unknown_rank })
        }
        TypeKind::Struct(structure) => {
            let element = structure.elements().iter().map(|element| pb::struct_type::Element {
                name: element.name.as_deref().unwrap_or_default().to_owned(),
                value: Some(encode(&element.ty)),
            });
            Kind::Struct(pb::StructType { element: element.collect() })
        }
        TypeKind::Sequence(sequence) => {
            Kind::Sequence(Box::new(pb::SequenceType { element: boxed(&sequence.element) }))
        }
        TypeKind::Function(function) => Kind::Function(Box::new(pb::FunctionType {
            parameter: function.parameter.as_ref().and_then(boxed),
            result: boxed(&function.result),
        })),
        TypeKind::Abstract(it) => Kind::Abstract(pb::AbstractType { label: it.label.as_ref().to_owned() }),
        TypeKind::Placement(placement) => Kind::Placement(pb::PlacementType {
            instance_label: placement.instance_label.as_deref().map(placement_label),
        }),
        TypeKind::Federated(federated) => Kind::Federated(Box::new(encode_federated(federated))),
    };
    pb::Type { r#type: Some(kind) }
}

fn encode_federated(federated: &FederatedType) -> pb::FederatedType {
    use pb::placement_spec::Placement as Spec;
    let placement = match &federated.placement {
        PlacementSpec::Value(placement) => Spec::Value(placement.to_proto()),
        PlacementSpec::Label(label) => Spec::Label(placement_label(label)),
    };
    pb::FederatedType {
        placement: Some(pb::PlacementSpec { placement: Some(placement) }),
        all_equal: federated.all_equal,
        member: Some(Box::new(encode(&federated.member))),
    }
}

fn placement_label(label: &str) -> pb::PlacementLabel {
    pb::PlacementLabel { label: label.to_owned() }
}
