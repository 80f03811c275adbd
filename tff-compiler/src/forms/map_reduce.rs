//! `MapReduceForm`: ten graphs, for a system that maps over clients and reduces what they send.

use super::declare::form;
use super::parts::{
    Locals, Splitting, check_flow, check_only_reducible, elements, graph_type, null_call, parameter, parameters,
    put_together, result, results, to_graph, unzip_to, with_cache_ids, zipped,
};
use crate::create::{
    Aggregation, create_aggregate, create_broadcast, create_call, create_map_or_apply, create_selection, create_zip,
    placed, placement_of,
};
use crate::error::{CompileError, PassError, Problem};
use crate::extract::{Normalized, Shape, element_of_members, split};
use crate::pass::run_pass;
use crate::passes::ReduceIntrinsics;
use crate::pipelines::CompileOptions;
use tff_ir::{Comp, Intrinsic, UniqueNames};
use tff_types::Type;

form! {
    /// A round of computation between a server with a state and clients with data, of the type
    /// `(<S@SERVER,{D}@CLIENTS> -> <S@SERVER,O@SERVER>)`, as graphs.
    ///
    /// The server prepares what all clients are sent; each client works on its data; what the clients
    /// send is aggregated in four ways; the server updates its state.
    MapReduceForm {
        /// `(S -> B)`: what all clients are sent.
        prepare,
        /// `(<D,B> -> <U,V,W,X>)`: what a client sends to be aggregated, to be summed securely by
        /// bitwidth, to be summed securely up to a maximum, to be summed securely modulo a number.
        work,
        /// `( -> A)`: where accumulating starts.
        zero,
        /// `(<A,U> -> A)`: adds what a client sends.
        accumulate,
        /// `(<A,A> -> A)`: joins two accumulators.
        merge,
        /// `(A -> R)`: what is made of the last accumulator.
        report,
        /// `( -> …)`: the number of bits for each value summed so.
        secure_sum_bitwidth,
        /// `( -> …)`: the maximum for each value summed so.
        secure_sum_max_input,
        /// `( -> …)`: the modulus for each value summed so.
        secure_modular_sum_modulus,
        /// `(<S,<R,V,W,X>> -> <S,O>)`: the new state, and what else the round returns.
        update,
    }
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
    pub fn from_comp(comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        let form = Splitting { name: NAME, comp };
        form.check_pairs()?;
        // What the round returns is zipped at the server.
        placement_of(&form.function()?.result).map_err(|error| form.fail(error))?;
        let normalized = form.normalized(true, options)?;
        check_only_reducible(&normalized).map_err(|error| form.fail(error))?;
        form.check_broadcast_not_dependent_on_aggregate(&normalized)?;
        let parts = Self::split(comp.ty(), &normalized).map_err(|error| form.fail(error.without_place()))?;
        parts.try_map(|role, part| with_cache_ids(role, part, options))
    }

    fn split(ty: &Type, comp: &Normalized) -> Result<Self, PassError> {
        let (before_broadcast, rest) = split(comp, &[null_call(Intrinsic::FederatedBroadcast)?])?;
        let defaults = AGGREGATIONS.map(null_call).into_iter().collect::<Result<Vec<_>, _>>()?;
        let (before, after) = split(&rest, &defaults)?;
        let at = |part: &Normalized, path: &[usize]| {
            path.iter().try_fold(part.result.clone(), |comp, &index| create_selection(&comp, index))
        };
        let value = |part: &Normalized, path: &[usize], shape: Option<Shape>| {
            part.function_of(&at(part, path)?, shape.as_ref())
        };
        let function = |path: &[usize]| before.function_at(&at(&before, path)?);
        // The parameter of what comes after the broadcast is <original_arg,intrinsic_results>, and
        // that of what comes after the aggregations again such a pair with this as the first.
        let sent = (0..AGGREGATIONS.len()).map(|index| at(&before, &[index, 0])).collect::<Result<Vec<_>, _>>()?;
        let work = before.function_of(&Comp::tuple(sent)?, Some(&Shape::parts(&[&[0, 1], &[1, 0]])))?;
        let aggregated: Vec<_> = (0..AGGREGATIONS.len()).map(|index| Shape::Part(vec![1, index])).collect();
        let update = Shape::Tuple(vec![Shape::Part(vec![0, 0, 0]), Shape::Tuple(aggregated)]);
        let parts = Self {
            ty: ty.clone(),
            prepare: value(&before_broadcast, &[0], Some(Shape::Part(vec![0])))?,
            work,
            zero: value(&before, &[0, 1], None)?,
            accumulate: function(&[0, 2])?,
            merge: function(&[0, 3])?,
            report: function(&[0, 4])?,
            secure_sum_bitwidth: value(&before, &[1, 1], None)?,
            secure_sum_max_input: value(&before, &[2, 1], None)?,
            secure_modular_sum_modulus: value(&before, &[3, 1], None)?,
            update: value(&after, &[], Some(update))?,
        };
        let graphs = parts.try_map(|role, part| to_graph(&part).map_err(|error| error.in_part(role)))?;
        graphs.check()?;
        Ok(graphs)
    }

    fn check(&self) -> Result<(), Problem> {
        self.parts().into_iter().try_for_each(|part| graph_type(part).map(drop))?;
        let [prepare, work, zero, accumulate, merge, report, _, _, _, update] = self.parts();
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
        let [old_state, old_data] = signature(&self.ty)?;
        let promised = self.ty.as_function().and_then(|ty| elements(&ty.result));
        let [new_state, returned]: [Type; 2] =
            promised.ok_or_else(|| Problem::expected("a function that returns two results", &self.ty))?;
        check_flow("the data for work", &data, &old_data.strip_placement())?;
        let given = Type::tuple([old_state.strip_placement(), aggregated])?;
        check_flow("what is aggregated for update", &parameter(update)?, &given)?;
        check_flow("the state that update returns for prepare", &parameter(prepare)?, &state)?;
        check_flow("the state that update returns", &new_state.strip_placement(), &state)?;
        check_flow("what update returns", &returned.strip_placement(), &output)?;
        Ok(())
    }

    /// Whether any tensor is aggregated securely.
    #[must_use]
    pub fn securely_aggregates_tensors(&self) -> bool {
        let sent = results::<4>(("work", &self.work));
        sent.is_ok_and(|[_, secure @ ..]| secure.iter().any(|ty| ty.contains(|part| part.as_tensor().is_some())))
    }

    /// The computation that the parts make up, of the type it had.
    ///
    /// Its secure sums stay secure. Where no tensor is summed securely they are replaced by what every
    /// runtime has: they sum nothing, so there is nothing to keep secret.
    ///
    /// # Errors
    /// [`CompileError`] where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        let comp = self.assemble().map_err(|error| put_together(NAME, error))?;
        if self.securely_aggregates_tensors() {
            return Ok(comp);
        }
        Ok(run_pass(&ReduceIntrinsics { insecure: true }, &comp)?.comp)
    }

    fn assemble(&self) -> Result<Comp, PassError> {
        let ty = self.ty.as_function().and_then(|ty| Some((ty.parameter.clone()?, ty.result.clone())));
        let (parameter, result) = ty.ok_or_else(|| Problem::expected("a function", &self.ty))?;
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
    parameter.and_then(elements).ok_or_else(|| Problem::expected("a function of two arguments", ty))
}
