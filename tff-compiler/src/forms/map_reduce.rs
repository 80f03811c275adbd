//! `MapReduceForm`: ten graphs, for a system that maps over clients and reduces what they send.

use super::parts::{
    Form, Locals, check_flow, check_only_reducible, elements, graph_type, null_call, parameter, parameters, result,
    results, to_graph, unzip_to, with_cache_ids, zipped,
};
use crate::create::{
    Aggregation, create_aggregate, create_broadcast, create_call, create_map_or_apply, create_selection, create_zip,
    placed, placement_of,
};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, Shape, element_of_members, split};
use crate::pipelines::Options;
use tff_ir::{Comp, Intrinsic, UniqueNames};
use tff_types::Type;

/// A round of computation between a server with a state and clients with data, of the type
/// `(<S@SERVER,{D}@CLIENTS> -> <S@SERVER,O@SERVER>)`, as graphs.
///
/// The server prepares what all clients are sent; each client works on its data; what the clients
/// send is aggregated in four ways; the server updates its state.
#[derive(Clone, Debug)]
pub struct MapReduceForm {
    /// The type of the computation.
    pub ty: Type,
    /// `(S -> B)`: what all clients are sent.
    pub prepare: Comp,
    /// `(<D,B> -> <U,V,W,X>)`: what a client sends to be aggregated, to be summed securely by
    /// bitwidth, to be summed securely up to a maximum, to be summed securely modulo a number.
    pub work: Comp,
    /// `( -> A)`: where accumulating starts.
    pub zero: Comp,
    /// `(<A,U> -> A)`: adds what a client sends.
    pub accumulate: Comp,
    /// `(<A,A> -> A)`: joins two accumulators.
    pub merge: Comp,
    /// `(A -> R)`: what is made of the last accumulator.
    pub report: Comp,
    /// `( -> …)`: the number of bits for each value summed so.
    pub secure_sum_bitwidth: Comp,
    /// `( -> …)`: the maximum for each value summed so.
    pub secure_sum_max_input: Comp,
    /// `( -> …)`: the modulus for each value summed so.
    pub secure_modular_sum_modulus: Comp,
    /// `(<S,<R,V,W,X>> -> <S,O>)`: the new state, and what else the round returns.
    pub update: Comp,
}

const NAME: &str = "map_reduce_form";

/// The intrinsics along which the computation is split, in the order of what `work` returns.
const AGGREGATIONS: [Intrinsic; 4] = [
    Intrinsic::FederatedAggregate,
    Intrinsic::FederatedSecureSumBitwidth,
    Intrinsic::FederatedSecureSum,
    Intrinsic::FederatedSecureModularSum,
];

impl MapReduceForm {
    /// Splits a computation.
    ///
    /// # Errors
    /// [`CompileError`] where it is of another type, uses intrinsics that the form does not know,
    /// broadcasts what it aggregated, or returns what is at clients.
    pub fn from_comp(comp: &Comp, options: &Options<'_>) -> Result<Self, CompileError> {
        let form = Form { name: NAME, comp };
        form.check_pairs()?;
        // What the round returns is zipped at the server.
        placement_of(&form.function()?.result).map_err(|error| form.fail(error))?;
        let normalized = form.normalized(true, options)?;
        check_only_reducible(&normalized).map_err(|error| form.fail(error))?;
        form.check_broadcast_not_dependent_on_aggregate(&normalized)?;
        let parts = Self::split(comp.ty(), &normalized);
        let parts = parts.map_err(|error| form.fail(PassError { node: None, ..error }))?;
        let with_ids = |part| with_cache_ids(part, options);
        Ok(Self {
            ty: parts.ty,
            prepare: with_ids(parts.prepare)?,
            work: with_ids(parts.work)?,
            zero: with_ids(parts.zero)?,
            accumulate: with_ids(parts.accumulate)?,
            merge: with_ids(parts.merge)?,
            report: with_ids(parts.report)?,
            secure_sum_bitwidth: with_ids(parts.secure_sum_bitwidth)?,
            secure_sum_max_input: with_ids(parts.secure_sum_max_input)?,
            secure_modular_sum_modulus: with_ids(parts.secure_modular_sum_modulus)?,
            update: with_ids(parts.update)?,
        })
    }

    fn split(ty: &Type, comp: &Normalized) -> Result<Self, PassError> {
        let (before_broadcast, rest) = split(comp, &[null_call(Intrinsic::FederatedBroadcast)?])?;
        let defaults = AGGREGATIONS.map(null_call).into_iter().collect::<Result<Vec<_>, _>>()?;
        let (before, after) = split(&rest, &defaults)?;
        let at = |part: &Normalized, path: &[usize]| {
            path.iter().try_fold(part.result.clone(), |comp, &index| create_selection(&comp, index))
        };
        let graph = |part: &Normalized, path: &[usize], shape: Option<Shape>| {
            to_graph(&part.function_of(&at(part, path)?, shape.as_ref())?)
        };
        let function = |path: &[usize]| to_graph(&before.function_at(&at(&before, path)?)?);
        // The parameter of what comes after the broadcast is <original_arg,intrinsic_results>, and
        // that of what comes after the aggregations again such a pair with this as the first.
        let sent = (0..AGGREGATIONS.len()).map(|index| at(&before, &[index, 0])).collect::<Result<Vec<_>, _>>()?;
        let work = before.function_of(&Comp::tuple(sent)?, Some(&Shape::parts(&[&[0, 1], &[1, 0]])))?;
        let aggregated: Vec<_> = (0..AGGREGATIONS.len()).map(|index| Shape::Part(vec![1, index])).collect();
        let update = Shape::Tuple(vec![Shape::Part(vec![0, 0, 0]), Shape::Tuple(aggregated)]);
        Ok(Self::new(Self {
            ty: ty.clone(),
            prepare: graph(&before_broadcast, &[0], Some(Shape::Part(vec![0])))?,
            work: to_graph(&work)?,
            zero: graph(&before, &[0, 1], None)?,
            accumulate: function(&[0, 2])?,
            merge: function(&[0, 3])?,
            report: function(&[0, 4])?,
            secure_sum_bitwidth: graph(&before, &[1, 1], None)?,
            secure_sum_max_input: graph(&before, &[2, 1], None)?,
            secure_modular_sum_modulus: graph(&before, &[3, 1], None)?,
            update: graph(&after, &[], Some(update))?,
        })?)
    }

    /// Checks parts that come from elsewhere.
    ///
    /// # Errors
    /// [`Problem::Expected`] where a part is no graph or does not take and return as many values as
    /// it must, [`Problem::Mismatch`] where what one returns is not what another one takes.
    pub fn new(parts: Self) -> Result<Self, Problem> {
        parts.parts().into_iter().try_for_each(|part| graph_type(part).map(drop))?;
        let [prepare, work, zero, accumulate, merge, report, _, _, _, update] = parts.parts();
        let [data, broadcast] = parameters(work)?;
        let [sent, bitwidth, max_input, modular] = results(work)?;
        let [accumulator, added] = parameters(accumulate)?;
        let [left, right] = parameters(merge)?;
        let [state, output] = results(update)?;
        let merged = result(merge)?;
        check_flow("what prepare returns for work", &broadcast, &result(prepare)?)?;
        check_flow("what zero returns for accumulate", &accumulator, &result(zero)?)?;
        check_flow("what work returns for accumulate", &added, &sent)?;
        check_flow("what accumulate returns for accumulate", &accumulator, &result(accumulate)?)?;
        for side in [&left, &right] {
            check_flow("what accumulate returns for merge", side, &result(accumulate)?)?;
        }
        check_flow("what merge returns for merge", &left, &merged)?;
        check_flow("what merge returns for report", &parameter(report)?, &merged)?;
        let aggregated = Type::tuple([result(report)?, bitwidth, max_input, modular])?;
        let [old_state, old_data] = signature(&parts.ty)?;
        let promised = parts.ty.as_function().and_then(|ty| elements(&ty.result));
        let [new_state, returned]: [Type; 2] =
            promised.ok_or_else(|| crate::create::expected("a function that returns two results", &parts.ty))?;
        check_flow("the data for work", &data, &old_data.strip_placement())?;
        let given = Type::tuple([old_state.strip_placement(), aggregated])?;
        check_flow("what is aggregated for update", &parameter(update)?, &given)?;
        check_flow("the state that update returns for prepare", &parameter(prepare)?, &state)?;
        check_flow("the state that update returns", &new_state.strip_placement(), &state)?;
        check_flow("what update returns", &returned.strip_placement(), &output)?;
        Ok(parts)
    }

    /// The parts by their roles, in a fixed order.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &Comp); 10] {
        [
            ("prepare", &self.prepare),
            ("work", &self.work),
            ("zero", &self.zero),
            ("accumulate", &self.accumulate),
            ("merge", &self.merge),
            ("report", &self.report),
            ("secure_sum_bitwidth", &self.secure_sum_bitwidth),
            ("secure_sum_max_input", &self.secure_sum_max_input),
            ("secure_modular_sum_modulus", &self.secure_modular_sum_modulus),
            ("update", &self.update),
        ]
    }

    /// Whether any tensor is aggregated securely.
    #[must_use]
    pub fn securely_aggregates_tensors(&self) -> bool {
        let sent = results::<4>(("work", &self.work));
        sent.is_ok_and(|[_, secure @ ..]| secure.iter().any(|ty| ty.contains(|part| part.as_tensor().is_some())))
    }

    /// The computation that the parts make up, of the type it had.
    ///
    /// # Errors
    /// [`Problem`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        let form = Form { name: NAME, comp: &self.prepare };
        self.assemble().map_err(|error| form.fail(PassError { node: None, ..error }))
    }

    fn assemble(&self) -> Result<Comp, PassError> {
        let ty = self.ty.as_function().and_then(|ty| Some((ty.parameter.clone()?, ty.result.clone())));
        let (parameter, result) = ty.ok_or_else(|| crate::create::expected("a function", &self.ty))?;
        let argument = Comp::reference("arg", parameter.clone())?;
        let mut locals = Locals::default();
        let state = locals.bind("state", zipped(Comp::selection(argument.clone(), 0)?)?)?;
        let data = locals.bind("data", zipped(Comp::selection(argument, 1)?)?)?;
        let prepared = locals.bind("prepared", create_map_or_apply(self.prepare.clone(), state.clone())?)?;
        let broadcast = locals.bind("broadcast", create_broadcast(prepared)?)?;
        let input = locals.bind("input", create_zip(Comp::tuple([data, broadcast])?)?)?;
        let sent = locals.bind("sent", create_map_or_apply(self.work.clone(), input)?)?;
        let mut names = UniqueNames::with_prefix(&self.work, "part");
        let mut part = |index| element_of_members(&sent, index, &mut names);
        let [to_aggregate, by_bits, by_max, modular] = [part(0)?, part(1)?, part(2)?, part(3)?];
        let aggregation = Aggregation {
            zero: Comp::call(self.zero.clone(), None)?,
            accumulate: self.accumulate.clone(),
            merge: self.merge.clone(),
            report: self.report.clone(),
        };
        let aggregated = [
            locals.bind("aggregated", create_aggregate(to_aggregate, aggregation)?)?,
            locals.bind(
                "summed_by_bits",
                secure(Intrinsic::FederatedSecureSumBitwidth, by_bits, &self.secure_sum_bitwidth)?,
            )?,
            locals.bind("summed_by_max", secure(Intrinsic::FederatedSecureSum, by_max, &self.secure_sum_max_input)?)?,
            locals.bind(
                "summed_modular",
                secure(Intrinsic::FederatedSecureModularSum, modular, &self.secure_modular_sum_modulus)?,
            )?,
        ];
        let given = create_zip(Comp::tuple([state, Comp::tuple(aggregated)?])?)?;
        let given = locals.bind("given", given)?;
        let updated = locals.bind("updated", create_map_or_apply(self.update.clone(), given)?)?;
        let result = locals.block(unzip_to(&result, &updated)?)?;
        Ok(Comp::lambda(Some(("arg", parameter)), result)?)
    }
}

/// A secure sum of values with a graph that computes its parameter.
fn secure(intrinsic: Intrinsic, value: Comp, parameter: &Comp) -> Result<Comp, Problem> {
    let parameter = Comp::call(parameter.clone(), None)?;
    let member = placed(value.ty())?.0.member.clone();
    let ty = Type::tuple([Type::at_clients(member.clone())?, parameter.ty().clone()])?;
    create_call(intrinsic, Comp::tuple([value, parameter])?, ty, Type::at_server(member)?)
}

fn signature(ty: &Type) -> Result<[Type; 2], Problem> {
    let parameter = ty.as_function().and_then(|ty| ty.parameter.as_ref());
    parameter.and_then(elements).ok_or_else(|| crate::create::expected("a function of two arguments", ty))
}
