//! Ids by which a runtime recognizes a graph that it has already prepared.

use tff_ir::{SequenceBinding, TensorFlow, TensorFlowBinding};
use tff_types::Type;

/// An id of a computation of this type: equal for equal computations, in every process and on
/// every machine, and never 0, which stands for none (the protocol's `CacheKey`).
///
/// It covers the graph, the bindings, the initialization and the type, by the first 64 bits of a
/// cryptographic hash.
#[must_use]
pub fn cache_id(comp: &TensorFlow, ty: &Type) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("tff 2024 cache id of a TensorFlow computation");
    add(&mut hasher, comp.graph.type_url.as_bytes());
    add(&mut hasher, &comp.graph.value);
    add(&mut hasher, comp.initialize_op.as_bytes());
    add(&mut hasher, comp.session_token.as_bytes());
    match &comp.parameter {
        Some(binding) => add_binding(&mut hasher, binding),
        None => add(&mut hasher, b"none"),
    }
    add_binding(&mut hasher, &comp.result);
    for (name, layout) in comp.layout_map.iter().flatten() {
        add(&mut hasher, name.as_bytes());
        add(&mut hasher, layout.as_bytes());
    }
    add(&mut hasher, ty.to_string().as_bytes());
    let mut id = [0; 8];
    hasher.finalize_xof().fill(&mut id);
    match u64::from_le_bytes(id) {
        0 => 1,
        id => id,
    }
}

/// The length goes first, so that parts cannot run into one another.
fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

// As deep as the decoder of messages lets bindings be nested, or as the types they are built for.
fn add_binding(hasher: &mut blake3::Hasher, binding: &TensorFlowBinding) {
    let (kind, name) = match binding {
        TensorFlowBinding::Struct(elements) => {
            hasher.update(b"<");
            hasher.update(&(elements.len() as u64).to_le_bytes());
            elements.iter().for_each(|element| add_binding(hasher, element));
            return;
        }
        TensorFlowBinding::Tensor(name) => (b"t", name),
        TensorFlowBinding::Sequence(SequenceBinding::Variant(name)) => (b"v", name),
        TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name)) => (b"g", name),
    };
    hasher.update(kind);
    add(hasher, name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::cache_id;
    use crate::graph::generic;
    use tff_types::{DType, Type};

    #[test]
    fn equal_computations_have_equal_ids_in_every_process() {
        let comp = generic::identity(&Type::scalar(DType::Int32)).unwrap();
        let Some(tff_ir::CompiledComputation::TensorFlow(tensorflow)) = comp.as_compiled() else { panic!("{comp}") };
        insta::assert_snapshot!(format!("{:016x}", cache_id(tensorflow, comp.ty())), @"03add7a4ebe7abbb");
    }

    #[test]
    fn the_type_and_every_part_count() {
        let comp = generic::identity(&Type::scalar(DType::Int32)).unwrap();
        let Some(tff_ir::CompiledComputation::TensorFlow(tensorflow)) = comp.as_compiled() else { panic!("{comp}") };
        let id = cache_id(tensorflow, comp.ty());
        let mut other = tensorflow.as_ref().clone();
        assert_ne!(cache_id(&other, &Type::scalar(DType::Int32)), id);
        other.initialize_op = "arg".into();
        assert_ne!(cache_id(&other, comp.ty()), id);
    }
}
