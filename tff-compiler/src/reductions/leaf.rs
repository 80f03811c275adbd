//! The functions that the bodies of intrinsics call, as TensorFlow graphs or as XLA modules.

use crate::elementwise::{BinaryOp, Fill};
use crate::error::Problem;
use crate::graph::generic;
use crate::hlo;
use tff_ir::Comp;
use tff_types::Type;

/// Which leaf runs the functions that the body of an intrinsic calls.
///
/// They do the same in both. What XLA does not have is a graph in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leaf {
    /// TensorFlow: functions are graphs.
    TensorFlow,
    /// XLA: functions are modules.
    Xla,
}

impl Leaf {
    /// `( -> T)`: see [`generic::constant`].
    pub(super) fn constant(self, fill: &Fill, ty: &Type) -> Result<Comp, Problem> {
        self.choose(|| hlo::constant(fill, ty), || generic::constant(fill, ty))
    }

    /// `(<T,U> -> R)`: see [`generic::binary_operator`].
    pub(super) fn binary_operator(self, op: BinaryOp, ty: &Type) -> Result<Comp, Problem> {
        self.choose(|| hlo::binary_operator(op, ty), || generic::binary_operator(op, ty))
    }

    /// `(<T,U> -> R)`: see [`generic::binary_operator_with_upcast`].
    pub(super) fn binary_operator_with_upcast(self, op: BinaryOp, ty: &Type) -> Result<Comp, Problem> {
        self.choose(|| hlo::binary_operator_with_upcast(op, ty), || generic::binary_operator_with_upcast(op, ty))
    }

    fn choose(
        self,
        module: impl FnOnce() -> Option<Comp>,
        graph: impl FnOnce() -> Result<Comp, crate::graph::GraphError>,
    ) -> Result<Comp, Problem> {
        let module = if self == Self::Xla { module() } else { None };
        module.map_or_else(|| Ok(graph()?), Ok)
    }
}
