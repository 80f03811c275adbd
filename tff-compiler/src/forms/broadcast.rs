//! `BroadcastForm`: two graphs, for a system that sends clients something and never hears back.

use super::declare::form;
use super::parts::{
    Locals, Splitting, check_flow, check_only_reducible, elements, graph_type, is_aggregation, null_call, parameters,
    put_together, result, to_graph, unzip_to, with_cache_ids, zipped,
};
use crate::create::{create_broadcast, create_map_or_apply, create_selection, create_zip};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, Shape, called, split};
use crate::pipelines::CompileOptions;
use tff_ir::{Comp, Intrinsic};
use tff_types::{Placement, Type};

form! {
    /// A computation of the type `(<S@SERVER,{D}@CLIENTS> -> {R}@CLIENTS)` as graphs: what the server
    /// sends, and what each client makes of it.
    BroadcastForm {
        /// `(S -> C)`: what all clients are sent.
        compute_server_context,
        /// `(<C,D> -> R)`: what a client computes from that and its data.
        client_processing,
    }
}

const NAME: &str = "broadcast_form";

impl BroadcastForm {
    /// Splits a computation.
    ///
    /// # Errors
    /// [`CompileError`] where it is of another type, uses intrinsics that the form does not know, or
    /// aggregates.
    pub fn from_comp(comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        let form = Splitting { name: NAME, comp };
        check_type(comp.ty()).map_err(|error| form.fail(error))?;
        let normalized = form.normalized(true, options)?;
        let mut intrinsics = normalized.locals.iter().filter_map(|(_, value)| called(value));
        if let Some(intrinsic) = intrinsics.find(|it| is_aggregation(it)) {
            let found = intrinsic.uri().to_owned();
            return Err(form.fail(Problem::Expected { expected: "no aggregations", found }));
        }
        check_only_reducible(&normalized).map_err(|error| form.fail(error))?;
        let parts = Self::split(comp.ty(), &normalized).map_err(|error| form.fail(error.without_place()))?;
        parts.try_map(|role, part| with_cache_ids(role, part, options))
    }

    fn split(ty: &Type, comp: &Normalized) -> Result<Self, PassError> {
        let (before, after) = split(comp, &[null_call(Intrinsic::FederatedBroadcast)?])?;
        let context = create_selection(&before.result, 0)?;
        let context = before.function_of(&context, Some(&Shape::Part(vec![0])))?;
        let shape = Shape::parts(&[&[1, 0], &[0, 1]]);
        let processing = after.function_of(&after.result, Some(&shape))?;
        Self::from_parts(ty.clone(), |role| {
            let function = if role == "compute_server_context" { &context } else { &processing };
            to_graph(function).map_err(|error| error.in_part(role))
        })
    }

    fn check(&self) -> Result<(), Problem> {
        self.parts().into_iter().try_for_each(|part| graph_type(part).map(drop))?;
        let [context, processing] = self.parts();
        let [taken, _] = parameters(processing)?;
        check_flow("what compute_server_context returns for client_processing", &taken, &result(context)?)?;
        check_type(&self.ty)?;
        if let Some(promised) = self.ty.as_function().map(|ty| ty.result.strip_placement()) {
            check_flow("what client_processing returns", &promised, &result(processing)?)?;
        }
        Ok(())
    }

    /// The computation that the parts make up.
    ///
    /// # Errors
    /// [`CompileError`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        self.assemble().map_err(|error| put_together(NAME, error))
    }

    fn assemble(&self) -> Result<Comp, PassError> {
        let ty = self.ty.as_function().and_then(|ty| Some((ty.parameter.clone()?, ty.result.clone())));
        let (parameter, result) = ty.ok_or_else(|| Problem::expected("a function", &self.ty))?;
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
        _ => Err(Problem::expected(
            "a computation that takes two arguments, at the server and at clients, and returns a result at clients",
            ty,
        )),
    }
}
