//! What the benchmarks share: example files and computations built for measuring.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tff_exec::leaf::xla::{Library, Plugin};
use tff_exec::{Executor, Options, leaf};
use tff_ir::{Array, Comp, CompiledComputation, Intrinsic, Opaque, TensorFlow, TensorFlowBinding};
use tff_proto::tensorflow as tf;
use tff_types::{DType, Shape, Type};

/// That of the commands.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What can go wrong while a benchmark is set up.
pub type Error = Box<dyn std::error::Error>;

/// A file of the repository.
#[must_use]
pub fn repository_file(name: &str) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).join(name)
}

/// An executor with the provisioned libraries.
#[must_use]
pub fn executor() -> Executor {
    let mut options = Options::default();
    options.tensorflow = leaf::tensorflow::Library::Path(repository_file(".native/tensorflow"));
    options.xla = plugin();
    Executor::new(options)
}

/// The provisioned PJRT plugin.
#[must_use]
pub fn plugin() -> Library {
    Library::Plugin(Plugin::new(vec![repository_file(".native/pjrt/pjrt_c_api_cpu_plugin.so")]))
}

/// `float32[n]`.
#[must_use]
pub fn floats(n: u64) -> Type {
    Type::tensor(DType::Float32, Shape::fixed([n]))
}

/// `(<float32[n],float32[n]> -> float32[n])`, the sum, as a TensorFlow graph.
///
/// # Errors
/// Where a type cannot be built.
pub fn add(n: u64) -> Result<Comp, Error> {
    let dtype = tf::AttrValue { value: Some(tf::attr_value::Value::Type(tf::DataType::DtFloat.into())) };
    let node = |name: &str, op: &str, input: &[&str], attr: &str| tf::NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: input.iter().map(|&input| input.to_owned()).collect(),
        attr: BTreeMap::from([(attr.to_owned(), dtype.clone())]),
        ..Default::default()
    };
    let graph = tf::GraphDef {
        node: vec![
            node("a", "Placeholder", &[], "dtype"),
            node("b", "Placeholder", &[], "dtype"),
            node("sum", "AddV2", &["a", "b"], "T"),
        ],
        versions: Some(tf::VersionDef { producer: 1575, min_consumer: 12, ..Default::default() }),
        ..Default::default()
    };
    let tensor = |name: &str| TensorFlowBinding::Tensor(Arc::from(name));
    let compiled = TensorFlow {
        graph: Opaque {
            type_url: Arc::from("type.googleapis.com/tensorflow.GraphDef"),
            value: Bytes::from(prost::Message::encode_to_vec(&graph)),
        },
        parameter: Some(TensorFlowBinding::Struct(vec![tensor("a:0"), tensor("b:0")])),
        result: tensor("sum:0"),
        initialize_op: Arc::from(""),
        session_token: Arc::from(""),
        cache_key: None,
        layout_map: None,
    };
    let ty = Type::function(Some(Type::tuple([floats(n), floats(n)])?), floats(n))?;
    Ok(Comp::compiled(CompiledComputation::TensorFlow(Arc::new(compiled)), ty)?)
}

/// `({float32[n]}@CLIENTS -> float32[n]@SERVER)`, the sum over the clients.
///
/// # Errors
/// Where a type or computation cannot be built.
pub fn federated_sum(n: u64) -> Result<Comp, Error> {
    let (value, add) = (Type::at_clients(floats(n))?, add(n)?);
    let zero = Array::dense(DType::Float32, [n], Bytes::from(vec![0; usize::try_from(n)? * 4]))?;
    let report = Comp::lambda(Some(("x", floats(n))), Comp::reference("x", floats(n))?)?;
    let argument =
        Comp::tuple([Comp::reference("clients", value.clone())?, Comp::literal(zero), add.clone(), add, report])?;
    let ty = Type::function(Some(argument.ty().clone()), Type::at_server(floats(n))?)?;
    let call = Comp::call(Comp::intrinsic(Intrinsic::FederatedAggregate, ty)?, Some(argument))?;
    Ok(Comp::lambda(Some(("clients", value)), call)?)
}
