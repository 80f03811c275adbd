//! What all forms share: preparing the computation, making graphs of its parts, checking them.

use crate::create::{
    Aggregation, create_aggregate, create_broadcast, create_call, create_identity, create_value, placed,
};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, check_not_dependent, strip_placement};
use crate::local::compile_to_graph;
use crate::pass::{Runner, located};
use crate::passes::AddCacheIds;
use crate::pipelines::{CompileOptions, prepare};
use std::sync::Arc;
use tff_ir::{Communication, Comp, CompPath, CompiledComputation, Intrinsic};
use tff_types::{FunctionType, Placement, StructType, Type};

/// A computation that is split into a form of this name. Errors are those of a pass of that name.
pub(super) struct Splitting<'a> {
    pub(super) name: &'static str,
    pub(super) comp: &'a Comp,
}

impl Splitting<'_> {
    pub(super) fn fail(&self, error: impl Into<PassError>) -> CompileError {
        located(self.name, self.comp, error.into())
    }

    /// The computation, checked, in call-dominant form, and taken apart; with intrinsics replaced by
    /// their bodies if they are to be.
    pub(super) fn normalized(&self, reduce: bool, options: &CompileOptions<'_>) -> Result<Normalized, CompileError> {
        let mut runner = Runner::new(options.observer);
        let comp = prepare(self.comp, reduce, options, &mut runner)?;
        Normalized::by(&mut runner, &comp)
    }

    /// The parameter and result of a function from two to two: `(<A,B> -> <C,D>)`.
    pub(super) fn check_pairs(&self) -> Result<(), CompileError> {
        let ty = self.function()?;
        let pair = |ty: &Type| ty.as_struct().is_some_and(|it| it.len() == 2);
        if !ty.parameter.as_ref().is_some_and(pair) {
            let found = ty.parameter.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
            return Err(self.fail(Problem::Expected { expected: "a computation that takes two arguments", found }));
        }
        if !pair(&ty.result) {
            let found = ty.result.to_string();
            return Err(self.fail(Problem::Expected { expected: "a computation that returns two results", found }));
        }
        Ok(())
    }

    pub(super) fn function(&self) -> Result<&FunctionType, CompileError> {
        let found = || Problem::Expected { expected: "a function", found: self.comp.ty().to_string() };
        self.comp.ty().as_function().ok_or_else(|| self.fail(found()))
    }

    pub(super) fn check_broadcast_not_dependent_on_aggregate(&self, comp: &Normalized) -> Result<(), CompileError> {
        check_not_dependent(comp, ("broadcast", &is_broadcast), ("aggregate", &is_aggregation))
            .map_err(|error| self.fail(error.problem))
    }

    pub(super) fn check_aggregate_not_dependent_on_aggregate(&self, comp: &Normalized) -> Result<(), CompileError> {
        check_not_dependent(comp, ("aggregate", &is_aggregation), ("aggregate", &is_aggregation))
            .map_err(|error| self.fail(error.problem))
    }
}

pub(super) fn is_broadcast(intrinsic: &Intrinsic) -> bool {
    intrinsic.def().is_some_and(|def| matches!(def.communication, Communication::Broadcast(_)))
}

pub(super) fn is_aggregation(intrinsic: &Intrinsic) -> bool {
    intrinsic.def().is_some_and(|def| matches!(def.communication, Communication::Aggregation(_)))
}

/// Checks that nothing but what a form knows is called.
pub(super) fn check_only_reducible(comp: &Normalized) -> Result<(), PassError> {
    let mut parts = comp.locals.iter().map(|(_, value)| value).chain([&comp.result]).flat_map(Comp::preorder);
    match parts.find_map(|part| part.as_intrinsic().filter(|intrinsic| !is_known(intrinsic))) {
        None => Ok(()),
        Some(intrinsic) => {
            let found = intrinsic.uri().to_owned();
            let expected = "only intrinsics that the form knows, which are not currently reducible otherwise";
            Err(Problem::Expected { expected, found }.into())
        }
    }
}

/// Whether a form knows what to do with a call of it.
fn is_known(intrinsic: &Intrinsic) -> bool {
    match intrinsic {
        Intrinsic::FederatedAggregate
        | Intrinsic::FederatedApply
        | Intrinsic::FederatedBroadcast
        | Intrinsic::FederatedEvalAtClients
        | Intrinsic::FederatedEvalAtServer
        | Intrinsic::FederatedMap
        | Intrinsic::FederatedMapAllEqual
        | Intrinsic::FederatedSecureModularSum
        | Intrinsic::FederatedSecureSum
        | Intrinsic::FederatedSecureSumBitwidth
        | Intrinsic::FederatedValueAtClients
        | Intrinsic::FederatedValueAtServer
        | Intrinsic::FederatedZipAtClients
        | Intrinsic::FederatedZipAtServer => true,
        Intrinsic::FederatedMax
        | Intrinsic::FederatedMean
        | Intrinsic::FederatedMin
        | Intrinsic::FederatedSecureSelect
        | Intrinsic::FederatedSelect
        | Intrinsic::FederatedSum
        | Intrinsic::FederatedWeightedMean
        | Intrinsic::GenericDivide
        | Intrinsic::GenericMultiply
        | Intrinsic::GenericPlus
        | Intrinsic::GenericZero
        | Intrinsic::SequenceMap
        | Intrinsic::SequenceReduce
        | Intrinsic::SequenceSum
        | Intrinsic::Other(_) => false,
    }
}

/// What one member computes, as a graph: `(T -> U)`, for a function at one placement.
pub(super) fn to_graph(function: &Comp) -> Result<Comp, PassError> {
    compile_to_graph(&to_local(function)?).map_err(PassError::without_place)
}

/// What one member computes: `(T -> U)`, in call-dominant form.
pub(super) fn to_local(function: &Comp) -> Result<Comp, PassError> {
    let stripped = strip_placement(function).map_err(PassError::without_place)?;
    Ok(Normalized::new(&stripped).map_err(unlocated)?.to_comp()?)
}

/// An error in putting parts together, which is about no node of a computation that the user sees.
pub(super) fn put_together(form: &'static str, error: PassError) -> CompileError {
    CompileError::Pass { pass: form, path: CompPath::new(&[]), problem: error.problem }
}

/// The problem alone: paths into what was derived from a computation lead nowhere in it.
pub(super) fn unlocated(error: CompileError) -> PassError {
    match error {
        CompileError::Pass { problem, .. } => problem.into(),
        other => Problem::Expected { expected: "a part that can be rewritten", found: other.to_string() }.into(),
    }
}

/// A call of an intrinsic that computes nothing, of nothing.
pub(super) fn null_call(intrinsic: Intrinsic) -> Result<Comp, Problem> {
    let nothing = || Ok::<_, Problem>(Comp::tuple([])?);
    let empty = nothing()?.ty().clone();
    match intrinsic {
        Intrinsic::FederatedBroadcast => create_broadcast(create_value(nothing()?, Placement::Server)?),
        Intrinsic::FederatedAggregate => {
            let pair = Type::tuple([empty.clone(), empty.clone()])?;
            let fold = Comp::lambda(Some(("x", pair)), nothing()?)?;
            let (zero, report) = (nothing()?, create_identity(&empty)?);
            let aggregation = Aggregation { zero, accumulate: fold.clone(), merge: fold, report };
            create_aggregate(create_value(nothing()?, Placement::Clients)?, aggregation)
        }
        _ => {
            let value = create_value(nothing()?, Placement::Clients)?;
            let parameter = Type::tuple([Type::at_clients(empty.clone())?, empty.clone()])?;
            create_call(intrinsic, Comp::tuple([value, nothing()?])?, parameter, Type::at_server(empty)?)
        }
    }
}

/// A part of a form, by its role.
pub(super) type Part<'a> = (&'static str, &'a Comp);

/// Checks that a part is a TensorFlow graph, and returns its type.
pub(super) fn graph_type<'a>((role, part): Part<'a>) -> Result<&'a FunctionType, Problem> {
    let found =
        || Problem::Expected { expected: "a TensorFlow graph", found: format!("{} for {role}", part.kind_name()) };
    match (part.as_compiled(), part.ty().as_function()) {
        (Some(CompiledComputation::TensorFlow(_)), Some(ty)) => Ok(ty),
        _ => Err(found()),
    }
}

/// The elements of the parameter of a part that takes so many.
pub(super) fn parameters<const N: usize>((role, part): Part<'_>) -> Result<[Type; N], Problem> {
    let parameter = part.ty().as_function().and_then(|ty| ty.parameter.as_ref());
    parameter.and_then(elements).ok_or_else(|| Problem::Expected {
        expected: "a parameter of the right number of elements",
        found: format!("{} for {role}", part.ty()),
    })
}

/// The elements of the result of a part that returns so many.
pub(super) fn results<const N: usize>((role, part): Part<'_>) -> Result<[Type; N], Problem> {
    let result = part.ty().as_function().map(|ty| &ty.result);
    result.and_then(elements).ok_or_else(|| Problem::Expected {
        expected: "a result of the right number of elements",
        found: format!("{} for {role}", part.ty()),
    })
}

/// The types of the elements of a struct of so many.
pub(super) fn elements<const N: usize>(ty: &Type) -> Option<[Type; N]> {
    let elements: Vec<_> = ty.as_struct()?.elements().iter().map(|element| element.ty.clone()).collect();
    elements.try_into().ok()
}

/// Checks that what one part returns may be given to another one.
pub(super) fn check_flow(what: &str, target: &Type, source: &Type) -> Result<(), Problem> {
    target
        .check_assignable_from(source)
        .map_err(|mismatch| Problem::Mismatch { what: what.to_owned(), mismatch: Box::new(mismatch) })
}

/// The parameter of a function, for parts that must have one.
pub(super) fn parameter((role, part): Part<'_>) -> Result<Type, Problem> {
    let parameter = part.ty().as_function().and_then(|ty| ty.parameter.clone());
    parameter.ok_or_else(|| Problem::Expected { expected: "a parameter", found: format!("{} for {role}", part.ty()) })
}

/// The result of a function.
pub(super) fn result((role, part): Part<'_>) -> Result<Type, Problem> {
    let result = part.ty().as_function().map(|ty| ty.result.clone());
    result.ok_or_else(|| Problem::Expected { expected: "a function", found: format!("{} for {role}", part.ty()) })
}

/// Gives names to intermediate results.
#[derive(Default)]
pub(super) struct Locals(Vec<(Arc<str>, Comp)>);

impl Locals {
    /// Adds a local, and returns a reference to it.
    pub(super) fn bind(&mut self, name: &str, value: Comp) -> Result<Comp, Problem> {
        let reference = Comp::reference(name, value.ty().clone())?;
        self.0.push((name.into(), value));
        Ok(reference)
    }

    pub(super) fn block(self, result: Comp) -> Result<Comp, Problem> {
        Ok(Comp::block(self.0, result)?)
    }
}

/// A part of a form that has merged graphs in it, with what runtimes know these by.
pub(super) fn with_cache_ids(
    role: &'static str,
    part: Comp,
    options: &CompileOptions<'_>,
) -> Result<Comp, CompileError> {
    Runner::of_part(role, options.observer).run(&AddCacheIds, part)
}

/// A federated value as one of this type, which may be a struct of federated values: of all elements
/// of its members.
pub(super) fn unzip_to(ty: &Type, value: &Comp) -> Result<Comp, PassError> {
    let member = &placed(value.ty())?.0.member;
    let Some(structure) = ty.as_struct() else {
        check_flow("what the parts return for the type of the computation", &ty.strip_placement(), member)?;
        return Ok(value.clone());
    };
    let elements = member.as_struct().map(StructType::len);
    if elements != Some(structure.len()) {
        let expected = "as many elements as the type of the computation has";
        return Err(Problem::Expected { expected, found: format!("{member} for {ty}") }.into());
    }
    let mut names = tff_ir::UniqueNames::with_prefix(value, "part");
    let elements = structure.elements().iter().enumerate().map(|(index, element)| {
        let part = crate::extract::element_of_members(value, index, &mut names)?;
        Ok((element.name.clone(), unzip_to(&element.ty, &part)?))
    });
    Ok(Comp::structure(elements.collect::<Result<Vec<_>, PassError>>()?)?)
}

/// A federated value, or a struct of such at the same placement zipped.
pub(super) fn zipped(value: Comp) -> Result<Comp, Problem> {
    if value.ty().as_federated().is_some() { Ok(value) } else { crate::create::create_zip(value) }
}
