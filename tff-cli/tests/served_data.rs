//! `data` in computations that travel: to `tff serve`, and to workers that have data of their own.

mod process;

use process::{Outcome, Process, TFF, WORKER};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use tff_exec::{Executor, Options, value_from_proto};
use tff_ir::text::{Environment, parse};
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;
use tff_sim::json::{self, Members};

type Client = ExecutorGroupClient<tonic::transport::Channel>;

/// A folder of this name with a table for each client.
fn tables(folder: &Path, name: &str, clients: &[(&str, &str)]) -> Result<String, Box<dyn Error>> {
    let folder = folder.join(name);
    std::fs::create_dir(&folder)?;
    for (client, rows) in clients {
        std::fs::write(folder.join(client).with_extension("csv"), format!("x\n{rows}\n"))?;
    }
    Ok(format!("mine={}", folder.to_str().ok_or("no UTF-8")?))
}

fn computation(text: &str) -> Result<pb::Computation, Box<dyn Error>> {
    let parsed = parse(text, &Environment::default()).map_err(|error| format!("{text}: {error}"))?;
    Ok(parsed.comp.to_proto()?)
}

fn value(value: pb::value::Value) -> Option<pb::Value> {
    Some(pb::Value { tensor: None, value: Some(value) })
}

/// What `tff.framework.CreateDataDescriptor(uris, T)` sends: at each client, data with the uri of the client.
fn descriptor(uris: &[&str], ty: &str) -> Result<Option<pb::Value>, Box<dyn Error>> {
    let member = computation(&format!("data \"uri\":{ty}"))?;
    let datum = |uri: &&str| pb::Value {
        tensor: None,
        value: Some(pb::value::Value::Computation(pb::Computation {
            computation: Some(pb::computation::Computation::Data(pb::Data {
                data: Some(pb::data::Data::Uri((*uri).to_owned())),
            })),
            ..member.clone()
        })),
    };
    let clients = pb::PlacementSpec {
        placement: Some(pb::placement_spec::Placement::Value(pb::Placement { uri: "clients".to_owned() })),
    };
    let ty =
        pb::FederatedType { placement: Some(clients), all_equal: false, member: member.r#type.clone().map(Box::new) };
    let federated = pb::value::Federated { r#type: Some(ty), value: uris.iter().map(datum).collect() };
    Ok(value(pb::value::Value::Federated(federated)))
}

/// What the server answers of a function of what the uris name, as text, or its error.
async fn call(port: u16, function: &str, uris: &[&str], ty: &str) -> Result<String, Box<dyn Error>> {
    let mut client: Client = ExecutorGroupClient::connect(format!("http://localhost:{port}")).await?;
    let placement = Some(pb::Placement { uri: "clients".to_owned() });
    let cardinalities = vec![pb::Cardinality { placement, cardinality: i32::try_from(uris.len())? }];
    let executor = client.get_executor(pb::GetExecutorRequest { cardinalities }).await?.into_inner().executor;
    let function = value(pb::value::Value::Computation(computation(function)?));
    let request = |value| pb::CreateValueRequest { executor: executor.clone(), value };
    let function_ref = client.create_value(request(function)).await?.into_inner().value_ref;
    let said = |status: tonic::Status| format!("{:?}: {}", status.code(), status.message());
    // Data that is at clients is read as soon as it arrives.
    let argument_ref = match client.create_value(request(descriptor(uris, ty)?)).await {
        Ok(reply) => reply.into_inner().value_ref,
        Err(status) => return Ok(said(status)),
    };
    let request = pb::CreateCallRequest { executor: executor.clone(), function_ref, argument_ref };
    let value_ref = client.create_call(request).await?.into_inner().value_ref;
    Ok(match client.compute(pb::ComputeRequest { executor, value_ref }).await {
        Ok(reply) => {
            let value = reply.into_inner().value.ok_or("no value")?;
            let ty = "{int32}@CLIENTS".parse()?;
            let executor = Executor::new(Options::default());
            let members = Members::of(&executor, Some(uris.len()));
            json::write(&value_from_proto(&value, &ty)?, &ty, &members)?
        }
        Err(status) => said(status),
    })
}

const SUMS: &str = "(d:{<x=int32>*}@CLIENTS -> %federated_map(<(s:<x=int32>* -> %sequence_sum(s).x),d>))";

#[tokio::test]
async fn a_descriptor_of_uris_is_the_data_of_named_sources() -> Outcome {
    let folder = tempfile::tempdir()?;
    let data = tables(folder.path(), "here", &[("ann", "1\n2"), ("bob", "40")])?;
    let servers = [
        Command::new(TFF).args(["serve", "--port", "0", "--data", &data]),
        Command::new(WORKER).args(["--port=0", &format!("-data={data}")]),
    ]
    .map(Process::start);
    for server in servers {
        let mut server = server?;
        let port = server.port()?;
        let sums = async |uris: &[&str], ty: &str| call(port, SUMS, uris, ty).await;
        assert_eq!(sums(&["mine/bob", "mine/ann", "mine/bob"], "<x=int32>*").await?, "[40,3,40]");
        // An error names the client by its position, the uri, and what is expected and found.
        let found = sums(&["mine/ann", "mine/eve"], "<x=int32>*").await?;
        let expected = "InvalidArgument: [1]: data: the uri \"mine/eve\": expected a client of mine, found eve";
        assert_eq!(found, expected);
        let found = sums(&["/etc/passwd"], "<x=int32>*").await?;
        let expected = "InvalidArgument: [0]: data: the uri \"/etc/passwd\": expected one of the sources mine, found ";
        assert_eq!(found, expected);
        let found = sums(&["mine/bob"], "<x=bool>*").await?;
        let place = folder.path().join("here/ann.csv");
        let expected =
            format!("InvalidArgument: [0]: data: {}:3: column x: expected bool, found \"2\"", place.display());
        assert_eq!(found, expected);
    }
    Ok(())
}

#[test]
fn each_worker_reads_data_of_its_own() -> Outcome {
    let folder = tempfile::tempdir()?;
    let first = tables(folder.path(), "first", &[("me", "1\n2"), ("left", "5")])?;
    let second = tables(folder.path(), "second", &[("me", "40")])?;
    let (_first, first) = Process::worker(&["--data", &first])?;
    let (_second, second) = Process::worker(&["--data", &second])?;
    let workers = format!("localhost:{first},localhost:{second}");
    let run = |uri: &str, workers: &str| -> Result<_, Box<dyn Error>> {
        let path = folder.path().join("total.tff");
        let text = format!(
            "(n:{{int32}}@CLIENTS -> %federated_map(<(x:int32 -> \
             %generic_plus(<x,%sequence_sum(data \"{uri}\":<x=int32>*).x>)),n>))"
        );
        std::fs::write(&path, text)?;
        let path = path.to_str().ok_or("no UTF-8")?;
        let args = ["run", path, "--arg", "[100, 200, 300, 400]", "--json", "--workers", workers];
        let output = Command::new(TFF).args(args).env_remove("TFF_LOG").output()?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    };
    let (code, stdout, stderr) = run("mine/me", &workers)?;
    assert_eq!(
        (code, stdout.split_whitespace().collect::<String>().as_str()),
        (Some(0), "[103,203,340,440]"),
        "{stderr}"
    );
    // What a worker does not have is its error, with the uri and the worker.
    let (code, stdout, stderr) = run("mine/left", &workers)?;
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("the uri \"mine/left\": expected a client of mine, found left"), "{stderr}");
    assert!(stderr.contains(&format!("localhost:{second}")), "{stderr}");
    Ok(())
}
