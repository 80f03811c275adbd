//! Calling a graph: a copy of it becomes a part of the graph that calls it.
//!
//! A copy has its own nodes, shared resources and loop frames, told apart by a prefix. Functions
//! are shared by all copies of all graphs in which they are the same, except those that own
//! resources.

use super::binding::{BoundTensor, Content, tensors_of};
use super::builder::{GraphBuilder, Initializer};
use super::def::{prefix_session_names, rename_functions, rewrite_colocations};
use super::error::GraphError;
use super::identity::SameBody;
use super::library::Renames;
use super::source::{Init, Source, SourceInput};
use super::wire::{Tensor, Wire};
use std::sync::Arc;
use tff_ir::TensorFlow;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value;
use tff_types::FunctionType;

/// One copy of a graph in the making.
struct Copy<'a> {
    source: &'a Source,
    prefix: String,
    /// What is fed to the parameter.
    arguments: Vec<Tensor>,
    renames: Renames,
    /// Whether the copy initializes itself before it runs, in the same run.
    folded: Option<&'a Init>,
}

impl GraphBuilder {
    /// Calls a computation of this type: adds a copy of its graph, with the argument in the place
    /// of what it is fed. Each call runs once in the graph, also if the computation is the same.
    ///
    /// A computation that initializes itself from nothing but the parameter of the graph does so
    /// in the op that initializes the whole. One that initializes itself from the result of
    /// another call does so within the run, between its argument and its result: when the whole is
    /// initialized that result does not exist yet.
    ///
    /// # Errors
    /// A [`GraphError`] where the computation holds no graph, a binding does not fit its type, the
    /// argument does not fit the parameter, or the graph becomes too large.
    pub fn call(
        &mut self,
        comp: &Arc<TensorFlow>,
        ty: &FunctionType,
        argument: Option<&Wire>,
    ) -> Result<Wire, GraphError> {
        check_argument(ty, argument)?;
        let position = self.source(comp, ty)?;
        let len = self.sources.len();
        let source = self.sources.get(position).cloned().ok_or(GraphError::IndexOutOfRange { index: position, len })?;
        let prefix = format!("call{}/", self.calls);
        self.reserve(source.nodes.len(), source.size)?;
        let renames = self.add_library(&source, position, &prefix)?;
        self.calls += 1;
        self.add_versions(&source.versions);
        self.copy(&source, prefix, renames, argument)
    }

    /// Where in `sources` the graph of a computation is; it is read at its first use.
    fn source(&mut self, comp: &Arc<TensorFlow>, ty: &FunctionType) -> Result<usize, GraphError> {
        // Mostly it is the same one in memory, and then its bytes need not be looked at.
        let same = SameBody::of(comp);
        if let Some((_, position)) = self.by_identity.get(&same).filter(|(known, _)| known == ty) {
            return Ok(*position);
        }
        let key = (comp.clone(), ty.clone());
        let position = match self.by_content.get(&key) {
            Some(position) => *position,
            None => {
                self.sources.push(Arc::new(Source::read(comp, ty)?));
                self.sources.len() - 1
            }
        };
        self.by_content.insert(key, position);
        self.by_identity.insert(same, (ty.clone(), position));
        Ok(position)
    }

    /// Adds the nodes of a copy; returns the result.
    fn copy(
        &mut self,
        source: &Source,
        prefix: String,
        renames: Renames,
        argument: Option<&Wire>,
    ) -> Result<Wire, GraphError> {
        let mut given = Vec::new();
        argument.iter().for_each(|wire| wire.tensors().for_each(&mut |tensor| given.push(tensor.clone())));
        let mut arguments = Vec::with_capacity(given.len());
        for (bound, tensor) in source.parameter.iter().zip(given) {
            arguments.push(if bound.content == Content::DatasetGraph { self.serialize(&tensor)? } else { tensor });
        }
        let needs_call = |init: &&Init| {
            init.fed.iter().any(|position| arguments.get(*position).is_some_and(|argument| argument.from_call))
        };
        let folded = source.init.as_ref().filter(needs_call);
        if let (Some(init), None) = (&source.init, folded) {
            self.initializers.push(Initializer { prefix: prefix.clone(), node: format!("{prefix}{}", init.node) });
        }
        let copy = Copy { source, prefix, arguments, renames, folded };
        for (node, inputs) in source.nodes.iter().zip(&source.inputs) {
            let node = copy.node(node, inputs, self)?;
            self.push(node)?;
        }
        copy.result(self)
    }

    /// Adds the functions of a graph; returns the names that differ for this copy.
    fn add_library(&mut self, source: &Source, position: usize, prefix: &str) -> Result<Renames, GraphError> {
        let first_use = !self.renames.contains_key(&position);
        if first_use || !source.owners.is_empty() {
            self.reserve(0, source.library.encoded_len())?;
        }
        let from = self.calls;
        let shared = self.renames.entry(position).or_insert_with(|| {
            let conflicts = source.library.conflicts_with(&self.library);
            let shared = conflicts.difference(&source.owners).cloned().collect();
            self.library.fresh_names(&source.library, &shared, from)
        });
        let mut renames = shared.clone();
        renames.extend(self.library.fresh_names(&source.library, &source.owners, from));
        self.library.add(&source.library, &renames, &source.owners, prefix, first_use);
        Ok(renames)
    }

    /// The serialized form of a dataset.
    fn serialize(&mut self, dataset: &Tensor) -> Result<Tensor, GraphError> {
        let attrs = [("external_state_policy", Value::I(0)), ("strip_device_assignment", Value::B(true))];
        self.add("DatasetToGraphV2", &[dataset], &attrs)
    }
}

impl Copy<'_> {
    fn node(
        &self,
        node: &tf::NodeDef,
        inputs: &[SourceInput],
        graph: &mut GraphBuilder,
    ) -> Result<tf::NodeDef, GraphError> {
        let prefix = &self.prefix;
        let mut copy = node.clone();
        copy.name = format!("{prefix}{}", node.name);
        copy.input = inputs.iter().map(|input| self.input(input, graph)).collect::<Result<_, _>>()?;
        if let Some(init) = self.folded.filter(|init| runs_after(init, node, inputs)) {
            copy.input.push(format!("^{prefix}{}", init.node));
        }
        rewrite_colocations(&mut copy, &|name| Some(format!("{prefix}{name}")));
        prefix_session_names(&mut copy, prefix);
        if !self.renames.is_empty() {
            rename_functions(&mut copy, &|name| self.renames.get(name).cloned());
        }
        Ok(copy)
    }

    fn input(&self, input: &SourceInput, graph: &mut GraphBuilder) -> Result<String, GraphError> {
        Ok(match input {
            SourceInput::Own { control: false, text } => format!("{}{text}", self.prefix),
            SourceInput::Own { control: true, text } => format!("^{}{text}", self.prefix),
            SourceInput::Fed { control: false, position } => self.argument(*position)?.input(),
            SourceInput::Fed { control: true, position } => format!("^{}", self.argument(*position)?.node),
            SourceInput::Token => graph.token()?.input(),
        })
    }
}

impl Copy<'_> {
    /// The result of the call.
    fn result(&self, graph: &mut GraphBuilder) -> Result<Wire, GraphError> {
        let ty = &self.source.result_ty;
        let mut parts = self.source.result.iter().zip(&self.source.result_tensors);
        let mismatch = || GraphError::Binding { side: "result", ty: ty.clone() };
        let tensors = tensors_of(ty, &mut |_| {
            let (input, bound) = parts.next().ok_or_else(mismatch)?;
            self.result_part(input, bound, graph)
        })?;
        Ok(Wire::new(ty.clone(), tensors))
    }

    fn result_part(
        &self,
        input: &SourceInput,
        bound: &BoundTensor,
        graph: &mut GraphBuilder,
    ) -> Result<Tensor, GraphError> {
        let tensor = match input {
            SourceInput::Fed { position, .. } => self.argument(*position)?.clone(),
            SourceInput::Token => graph.token()?,
            SourceInput::Own { .. } => Tensor {
                node: format!("{}{}", self.prefix, bound.tensor.node).into(),
                index: bound.tensor.index,
                from_call: true,
            },
        };
        if bound.content == Content::DatasetGraph { graph.add("DatasetFromGraph", &[&tensor], &[]) } else { Ok(tensor) }
    }

    fn argument(&self, position: usize) -> Result<&Tensor, GraphError> {
        let missing = || match self.source.parameter.get(position) {
            Some(bound) => GraphError::MissingArgument { parameter: bound.ty.clone() },
            None => GraphError::IndexOutOfRange { index: position, len: self.source.parameter.len() },
        };
        self.arguments.get(position).ok_or_else(missing)
    }
}

/// Whether a node of a graph that initializes itself is the first on its way that must not run
/// before that is done: it uses what the initialization uses, and is no part of it.
fn runs_after(init: &Init, node: &tf::NodeDef, inputs: &[SourceInput]) -> bool {
    let is_needed = |input: &SourceInput| match input {
        SourceInput::Own { text, .. } => {
            let name = text.rsplit_once(':').map_or(text.as_str(), |(name, _)| name);
            init.needs.contains(name)
        }
        SourceInput::Fed { .. } | SourceInput::Token => false,
    };
    !init.needs.contains(&node.name) && inputs.iter().any(is_needed)
}

fn check_argument(ty: &FunctionType, argument: Option<&Wire>) -> Result<(), GraphError> {
    match (&ty.parameter, argument) {
        (None, None) => Ok(()),
        (Some(parameter), None) => Err(GraphError::MissingArgument { parameter: parameter.clone() }),
        (None, Some(argument)) => Err(GraphError::UnexpectedArgument { argument: argument.ty().clone() }),
        (Some(parameter), Some(argument)) => {
            parameter.check_assignable_from(argument.ty()).map_err(|mismatch| GraphError::Argument(Box::new(mismatch)))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::dump::{dump, parse, tensorflow};
    use crate::graph::error::{MAX_BYTES, MAX_NODES};
    use crate::graph::{GraphBuilder, GraphError, Wire};
    use tff_ir::Comp;
    use tff_types::Type;

    fn ty(text: &str) -> Type {
        text.parse().unwrap()
    }

    fn call(graph: &mut GraphBuilder, comp: &Comp, argument: Option<&Wire>) -> Result<Wire, GraphError> {
        graph.call(tensorflow(comp), comp.ty().as_function().unwrap(), argument)
    }

    /// Calls them one after another, each with the result of the one before.
    #[track_caller]
    fn chain(comps: &[&str]) -> Result<Comp, GraphError> {
        let comps: Vec<_> = comps.iter().map(|text| parse(text)).collect();
        let mut graph = GraphBuilder::new();
        let parameter = comps[0].ty().as_function().unwrap().parameter.clone();
        let mut wire = parameter.map(|ty| graph.parameter(&ty).unwrap());
        for comp in &comps {
            wire = Some(call(&mut graph, comp, wire.as_ref())?);
        }
        graph.finish(&wire.unwrap())
    }

    #[track_caller]
    fn check(comps: &[&str]) -> String {
        chain(comps).map_or_else(|error| error.to_string(), |comp| dump(&comp))
    }

    const ADD_ONE: &str = "
        (int32 -> int32)
        arg:0 -> sum:0
        arg = Placeholder() dtype=int32
        unused = NoOp(^arg)
        one = Const() dtype=int32 _class=[loc:@arg,loc:@unused]
        sum = AddV2(arg, one:0, ^one) T=int32 _class=[loc:@one]";

    #[test]
    fn each_call_is_a_copy_of_what_is_needed() {
        insta::assert_snapshot!(check(&[ADD_ONE, ADD_ONE]), @"
        (int32 -> int32)
        arg:0 -> call1/sum:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/one = Const() dtype=int32
        call0/sum = AddV2(arg, call0/one:0, ^call0/one) T=int32 _class=[loc:@call0/one]
        call1/one = Const() dtype=int32
        call1/sum = AddV2(call0/sum, call1/one:0, ^call1/one) T=int32 _class=[loc:@call1/one]
        ");
    }

    #[test]
    fn control_inputs_of_a_placeholder_wait_for_what_is_fed() {
        let waits = "
            (int32 -> int32)
            arg:0 -> b:0
            arg = Placeholder() dtype=int32
            a = NoOp(^arg)
            b = Identity(arg, ^a) T=int32";
        insta::assert_snapshot!(check(&[ADD_ONE, waits]), @"
        (int32 -> int32)
        arg:0 -> call1/b:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/one = Const() dtype=int32
        call0/sum = AddV2(arg, call0/one:0, ^call0/one) T=int32 _class=[loc:@call0/one]
        call1/a = NoOp(^call0/sum)
        call1/b = Identity(call0/sum, ^call1/a) T=int32
        ");
    }

    const VARIABLE: &str = "
        (int32 -> int32)
        arg:0 -> sum:0 init init
        arg = Placeholder() dtype=int32
        v = VarHandleOp() shared_name=\"v\"
        init = AssignVariableOp(v, arg)
        read = ReadVariableOp(v)
        one = Const()
        sum = AddV2(read, one)";

    #[test]
    fn one_op_initializes_what_starts_from_the_parameter() {
        let comp = parse(VARIABLE);
        let mut graph = GraphBuilder::new();
        let x = graph.parameter(&ty("int32")).unwrap();
        let calls = [(); 2].map(|()| (None::<&str>, call(&mut graph, &comp, Some(&x)).unwrap()));
        insta::assert_snapshot!(dump(&graph.finish(&Wire::structure(calls).unwrap()).unwrap()), @r#"
        (int32 -> <int32,int32>)
        arg:0 -> <call0/sum:0,call1/sum:0> init init
        arg = Placeholder() dtype=int32 shape=[]
        call0/v = VarHandleOp() shared_name="call0/v"
        call0/init = AssignVariableOp(call0/v, arg)
        call0/read = ReadVariableOp(call0/v)
        call0/one = Const()
        call0/sum = AddV2(call0/read, call0/one)
        call1/v = VarHandleOp() shared_name="call1/v"
        call1/init = AssignVariableOp(call1/v, arg)
        call1/read = ReadVariableOp(call1/v)
        call1/one = Const()
        call1/sum = AddV2(call1/read, call1/one)
        init = NoOp(^call0/init, ^call1/init)
        "#);
    }

    #[test]
    fn what_starts_from_a_call_starts_in_between() {
        insta::assert_snapshot!(check(&[VARIABLE, VARIABLE]), @r#"
        (int32 -> int32)
        arg:0 -> call1/sum:0 init call0/init
        arg = Placeholder() dtype=int32 shape=[]
        call0/v = VarHandleOp() shared_name="call0/v"
        call0/init = AssignVariableOp(call0/v, arg)
        call0/read = ReadVariableOp(call0/v)
        call0/one = Const()
        call0/sum = AddV2(call0/read, call0/one)
        call1/v = VarHandleOp() shared_name="call1/v"
        call1/init = AssignVariableOp(call1/v, call0/sum)
        call1/read = ReadVariableOp(call1/v, ^call1/init)
        call1/one = Const()
        call1/sum = AddV2(call1/read, call1/one)
        "#);
    }

    #[test]
    fn frames_of_loops_are_told_apart() {
        let entered = "
            (int32 -> int32)
            arg:0 -> enter:0
            arg = Placeholder() dtype=int32
            enter = Enter(arg) frame_name=\"loop\" shared_name=\"cd2c89b7-88b7-44c8-ad83-06c2a9158347\"";
        insta::assert_snapshot!(check(&[entered]), @r#"
        (int32 -> int32)
        arg:0 -> call0/enter:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/enter = Enter(arg) frame_name="call0/loop" shared_name="cd2c89b7-88b7-44c8-ad83-06c2a9158347"
        "#);
    }

    fn with_function(body: &str) -> String {
        format!(
            "
            (int32 -> int32)
            arg:0 -> call:0
            arg = Placeholder() dtype=int32
            call = If(arg) then_branch=@f branches=[@g,@f]
            f:
            {body}
            g:
            direct = f(x)
            h:
            unused = f(x)
            gradient of g: dg
            dg:
            y = Neg(x)"
        )
    }

    #[test]
    fn equal_functions_are_shared_and_others_renamed_with_their_callers() {
        let [one, other] = ["y = Inc(x)", "y = Dec(x)"].map(with_function);
        insta::assert_snapshot!(check(&[&one, &other, &one, &other]), @"
        (int32 -> int32)
        arg:0 -> call3/call:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/call = If(arg) branches=[@g,@f] then_branch=@f
        call1/call = If(call0/call) branches=[@g_1,@f_1] then_branch=@f_1
        call2/call = If(call1/call) branches=[@g,@f] then_branch=@f
        call3/call = If(call2/call) branches=[@g_1,@f_1] then_branch=@f_1
        dg:
          y = Neg(x)
        f:
          y = Inc(x)
        f_1:
          y = Dec(x)
        g:
          direct = f(x)
        g_1:
          direct = f_1(x)
        gradient of g: dg
        gradient of g_1: dg
        ");
    }

    #[test]
    fn functions_with_resources_are_not_shared() {
        let owner = with_function("v = VarHandleOp() shared_name=\"t\"");
        insta::assert_snapshot!(check(&[&owner, &owner]), @r#"
        (int32 -> int32)
        arg:0 -> call1/call:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/call = If(arg) branches=[@g_0,@f_0] then_branch=@f_0
        call1/call = If(call0/call) branches=[@g_1,@f_1] then_branch=@f_1
        dg:
          y = Neg(x)
        f_0:
          v = VarHandleOp() shared_name="call0/t"
        f_1:
          v = VarHandleOp() shared_name="call1/t"
        g_0:
          direct = f_0(x)
        g_1:
          direct = f_1(x)
        gradient of g_0: dg
        gradient of g_1: dg
        "#);
    }

    #[test]
    fn a_name_that_is_taken_on_purpose_is_left_alone() {
        let taken = "
            (int32 -> int32)
            arg:0 -> call:0
            arg = Placeholder() dtype=int32
            call = Call(arg) f=@f g=@f_1
            f:
            y = One(x)
            f_1:
            y = Two(x)";
        insta::assert_snapshot!(check(&[taken, &taken.replace("One", "Three")]), @"
        (int32 -> int32)
        arg:0 -> call1/call:0
        arg = Placeholder() dtype=int32 shape=[]
        call0/call = Call(arg) f=@f g=@f_1
        call1/call = Call(call0/call) f=@f_2 g=@f_1
        f:
          y = One(x)
        f_1:
          y = Two(x)
        f_2:
          y = Three(x)
        ");
    }

    #[test]
    fn the_token_of_the_session_is_one_for_all() {
        let token = "
            (int32 -> str)
            arg:0 -> t:0 token token:0
            arg = Placeholder() dtype=int32
            token = Placeholder() dtype=string
            t = Use(token, arg, ^token)";
        let mut graph = GraphBuilder::new();
        let x = graph.parameter(&ty("int32")).unwrap();
        let calls = [(); 2].map(|()| (None::<&str>, call(&mut graph, &parse(token), Some(&x)).unwrap()));
        insta::assert_snapshot!(dump(&graph.finish(&Wire::structure(calls).unwrap()).unwrap()), @"
        (int32 -> <str,str>)
        arg:0 -> <call0/t:0,call1/t:0> token session_token:0
        arg = Placeholder() dtype=int32 shape=[]
        session_token = Placeholder() dtype=string shape=[]
        call0/t = Use(session_token, arg)
        call1/t = Use(session_token, arg)
        ");
    }

    #[test]
    fn datasets_are_converted_where_forms_differ() {
        let serialized = "
            (int32* -> int32*)
            arg:0! -> same:0!
            arg = Placeholder() dtype=string
            same = Identity(arg) T=string";
        insta::assert_snapshot!(check(&[serialized]), @"
        (int32* -> int32*)
        arg:0* -> DatasetFromGraph_3:0*
        arg = Placeholder() dtype=variant shape=[]
        DatasetToGraphV2_1 = DatasetToGraphV2(arg) external_state_policy=0 strip_device_assignment=true
        call0/same = Identity(DatasetToGraphV2_1) T=string
        DatasetFromGraph_3 = DatasetFromGraph(call0/same)
        ");
    }

    #[test]
    fn a_fed_node_that_is_no_placeholder_may_run_all_the_same() {
        let inner = "
            (int32 -> <int32,int32>)
            split:1 -> <sum:0,split:0>
            x = Const()
            split = Split(x)
            sum = AddV2(split:1, split, ^split)";
        insta::assert_snapshot!(check(&[inner]), @"
        (int32 -> <int32,int32>)
        arg:0 -> <call0/sum:0,call0/split:0>
        arg = Placeholder() dtype=int32 shape=[]
        call0/x = Const()
        call0/split = Split(call0/x)
        call0/sum = AddV2(arg, call0/split, ^call0/split)
        ");
    }

    #[test]
    fn damaged_graphs_are_refused() {
        let nodes = |nodes: &str| format!("(int32 -> int32)\narg:0 -> x:0\narg = Placeholder() dtype=int32\n{nodes}");
        let refused = |text: &str| check(&[&nodes(text)]);
        insta::assert_snapshot!(refused("y = Const()"), @"`the binding of the result` refers to the node `x`, which is not in the graph");
        insta::assert_snapshot!(refused("x = Neg(missing)"), @"`x` refers to the node `missing`, which is not in the graph");
        insta::assert_snapshot!(refused("x = Neg(arg:one)"), @"`x` refers to `arg:one`, which is not the name of a tensor");
        insta::assert_snapshot!(refused("x = Neg(^)"), @"`x` refers to `^`, which is not the name of a tensor");
        insta::assert_snapshot!(refused("x = Neg(arg)\nx = Neg(arg)"), @"two nodes of the graph are named `x`");
        insta::assert_snapshot!(refused("x = Neg(arg)\nf:\nf:"), @"two functions of the graph are named `f`");
        let cycle = refused("x = Merge(y)\ny = NextIteration(x)");
        assert!(cycle.contains("call0/x = Merge(call0/y)"), "{cycle}");
        let parameter = |name: &str| check(&[&nodes("x = Neg(arg)").replace("arg:0 ->", &format!("{name} ->"))]);
        insta::assert_snapshot!(parameter("missing:0"), @"`the binding of the parameter` refers to the node `missing`, which is not in the graph");
        insta::assert_snapshot!(parameter("^arg"), @"`the binding of the parameter` refers to `^arg`, which is not the name of a tensor");
        insta::assert_snapshot!(check(&[&nodes("x = Neg(arg)").replace("dtype=int32", "dtype=float")]), @"the placeholder `arg` is of dtype number 1, its type is int32");
        insta::assert_snapshot!(check(&["(<int32,int32> -> <>)\n<a:0,a> -> <>\na = Placeholder() dtype=int32"]), @"the parameter binds the tensor `a` twice");
    }

    #[test]
    fn arguments_are_checked() {
        let comp = parse(ADD_ONE);
        let mut graph = GraphBuilder::new();
        let x = graph.parameter(&ty("<float32,int32>")).unwrap();
        insta::assert_snapshot!(call(&mut graph, &comp, None).unwrap_err(), @"the function has a parameter of type int32, but is called without an argument");
        let error = call(&mut graph, &comp, Some(&x.element(0).unwrap())).unwrap_err();
        insta::assert_snapshot!(format!("{error}: {}", std::error::Error::source(&error).unwrap()), @"the argument does not fit the parameter: not assignable: expected int32, found float32");
        insta::assert_snapshot!(graph.parameter(&ty("int32")).unwrap_err(), @"a graph has one parameter, of type <float32,int32>; asked for another of type int32");
        insta::assert_snapshot!(graph.parameter(&ty("int32")).unwrap_err(), @"a graph has one parameter, of type <float32,int32>; asked for another of type int32");
        insta::assert_snapshot!(GraphBuilder::new().parameter(&ty("(int32 -> int32)")).unwrap_err(), @"a graph computes tensors, structs and sequences, found (int32 -> int32)");
    }

    #[test]
    fn nodes_and_bytes_are_bounded() {
        let mut graph = GraphBuilder::new();
        let x = graph.parameter(&ty("int32")).unwrap();
        graph.reserve(MAX_NODES - 2, 0).unwrap();
        assert_eq!(graph.reserve(MAX_NODES, 0), Err(GraphError::TooManyNodes));
        graph.reserve(0, MAX_BYTES - 1).unwrap();
        assert_eq!(call(&mut graph, &parse(ADD_ONE), Some(&x)).unwrap_err(), GraphError::TooLarge);
    }
}
