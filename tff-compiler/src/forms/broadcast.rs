//! `BroadcastForm`: two graphs, for a system that sends clients something and never hears back.

use super::parts::{
    Form, Locals, check_flow, check_only_reducible, elements, graph_type, is_aggregation, null_call, parameters,
    result, to_graph, unzip_to, with_cache_ids, zipped,
};
use crate::create::{create_broadcast, create_map_or_apply, create_selection, create_zip};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, Shape, called, split};
use crate::pipelines::Options;
use tff_ir::{Comp, Intrinsic};
use tff_types::{Placement, Type};

/// A computation of the type `(<S@SERVER,{D}@CLIENTS> -> {R}@CLIENTS)` as graphs: what the server
/// sends, and what each client makes of it.
#[derive(Clone, Debug)]
pub struct BroadcastForm {
    /// The type of the computation.
    pub ty: Type,
    /// `(S -> C)`: what all clients are sent.
    pub compute_server_context: Comp,
    /// `(<C,D> -> R)`: what a client computes from that and its data.
    pub client_processing: Comp,
}

const NAME: &str = "broadcast_form";

impl BroadcastForm {
    /// Splits a computation.
    ///
    /// # Errors
    /// [`CompileError`] where it is of another type, uses intrinsics that the form does not know, or
    /// aggregates.
    pub fn from_comp(comp: &Comp, options: &Options<'_>) -> Result<Self, CompileError> {
        let form = Form { name: NAME, comp };
        check_type(comp.ty()).map_err(|error| form.fail(error))?;
        let normalized = form.normalized(true, options)?;
        let mut intrinsics = normalized.locals.iter().filter_map(|(_, value)| called(value));
        if let Some(intrinsic) = intrinsics.find(|it| is_aggregation(it)) {
            let found = intrinsic.uri().to_owned();
            return Err(form.fail(Problem::Expected { expected: "no aggregations", found }));
        }
        check_only_reducible(&normalized).map_err(|error| form.fail(error))?;
        let parts = Self::split(comp.ty(), &normalized);
        let parts = parts.map_err(|error| form.fail(PassError { node: None, ..error }))?;
        Ok(Self {
            ty: parts.ty,
            compute_server_context: with_cache_ids(parts.compute_server_context, options)?,
            client_processing: with_cache_ids(parts.client_processing, options)?,
        })
    }

    fn split(ty: &Type, comp: &Normalized) -> Result<Self, PassError> {
        let (before, after) = split(comp, &[null_call(Intrinsic::FederatedBroadcast)?])?;
        let context = create_selection(&before.result, 0)?;
        let context = before.function_of(&context, Some(&Shape::Part(vec![0])))?;
        let shape = Shape::parts(&[&[1, 0], &[0, 1]]);
        let processing = after.function_of(&after.result, Some(&shape))?;
        Ok(Self::new(Self {
            ty: ty.clone(),
            compute_server_context: to_graph(&context)?,
            client_processing: to_graph(&processing)?,
        })?)
    }

    /// Checks parts that come from elsewhere.
    ///
    /// # Errors
    /// [`Problem`] where a part is no graph, or what one returns is not what the other one takes, or
    /// what the type promises.
    pub fn new(parts: Self) -> Result<Self, Problem> {
        parts.parts().into_iter().try_for_each(|part| graph_type(part).map(drop))?;
        let [context, processing] = parts.parts();
        let [taken, _] = parameters(processing)?;
        check_flow("what compute_server_context returns for client_processing", &taken, &result(context)?)?;
        check_type(&parts.ty)?;
        if let Some(promised) = parts.ty.as_function().map(|ty| ty.result.strip_placement()) {
            check_flow("what client_processing returns", &promised, &result(processing)?)?;
        }
        Ok(parts)
    }

    /// The parts by their roles, in a fixed order.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &Comp); 2] {
        [("compute_server_context", &self.compute_server_context), ("client_processing", &self.client_processing)]
    }

    /// The computation that the parts make up.
    ///
    /// # Errors
    /// [`CompileError`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        let form = Form { name: NAME, comp: &self.compute_server_context };
        self.assemble().map_err(|error| form.fail(PassError { node: None, ..error }))
    }

    fn assemble(&self) -> Result<Comp, PassError> {
        let ty = self.ty.as_function().and_then(|ty| Some((ty.parameter.clone()?, ty.result.clone())));
        let (parameter, result) = ty.ok_or_else(|| crate::create::expected("a function", &self.ty))?;
        let argument = Comp::reference("arg", parameter.clone())?;
        let mut locals = Locals::default();
        let state = zipped(Comp::selection(argument.clone(), 0)?)?;
        let data = zipped(Comp::selection(argument, 1)?)?;
        let context = locals.bind("context", create_map_or_apply(self.compute_server_context.clone(), state)?)?;
        let broadcast = locals.bind("broadcast", create_broadcast(context)?)?;
        let input = locals.bind("input", create_zip(Comp::tuple([broadcast, data])?)?)?;
        let processed = locals.bind("processed", create_map_or_apply(self.client_processing.clone(), input)?)?;
        Ok(Comp::lambda(Some(("arg", parameter)), locals.block(unzip_to(&result, &processed)?)?)?)
    }
}

fn check_type(ty: &Type) -> Result<(), Problem> {
    let function = ty.as_function();
    let parameters = function.and_then(|ty| elements::<2>(ty.parameter.as_ref()?));
    let is_at = |ty: &Type, placement| crate::create::placement_of(ty).is_ok_and(|found| found == placement);
    match (parameters, function) {
        (Some([server, clients]), Some(function))
            if is_at(&server, Placement::Server)
                && is_at(&clients, Placement::Clients)
                && is_at(&function.result, Placement::Clients) =>
        {
            Ok(())
        }
        _ => Err(crate::create::expected(
            "a computation that takes two arguments, at the server and at clients, and returns a result at clients",
            ty,
        )),
    }
}
