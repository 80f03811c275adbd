//! XLA: one call, with its data on the device and without, a large product, and local training beside
//! the same training as a TensorFlow graph.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use std::hint::black_box;
use std::sync::Arc;
use tff_benches::{executor, plugin, repository_file};
use tff_exec::leaf::{Prepared, xla};
use tff_exec::{Program, Value, Xla};
use tff_ir::{Array, Comp, CompiledComputation, Intrinsic, Opaque, Scalar, TensorFlow, TensorFlowBinding};
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::v0 as pb;
use tff_types::{DType, Type};

/// A function of JAX among the golden data.
fn computation(name: &str) -> Comp {
    let bytes = std::fs::read(repository_file(&format!("testdata/golden/xla/{name}.pb"))).expect("the golden data");
    Comp::from_proto(&pb::Computation::decode(&*bytes).expect("a message")).expect("a computation")
}

fn prepare(comp: &Comp) -> Arc<dyn Prepared> {
    let leaf = Xla::new(xla::XlaOptions { library: plugin(), ..Default::default() });
    let compiled = match comp.as_compiled() {
        Some(CompiledComputation::Xla(compiled)) => Some(compiled),
        _ => None,
    };
    let compiled = compiled.expect("a computation in XLA");
    leaf.prepare(compiled, comp.ty().as_function().expect("a function")).expect("a prepared computation")
}

fn floats(dims: &[u64], value: impl Fn(usize) -> f32) -> Value {
    let len = usize::try_from(dims.iter().product::<u64>()).expect("a size");
    let bytes: Vec<u8> = (0..len).flat_map(|index| value(index).to_le_bytes()).collect();
    Value::array(Array::dense(DType::Float32, dims, Bytes::from(bytes)).expect("an array"))
}

fn ints(values: &[i32]) -> Array {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Array::dense(DType::Int32, [values.len() as u64], Bytes::from(bytes)).expect("an array")
}

fn call(criterion: &mut Criterion) {
    let add = prepare(&computation("add_i32"));
    let argument = || Value::structure([3, 4].map(|value| Value::scalar(Scalar::Int32(value))));
    let resident = argument();
    criterion.bench_function("xla/add_of_resident_scalars", |bencher| {
        bencher.iter(|| add.call(Some(black_box(&resident))).expect("a value"));
    });
    criterion.bench_function("xla/add_of_new_scalars", |bencher| {
        bencher.iter_batched(argument, |argument| add.call(Some(&argument)).expect("a value"), BatchSize::SmallInput);
    });
}

fn product(criterion: &mut Criterion) {
    let product = prepare(&computation("mm512"));
    let matrix = || floats(&[512, 512], |index| (index % 7) as f32 - 3.0);
    let argument = Value::structure([matrix(), matrix()]);
    let mut group = criterion.benchmark_group("xla");
    group.throughput(Throughput::Elements(2 * 512 * 512 * 512));
    group.bench_function("matmul_512", |bencher| bencher.iter(|| product.call(Some(&argument)).expect("a value")));
    group.finish();
}

/// `<w=float32[3,2],b=float32[2],x=float32[8,3],y=int32[8],lr=float32>`: the model is shared, the data
/// are a client's.
fn training_argument(model: &[Value; 3], client: usize) -> Value {
    let [w, b, rate] = model.clone();
    let x = floats(&[8, 3], |index| ((index * 5 + client * 3) % 11) as f32 / 5.0 - 1.0);
    let labels: Vec<i32> = (0..8).map(|index| i32::from((index * 3 + client) % 4 > 1)).collect();
    Value::structure([w, b, x, Value::array(ints(&labels)), rate])
}

fn model() -> [Value; 3] {
    [floats(&[3, 2], |_| 0.0), floats(&[2], |_| 0.0), Value::scalar(Scalar::Float32(0.5))]
}

/// What `sgd` of the golden data computes, ten steps of gradient descent on a softmax regression, as a
/// TensorFlow graph of the same type.
fn tensorflow_sgd() -> Comp {
    let mut graph = GraphBuilder::default();
    for (name, dtype) in [("w", FLOAT), ("b", FLOAT), ("x", FLOAT), ("y", INT32), ("lr", FLOAT)] {
        graph.add(name, "Placeholder", &[], vec![("dtype", ty(dtype))]);
    }
    graph.add("rows", "Const", &[], constant(tf::TensorProto { dtype: INT32, int_val: vec![0], ..scalar() }));
    graph.add("eighth", "Const", &[], constant(tf::TensorProto { dtype: FLOAT, float_val: vec![0.125], ..scalar() }));
    let float = || vec![("T", ty(FLOAT))];
    let product =
        |transpose| vec![("T", ty(FLOAT)), ("transpose_a", Attr::B(transpose)), ("transpose_b", Attr::B(false))];
    let sum = || vec![("T", ty(FLOAT)), ("Tidx", ty(INT32)), ("keep_dims", Attr::B(false))];
    let (mut w, mut b) = ("w".to_owned(), "b".to_owned());
    for step in 0..10 {
        let name = |op: &str| format!("{op}_{step}");
        let op = |graph: &mut GraphBuilder, op: &str, kind: &str, inputs: &[&str], attrs| {
            let name = name(op);
            graph.add(&name, kind, inputs, attrs);
            name
        };
        let weighted = op(&mut graph, "weighted", "MatMul", &["x", &w], product(false));
        let logits = op(&mut graph, "logits", "AddV2", &[&weighted, &b], float());
        let labelled = vec![("T", ty(FLOAT)), ("Tlabels", ty(INT32))];
        let loss = op(&mut graph, "loss", "SparseSoftmaxCrossEntropyWithLogits", &[&logits, "y"], labelled);
        let slope = op(&mut graph, "slope", "Mul", &[&format!("{loss}:1"), "eighth"], float());
        let scaled = op(&mut graph, "scaled", "Mul", &[&slope, "lr"], float());
        let w_step = op(&mut graph, "w_step", "MatMul", &["x", &scaled], product(true));
        let b_step = op(&mut graph, "b_step", "Sum", &[&scaled, "rows"], sum());
        w = op(&mut graph, "w", "Sub", &[&w, &w_step], float());
        b = op(&mut graph, "b", "Sub", &[&b, &b_step], float());
    }
    graph.add("loss", "Mean", &["loss_9", "rows"], sum());
    let tensor = |name: &str| TensorFlowBinding::Tensor(Arc::from(name));
    let compiled = TensorFlow {
        graph: Opaque {
            type_url: Arc::from("type.googleapis.com/tensorflow.GraphDef"),
            value: Bytes::from(graph.0.encode_to_vec()),
        },
        parameter: Some(TensorFlowBinding::Struct(["w", "b", "x", "y", "lr"].map(tensor).to_vec())),
        result: TensorFlowBinding::Struct([&*w, &*b, "loss"].map(tensor).to_vec()),
        initialize_op: Arc::from(""),
        session_token: Arc::from(""),
        cache_key: None,
        layout_map: None,
    };
    let ty = computation("sgd").ty().clone();
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(compiled)), ty).expect("a computation")
}

const FLOAT: i32 = tf::DataType::DtFloat as i32;
const INT32: i32 = tf::DataType::DtInt32 as i32;

fn ty(dtype: i32) -> Attr {
    Attr::Type(dtype)
}

fn scalar() -> tf::TensorProto {
    tf::TensorProto { tensor_shape: Some(tf::TensorShapeProto::default()), ..Default::default() }
}

fn constant(tensor: tf::TensorProto) -> Vec<(&'static str, Attr)> {
    vec![("dtype", ty(tensor.dtype)), ("value", Attr::Tensor(Box::new(tensor)))]
}

#[derive(Default)]
struct GraphBuilder(tf::GraphDef);

impl GraphBuilder {
    fn add(&mut self, name: &str, op: &str, inputs: &[&str], attrs: Vec<(&str, Attr)>) {
        self.0.versions = Some(tf::VersionDef { producer: 1575, min_consumer: 12, ..Default::default() });
        self.0.node.push(tf::NodeDef {
            name: name.to_owned(),
            op: op.to_owned(),
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            attr: attrs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), tf::AttrValue { value: Some(value) }))
                .collect(),
            ..Default::default()
        });
    }
}

/// `({P}@CLIENTS -> {R}@CLIENTS)`, a function at every client.
fn mapped(function: Comp) -> Comp {
    let ty = function.ty().as_function().expect("a function").clone();
    let clients = Type::at_clients(ty.parameter.expect("a parameter")).expect("a type");
    let values = Comp::reference("values", clients.clone()).expect("a reference");
    let argument = Comp::tuple([function, values]).expect("a struct");
    let result = Type::at_clients(ty.result).expect("a type");
    let ty = Type::function(Some(argument.ty().clone()), result).expect("a type");
    let call = Comp::call(Comp::intrinsic(Intrinsic::FederatedMap, ty).expect("an intrinsic"), Some(argument));
    Comp::lambda(Some(("values", clients)), call.expect("a call")).expect("a lambda")
}

fn arrays(value: &Value) -> Vec<f32> {
    match value {
        Value::Tensor(tensor) => tensor
            .array()
            .scalars()
            .map(|scalar| if let Scalar::Float32(value) = scalar { value } else { f32::NAN })
            .collect(),
        Value::Struct(elements) => elements.iter().flat_map(arrays).collect(),
        _ => Vec::new(),
    }
}

fn training(criterion: &mut Criterion) {
    const CLIENTS: usize = 100;
    let executor = executor();
    let program = |comp: &Comp| executor.prepare(comp).expect("a program");
    let leaves: [(&str, Comp); 2] = [("xla", computation("sgd")), ("tensorflow", tensorflow_sgd())];

    // Both must compute the same, or the comparison says nothing.
    let argument = training_argument(&model(), 1);
    let run = |program: &Program| arrays(&program.call(Some(argument.clone()), None).expect("a value"));
    let [a, b] = leaves.each_ref().map(|(_, comp)| run(&program(comp)));
    assert!(a.len() == 9 && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4), "{a:?} and {b:?}");

    for (leaf, comp) in leaves {
        let one = program(&comp);
        criterion.bench_function(&format!("{leaf}/sgd_10_steps"), |bencher| {
            bencher.iter(|| one.call(Some(argument.clone()), None).expect("a value"));
        });
        let all = program(&mapped(comp));
        let mut group = criterion.benchmark_group(leaf);
        group.throughput(Throughput::Elements(CLIENTS as u64));
        // As in a round: the model is new and the same for all, the data are each client's own.
        let clients = || {
            let model = model();
            Value::at_clients((0..CLIENTS).map(|client| training_argument(&model, client)))
        };
        group.bench_function("sgd_10_steps_100_clients", |bencher| {
            bencher.iter_batched(
                clients,
                |clients| all.call(Some(clients), None).expect("a value"),
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, call, product, training);
criterion_main!(benches);
