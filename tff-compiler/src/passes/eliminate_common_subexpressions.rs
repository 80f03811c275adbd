//! Computes equal expressions once, if that gives the same result.

use crate::error::PassError;
use crate::graph::op_names;
use crate::pass::Pass;
use crate::rename::with_unique_names;
use crate::substitution::Substitution;
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, CompKind, CompiledComputation, NodeMap, Transformed, with_stack};

/// Drops a local whose value is that of another one in scope, and refers to that one instead.
///
/// Only what always gives the same for the same is dropped: two calls of a graph that draws random
/// numbers, or of a function that is not known, stay two. The computation should be in
/// call-dominant form, so that calls are locals.
#[derive(Clone, Copy, Debug)]
pub struct EliminateCommonSubexpressions;

impl Pass for EliminateCommonSubexpressions {
    fn name(&self) -> &'static str {
        "eliminate_common_subexpressions"
    }

    fn description(&self) -> &'static str {
        "computes once what would be computed twice with the same result"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let unique = with_unique_names(comp)?;
        let mut elimination = Elimination::default();
        let rewritten = elimination.comp(&unique)?;
        let changed = elimination.dropped;
        Ok(if changed { Transformed::yes(rewritten) } else { Transformed::no(comp.clone()) })
    }
}

#[derive(Default)]
struct Elimination {
    /// The locals in scope, by the hash of their value.
    known: HashMap<u64, Vec<(Comp, Arc<str>)>>,
    /// What the dropped locals are the same as.
    same: Substitution,
    /// Whether any local was dropped.
    dropped: bool,
    /// Whether graphs always give the same for the same.
    pure: NodeMap<bool>,
}

impl Elimination {
    fn comp(&mut self, comp: &Comp) -> Result<Comp, BuildError> {
        with_stack(|| match comp.kind() {
            CompKind::Reference(_) => self.same.apply(comp),
            CompKind::Block(block) => {
                let mut locals = Vec::with_capacity(block.locals.len());
                let mut added = Vec::new();
                for local in block.locals.iter() {
                    let value = self.comp(&local.value)?;
                    if self.is_pure(&value) {
                        let hash = value.alpha_hash();
                        let known = self.known.entry(hash).or_default();
                        if let Some((same, name)) = known.iter().find(|(same, _)| same.is_alpha_equivalent_to(&value)) {
                            let reference = Comp::reference(name.clone(), same.ty().clone())?;
                            self.same.replace(local.name.clone(), reference);
                            self.dropped = true;
                            continue;
                        }
                        known.push((value.clone(), local.name.clone()));
                        added.push(hash);
                    }
                    locals.push((local.name.clone(), value));
                }
                let result = self.comp(&block.result)?;
                for hash in added {
                    self.known.get_mut(&hash).and_then(Vec::pop);
                }
                Comp::block(locals, result)
            }
            _ => comp.map_children(|child| self.comp(child)),
        })
    }

    /// Whether a value is a call that always gives the same for the same.
    fn is_pure(&mut self, value: &Comp) -> bool {
        value.as_call().is_some()
            && value.preorder().all(|part| match part.kind() {
                CompKind::Call(call) => matches!(
                    call.function.kind(),
                    CompKind::Intrinsic(_) | CompKind::CompiledComputation(_) | CompKind::Lambda(_)
                ),
                CompKind::CompiledComputation(_) => self.is_pure_graph(part),
                // A function that comes from elsewhere may do anything.
                CompKind::Reference(_) | CompKind::Selection(_) => !part.ty().contains_function(),
                CompKind::Data(_) => false,
                _ => true,
            })
    }

    fn is_pure_graph(&mut self, comp: &Comp) -> bool {
        *self.pure.get_or_insert_with(comp, || match comp.as_compiled() {
            Some(CompiledComputation::TensorFlow(graph)) => {
                op_names(graph).is_ok_and(|ops| ops.iter().all(|op| PURE_OPS.contains(&op.as_str())))
            }
            _ => false,
        })
    }
}

/// Ops without state and chance. What is not here just is not shared.
const PURE_OPS: [&str; 63] = [
    "Abs",
    "Add",
    "AddN",
    "AddV2",
    "All",
    "Any",
    "ArgMax",
    "ArgMin",
    "BiasAdd",
    "BroadcastTo",
    "Cast",
    "Ceil",
    "ConcatV2",
    "Const",
    "Cos",
    "DivNoNan",
    "Equal",
    "Exp",
    "ExpandDims",
    "Fill",
    "Floor",
    "FloorDiv",
    "FloorMod",
    "GatherV2",
    "Greater",
    "GreaterEqual",
    "Identity",
    "IdentityN",
    "LeftShift",
    "Less",
    "LessEqual",
    "Log",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "MatMul",
    "Max",
    "Maximum",
    "Mean",
    "Min",
    "Minimum",
    "Mul",
    "Neg",
    "NoOp",
    "NotEqual",
    "Pack",
    "Placeholder",
    "Pow",
    "Range",
    "RealDiv",
    "Relu",
    "Reshape",
    "Select",
    "SelectV2",
    "Shape",
    "Sin",
    "Softmax",
    "Sqrt",
    "Square",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
];
