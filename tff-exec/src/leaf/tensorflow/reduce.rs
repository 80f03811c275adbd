//! Reductions of datasets as loops.
//!
//! TensorFlow's `ReduceDataset` prepares its function anew in each run: it optimizes, places and
//! partitions it and all that it calls, some thirty milliseconds for a client that trains a small
//! network and more than the training takes. A loop over an iterator calls the same function on
//! the same elements in the same order, and what it prepares stays with the session:
//!
//! ```text
//! iterator = AnonymousIteratorV3()
//! made     = MakeIterator(dataset, iterator)
//! first    = IteratorGetNextAsOptional(iterator, ^made)
//! loop     = While(first, iterator, state…, captured…)
//!              while OptionalHasValue(element)
//!              state = f(state…, OptionalGetValue(element)…, captured…)
//!              element = IteratorGetNextAsOptional(iterator, ^f)
//! ```

use super::graph::Names;
use crate::values::nodes::{attr_list, node, tensor_shape};
use std::collections::BTreeMap;
use tff_proto::tensorflow::attr_value::{ListValue, Value as Attr};
use tff_proto::tensorflow::op_def::ArgDef;
use tff_proto::tensorflow::{DataType, FunctionDef, GraphDef, NameAttrList, NodeDef, OpDef, TensorShapeProto};
use tff_types::Shape;

/// Makes the reductions in the graph and in its functions loops; says whether there were any.
pub(super) fn reductions_to_loops(graph: &mut GraphDef) -> bool {
    let Some(library) = &mut graph.library else { return false };
    let signatures = library.function.iter().filter_map(|function| function.signature.clone());
    let mut loops = Loops {
        signatures: signatures.map(|signature| (signature.name, signature.input_arg)).collect(),
        added: Vec::new(),
    };
    graph.node = loops.rewrite(std::mem::take(&mut graph.node), Syntax::Graph).0;
    for function in &mut library.function {
        let (nodes, replaced) = loops.rewrite(std::mem::take(&mut function.node_def), Syntax::Function);
        function.node_def = nodes;
        function.ret.values_mut().for_each(|tensor| rename_output(tensor, &replaced));
    }
    let changed = !loops.added.is_empty();
    library.function.append(&mut loops.added);
    changed
}

/// How inputs are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// `op:0`.
    Graph,
    /// `op:output:0`.
    Function,
}

impl Syntax {
    fn output(self, op: &str, output: &str, index: usize) -> String {
        match self {
            Self::Graph => format!("{op}:{index}"),
            Self::Function => format!("{op}:{output}:{index}"),
        }
    }
}

struct Loops {
    /// The arguments of each function.
    signatures: BTreeMap<String, Vec<ArgDef>>,
    /// The functions of the loops.
    added: Vec<FunctionDef>,
}

/// The parts of a reduction.
struct Reduction {
    dataset: String,
    /// The initial state, then what the function captures.
    arguments: Vec<String>,
    controls: Vec<String>,
    function: NameAttrList,
    state: Vec<i32>,
    state_shapes: Vec<TensorShapeProto>,
    elements: Vec<i32>,
    captured: Vec<i32>,
}

impl Loops {
    /// The nodes with loops for reductions, and the names of these.
    fn rewrite(&mut self, nodes: Vec<NodeDef>, syntax: Syntax) -> (Vec<NodeDef>, Vec<String>) {
        let mut names = Names::of(&nodes);
        let mut rewritten = Vec::with_capacity(nodes.len());
        let mut replaced = Vec::new();
        for node in nodes {
            match self.reduction(&node) {
                Some(reduction) => {
                    rewritten.extend(self.loop_nodes(&node, &reduction, &mut names, syntax));
                    replaced.push(node.name);
                }
                None => rewritten.push(node),
            }
        }
        if syntax == Syntax::Function && !replaced.is_empty() {
            rewritten.iter_mut().flat_map(|node| &mut node.input).for_each(|input| rename_output(input, &replaced));
        }
        (rewritten, replaced)
    }

    /// The parts of the reduction that the node is, if it is one and its function's types are plain.
    fn reduction(&self, node: &NodeDef) -> Option<Reduction> {
        if node.op != "ReduceDataset" {
            return None;
        }
        let (state, captured) = (types(node, "Tstate")?, types(node, "Targuments")?);
        let Attr::Func(function) = node.attr.get("f")?.value.clone()? else { return None };
        let arguments = self.signatures.get(&function.name)?;
        if arguments.iter().any(|arg| arg.r#type == 0 || !arg.number_attr.is_empty() || arg.is_ref) {
            return None;
        }
        let arguments: Vec<i32> = arguments.iter().map(|arg| arg.r#type).collect();
        let elements = arguments.get(state.len()..arguments.len().checked_sub(captured.len())?)?;
        let (data, controls): (Vec<_>, Vec<_>) = node.input.iter().cloned().partition(|input| !input.starts_with('^'));
        let (dataset, arguments) = data.split_first()?;
        let state_shapes = list(node, "output_shapes")?.shape.clone();
        let is_complete = arguments.len() == state.len() + captured.len() && state_shapes.len() == state.len();
        is_complete.then(|| Reduction {
            dataset: dataset.clone(),
            arguments: arguments.to_vec(),
            controls,
            function,
            state_shapes,
            elements: elements.to_vec(),
            state,
            captured,
        })
    }

    /// The nodes of the loop; the last one has the name and the outputs of the reduction.
    fn loop_nodes(&mut self, old: &NodeDef, it: &Reduction, names: &mut Names, syntax: Syntax) -> Vec<NodeDef> {
        let mut name = |part: &str| names.fresh(&format!("{}/{part}", old.name));
        let (iterator, made, first, looped) = (name("iterator"), name("made"), name("first"), name("loop"));
        let handle = syntax.output(&iterator, "handle", 0);

        let types = loop_types(it);
        let unknown = tensor_shape(&Shape::unknown_rank());
        let mut shapes = vec![unknown; types.len()];
        // Element and iterator come first.
        shapes.iter_mut().skip(2).zip(&it.state_shapes).for_each(|(shape, known)| shape.clone_from(known));
        let (condition, body) = self.add_functions(it);
        let function = |name: &str| Attr::Func(NameAttrList { name: name.to_owned(), ..NameAttrList::default() });
        let attrs = [
            ("T", attr_list::types(&types)),
            ("cond", function(&condition)),
            ("body", function(&body)),
            ("output_shapes", Attr::List(Box::new(ListValue { shape: shapes, ..ListValue::default() }))),
            // One after the other: an iteration begins with what the one before ends with.
            ("parallel_iterations", Attr::I(1)),
            ("_lower_using_switch_merge", Attr::B(true)),
        ];
        let element = syntax.output(&first, "optional", 0);
        let inputs: Vec<&str> =
            [element.as_str(), &handle].into_iter().chain(it.arguments.iter().map(String::as_str)).collect();
        let states: Vec<String> =
            (2..).take(it.state.len()).map(|index| syntax.output(&looped, "output", index)).collect();
        let states: Vec<&str> = states.iter().map(String::as_str).collect();
        let mut nodes = vec![
            node(&iterator, "AnonymousIteratorV3", &[], outputs(&it.elements)),
            node(&made, "MakeIterator", &[&it.dataset, &handle], []),
            node(&first, "IteratorGetNextAsOptional", &[&handle, &format!("^{made}")], outputs(&it.elements)),
            node(&looped, "While", &inputs, attrs),
            node(&old.name, "IdentityN", &states, [("T", attr_list::types(&it.state))]),
        ];
        for node in &mut nodes {
            node.device.clone_from(&old.device);
            node.input.extend(it.controls.iter().cloned());
        }
        nodes
    }

    /// Adds the functions of a loop: whether there is an element, and what is done with it.
    fn add_functions(&mut self, it: &Reduction) -> (String, String) {
        let condition = self.fresh_function("reduce_condition");
        let body = self.fresh_function("reduce_body");

        let mut arguments = vec!["element".to_owned(), "iterator".to_owned()];
        arguments.extend((0..it.state.len()).map(|index| format!("state_{index}")));
        arguments.extend((0..it.captured.len()).map(|index| format!("captured_{index}")));
        let inputs: Vec<ArgDef> = arguments.iter().zip(loop_types(it)).map(|(name, ty)| argument(name, ty)).collect();

        self.added.push(function(
            &condition,
            inputs.clone(),
            vec![argument("has_element", DataType::DtBool as i32)],
            vec![node("has", "OptionalHasValue", &["element"], [])],
            vec!["has:has_value:0".to_owned()],
        ));

        let (states, captured) = arguments.get(2..).unwrap_or_default().split_at(it.state.len());
        let elements: Vec<String> = (0..it.elements.len()).map(|index| format!("get:components:{index}")).collect();
        let arguments: Vec<&str> = states.iter().chain(&elements).chain(captured).map(String::as_str).collect();
        let argument_types = [&it.state[..], &it.elements, &it.captured].concat();
        let call = [
            ("f", Attr::Func(it.function.clone())),
            ("Tin", attr_list::types(&argument_types)),
            ("Tout", attr_list::types(&it.state)),
        ];
        let nodes = vec![
            node("get", "OptionalGetValue", &["element"], outputs(&it.elements)),
            node("call", "StatefulPartitionedCall", &arguments, call),
            node("next", "IteratorGetNextAsOptional", &["iterator", "^call"], outputs(&it.elements)),
        ];
        let mut results = vec!["next:optional:0".to_owned(), "iterator".to_owned()];
        results.extend((0..it.state.len()).map(|index| format!("call:output:{index}")));
        results.extend(captured.iter().cloned());
        let outputs = inputs.iter().map(|arg| argument(&format!("{}_out", arg.name), arg.r#type)).collect();
        self.added.push(function(&body, inputs, outputs, nodes, results));
        (condition, body)
    }

    fn fresh_function(&mut self, stem: &str) -> String {
        let name = (0..).map(|count| format!("{stem}_{count}")).find(|name| !self.signatures.contains_key(name));
        let name = name.unwrap_or_default();
        self.signatures.insert(name.clone(), Vec::new());
        name
    }
}

/// The types of what the loop carries.
fn loop_types(it: &Reduction) -> Vec<i32> {
    [&[DataType::DtVariant as i32, DataType::DtResource as i32], &it.state[..], &it.captured].concat()
}

fn argument(name: &str, ty: i32) -> ArgDef {
    ArgDef { name: name.to_owned(), r#type: ty, ..ArgDef::default() }
}

fn function(
    name: &str,
    inputs: Vec<ArgDef>,
    outputs: Vec<ArgDef>,
    nodes: Vec<NodeDef>,
    results: Vec<String>,
) -> FunctionDef {
    let ret = outputs.iter().map(|output| output.name.clone()).zip(results).collect();
    let signature =
        OpDef { name: name.to_owned(), input_arg: inputs, output_arg: outputs, is_stateful: true, ..OpDef::default() };
    FunctionDef { signature: Some(signature), node_def: nodes, ret, ..FunctionDef::default() }
}

/// The attributes that say what the elements are; their shapes are checked as they are used.
fn outputs(types: &[i32]) -> [(&'static str, Attr); 2] {
    let unknown = vec![Shape::unknown_rank(); types.len()];
    [("output_types", attr_list::types(types)), ("output_shapes", attr_list::shapes(&unknown))]
}

fn list<'a>(node: &'a NodeDef, name: &str) -> Option<&'a ListValue> {
    match node.attr.get(name)?.value.as_ref()? {
        Attr::List(list) => Some(list),
        _ => None,
    }
}

fn types(node: &NodeDef, name: &str) -> Option<Vec<i32>> {
    Some(list(node, name)?.r#type.clone())
}

/// Within functions an output is named: that of a reduction `components`, that of its stand-in
/// `output`.
fn rename_output(tensor: &mut String, replaced: &[String]) {
    let index = tensor.rsplit_once(":components:").filter(|(op, _)| replaced.iter().any(|name| name == op));
    if let Some((op, index)) = index {
        *tensor = format!("{op}:output:{index}");
    }
}
