//! Conversations that TensorFlow Federated's own clients had with its worker, held with ours: each
//! call ends with the recorded status, and each value that was asked for is the recorded one.

mod process;

use process::Process;
use prost::Message;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use tff_exec::{ExecError, TensorFlow, Value, leaf, value_from_proto};
use tff_ir::{Array, Scalar};
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;
use tff_testing::{decode_base64, encode_base64};
use tff_types::{DType, Shape, Type};
use tonic::transport::Channel;
use tonic::{Code, Status};

fn repository_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// What reads the datasets of replies. Endless ones are given up early.
fn tensorflow() -> TensorFlow {
    let [(_, library), _] = tff_testing::native_libraries();
    let library = leaf::tensorflow::Library::Path(library);
    TensorFlow::new(leaf::tensorflow::TensorFlowOptions { library, max_sequence_elements: 1_000, ..Default::default() })
}

/// An answer: a reply's parts that matter to who asked.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
enum Answer {
    Executor(Option<pb::ExecutorId>),
    Value(Option<pb::ValueRef>),
    Computed(Option<pb::Value>),
    Nothing,
}

/// One trace against one worker.
struct Replay {
    client: ExecutorGroupClient<Channel>,
    tensorflow: TensorFlow,
    /// The executors by their recorded ids, and the values by those of both.
    executors: HashMap<String, String>,
    values: HashMap<(String, String), String>,
    /// What the worker answered where the recorded one refused: the call, and the value.
    beyond: Vec<(String, Json)>,
}

impl Replay {
    /// The id to send for a recorded executor; one that was never handed out stays as it is.
    fn executor(&self, recorded: &mut Option<pb::ExecutorId>) -> String {
        let Some(executor) = recorded else { return String::new() };
        let ours = self.executors.get(&executor.id).cloned().unwrap_or_else(|| executor.id.clone());
        std::mem::replace(&mut executor.id, ours)
    }

    fn value<'a>(&self, executor: &str, recorded: impl IntoIterator<Item = &'a mut pb::ValueRef>) {
        for value in recorded {
            if let Some(ours) = self.values.get(&(executor.to_owned(), value.id.clone())) {
                value.id.clone_from(ours);
            }
        }
    }

    /// Makes one recorded call. Returns the recorded id of the executor, and the answer.
    async fn call(&mut self, method: &str, request: &[u8]) -> Result<(String, Result<Answer, Status>), Box<dyn Error>> {
        let mut client = self.client.clone();
        Ok(match method {
            "GetExecutor" => {
                let reply = client.get_executor(pb::GetExecutorRequest::decode(request)?).await;
                (String::new(), reply.map(|it| Answer::Executor(it.into_inner().executor)))
            }
            "CreateValue" => {
                let mut request = pb::CreateValueRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                let reply = client.create_value(request).await;
                (executor, reply.map(|it| Answer::Value(it.into_inner().value_ref)))
            }
            "CreateCall" => {
                let mut request = pb::CreateCallRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                self.value(&executor, request.function_ref.iter_mut().chain(&mut request.argument_ref));
                let reply = client.create_call(request).await;
                (executor, reply.map(|it| Answer::Value(it.into_inner().value_ref)))
            }
            "CreateStruct" => {
                let mut request = pb::CreateStructRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                self.value(&executor, request.element.iter_mut().filter_map(|it| it.value_ref.as_mut()));
                let reply = client.create_struct(request).await;
                (executor, reply.map(|it| Answer::Value(it.into_inner().value_ref)))
            }
            "CreateSelection" => {
                let mut request = pb::CreateSelectionRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                self.value(&executor, &mut request.source_ref);
                let reply = client.create_selection(request).await;
                (executor, reply.map(|it| Answer::Value(it.into_inner().value_ref)))
            }
            "Compute" => {
                let mut request = pb::ComputeRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                self.value(&executor, &mut request.value_ref);
                let reply = client.compute(request).await;
                (executor, reply.map(|it| Answer::Computed(it.into_inner().value)))
            }
            "Dispose" => {
                let mut request = pb::DisposeRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                self.value(&executor, &mut request.value_ref);
                (executor, client.dispose(request).await.map(|_| Answer::Nothing))
            }
            "DisposeExecutor" => {
                let mut request = pb::DisposeExecutorRequest::decode(request)?;
                let executor = self.executor(&mut request.executor);
                (executor, client.dispose_executor(request).await.map(|_| Answer::Nothing))
            }
            other => return Err(format!("no method {other}").into()),
        })
    }

    /// Makes one recorded call and compares the answers.
    async fn step(&mut self, record: &Json, may_answer: bool) -> Result<(), Box<dyn Error>> {
        let text = |field: &str| record[field].as_str().unwrap_or_default();
        let (executor, answer) = self.call(text("method"), &decode_base64(text("request"))).await?;
        let found = answer.as_ref().map_or_else(Status::code, |_| Code::Ok);
        match (answer, text("status")) {
            (Ok(answer), "OK") => self.compare(record, executor, answer, &decode_base64(text("response"))),
            (Ok(answer), _) if may_answer => {
                let value = match answer {
                    Answer::Computed(value) => value,
                    Answer::Value(value_ref) => {
                        let ours = self.executors.get(&executor).cloned().unwrap_or(executor);
                        let request = pb::ComputeRequest { executor: Some(pb::ExecutorId { id: ours }), value_ref };
                        self.client
                            .compute(request)
                            .await
                            .map_err(|error| error.message().to_owned())?
                            .into_inner()
                            .value
                    }
                    Answer::Executor(_) | Answer::Nothing => None,
                };
                let value = self.json(&value.ok_or("no value")?, None)?;
                self.beyond.push((format!("#{} {}", record["i"], text("method")), value));
                Ok(())
            }
            (Err(error), status) if name(found) != status => {
                Err(format!("expected {status}, found {}: {}", name(found), error.message()).into())
            }
            (Err(_), _) => Ok(()),
            (Ok(_), status) => Err(format!("expected {status} {:?}, found an answer", text("message")).into()),
        }
    }

    /// Compares an answer with the recorded one, and remembers what it names.
    fn compare(
        &mut self,
        record: &Json,
        executor: String,
        answer: Answer,
        recorded: &[u8],
    ) -> Result<(), Box<dyn Error>> {
        match answer {
            Answer::Executor(ours) => {
                let theirs = pb::GetExecutorResponse::decode(recorded)?.executor.ok_or("no recorded executor")?;
                self.executors.insert(theirs.id, ours.ok_or("no executor")?.id);
            }
            Answer::Value(ours) => {
                // The replies of all methods that make values have the same field.
                let theirs = pb::CreateValueResponse::decode(recorded)?.value_ref.ok_or("no recorded value")?;
                self.values.insert((executor, theirs.id), ours.ok_or("no value")?.id);
            }
            Answer::Computed(ours) => {
                let theirs = pb::ComputeResponse::decode(recorded)?.value.ok_or("no recorded value")?;
                let expect = record.get("expect");
                let ours = self.json(&ours.ok_or("no value")?, expect);
                let (ours, theirs) = match (ours, self.json(&theirs, expect)) {
                    (Ok(ours), Ok(theirs)) => (ours, theirs),
                    // What was never used is sent back unchecked.
                    (Err(_), Err(_)) => return Ok(()),
                    (Err(error), _) | (_, Err(error)) => return Err(error),
                };
                if !equal(&ours, &theirs, record["compare"] == "close") {
                    return Err(format!("expected {theirs}, found {ours}").into());
                }
            }
            Answer::Nothing => {}
        }
        Ok(())
    }

    /// What a value is, apart from how its arrays are encoded and what its elements are called.
    /// `expect` tells of what sequences consist.
    fn json(&self, value: &pb::Value, expect: Option<&Json>) -> Result<Json, Box<dyn Error>> {
        use pb::value::Value as V;
        let part = |kind: &str| expect.and_then(|it| it.get(kind));
        Ok(match &value.value {
            None => Json::Null,
            Some(V::Array(array)) => {
                let array = Array::from_proto(array)?;
                let elements: Vec<_> = array.scalars().map(|scalar| number(&scalar)).collect();
                json!({ "dtype": array.dtype().to_string(), "dims": array.dims(), "elements": elements })
            }
            Some(V::Struct(structure)) => {
                let elements = structure.element.iter().enumerate().map(|(index, element)| {
                    let expect = part("struct").and_then(|it| it.get(index)?.get(1));
                    self.json(element.value.as_ref().ok_or("no element")?, expect)
                });
                elements.collect::<Result<_, _>>()?
            }
            Some(V::Federated(federated)) => {
                let ty = federated.r#type.as_ref().ok_or("no type")?;
                let members = federated.value.iter().enumerate().map(|(index, member)| {
                    self.json(member, part("federated").and_then(|it| it["members"].get(index)))
                });
                let members = members.collect::<Result<Vec<_>, _>>()?;
                let Some(pb::placement_spec::Placement::Value(placement)) =
                    ty.placement.as_ref().and_then(|it| it.placement.as_ref())
                else {
                    return Err("no placement".into());
                };
                json!({ "placement": placement.uri, "all_equal": ty.all_equal, "members": members })
            }
            Some(V::Sequence(_)) => match part("sequence").filter(|it| !it.is_null()) {
                // Where nothing was recorded, the elements are numbers; what is endless was not looked into.
                None if expect.is_none() => self.sequence(value, &json!([["int32", []]]))?,
                None => json!("a sequence"),
                Some(expect) => self.sequence(value, &expect["spec"])?,
            },
            Some(V::Computation(comp)) => {
                let kind = comp.computation.as_ref().map(std::mem::discriminant);
                json!({ "computation": format!("{kind:?}") })
            }
        })
    }

    /// The elements of a sequence of tensors, or of tuples of them.
    fn sequence(&self, value: &pb::Value, spec: &Json) -> Result<Json, Box<dyn Error>> {
        let parts = spec.as_array().ok_or("no element type")?.iter().map(|part| {
            let dtype = part[0].as_str().ok_or("no dtype")?;
            let dtype: DType = if dtype == "string" { "str" } else { dtype }.parse().map_err(|_| "an unknown dtype")?;
            let dims = part[1].as_array().ok_or("no dims")?.iter().map(Json::as_u64).collect::<Vec<_>>();
            Ok::<_, Box<dyn Error>>(Type::tensor(dtype, Shape::new(dims)))
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let element = if let [part] = &parts[..] { part.clone() } else { Type::tuple(parts)? };
        let Value::Sequence(sequence) = value_from_proto(value, &Type::sequence(element)?)? else {
            return Err("no sequence".into());
        };
        match sequence.elements(&self.tensorflow) {
            Ok(elements) => Ok(elements.iter().map(tensors).collect()),
            Err(ExecError::Limit { .. }) => Ok(json!("an endless sequence")),
            Err(error) => Err(error.into()),
        }
    }
}

/// The tensors of an element of a sequence.
fn tensors(value: &Value) -> Json {
    match value {
        Value::Tensor(tensor) => {
            let array = tensor.array();
            let elements: Vec<_> = array.scalars().map(|scalar| number(&scalar)).collect();
            json!([array.dims(), elements])
        }
        Value::Struct(elements) => elements.iter().map(tensors).collect(),
        other => json!(format!("{other:?}")),
    }
}

/// A number as JSON, as a text where JSON has none for it.
fn number(scalar: &Scalar) -> Json {
    let float = |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
    match scalar {
        Scalar::Float16(value) => float(value.to_f64()),
        Scalar::BFloat16(value) => float(value.to_f64()),
        Scalar::Float32(value) => float(f64::from(*value)),
        Scalar::Float64(value) => float(*value),
        Scalar::Complex64(re, im) => json!([float(f64::from(*re)), float(f64::from(*im))]),
        Scalar::Complex128(re, im) => json!([float(*re), float(*im)]),
        Scalar::Bool(value) => json!(value),
        Scalar::Int8(value) => json!(value),
        Scalar::Int16(value) => json!(value),
        Scalar::Int32(value) => json!(value),
        Scalar::Int64(value) => json!(value),
        Scalar::UInt8(value) => json!(value),
        Scalar::UInt16(value) => json!(value),
        Scalar::UInt32(value) => json!(value),
        Scalar::UInt64(value) => json!(value),
        Scalar::String(value) => json!(encode_base64(value)),
    }
}

/// Equal, or with floating-point numbers within 1e-4 of their size where `close` is enough.
fn equal(left: &Json, right: &Json, close: bool) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right, close))
        }
        (Json::Object(left), Json::Object(right)) => {
            let found = |name: &str| right.get(name).unwrap_or(&Json::Null);
            left.len() == right.len() && left.iter().all(|(name, left)| equal(left, found(name), close))
        }
        (Json::Number(left), Json::Number(right)) if close && left.is_f64() && right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
            (left - right).abs() <= (1e-4 * right.abs().max(left.abs())).max(1e-6)
        }
        (left, right) => left == right,
    }
}

/// The name of a status code, as the traces have it.
fn name(code: Code) -> String {
    let name = format!("{code:?}");
    if code == Code::Ok {
        return "OK".to_owned();
    }
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    snake
}

/// Holds the conversations of one folder; returns what was answered beyond the recorded.
async fn replay(folder: &str, may_answer: bool) -> Result<Vec<String>, Box<dyn Error>> {
    let (_worker, port) = Process::worker(&["--allow-insecure-secure-sum"])?;
    let client = ExecutorGroupClient::connect(format!("http://localhost:{port}")).await?;
    let client = client.max_decoding_message_size(usize::MAX);
    let mut files = std::fs::read_dir(repository_file("testdata/traces").join(folder))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    files.sort();
    let (mut problems, mut beyond) = (Vec::new(), Vec::new());
    for file in &files {
        let trace = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(file)?;
        let (executors, values) = (HashMap::new(), HashMap::new());
        let mut replay =
            Replay { client: client.clone(), tensorflow: tensorflow(), executors, values, beyond: Vec::new() };
        for line in text.lines().skip(1) {
            let record: Json = serde_json::from_str(line)?;
            // What follows a difference is about values that are not there.
            if let Err(error) = replay.step(&record, may_answer).await {
                problems.push(format!("{trace} #{} {}: {error}", record["i"], record["method"]));
                break;
            }
        }
        beyond.extend(replay.beyond.into_iter().map(|(call, value)| format!("{trace} {call}: {value}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(beyond)
}

#[tokio::test]
async fn answers_are_the_recorded_ones() -> Result<(), Box<dyn Error>> {
    assert_eq!(replay("parity", false).await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn what_the_recorded_worker_could_not_answer_has_the_right_value() -> Result<(), Box<dyn Error>> {
    insta::assert_snapshot!(replay("beyond", true).await?.join("\n"), @r#"
    jax_xla #6 Compute: {"dims":[],"dtype":"int32","elements":[5]}
    raw_values #44 Compute: {"dims":[2],"dtype":"bool","elements":[true,false]}
    raw_values #66 Compute: {"dims":[2,1],"dtype":"int32","elements":[-5,7]}
    raw_values #106 Compute: {"dims":[2],"dtype":"float16","elements":[1.0,"inf"]}
    raw_values #116 Compute: {"dims":[2],"dtype":"bfloat16","elements":[1.0,"inf"]}
    raw_values #126 Compute: {"dims":[3],"dtype":"float32","elements":[1.5,"NaN","-inf"]}
    raw_values #142 Compute: {"dims":[1],"dtype":"complex64","elements":[[1.0,-2.0]]}
    raw_values #188 Compute: {"dims":[0],"dtype":"int32","elements":[]}
    raw_values #316 Compute: {"dims":[],"dtype":"float32","elements":[2.5]}
    sequences #8 Compute: {"dims":[],"dtype":"int32","elements":[9]}
    sequences #28 Compute: [[[],[1]],[[],[4]],[[],[9]]]
    uncompiled_sequences #8 Compute: {"dims":[],"dtype":"int32","elements":[9]}
    uncompiled_sequences #13 CreateCall: [{"all_equal":true,"members":[{"dims":[],"dtype":"int32","elements":[6]}],"placement":"server"},{"all_equal":false,"members":[{"dims":[],"dtype":"int32","elements":[3]},{"dims":[],"dtype":"int32","elements":[3]},{"dims":[],"dtype":"int32","elements":[0]}],"placement":"clients"}]
    uncompiled_sequences #28 Compute: [[[],[1]],[[],[4]],[[],[9]]]
    uncompiled_unsupported #3 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"int32","elements":[3]}],"placement":"server"}
    uncompiled_unsupported #8 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"int32","elements":[1]}],"placement":"server"}
    uncompiled_unsupported #13 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"int32","elements":[3]}],"placement":"server"}
    uncompiled_unsupported #18 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"int32","elements":[3]}],"placement":"server"}
    uncompiled_unsupported #23 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"float32","elements":[1.5]}],"placement":"server"}
    uncompiled_unsupported #30 CreateCall: {"all_equal":true,"members":[{"dims":[],"dtype":"float32","elements":[1.75]}],"placement":"server"}
    "#);
    Ok(())
}
