//! The orders in which passes run: one pipeline to a computation that the evaluator runs, one to call-dominant form, and
//! the one that forms start with. A comment says why a pass comes after another; `tests/it/order.rs` shows it.

use crate::error::CompileError;
use crate::pass::{Observer, Pass, PassStats, Runner, check_valid};
use crate::passes::{
    AddCacheIds, CheckOps, CompileLocalSubcomputations, DisableCallRewriting, EliminateCommonSubexpressions,
    ReduceIntrinsics, RemoveUnusedBlockLocals, ShareEqualBodies, ToCallDominant,
};
use std::collections::BTreeSet;
use std::fmt;
use tff_ir::Comp;

/// What pipelines do besides what they must.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CompileOptions<'a> {
    /// Whether secure aggregations are replaced by what computes the same **without any
    /// security**: for tests and simulations.
    pub insecure_aggregation: bool,
    /// The only TensorFlow ops that graphs may use, if there is such a list.
    pub allowed_ops: Option<BTreeSet<String>>,
    /// The TensorFlow ops that graphs must not use.
    pub disallowed_ops: BTreeSet<String>,
    /// Sees what each pass did, and the computation after it; of a form also what the passes did that its
    /// parts went through.
    pub observer: Option<Observer<'a>>,
}

impl fmt::Debug for CompileOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileOptions")
            .field("insecure_aggregation", &self.insecure_aggregation)
            .field("allowed_ops", &self.allowed_ops)
            .field("disallowed_ops", &self.disallowed_ops)
            .field("observer", &self.observer.is_some())
            .finish()
    }
}

/// A compiled computation.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The computation, of a type that is assignable to that before.
    pub comp: Comp,
    /// What each pass did, in the order in which they ran.
    pub stats: Vec<PassStats>,
}

/// Compiles to what runtimes compute: aggregations, maps, sequences and graphs, in call-dominant
/// form, with one graph for each local function.
///
/// # Errors
/// [`CompileError`] with the pass, the path and the reason.
pub fn compile_to_native(comp: &Comp, options: &CompileOptions<'_>) -> Result<Compiled, CompileError> {
    let mut runner = Runner::new(options.observer);
    let comp = prepare(comp, true, options, &mut runner)?;
    let passes: [&dyn Pass; 6] = [
        // After the reduction of intrinsics: their bodies are functions, which are called here.
        &ToCallDominant,
        // After call-dominant form: only the calls that are locals can be unused, or equal.
        &RemoveUnusedBlockLocals,
        &EliminateCommonSubexpressions,
        // After call-dominant form and the removal: a function that calls another one, or a module that
        // nobody needs, does not become a graph.
        &CompileLocalSubcomputations,
        // After what makes graphs: new ones may be equal.
        &ShareEqualBodies,
        // After what makes or changes graphs: an id is that of the graph as it is in the end.
        &AddCacheIds,
    ];
    let comp = passes.into_iter().try_fold(comp, |comp, pass| runner.run(pass, comp))?;
    Ok(Compiled { comp, stats: runner.into_stats() })
}

/// Compiles to call-dominant form, with intrinsics as they are.
///
/// # Errors
/// [`CompileError`] with the pass, the path and the reason.
pub fn call_dominant(comp: &Comp, options: &CompileOptions<'_>) -> Result<Compiled, CompileError> {
    check_valid(comp)?;
    let mut runner = Runner::new(options.observer);
    let passes: [&dyn Pass; 2] = [&ToCallDominant, &RemoveUnusedBlockLocals];
    let comp = passes.into_iter().try_fold(comp.clone(), |comp, pass| runner.run(pass, comp))?;
    Ok(Compiled { comp, stats: runner.into_stats() })
}

/// What every pipeline and form starts with: the computation is checked, intrinsics are replaced by
/// their bodies if they are to be, and graphs are made ready to be merged.
pub(crate) fn prepare(
    comp: &Comp,
    reduce: bool,
    options: &CompileOptions<'_>,
    runner: &mut Runner<'_>,
) -> Result<Comp, CompileError> {
    check_valid(comp)?;
    let bodies = ReduceIntrinsics { insecure: options.insecure_aggregation };
    let check = CheckOps { allowed: options.allowed_ops.clone(), disallowed: options.disallowed_ops.clone() };
    let reduction: Option<&dyn Pass> = if reduce { Some(&bodies) } else { None };
    // Before call-dominant form: messages about a graph then lead to where it was written. And equal
    // graphs are made one before graphs are looked into, so that this happens once.
    let passes: [&dyn Pass; 3] = [&ShareEqualBodies, &check, &DisableCallRewriting];
    reduction.into_iter().chain(passes).try_fold(comp.clone(), |comp, pass| runner.run(pass, comp))
}
