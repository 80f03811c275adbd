//! Turns a graph into a program if every node is known; other graphs are left to TensorFlow.
//!
//! TensorFlow refuses some graphs when it imports them, and so does this: names, inputs, element
//! types, shapes and attributes are those that it accepts, or there is no program.

use super::super::binding::Endpoint;
use super::arithmetic::Binary;
use super::convert::casts;
use super::program::{Op, Operand, Program, Step, can_broadcast};
use crate::Tensor;
use crate::values::wire::array_from_tensor_proto;
use std::collections::HashMap;
use tff_ir::{Array, Scalar};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{AttrValue, GraphDef, NodeDef, TensorShapeProto};
use tff_types::{DType, Shape, TensorType};

/// Larger graphs do more than arithmetic on a few tensors.
const MAX_NODES: usize = 4096;

/// The most bytes of the constants of a program, and of the tensors that it broadcasts to: a few
/// bytes of a graph can ask for any amount of both.
const MAX_BYTES: u64 = 1 << 28;

/// The most dimensions that TensorFlow broadcasts to in every case.
const MAX_RANK: usize = 8;

/// A version of graphs since which nothing known here has changed its meaning, and before which
/// TensorFlow 2 requires nothing of its reader.
const VERSION: i32 = 100;

/// The program that computes these results of these parameters, each with its type.
pub(super) fn translate(
    graph: GraphDef,
    parameters: &[(&Endpoint, &TensorType)],
    results: &[Endpoint],
    token: &str,
) -> Option<Program> {
    let versions = graph.versions.as_ref()?;
    let has_functions = graph.library.is_some_and(|it| !it.function.is_empty() || !it.gradient.is_empty());
    let is_of_version =
        versions.producer >= VERSION && versions.min_consumer <= VERSION && versions.bad_consumers.is_empty();
    if has_functions || !is_of_version || graph.node.len() > MAX_NODES {
        return None;
    }
    let mut fed = HashMap::new();
    for (register, (endpoint, ty)) in parameters.iter().enumerate() {
        let is_new = fed.insert(endpoint.name.op.clone(), (register, (*ty).clone())).is_none();
        if !is_new || endpoint.name.index != 0 {
            return None;
        }
    }
    let mut translator = Translator {
        fed,
        wires: HashMap::new(),
        n_registers: parameters.len(),
        constants: Vec::new(),
        n_bytes: 0,
        broadcasts: Vec::new(),
        steps: Vec::new(),
        has_unknown_shapes: false,
    };
    for node in in_order(graph.node)? {
        let wire = translator.node(&node)?;
        translator.wires.insert(node.name, wire);
    }
    translator.finish(parameters, results, token)
}

/// The nodes, each behind those that it takes; `None` where there is no such order or a name is
/// not unique.
fn in_order(nodes: Vec<NodeDef>) -> Option<Vec<NodeDef>> {
    let names: HashMap<&str, usize> = nodes.iter().enumerate().map(|(index, it)| (it.name.as_str(), index)).collect();
    if names.len() != nodes.len() {
        return None;
    }
    // No op known here takes more.
    if nodes.iter().any(|node| node.input.len() > 2) {
        return None;
    }
    let inputs: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| node.input.iter().map(|input| names.get(source(input)).copied()).collect())
        .collect::<Option<_>>()?;
    let (mut order, mut is_done) = (Vec::with_capacity(nodes.len()), vec![false; nodes.len()]);
    for root in 0..nodes.len() {
        let mut path = vec![root];
        while let Some(&index) = path.last() {
            // Longer than that, it goes in a circle.
            if path.len() > nodes.len() {
                return None;
            }
            match inputs.get(index)?.iter().find(|&&input| is_done.get(input) == Some(&false)) {
                Some(&input) => path.push(input),
                None => {
                    path.pop();
                    let is_done = is_done.get_mut(index)?;
                    if !std::mem::replace(is_done, true) {
                        order.push(index);
                    }
                }
            }
        }
    }
    let mut nodes: Vec<Option<NodeDef>> = nodes.into_iter().map(Some).collect();
    order.into_iter().map(|index| nodes.get_mut(index)?.take()).collect()
}

/// The node that an input names: nodes known here have one output, and none only waits for another.
fn source(input: &str) -> &str {
    input.strip_suffix(":0").unwrap_or(input)
}

/// What a node gives.
#[derive(Clone)]
struct Wire {
    /// Where it is; `None` where it needs a placeholder that is not fed.
    register: Option<usize>,
    dtype: DType,
    shape: Shape,
    /// The content, where it does not depend on the arguments.
    constant: Option<Array>,
    /// The register of the scalar that was broadcast to it.
    scalar: Option<usize>,
}

impl Wire {
    fn is_scalar(&self) -> bool {
        self.shape.is_scalar()
    }
}

struct Translator {
    /// The parameters by the name of their placeholder.
    fed: HashMap<String, (usize, TensorType)>,
    wires: HashMap<String, Wire>,
    n_registers: usize,
    constants: Vec<(usize, Tensor)>,
    /// The bytes of the constants.
    n_bytes: u64,
    /// The bytes of each tensor that is broadcast, with its register.
    broadcasts: Vec<(usize, u64)>,
    steps: Vec<Step>,
    /// Whether shapes have to be looked at before the steps are run.
    has_unknown_shapes: bool,
}

impl Translator {
    fn node(&mut self, node: &NodeDef) -> Option<Wire> {
        if !is_name(&node.name) || !node.device.is_empty() {
            return None;
        }
        let inputs: Vec<Wire> =
            node.input.iter().map(|input| self.wires.get(source(input)).cloned()).collect::<Option<_>>()?;
        let binary = |op| Some((op, attributes(node, ["T"], &[])?));
        let (op, [dtype]) = match (node.op.as_str(), &inputs[..]) {
            ("Placeholder", []) => return self.placeholder(node),
            ("Const", []) => return self.constant(node),
            ("Identity", [input]) => {
                let [dtype] = attributes(node, ["T"], &[])?;
                return (as_dtype(dtype)? == input.dtype).then(|| input.clone());
            }
            ("Cast", [input]) => return self.cast(node, input),
            ("BroadcastTo", [input, dims]) => {
                let [dtype] = attributes(node, ["T"], &["Tidx"])?;
                let agree = as_dtype(dtype)? == input.dtype && index_dtype(node, "Tidx")? == dims.dtype;
                return agree.then(|| self.broadcast(input, dims))?;
            }
            ("Fill", [dims, value]) => {
                let [dtype] = attributes(node, ["T"], &["index_type"])?;
                let agree = as_dtype(dtype)? == value.dtype && index_dtype(node, "index_type")? == dims.dtype;
                return (agree && value.is_scalar()).then(|| self.broadcast(value, dims))?;
            }
            // The older op takes fewer element types.
            ("Add", [left, _]) if [DType::UInt16, DType::UInt32, DType::UInt64].contains(&left.dtype) => return None,
            ("Add" | "AddV2", [_, _]) => binary(Binary::Add)?,
            ("Sub", [_, _]) => binary(Binary::Subtract)?,
            ("Mul", [_, _]) => binary(Binary::Multiply)?,
            ("RealDiv", [_, _]) => binary(Binary::Divide)?,
            ("Minimum", [_, _]) => binary(Binary::Minimum)?,
            ("Maximum", [_, _]) => binary(Binary::Maximum)?,
            _ => return None,
        };
        let [left, right] = inputs.as_slice() else { return None };
        let dtype = as_dtype(dtype)?;
        (dtype == left.dtype && dtype == right.dtype && op.takes(dtype)).then(|| self.binary(op, left, right))?
    }

    fn placeholder(&self, node: &NodeDef) -> Option<Wire> {
        let [dtype] = attributes(node, ["dtype"], &["shape"])?;
        let dtype = as_dtype(dtype)?;
        let shape = match node.attr.get("shape") {
            Some(AttrValue { value: Some(Attr::Shape(shape)) }) => shape_of(shape)?,
            Some(_) => return None,
            None => Shape::unknown_rank(),
        };
        let (register, shape) = match self.fed.get(&node.name) {
            // What the type says is checked, what the graph says is not.
            Some((_, ty)) if ty.dtype != dtype || !is_at_least_as_precise(&ty.shape, &shape) => return None,
            Some((register, ty)) => (Some(*register), ty.shape.clone()),
            None => (None, shape),
        };
        Some(Wire { register, dtype, shape, constant: None, scalar: None })
    }

    fn constant(&mut self, node: &NodeDef) -> Option<Wire> {
        let [dtype, value] = attributes(node, ["dtype", "value"], &[])?;
        let Attr::Tensor(proto) = value else { return None };
        let dtype = as_dtype(dtype)?;
        let shape = shape_of(&proto.tensor_shape.clone().unwrap_or_default())?;
        self.n_bytes = self.n_bytes.checked_add(size(dtype, &shape)?)?;
        if proto.dtype != dtype.number() || self.n_bytes > MAX_BYTES {
            return None;
        }
        let array = array_from_tensor_proto(proto.as_ref().clone()).ok()?;
        let register = self.register();
        self.constants.push((register, Tensor::new(array.clone())));
        Some(Wire { register: Some(register), dtype, shape, constant: Some(array), scalar: None })
    }

    fn cast(&mut self, node: &NodeDef, input: &Wire) -> Option<Wire> {
        let [from, to] = attributes(node, ["SrcT", "DstT"], &["Truncate"])?;
        let (from, to) = (as_dtype(from)?, as_dtype(to)?);
        let truncates = node.attr.get("Truncate").is_some_and(|attr| attr.value != Some(Attr::B(false)));
        if from != input.dtype || truncates {
            return None;
        }
        if from == to && from.size().is_some() {
            return Some(input.clone());
        }
        if !casts(from, to) {
            return None;
        }
        let register = self.step([input], |[operand]| Op::Cast(to, operand));
        Some(Wire { register, dtype: to, shape: input.shape.clone(), constant: None, scalar: None })
    }

    fn broadcast(&mut self, input: &Wire, dims: &Wire) -> Option<Wire> {
        let dims = dimensions(dims.constant.as_ref()?)?;
        let shape = Shape::fixed(dims.iter().copied());
        let n_bytes = size(input.dtype, &shape)?;
        let from: Option<Vec<u64>> = input.shape.dims().and_then(|dims| dims.iter().copied().collect());
        if input.dtype.size().is_none() || !can_broadcast(&from?, &dims) {
            return None;
        }
        let register = self.step([input], |[operand]| Op::Broadcast(dims.into(), operand));
        self.broadcasts.extend(register.map(|register| (register, n_bytes)));
        let scalar = input.register.filter(|_| input.is_scalar());
        Some(Wire { register, dtype: input.dtype, shape, constant: None, scalar })
    }

    fn binary(&mut self, op: Binary, left: &Wire, right: &Wire) -> Option<Wire> {
        let shape = common_shape(&left.shape, &right.shape)?;
        self.has_unknown_shapes |= !left.shape.is_fully_defined() || !right.shape.is_fully_defined();
        let dtype = left.dtype;
        // Broadcast by the op itself, without a tensor in between.
        let narrow = |wire: &Wire, other: &Wire| {
            let is_same = other.scalar.is_none() && other.shape.is_fully_defined() && wire.shape == other.shape;
            Wire { register: wire.scalar.filter(|_| is_same).or(wire.register), ..wire.clone() }
        };
        let operands = [&narrow(left, right), &narrow(right, left)];
        let register = self.step(operands, |operands| Op::Binary(op, operands));
        Some(Wire { register, dtype, shape, constant: None, scalar: None })
    }

    /// Adds a step, unless it needs what is not there.
    fn step<const N: usize>(&mut self, inputs: [&Wire; N], op: impl FnOnce([Operand; N]) -> Op) -> Option<usize> {
        if inputs.iter().any(|input| input.register.is_none()) {
            return None;
        }
        let operands = inputs.map(|it| Operand { register: it.register.unwrap_or_default(), is_last: false });
        let register = self.register();
        self.steps.push(Step { register, op: op(operands) });
        Some(register)
    }

    const fn register(&mut self) -> usize {
        self.n_registers += 1;
        self.n_registers - 1
    }

    /// The program, without what the results do not need.
    fn finish(mut self, parameters: &[(&Endpoint, &TensorType)], results: &[Endpoint], token: &str) -> Option<Program> {
        let register_of = |name: &str| self.wires.get(name).and_then(|wire| wire.register);
        // Other tensors than those of placeholders may be fed, too.
        if !parameters.iter().enumerate().all(|(index, (endpoint, _))| register_of(&endpoint.name.op) == Some(index)) {
            return None;
        }
        if !token.is_empty() {
            let wire = self.wires.get(source(token))?;
            if wire.register.is_some() || wire.dtype != DType::String {
                return None;
            }
        }
        let mut results = results
            .iter()
            .map(|endpoint| {
                let wire = self
                    .wires
                    .get(&endpoint.name.op)
                    .filter(|it| it.dtype == endpoint.dtype && endpoint.name.index == 0)?;
                Some(Operand { register: wire.register?, is_last: false })
            })
            .collect::<Option<Vec<_>>>()?;
        // From the end: the first time that a register is seen is the last time that it is taken.
        let mut needed = vec![false; self.n_registers];
        let see = |operand: &mut Operand, needed: &mut Vec<bool>| {
            if let Some(needed) = needed.get_mut(operand.register) {
                operand.is_last = !std::mem::replace(needed, true);
            }
        };
        results.iter_mut().rev().for_each(|result| see(result, &mut needed));
        let mut steps = Vec::with_capacity(self.steps.len());
        for mut step in self.steps.into_iter().rev() {
            if needed.get(step.register) == Some(&true) {
                step.op.operands_mut().iter_mut().rev().for_each(|operand| see(operand, &mut needed));
                steps.push(step);
            }
        }
        steps.reverse();
        let mut broadcasts = self.broadcasts.iter().filter(|(register, _)| needed.get(*register) == Some(&true));
        let n_bytes = broadcasts.try_fold(0u64, |sum, (_, n_bytes)| sum.checked_add(*n_bytes))?;
        if n_bytes > MAX_BYTES {
            return None;
        }
        self.constants.retain(|(register, _)| needed.get(*register) == Some(&true));
        let (n_registers, has_unknown_shapes, constants) = (self.n_registers, self.has_unknown_shapes, self.constants);
        Some(Program { n_registers, has_unknown_shapes, constants, steps, results })
    }
}

/// Whether TensorFlow takes this as the name of a node.
fn is_name(name: &str) -> bool {
    let is_start = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    name.bytes().next().is_some_and(is_start) && name.bytes().all(|byte| is_start(byte) || b"_-/".contains(&byte))
}

/// The attributes of a node, which has these and perhaps some of the optional ones.
fn attributes<'a, const N: usize>(node: &'a NodeDef, names: [&str; N], optional: &[&str]) -> Option<[&'a Attr; N]> {
    let is_known = |name: &str| names.contains(&name) || optional.contains(&name);
    if !node.attr.keys().all(|name| is_known(name)) {
        return None;
    }
    let found: Option<Vec<&Attr>> = names.iter().map(|&name| node.attr.get(name)?.value.as_ref()).collect();
    found?.try_into().ok()
}

/// The attribute of this name; `int32` where it is left out.
fn index_dtype(node: &NodeDef, name: &str) -> Option<DType> {
    node.attr.get(name).map_or(Some(DType::Int32), |attr| as_dtype(attr.value.as_ref()?))
}

fn as_dtype(attr: &Attr) -> Option<DType> {
    if let Attr::Type(number) = attr { DType::from_number(*number) } else { None }
}

fn shape_of(proto: &TensorShapeProto) -> Option<Shape> {
    if proto.unknown_rank {
        return proto.dim.is_empty().then(Shape::unknown_rank);
    }
    let dims = proto.dim.iter().map(|dim| match dim.size {
        -1 => Some(None),
        size => u64::try_from(size).ok().map(Some),
    });
    Some(Shape::new(dims.collect::<Option<Vec<_>>>()?))
}

/// The dimensions that a vector of integers gives.
fn dimensions(array: &Array) -> Option<Vec<u64>> {
    let dims = array.scalars().map(|scalar| match scalar {
        Scalar::Int32(dim) => u64::try_from(dim).ok(),
        Scalar::Int64(dim) => u64::try_from(dim).ok(),
        _ => None,
    });
    (array.dims().len() == 1 && array.len() <= MAX_RANK).then(|| dims.collect())?
}

/// The bytes of a tensor; strings count as what holds them.
fn size(dtype: DType, shape: &Shape) -> Option<u64> {
    let size = dtype.size().unwrap_or(size_of::<bytes::Bytes>()) as u64;
    shape.dims()?.iter().try_fold(size, |product, dim| product.checked_mul((*dim)?.max(1)))
}

fn is_at_least_as_precise(shape: &Shape, other: &Shape) -> bool {
    let (dims, other) = match (shape.dims(), other.dims()) {
        (_, None) => return true,
        (None, Some(_)) => return false,
        (Some(dims), Some(other)) => (dims, other),
    };
    dims.len() == other.len() && dims.iter().zip(other).all(|(dim, other)| other.is_none() || dim == other)
}

/// The shape of a result, where it is that of both operands or one of them is a scalar.
fn common_shape(left: &Shape, right: &Shape) -> Option<Shape> {
    if left.is_scalar() {
        return Some(right.clone());
    }
    if right.is_scalar() {
        return Some(left.clone());
    }
    let (left_dims, right_dims) = match (left.dims(), right.dims()) {
        (None, _) => return Some(right.clone()),
        (_, None) => return Some(left.clone()),
        (Some(left), Some(right)) => (left, right),
    };
    let agree = |(left, right): (&Option<u64>, &Option<u64>)| left.is_none() || right.is_none() || left == right;
    let dims = left_dims.iter().zip(right_dims);
    (left_dims.len() == right_dims.len() && dims.clone().all(agree))
        .then(|| Shape::new(dims.map(|(left, right)| left.or(*right))))
}
