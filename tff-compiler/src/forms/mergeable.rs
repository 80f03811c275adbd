//! `MergeableCompForm`: three computations, for clients that are split into rounds of their own.

use super::declare::form;
use super::parts::{
    Splitting, check_flow, null_call, parameters, put_together, result, to_graph, to_local, with_cache_ids,
};
use crate::create::{
    Aggregation, create_aggregate, create_identity, create_map_or_apply, create_selection, create_value,
};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, called, split};
use crate::pass::Runner;
use crate::passes::UniquifyReferenceNames;
use crate::pipelines::CompileOptions;
use crate::substitution::Substitution;
use tff_ir::{Comp, CompiledComputation, Intrinsic, UniqueNames};
use tff_types::{Placement, Type};

form! {
    /// A computation in which the values of clients are aggregated once: up to there for any part of
    /// the clients, merging what two parts gave, and what comes after.
    MergeableCompForm {
        /// `(T -> A@SERVER)`, or without parameter: up to the aggregation, which is not reported yet.
        up_to_merge,
        /// `(<A,A> -> A)`: joins what two parts of the clients gave.
        merge,
        /// `(<T,A@SERVER> -> R)`, or `(A@SERVER -> R)`: what is made of the whole.
        after_merge,
    }
}

const NAME: &str = "mergeable_comp_form";

impl MergeableCompForm {
    /// Splits a computation.
    ///
    /// # Errors
    /// [`CompileError`] where it aggregates what it aggregated before, or in another way.
    pub fn from_comp(comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        let form = Splitting { name: NAME, comp };
        let normalized = form.normalized(true, options)?;
        form.check_aggregate_not_dependent_on_aggregate(&normalized)?;
        let parts = Self::split(comp.ty(), &normalized).map_err(|error| form.fail(error.without_place()))?;
        let finished = parts.try_map(|role, part| {
            let unique = Runner::of_part(role, options.observer).run(&UniquifyReferenceNames, part)?;
            with_cache_ids(role, unique, options)
        })?;
        finished.check().map_err(|error| form.fail(error))?;
        Ok(finished)
    }

    fn split(ty: &Type, comp: &Normalized) -> Result<Self, PassError> {
        let (before, after) = split(comp, &[null_call(Intrinsic::FederatedAggregate)?])?;
        let mut names = UniqueNames::new(&Comp::tuple([before.to_comp()?, after.to_comp()?])?);
        let aggregation = create_selection(&before.result, 0)?;
        let part = |index| create_selection(&aggregation, index);
        // Modules are no part of a graph: functions that may call some stay what they are.
        let is_module = |part: &Comp| matches!(part.as_compiled(), Some(CompiledComputation::Xla(_)));
        let to_function = if before.to_comp()?.preorder().any(is_module) { to_local } else { to_graph };
        let function = |index| to_function(&before.function_at(&part(index)?)?);
        let (accumulate, merge, report) = (function(2)?, function(3)?, function(4)?);
        let zero = to_function(&before.function_of(&part(1)?, None)?)?;
        let accumulator = result(("merge", &merge))?;

        let value = before.slice(&part(0)?, &Substitution::default())?;
        let unreported = Aggregation {
            zero: Comp::call(zero, None)?,
            accumulate,
            merge: merge.clone(),
            report: create_identity(&accumulator)?,
        };
        // Where nothing is aggregated there is nothing to ask clients for, and their number may be unknown.
        let is_aggregation = |(_, value): &(_, Comp)| called(value) == Some(&Intrinsic::FederatedAggregate);
        let up_to_merge = if comp.locals.iter().any(is_aggregation) {
            Normalized { result: create_aggregate(value.result.clone(), unreported)?, ..value }
        } else {
            let nothing = create_value(Comp::tuple([])?, Placement::Server)?;
            Normalized { result: nothing, locals: Vec::new(), ..value }
        };
        let up_to_merge = up_to_merge.to_comp()?;
        let after_merge = after_merge(comp, &after, report, &accumulator, &mut names)?;
        Ok(Self { ty: ty.clone(), up_to_merge, merge, after_merge })
    }

    fn check(&self) -> Result<(), Problem> {
        let [up_to_merge, merge, after_merge] = self.parts();
        let merged = result(up_to_merge)?;
        let (federated, placement) = crate::create::placed(&merged)?;
        if placement != Placement::Server {
            return Err(Problem::expected("up_to_merge to return a value at the server", &merged));
        }
        let [left, right] = parameters(merge)?;
        for side in [&left, &right] {
            check_flow("what up_to_merge returns for merge", side, &federated.member)?;
            check_flow("what merge returns for merge", side, &result(merge)?)?;
        }
        let merged = Type::at_server(result(merge)?)?;
        let argument = self.up_to_merge.ty().as_function().and_then(|ty| ty.parameter.clone());
        let given = match argument {
            Some(argument) => Type::tuple([argument, merged])?,
            None => merged,
        };
        check_flow("what is merged for after_merge", &super::parts::parameter(after_merge)?, &given)?;
        check_no_aggregation(&self.after_merge)?;
        Ok(())
    }

    /// The computation that the parts make up where all clients are in one part.
    ///
    /// # Errors
    /// [`CompileError`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        let assemble = || -> Result<Comp, PassError> {
            let parameter = self.up_to_merge.ty().as_function().and_then(|ty| ty.parameter.clone());
            let argument = parameter.clone().map(|ty| Comp::reference("arg", ty)).transpose()?;
            let merged = Comp::call(self.up_to_merge.clone(), argument.clone())?;
            let given = match argument {
                Some(argument) => Comp::tuple([argument, merged])?,
                None => merged,
            };
            let result = Comp::call(self.after_merge.clone(), Some(given))?;
            Ok(Comp::lambda(parameter.map(|ty| ("arg", ty)), result)?)
        };
        assemble().map_err(|error| put_together(NAME, error))
    }
}

/// What comes after, as a function of the argument and of what is merged but not reported.
fn after_merge(
    comp: &Normalized,
    after: &Normalized,
    report: Comp,
    accumulator: &Type,
    names: &mut UniqueNames,
) -> Result<Comp, PassError> {
    let merged_ty = Type::at_server(accumulator.clone())?;
    let name = names.next_name();
    let (ty, argument, merged) = match &comp.parameter {
        None => {
            let merged = Comp::reference(name.clone(), merged_ty.clone())?;
            (merged_ty, None, merged)
        }
        Some(parameter) => {
            let fields = [(Some("top_level_arg"), parameter.ty.clone()), (Some("merge_result"), merged_ty)];
            let ty = Type::structure(fields)?;
            let both = Comp::reference(name.clone(), ty.clone())?;
            (ty, Some(Comp::selection(both.clone(), 0)?), Comp::selection(both, 1)?)
        }
    };
    let reported = create_map_or_apply(report, merged)?;
    let reported_name = names.next_name();
    let reference = Comp::reference(reported_name.clone(), reported.ty().clone())?;
    // The parameter of what comes after is <original_arg,intrinsic_results=<R>>.
    let old = after.parameter()?.name.clone();
    let results_at = usize::from(argument.is_some());
    let mut substitution = Substitution::default();
    if let Some(argument) = argument {
        substitution.replace_part(old.clone(), vec![0], argument);
    }
    substitution.replace_part(old, vec![results_at, 0], reference);
    let mut function = after.slice(&after.result, &substitution)?;
    if function.to_comp()?.free_names().contains(&reported_name) {
        function.locals.insert(0, (reported_name, reported));
    }
    function.parameter = Some(tff_ir::Parameter { name, ty });
    let function = function.to_comp()?;
    match function.free_names().first() {
        None => Ok(function),
        Some(name) => Err(Problem::unbound(name).into()),
    }
}

/// Checks that nothing at clients becomes something at the server, whatever it is called.
fn check_no_aggregation(comp: &Comp) -> Result<(), Problem> {
    let is_at = |ty: &Type, placement| {
        ty.contains(|part| crate::create::placed(part).is_ok_and(|(_, found)| found == placement))
    };
    for part in comp.preorder() {
        let (Some(intrinsic), Some(ty)) = (part.as_intrinsic(), part.ty().as_function()) else { continue };
        let from_clients = ty.parameter.as_ref().is_some_and(|ty| is_at(ty, Placement::Clients));
        if from_clients && is_at(&ty.result, Placement::Server) {
            let found = format!("{}: {}", intrinsic.uri(), part.ty());
            return Err(Problem::Expected { expected: "no aggregation in after_merge", found });
        }
    }
    Ok(())
}
