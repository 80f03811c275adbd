//! Graphs, modules and their bindings to and from the wire.

use crate::{Opaque, SequenceBinding, TensorFlow, TensorFlowBinding, Xla, XlaBinding};
use std::sync::Arc;
use tff_proto::google::protobuf::Any;
use tff_proto::v0 as pb;
use tff_proto::v0::tensor_flow as pb_tf;
use tff_proto::v0::xla as pb_xla;

pub(super) fn any(proto: &Any) -> Opaque {
    Opaque { type_url: proto.type_url.as_str().into(), value: proto.value.clone() }
}

pub(super) fn any_to_proto(opaque: &Opaque) -> Any {
    Any { type_url: opaque.type_url.as_ref().to_owned(), value: opaque.value.clone() }
}

/// Reads a graph; the error is the field that is missing.
pub(super) fn tensorflow(proto: &pb::TensorFlow) -> Result<TensorFlow, &'static str> {
    let layouts = |map: &pb_tf::LayoutMap| {
        let text = |text: &Option<String>| text.as_deref().unwrap_or_default().into();
        map.name_to_sharding_spec.iter().map(|entry| (text(&entry.key), text(&entry.value))).collect()
    };
    Ok(TensorFlow {
        graph: any(proto.graph_def.as_ref().ok_or("graph_def")?),
        parameter: proto.parameter.as_ref().map(tensorflow_binding).transpose()?,
        result: tensorflow_binding(proto.result.as_ref().ok_or("result")?)?,
        initialize_op: proto.initialize_op.as_str().into(),
        session_token: proto.session_token_tensor_name.as_str().into(),
        cache_key: proto.cache_key.as_ref().map(|key| key.id),
        layout_map: proto.layout_map.as_ref().map(layouts),
    })
}

pub(super) fn tensorflow_to_proto(tensorflow: &TensorFlow) -> pb::TensorFlow {
    // Both fields of an entry are written, as by every library for protobuf.
    let entry = |(name, layout): &(Arc<str>, Arc<str>)| pb_tf::layout_map::NameToShardingSpecEntry {
        key: Some(name.to_string()),
        value: Some(layout.to_string()),
    };
    let layouts = |map: &Vec<_>| pb_tf::LayoutMap { name_to_sharding_spec: map.iter().map(entry).collect() };
    pb::TensorFlow {
        graph_def: Some(any_to_proto(&tensorflow.graph)),
        initialize_op: tensorflow.initialize_op.as_ref().to_owned(),
        session_token_tensor_name: tensorflow.session_token.as_ref().to_owned(),
        parameter: tensorflow.parameter.as_ref().map(tensorflow_binding_to_proto),
        result: Some(tensorflow_binding_to_proto(&tensorflow.result)),
        cache_key: tensorflow.cache_key.map(|id| pb_tf::CacheKey { id }),
        layout_map: tensorflow.layout_map.as_ref().map(layouts),
    }
}

// The bindings recurse as deep as the decoder of messages let them be nested, or as the types they
// are built for.

fn tensorflow_binding(proto: &pb_tf::Binding) -> Result<TensorFlowBinding, &'static str> {
    use pb_tf::binding::Binding as Kind;
    use pb_tf::sequence_binding::Binding as Sequence;
    use pb_tf::tensor_binding::Binding as Tensor;
    match proto.binding.as_ref().ok_or("binding")? {
        Kind::Struct(structure) => {
            Ok(TensorFlowBinding::Struct(structure.element.iter().map(tensorflow_binding).collect::<Result<_, _>>()?))
        }
        Kind::Tensor(tensor) => match tensor.binding.as_ref().ok_or("tensor_name")? {
            Tensor::TensorName(name) => Ok(TensorFlowBinding::Tensor(name.as_str().into())),
        },
        Kind::Sequence(sequence) => {
            Ok(TensorFlowBinding::Sequence(match sequence.binding.as_ref().ok_or("variant_tensor_name")? {
                Sequence::VariantTensorName(name) => SequenceBinding::Variant(name.as_str().into()),
                Sequence::GraphDefTensorName(name) => SequenceBinding::GraphDef(name.as_str().into()),
            }))
        }
    }
}

fn tensorflow_binding_to_proto(binding: &TensorFlowBinding) -> pb_tf::Binding {
    use pb_tf::binding::Binding as Kind;
    use pb_tf::sequence_binding::Binding as Sequence;
    use pb_tf::tensor_binding::Binding as Tensor;
    let kind = match binding {
        TensorFlowBinding::Struct(elements) => {
            Kind::Struct(pb_tf::StructBinding { element: elements.iter().map(tensorflow_binding_to_proto).collect() })
        }
        TensorFlowBinding::Tensor(name) => {
            Kind::Tensor(pb_tf::TensorBinding { binding: Some(Tensor::TensorName(name.as_ref().to_owned())) })
        }
        TensorFlowBinding::Sequence(sequence) => {
            let binding = match sequence {
                SequenceBinding::Variant(name) => Sequence::VariantTensorName(name.as_ref().to_owned()),
                SequenceBinding::GraphDef(name) => Sequence::GraphDefTensorName(name.as_ref().to_owned()),
            };
            Kind::Sequence(pb_tf::SequenceBinding { binding: Some(binding) })
        }
    };
    pb_tf::Binding { binding: Some(kind) }
}

/// Reads a module; the error is the field that is missing.
pub(super) fn xla(proto: &pb::Xla) -> Result<Xla, &'static str> {
    Ok(Xla {
        hlo_module: any(proto.hlo_module.as_ref().ok_or("hlo_module")?),
        parameter: proto.parameter.as_ref().map(xla_binding).transpose()?,
        result: xla_binding(proto.result.as_ref().ok_or("result")?)?,
    })
}

pub(super) fn xla_to_proto(xla: &Xla) -> pb::Xla {
    pb::Xla {
        hlo_module: Some(any_to_proto(&xla.hlo_module)),
        parameter: xla.parameter.as_ref().map(xla_binding_to_proto),
        result: Some(xla_binding_to_proto(&xla.result)),
    }
}

fn xla_binding(proto: &pb_xla::Binding) -> Result<XlaBinding, &'static str> {
    use pb_xla::binding::Binding as Kind;
    use pb_xla::tensor_binding::Binding as Tensor;
    match proto.binding.as_ref().ok_or("binding")? {
        Kind::Struct(structure) => {
            Ok(XlaBinding::Struct(structure.element.iter().map(xla_binding).collect::<Result<_, _>>()?))
        }
        Kind::Tensor(tensor) => match tensor.binding.as_ref().ok_or("index")? {
            Tensor::Index(index) => Ok(XlaBinding::Tensor(*index)),
        },
    }
}

fn xla_binding_to_proto(binding: &XlaBinding) -> pb_xla::Binding {
    use pb_xla::binding::Binding as Kind;
    use pb_xla::tensor_binding::Binding as Tensor;
    let kind = match binding {
        XlaBinding::Struct(elements) => {
            Kind::Struct(pb_xla::StructBinding { element: elements.iter().map(xla_binding_to_proto).collect() })
        }
        XlaBinding::Tensor(index) => Kind::Tensor(pb_xla::TensorBinding { binding: Some(Tensor::Index(*index)) }),
    };
    pb_xla::Binding { binding: Some(kind) }
}
