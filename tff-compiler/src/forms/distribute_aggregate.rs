//! `DistributeAggregateForm`: five computations, for a system that has its own broadcast and
//! aggregations.

use super::declare::form;
use super::parts::{
    Locals, Splitting, check_flow, elements, is_aggregation, is_broadcast, parameters, put_together, result, results,
    unlocated,
};
use crate::create::{create_broadcast, create_map_or_apply, create_selection, create_value, create_zip, placed};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{
    AllowedPaths, DivisiveSplit, Normalized, Shape, called, divisive_force_align_and_split_by_intrinsics,
};
use crate::pass::run_pass;
use crate::passes::UniquifyReferenceNames;
use crate::pipelines::CompileOptions;
use crate::substitution::path_from_name;
use std::sync::Arc;
use tff_ir::{Comp, Intrinsic, UniqueNames};
use tff_types::{Placement, StructType, Type};

form! {
    /// A round of computation between a server with a state and clients with data, of the type
    /// `(<S@SERVER,{D}@CLIENTS> -> <S@SERVER,O@SERVER>)`, as computations each of which is at one
    /// placement or only communicates.
    DistributeAggregateForm {
        /// `(S@SERVER -> <B,T>)`: what is broadcast, and what the server keeps.
        server_prepare,
        /// `(B -> C)`: nothing but broadcasts.
        server_to_client_broadcast,
        /// `(<{D}@CLIENTS,C> -> U)`: what clients send.
        client_work,
        /// `(<T,U> -> A)`: nothing but aggregations.
        client_to_server_aggregation,
        /// `(<T,A> -> <S@SERVER,O@SERVER>)`: the new state, and what else the round returns.
        server_result,
    }
}

const NAME: &str = "distribute_aggregate_form";

impl DistributeAggregateForm {
    /// Splits a computation.
    ///
    /// # Errors
    /// [`CompileError`] where it is of another type, broadcasts what it aggregated, or returns what
    /// is at clients.
    pub fn from_comp(comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        let form = Splitting { name: NAME, comp };
        form.check_pairs()?;
        let normalized = form.normalized(false, options)?;
        form.check_broadcast_not_dependent_on_aggregate(&normalized)?;
        let injected = inject_broadcast(&normalized).map_err(|error| form.fail(error.without_place()))?;

        let paths = AllowedPaths { before: &[vec![0]], intrinsic: &[], after: &[vec![1]] };
        let broadcast = divisive_force_align_and_split_by_intrinsics(&injected, &is_broadcast, paths)?;
        // What comes after takes <data,intrinsic_results,intermediate_state>; it returns also what
        // was broadcast in vain.
        let rest = first_two(&broadcast.after, injected.ty() != comp.ty()).map_err(|error| form.fail(error))?;
        let paths = AllowedPaths { before: &[vec![0], vec![1]], intrinsic: &[vec![2]], after: &[vec![2]] };
        let aggregation = divisive_force_align_and_split_by_intrinsics(&rest, &is_aggregation, paths)?;
        let parts = Self::assemble_parts(comp.ty(), &broadcast, &aggregation);
        let parts = parts.map_err(|error| form.fail(error.without_place()))?;
        parts.check().map_err(|error| form.fail(error))?;
        Ok(parts)
    }

    fn assemble_parts(ty: &Type, broadcast: &DivisiveSplit, aggregation: &DivisiveSplit) -> Result<Self, PassError> {
        // Parameters of one element become the element.
        let only = |comp: &Comp| -> Result<Comp, PassError> {
            let parameter = super::parts::parameter(("a part", comp))?;
            let [element] = elements(&parameter).ok_or_else(|| Problem::expected("one element", &parameter))?;
            let name = UniqueNames::new(comp).next_name();
            let argument = Comp::tuple([Comp::reference(name.clone(), element.clone())?])?;
            let argument = named_like(&parameter, argument)?;
            normal(&Comp::lambda(Some((name, element)), Comp::call(comp.clone(), Some(argument))?)?)
        };
        let work = Normalized::new(&aggregation.before).map_err(unlocated)?;
        let sent = create_selection(&work.result, 0)?;
        let client_work = Normalized { result: sent, ..work }.to_comp()?;
        Ok(Self {
            ty: ty.clone(),
            server_prepare: only(&broadcast.before)?,
            server_to_client_broadcast: only(&broadcast.intrinsic)?,
            client_work,
            client_to_server_aggregation: aggregation.intrinsic.clone(),
            server_result: without_state(&aggregation.after)?,
        })
    }

    fn check(&self) -> Result<(), Problem> {
        let [prepare, broadcast, work, aggregation, last] = self.parts();
        for (role, part) in self.parts() {
            if part.as_lambda().is_none() || !part.free_names().is_empty() {
                let found = format!("{part} for {role}");
                return Err(Problem::Expected { expected: "a function that refers to nothing outside", found });
            }
        }
        check_only_calls(broadcast.1, &is_broadcast, "nothing but broadcasts")?;
        check_only_calls(aggregation.1, &is_aggregation, "nothing but aggregations")?;
        check_only_at(prepare.1, Placement::Server)?;
        check_only_at(work.1, Placement::Clients)?;
        check_only_at(last.1, Placement::Server)?;

        let [to_broadcast, kept] = results(prepare)?;
        let [data, received] = parameters(work)?;
        let [kept_then, sent] = parameters(aggregation)?;
        let [kept_last, aggregated] = parameters(last)?;
        let [state, output] = results(last)?;
        let function = self.ty.as_function();
        let signature = function.and_then(|ty| Some((elements(ty.parameter.as_ref()?)?, elements(&ty.result)?)));
        let Some(([old_state, old_data], [new_state, returned])) = signature else {
            return Err(Problem::expected("a function from two to two values", &self.ty));
        };
        check_flow("the state for server_prepare", &super::parts::parameter(prepare)?, &old_state)?;
        check_flow("what server_prepare returns to broadcast", &super::parts::parameter(broadcast)?, &to_broadcast)?;
        check_flow("the data for client_work", &data, &old_data)?;
        check_flow("what is broadcast for client_work", &received, &result(broadcast)?)?;
        check_flow("what client_work returns to aggregate", &sent, &result(work)?)?;
        check_flow("what server_prepare keeps for the aggregation", &kept_then, &kept)?;
        check_flow("what server_prepare keeps for server_result", &kept_last, &kept)?;
        check_flow("what is aggregated for server_result", &aggregated, &result(aggregation)?)?;
        check_flow("the state that server_result returns", &new_state, &state)?;
        check_flow("what server_result returns", &returned, &output)?;
        Ok(())
    }

    /// The computation that the parts make up.
    ///
    /// # Errors
    /// [`CompileError`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        let assemble = || -> Result<Comp, PassError> {
            let parameter = self.ty.as_function().and_then(|ty| ty.parameter.clone());
            let parameter = parameter.ok_or_else(|| Problem::expected("a function", &self.ty))?;
            let argument = Comp::reference("arg", parameter.clone())?;
            let mut locals = Locals::default();
            let call = |function: &Comp, argument| Comp::call(function.clone(), Some(argument));
            let prepared = call(&self.server_prepare, Comp::selection(argument.clone(), 0)?)?;
            let prepared = locals.bind("prepared", prepared)?;
            let kept = Comp::selection(prepared.clone(), 1)?;
            let received = call(&self.server_to_client_broadcast, Comp::selection(prepared, 0)?)?;
            let received = locals.bind("received", received)?;
            let sent = call(&self.client_work, Comp::tuple([Comp::selection(argument, 1)?, received])?)?;
            let sent = locals.bind("sent", sent)?;
            let aggregated = call(&self.client_to_server_aggregation, Comp::tuple([kept.clone(), sent])?)?;
            let aggregated = locals.bind("aggregated", aggregated)?;
            let result = call(&self.server_result, Comp::tuple([kept, aggregated])?)?;
            Ok(Comp::lambda(Some(("arg", parameter)), locals.block(result)?)?)
        };
        let comp = assemble().map_err(|error| put_together(NAME, error))?;
        Ok(run_pass(&UniquifyReferenceNames, &comp)?.comp)
    }
}

/// Lets what aggregations take from the server, or from nowhere, be computed before the broadcast:
/// broadcasts nothing in its place, and returns that as well.
fn inject_broadcast(comp: &Normalized) -> Result<Comp, PassError> {
    let mut names = comp.fresh_names()?;
    let mut taken = Vec::new();
    for (_, call) in comp.locals.iter().filter(|(_, value)| called(value).is_some_and(is_aggregation)) {
        let Some(argument) = call.as_call().and_then(|call| call.argument.as_ref()) else { continue };
        let Some(elements) = argument.as_struct() else { continue };
        for element in elements.elements.iter().map(|element| &element.value) {
            match placed(element.ty()) {
                Ok((_, Placement::Server)) => taken.push(element.clone()),
                Ok(_) => {}
                Err(_) if element.ty().contains_function() => {}
                Err(_) => taken.push(create_value(element.clone(), Placement::Server)?),
            }
        }
    }
    if taken.is_empty() {
        return Ok(comp.to_comp()?);
    }
    let mut comp = comp.clone();
    let zipped = create_zip(Comp::tuple(taken)?)?;
    let member = placed(zipped.ty())?.0.member.clone();
    let forget = Comp::lambda(Some((names.next_name(), member)), Comp::tuple([])?)?;
    let broadcast = create_broadcast(create_map_or_apply(forget, zipped)?)?;
    let name = names.next_name();
    let reference = Comp::reference(name.clone(), broadcast.ty().clone())?;
    comp.locals.push((name, broadcast));
    let [state, output] = both_results(&comp.result)?;
    comp.result = Comp::structure([state, output, (None, reference)])?;
    Ok(comp.to_comp()?)
}

/// An element of a struct, with its name.
type Element = (Option<Arc<str>>, Comp);

/// The state and what else the round returns, with their names in the result.
fn both_results(result: &Comp) -> Result<[Element; 2], PassError> {
    let names = result.ty().as_struct().map(StructType::elements).unwrap_or_default();
    let element = |index: usize| {
        let name = names.get(index).and_then(|element| element.name.clone());
        Ok::<_, PassError>((name, create_selection(result, index)?))
    };
    Ok([element(0)?, element(1)?])
}

/// The function that returns the first two of three results, if there are three.
fn first_two(comp: &Comp, injected: bool) -> Result<Comp, PassError> {
    if !injected {
        return Ok(comp.clone());
    }
    let mut normalized = Normalized::new(comp).map_err(unlocated)?;
    normalized.result = Comp::structure(both_results(&normalized.result)?)?;
    normal(&normalized.to_comp()?)
}

/// `server_result` from what comes after the aggregations, which is given nothing by clients.
fn without_state(comp: &Comp) -> Result<Comp, PassError> {
    let normalized = Normalized::new(comp).map_err(unlocated)?;
    let state_ty = normalized.parameter()?.ty.as_struct().and_then(|it| it.elements().get(2)).map(|it| it.ty.clone());
    if let Some(ty) = state_ty.filter(|ty| ty.as_struct().is_none_or(|it| !it.is_empty())) {
        return Err(Problem::Unbound { name: format!("a part of {ty} that clients do not aggregate") }.into());
    }
    normalized.function_of(&normalized.result, Some(&Shape::parts(&[&[0], &[1]])))
}

fn named_like(ty: &Type, value: Comp) -> Result<Comp, PassError> {
    let names = ty.as_struct().into_iter().flat_map(|it| it.elements()).map(|it| it.name.clone());
    let elements = value.as_struct().into_iter().flat_map(|it| it.elements.iter()).map(|it| it.value.clone());
    Ok(Comp::structure(names.zip(elements))?)
}

fn normal(comp: &Comp) -> Result<Comp, PassError> {
    Ok(Normalized::new(comp).map_err(unlocated)?.to_comp()?)
}

/// Checks that a part is at one placement.
fn check_only_at(comp: &Comp, placement: Placement) -> Result<(), Problem> {
    let other = comp.preorder().find(|part| {
        part.ty().as_federated().is_some() && placed(part.ty()).map_or(true, |(_, found)| found != placement)
    });
    match other {
        None => Ok(()),
        Some(part) => Err(Problem::Expected {
            expected: "a part in which everything is at the same placement",
            found: format!("{} of type {}", part.kind_name(), part.ty()),
        }),
    }
}

/// Checks that a part only calls such intrinsics, on parts of its parameter or constants, and
/// returns just their results.
fn check_only_calls(
    comp: &Comp,
    is_allowed: &dyn Fn(&Intrinsic) -> bool,
    expected: &'static str,
) -> Result<(), Problem> {
    let wrong = |part: &Comp| Problem::Expected { expected, found: part.to_string() };
    let lambda = comp.as_lambda().ok_or_else(|| wrong(comp))?;
    let block = lambda.result.as_block().ok_or_else(|| wrong(&lambda.result))?;
    for local in block.locals.iter() {
        let argument = local.value.as_call().and_then(|call| call.argument.as_ref());
        let argument = argument.filter(|_| called(&local.value).is_some_and(is_allowed));
        check_argument(argument.ok_or_else(|| wrong(&local.value))?, &wrong)?;
    }
    let results = block.result.as_struct().ok_or_else(|| wrong(&block.result))?;
    let names = results.elements.iter().map(|element| element.value.as_reference().map(|it| &it.name));
    if names.eq(block.locals.iter().map(|local| Some(&local.name))) { Ok(()) } else { Err(wrong(&block.result)) }
}

fn check_argument(argument: &Comp, wrong: &dyn Fn(&Comp) -> Problem) -> Result<(), Problem> {
    match argument.as_struct() {
        Some(structure) => structure.elements.iter().try_for_each(|element| check_argument(&element.value, wrong)),
        None if path_from_name(argument).is_some() || argument.as_literal().is_some() => Ok(()),
        // The functions of an aggregation stay where they are used.
        None if argument.ty().as_function().is_some() => Ok(()),
        None => Err(wrong(argument)),
    }
}
