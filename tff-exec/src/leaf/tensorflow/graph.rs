//! The graph of a computation: decoded, and rewritten where datasets cross its border.
//!
//! A dataset is a variant tensor, which a session can neither take nor return. So a placeholder of one becomes
//! a placeholder of the string that it serializes to, with an op behind it that reads the string,
//! and an op that serializes is added to a dataset that is fetched.

use super::binding::Endpoint;
use super::status::LEAF;
use crate::values::Layout;
use crate::values::nodes::{attr, attr_list, node};
use crate::{ExecError, LeafError};
use bytes::Bytes;
use prost::{Message, Name};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tff_ir::Opaque;
use tff_proto::Limits;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{DataType, FunctionDef, GraphDef, NodeDef, TensorShapeProto};
use tff_types::{Shape, TensorType};

/// The name of a tensor: an op and which of its outputs, written `op:0` or `op`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TensorName {
    pub(super) op: String,
    pub(super) index: i32,
}

impl TensorName {
    /// Reads a name; `None` where it is empty or that of an op alone (`^op`).
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (op, index) = match name.rsplit_once(':') {
            Some((op, index)) => (op, index.parse().ok().filter(|&index: &i32| index >= 0)?),
            None => (name, 0),
        };
        (!op.is_empty() && !op.starts_with('^')).then(|| Self { op: op.to_owned(), index })
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.op, self.index)
    }
}

/// Decodes the graph.
///
/// # Errors
/// [`ExecError::Prepare`] where the message is another one or damaged.
pub(super) fn decode(graph: &Opaque) -> Result<GraphDef, ExecError> {
    let name = graph.type_url.rsplit('/').next().unwrap_or_default();
    if name != GraphDef::full_name() {
        let reason = format!("expected a {}, found `{}`", GraphDef::full_name(), graph.type_url);
        return Err(LEAF.refuses(LeafError::Body(reason)));
    }
    tff_proto::decode(&graph.value, &Limits::default()).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        LEAF.refuses(LeafError::Body(format!("{error}{cause}")))
    })
}

/// Makes every dataset that an endpoint is bound to a string; says whether the graph has changed.
///
/// # Errors
/// [`ExecError::Prepare`] if a parameter is bound to something that is not a placeholder.
pub(super) fn serialize_datasets(
    graph: &mut GraphDef,
    parameter: &[Endpoint],
    result: &mut [Endpoint],
) -> Result<bool, ExecError> {
    let mut names = Names::of(&graph.node);
    let mut added = Vec::new();
    let mut readers = BTreeMap::new();
    // Options become part of a dataset that is serialized again: there the results stay as they are.
    let with_options = result.iter().all(|endpoint| endpoint.dataset.is_none());
    for endpoint in parameter {
        let Some(element) = &endpoint.dataset else { continue };
        let op = &endpoint.name.op;
        feed_string(graph, endpoint)?;
        let mut reader = names.fresh("dataset_from_graph");
        added.push(node(&reader, "DatasetFromGraph", &[op], []));
        if with_options && let Ok(layout) = Layout::of(element) {
            let name = names.fresh("dataset_with_options");
            added.push(dataset_options(&name, &reader, layout.components()));
            reader = name;
        }
        readers.insert(op.clone(), reader);
    }
    redirect(graph, &readers);
    for endpoint in result {
        if endpoint.dataset.is_none() || (readers.contains_key(&endpoint.name.op) && endpoint.name.index == 0) {
            // It is not a dataset, or it is the parameter's: then the string that is fed is the result.
            continue;
        }
        let writer = names.fresh("dataset_to_graph");
        let attrs = [
            // The policy of a warning: what state a dataset has outside of it is not its content.
            ("external_state_policy", Attr::I(0)),
            ("strip_device_assignment", Attr::B(true)),
        ];
        added.push(node(&writer, "DatasetToGraphV2", &[&endpoint.name.to_string()], attrs));
        endpoint.name = TensorName { op: writer, index: 0 };
    }
    let changed = !added.is_empty();
    graph.node.extend(added);
    Ok(changed)
}

/// Adds an op for each of these variables that destroys it, if it is there; returns their names.
pub(super) fn destroy(graph: &mut GraphDef, variables: &[String]) -> Vec<String> {
    let mut names = Names::of(&graph.node);
    let mut destroyers = Vec::with_capacity(variables.len());
    for variable in variables {
        let name = names.fresh("destroy_variable");
        graph.node.push(node(&name, "DestroyResourceOp", &[variable], [("ignore_lookup_error", Attr::B(true))]));
        destroyers.push(name);
    }
    destroyers
}

/// Makes the placeholder of a dataset one of a string.
fn feed_string(graph: &mut GraphDef, endpoint: &Endpoint) -> Result<(), ExecError> {
    let placeholder = graph.node.iter_mut().find(|node| node.name == endpoint.name.op && endpoint.name.index == 0);
    let placeholder = placeholder.filter(|node| is_dataset_placeholder(node)).ok_or_else(|| {
        LEAF.misbound(format!("the sequence is bound to `{}`, which is not a placeholder of a dataset", endpoint.name))
            .at(endpoint.place.clone())
    })?;
    placeholder.attr.clear();
    placeholder.attr.insert("dtype".to_owned(), attr(Attr::Type(DataType::DtString as i32)));
    placeholder.attr.insert("shape".to_owned(), attr(Attr::Shape(TensorShapeProto::default())));
    Ok(())
}

/// A dataset that TensorFlow has serialized, without what differs from one time to the next: a
/// count in the description of each op, and the order of attributes and functions.
pub(super) fn canonical_dataset(bytes: Bytes) -> Bytes {
    let Ok(mut graph) = tff_proto::decode::<GraphDef>(&bytes, &Limits::default()) else { return bytes };
    let mut functions = graph.library.as_mut().map(|library| std::mem::take(&mut library.function)).unwrap_or_default();
    let bodies = functions.iter_mut().flat_map(|function| &mut function.node_def);
    for node in graph.node.iter_mut().chain(bodies) {
        if let Some(metadata) = node.attr.get_mut("metadata") {
            *metadata = attr(Attr::S(Bytes::new()));
        }
    }
    functions.sort_by(|a, b| function_name(a).cmp(function_name(b)));
    if let Some(library) = &mut graph.library {
        library.function = functions;
    }
    graph.encode_to_vec().into()
}

fn function_name(function: &FunctionDef) -> &str {
    function.signature.as_ref().map_or("", |signature| &signature.name)
}

fn is_dataset_placeholder(node: &NodeDef) -> bool {
    let dtype = node.attr.get("dtype").and_then(|attr| attr.value.as_ref());
    node.op == "Placeholder" && dtype == Some(&Attr::Type(DataType::DtVariant as i32))
}

/// Makes the consumers of each key consume the value instead; what only waits for it (`^key`)
/// goes on to do so.
fn redirect(graph: &mut GraphDef, readers: &BTreeMap<String, String>) {
    if readers.is_empty() {
        return;
    }
    for node in &mut graph.node {
        for input in &mut node.input {
            if let Some(reader) = readers.get(input.strip_suffix(":0").unwrap_or(input)) {
                reader.clone_into(input);
            }
        }
    }
}

/// A node that sets how a dataset, and those made of it, are iterated: as written, without
/// rewriting their graph first and without a thread that tunes them, which both take longer than
/// the datasets of most clients and change no element. (Ending that thread alone takes 10 ms.)
pub(super) fn dataset_options(name: &str, dataset: &str, components: &[TensorType]) -> NodeDef {
    // A `tensorflow.data.Options` message: `optimization_options { apply_default_optimizations:
    // false } autotune_options { enabled: false }`.
    const OPTIONS: &[u8] = &[0x1a, 2, 0x08, 0, 0x3a, 2, 0x08, 0];
    let types: Vec<i32> = components.iter().map(|ty| ty.dtype.number()).collect();
    let shapes = vec![Shape::unknown_rank(); components.len()];
    let attrs = [
        ("serialized_options", Attr::S(Bytes::from_static(OPTIONS))),
        ("output_types", attr_list::types(&types)),
        ("output_shapes", attr_list::shapes(&shapes)),
    ];
    node(name, "OptionsDataset", &[dataset], attrs)
}

/// The names that a graph uses.
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub(super) fn of(nodes: &[NodeDef]) -> Self {
        Self(nodes.iter().map(|node| node.name.clone()).collect())
    }

    /// A name that no node has.
    pub(super) fn fresh(&mut self, stem: &str) -> String {
        let mut name = stem.to_owned();
        let mut count = 0;
        while !self.0.insert(name.clone()) {
            count += 1;
            name = format!("{stem}_{count}");
        }
        name
    }
}
