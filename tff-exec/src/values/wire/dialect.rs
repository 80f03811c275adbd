//! Which forms of values a peer understands.

use tff_proto::v0 as pb;

/// The forms that were heard from the clients of a session. TFF 0.80 writes tensors as `TensorProto`
/// in an `Any`, later versions as arrays; from 0.88 on sequences are lists of their elements, before
/// that serialized datasets.
///
/// A reply holds each form that was heard, so that clients of several versions can share a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a form of its own")]
pub(crate) struct Dialect {
    pub(super) tensor_protos: bool,
    pub(super) arrays: bool,
    pub(super) datasets: bool,
    pub(super) elements: bool,
}

impl Dialect {
    /// The form of TFF 0.87, which every worker understands: arrays, and sequences as datasets.
    pub(super) const COMMON: Self = Self { tensor_protos: false, arrays: true, datasets: true, elements: false };

    /// Notes what a computation tells of who wrote it, unless that is known: each graph that 0.80
    /// sends has a layout map, and none of later versions.
    pub(crate) fn hear(&mut self, comp: &pb::Computation) {
        if self.tensor_protos || self.arrays {
            return;
        }
        let mut left = vec![comp];
        while let Some(comp) = left.pop() {
            use pb::computation::Computation as C;
            match comp.computation.as_ref() {
                Some(C::Tensorflow(graph)) => {
                    self.tensor_protos = graph.layout_map.is_some();
                    self.arrays = !self.tensor_protos;
                    return;
                }
                Some(C::Call(call)) => {
                    left.extend(call.function.as_deref().into_iter().chain(call.argument.as_deref()))
                }
                Some(C::Lambda(lambda)) => left.extend(lambda.result.as_deref()),
                Some(C::Selection(selection)) => left.extend(selection.source.as_deref()),
                Some(C::Struct(structure)) => left.extend(structure.element.iter().filter_map(|it| it.value.as_ref())),
                Some(C::Block(block)) => {
                    left.extend(block.local.iter().filter_map(|it| it.value.as_ref()).chain(block.result.as_deref()));
                }
                _ => {}
            }
        }
    }

    /// Whether tensors are written in an `Any`; in both forms as long as nothing was heard.
    pub(super) const fn writes_tensor_protos(self) -> bool {
        self.tensor_protos || !self.arrays
    }

    pub(super) const fn writes_arrays(self) -> bool {
        self.arrays || !self.tensor_protos
    }

    pub(super) const fn writes_datasets(self) -> bool {
        self.datasets || !self.elements
    }
}
