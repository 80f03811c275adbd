//! The worker as a process: what launchers, operators and the machine do to it.

mod process;

use process::{Outcome, PATIENCE, Process, TFF, WORKER, free_port, scrape};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;

/// Waits until someone listens on a port; returns how long that took.
fn wait_for_listener(address: impl Into<IpAddr>, port: u16) -> Outcome {
    let (address, start) = (address.into(), Instant::now());
    while start.elapsed() < PATIENCE {
        if TcpStream::connect((address, port)).is_ok() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err("nobody listens".into())
}

/// A client and an executor for one client.
async fn connect(
    port: u16,
) -> Result<(ExecutorGroupClient<tonic::transport::Channel>, Option<pb::ExecutorId>), Box<dyn Error>> {
    let mut client = ExecutorGroupClient::connect(format!("http://localhost:{port}")).await?;
    let placement = Some(pb::Placement { uri: "clients".to_owned() });
    let cardinalities = vec![pb::Cardinality { placement, cardinality: 1 }];
    let executor = client.get_executor(pb::GetExecutorRequest { cardinalities }).await?.into_inner().executor;
    Ok((client, executor))
}

/// The value that calls a function 2⁶⁰ times, and a client that waits for it.
async fn wait_for_ever(port: u16) -> Result<tokio::task::JoinHandle<Option<tonic::Status>>, Box<dyn Error>> {
    let (mut client, executor) = connect(port).await?;
    let doubled: String = (1..=60).map(|n| format!(",f{n}=(x:int32 -> f{0}(f{0}(x)))", n - 1)).collect();
    let text = format!("(let f0=(x:int32 -> x){doubled} in f60(lit int32 1))");
    let comp = tff_ir::text::parse(&text, &tff_ir::text::Environment::default()).map_err(|_| "not parsed")?.comp;
    let value = Some(pb::Value { tensor: None, value: Some(pb::value::Value::Computation(comp.to_proto()?)) });
    let request = pb::CreateValueRequest { executor: executor.clone(), value };
    let value_ref = client.create_value(request).await?.into_inner().value_ref;
    let mut twin = client.clone();
    let waiting = tokio::spawn(async move { client.compute(pb::ComputeRequest { executor, value_ref }).await.err() });
    // What is sent later on the same connection arrives later: the call is under way.
    tokio::task::yield_now().await;
    twin.dispose(pb::DisposeRequest::default()).await?;
    Ok(waiting)
}

#[test]
fn it_listens_on_both_loopback_addresses() -> Outcome {
    let port = free_port()?;
    let _worker = Process::start(Command::new(WORKER).arg(format!("--port={port}")))?;
    wait_for_listener(Ipv4Addr::LOCALHOST, port)?;
    // A machine may be without IPv6; then the worker is too.
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        wait_for_listener(Ipv6Addr::LOCALHOST, port)?;
    }
    Ok(())
}

#[tokio::test]
async fn flags_are_taken_in_every_spelling() -> Outcome {
    let port = free_port()?.to_string();
    let spellings = [
        vec![format!("--port={port}")],
        vec!["--port".to_owned(), port.clone()],
        vec![format!("-port={port}")],
        vec!["-port".to_owned(), port.clone()],
        vec![
            format!("--port={port}"),
            "--max_concurrent_computation_calls=-1".to_owned(),
            "--grpc_max_message_length_megabytes=10000".to_owned(),
        ],
        vec![
            "-max_concurrent_computation_calls".to_owned(),
            "2".to_owned(),
            format!("-port={port}"),
            "-grpc_max_message_length_megabytes".to_owned(),
            "64".to_owned(),
        ],
    ];
    for args in spellings {
        let _worker = Process::start(Command::new(WORKER).args(&args))?;
        wait_for_listener(Ipv4Addr::LOCALHOST, port.parse()?)?;
        connect(port.parse()?).await.map_err(|error| format!("{args:?}: {error}"))?;
    }
    let mut unknown = Process::start(Command::new(WORKER).arg("--no_such_flag"))?;
    assert_eq!(unknown.wait()?.0.code(), Some(2));
    assert!(unknown.stderr()?.contains("--no-such-flag"));
    Ok(())
}

#[test]
fn a_taken_port_is_an_error() -> Outcome {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = taken.local_addr()?.port();
    let mut worker = Process::start(Command::new(WORKER).arg(format!("--port={port}")))?;
    assert_eq!(worker.wait()?.0.code(), Some(1));
    let message = worker.stderr()?;
    assert!(message.starts_with(&format!("error: cannot listen on 127.0.0.1:{port}: ")), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    // Two workers do not share a port either.
    let (_first, port) = Process::worker(&[])?;
    let mut second = Process::start(Command::new(WORKER).arg(format!("--port={port}")))?;
    assert_eq!(second.wait()?.0.code(), Some(1));
    Ok(())
}

#[tokio::test]
async fn signals_end_it_while_it_computes() -> Outcome {
    for signal in ["INT", "TERM"] {
        let (mut worker, port) = Process::worker(&[])?;
        let waiting = wait_for_ever(port).await?;
        worker.signal(signal)?;
        assert_eq!(worker.wait()?.0.code(), Some(0), "{signal}");
        assert!(waiting.await?.is_some(), "the call fails");
    }
    Ok(())
}

#[test]
fn an_interrupt_that_the_parent_ignored_ends_it() -> Outcome {
    let script = format!("trap '' INT; exec {WORKER} --port=0");
    let mut worker = Process::start(Command::new("sh").args(["-c", &script]))?;
    worker.port()?;
    worker.signal("INT")?;
    assert_eq!(worker.wait()?.0.code(), Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_calls_it_ends_at_once_though_clients_are_connected() -> Outcome {
    let (mut worker, port) = Process::worker(&["--drain-ms=30000"])?;
    let _connected = connect(port).await?;
    worker.signal("TERM")?;
    let (status, time) = worker.wait()?;
    assert_eq!(status.code(), Some(0));
    assert!(time < Duration::from_secs(10), "{time:?}");
    Ok(())
}

#[test]
fn it_ends_with_the_process_it_was_started_for() -> Outcome {
    let mut parent = Process::start(Command::new("sleep").arg("1000"))?;
    let (mut worker, _) = Process::worker(&["--parent-pid", &parent.0.id().to_string()])?;
    assert!(worker.0.try_wait()?.is_none());
    parent.0.kill()?;
    parent.0.wait()?;
    assert_eq!(worker.wait()?.0.code(), Some(0));
    Ok(())
}

#[tokio::test]
async fn metrics_are_served_and_return_to_zero() -> Outcome {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let mut server =
        Process::start(Command::new(TFF).args(["serve", "--port=0", "--metrics-addr", &address.to_string()]))?;
    let (mut client, executor) = connect(server.port()?).await?;
    let array = tff_ir::Array::dense(tff_types::DType::UInt8, [1000], vec![1; 1000].into())?;
    let value = Some(pb::Value { tensor: None, value: Some(pb::value::Value::Array(array.to_proto_value())) });
    client.create_value(pb::CreateValueRequest { executor: executor.clone(), value }).await?;
    let metrics = scrape(address)?;
    for line in ["tff_executors 1", "tff_values 1", "tff_calls_under_way{rpc=\"CreateValue\"} 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    assert!(metrics.contains("tff_call_seconds_count{rpc=\"CreateValue\",code=\"OK\"} 1"), "{metrics}");
    let bytes = metrics.lines().find_map(|line| line.strip_prefix("tff_received_bytes ")).ok_or("no bytes")?;
    assert!((1000.0..1100.0).contains(&bytes.parse::<f64>()?), "{bytes}");
    client.dispose_executor(pb::DisposeExecutorRequest { executor }).await?;
    let metrics = scrape(address)?;
    for line in ["tff_executors 0", "tff_values 0", "tff_received_bytes 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    Ok(())
}

/// The resident memory of a process, in kilobytes.
#[cfg(target_os = "linux")]
fn resident(process: &Process) -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn memory_stays_flat_over_many_rounds() -> Outcome {
    const SIZE: usize = 4 << 20;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let (worker, port) = Process::worker(&["--metrics-addr", &address.to_string(), "--max-live-bytes=10000000"])?;
    let mut client = ExecutorGroupClient::connect(format!("http://localhost:{port}")).await?;
    let text = format!(
        "(x:uint8[{SIZE}]@SERVER -> federated_map(<(y:uint8[{SIZE}] -> <lit int32 1>),federated_broadcast(x)>))"
    );
    let comp = tff_ir::text::parse(&text, &tff_ir::text::Environment::default()).map_err(|_| "not parsed")?.comp;
    let function = pb::Value { tensor: None, value: Some(pb::value::Value::Computation(comp.to_proto()?)) };
    let array = tff_ir::Array::dense(tff_types::DType::UInt8, [SIZE as u64], vec![1; SIZE].into())?.to_proto_value();
    let placement = |uri: &str| Some(pb::Placement { uri: uri.to_owned() });
    let spec = pb::PlacementSpec { placement: placement("server").map(pb::placement_spec::Placement::Value) };
    let argument = pb::Value {
        tensor: None,
        value: Some(pb::value::Value::Federated(pb::value::Federated {
            r#type: Some(pb::FederatedType { placement: Some(spec), all_equal: true, member: None }),
            value: vec![pb::Value { tensor: None, value: Some(pb::value::Value::Array(array)) }],
        })),
    };
    let mut sizes = Vec::new();
    for round in 0..500 {
        let n_clients = 80 + round % 41;
        let cardinalities = vec![pb::Cardinality { placement: placement("clients"), cardinality: n_clients }];
        let executor = client.get_executor(pb::GetExecutorRequest { cardinalities }).await?.into_inner().executor;
        let mut values = Vec::new();
        for value in [&function, &argument] {
            let request = pb::CreateValueRequest { executor: executor.clone(), value: Some(value.clone()) };
            values.extend(client.create_value(request).await?.into_inner().value_ref);
        }
        let [function_ref, argument_ref] = [0, 1].map(|index| values.get(index).cloned());
        let request = pb::CreateCallRequest { executor: executor.clone(), function_ref, argument_ref };
        values.extend(client.create_call(request).await?.into_inner().value_ref);
        let request = pb::ComputeRequest { executor: executor.clone(), value_ref: values.last().cloned() };
        let Some(pb::value::Value::Federated(result)) =
            client.compute(request).await?.into_inner().value.and_then(|value| value.value)
        else {
            return Err("not federated".into());
        };
        assert_eq!(result.value.len(), usize::try_from(n_clients)?);
        // Clients end in both ways.
        if round % 2 == 0 {
            client.dispose(pb::DisposeRequest { executor: executor.clone(), value_ref: values }).await?;
        }
        client.dispose_executor(pb::DisposeExecutorRequest { executor }).await?;
        if round >= 50 {
            sizes.push(resident(&worker)?);
        }
    }
    let metrics = scrape(address)?;
    for line in ["tff_executors 0", "tff_values 0", "tff_received_bytes 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    // The average of many rounds: at any one moment a message is under way or is not.
    let average = |sizes: &[f64]| sizes.iter().sum::<f64>() / sizes.len() as f64;
    let (first, last) = (average(&sizes[..100]), average(&sizes[sizes.len() - 100..]));
    assert!(last < first * 1.1, "{first} kB, then {last} kB");
    Ok(())
}

#[tokio::test]
async fn logs_tell_calls_by_their_request() -> Outcome {
    let (mut worker, port) = Process::worker(&["-vv", "--log_format=json"])?;
    let (mut client, _) = connect(port).await?;
    let mut request = tonic::Request::new(pb::ComputeRequest::default());
    request.metadata_mut().insert("x-request-id", "round-7".parse()?);
    let error = client.compute(request).await.err().ok_or("an executor without a name")?;
    assert_eq!(error.metadata().get("x-request-id").and_then(|id| id.to_str().ok()), Some("round-7"));
    worker.signal("INT")?;
    worker.wait()?;
    let logs = worker.stderr()?;
    let lines = logs.lines().map(serde_json::from_str).collect::<Result<Vec<serde_json::Value>, _>>()?;
    assert!(lines.iter().any(|line| line["message"] == "listening"), "{logs}");
    let call =
        lines.iter().find(|line| line["span"]["request_id"] == "round-7").ok_or(format!("no such call: {logs}"))?;
    assert_eq!((&call["span"]["rpc"], &call["code"]), (&"Compute".into(), &"FailedPrecondition".into()));
    Ok(())
}

#[test]
fn it_is_quiet_unless_asked() -> Outcome {
    let (mut worker, _) = Process::worker(&["-q"])?;
    worker.signal("INT")?;
    worker.wait()?;
    assert_eq!(worker.stderr()?, "");
    let mut worker = Process::start(Command::new(WORKER).arg("--port=0").env("TFF_LOG", "tff_cli=info"))?;
    worker.port()?;
    worker.signal("INT")?;
    worker.wait()?;
    let logs = worker.stderr()?;
    assert!(logs.contains("listening"), "{logs}");
    let mut worker = Process::start(Command::new(WORKER).arg("--port=0").env("TFF_LOG", "=nonsense="))?;
    assert_eq!(worker.wait()?.0.code(), Some(1));
    assert!(worker.stderr()?.starts_with("error: TFF_LOG: "));
    Ok(())
}

#[tokio::test]
async fn certificates_are_read_from_files() -> Outcome {
    use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
    let mut params = rcgen::CertificateParams::new(Vec::new())?;
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate()?;
    let ca = params.self_signed(&key)?.pem();
    let issuer = rcgen::Issuer::new(params, key);
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?.pem();
    let folder = tempfile::tempdir()?;
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).map(|()| path)
    };
    let mut command = Command::new(TFF);
    command.args(["serve", "--port", "0", "--tls-cert"]).arg(write("cert.pem", &certificate)?);
    command.arg("--tls-key").arg(write("key.pem", &key.serialize_pem())?).arg("--tls-ca").arg(write("ca.pem", &ca)?);
    let mut server = Process::start(&mut command)?;
    let endpoint = Endpoint::from_shared(format!("https://localhost:{}", server.port()?))?;
    let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
    // Not known to the server, and known.
    let stranger = ExecutorGroupClient::new(endpoint.clone().tls_config(trusting.clone())?.connect_lazy());
    let friend = trusting.identity(Identity::from_pem(certificate, key.serialize_pem()));
    let friend = ExecutorGroupClient::new(endpoint.tls_config(friend)?.connect_lazy());
    for (mut client, served) in [(stranger, false), (friend, true)] {
        let refused = client.get_executor(pb::GetExecutorRequest::default()).await.err().ok_or("no cardinalities")?;
        assert_eq!(refused.code() == tonic::Code::NotFound, served, "{refused}");
    }
    Ok(())
}

#[test]
fn certificates_that_are_none_are_an_error() -> Outcome {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let mut worker =
        Process::start(Command::new(WORKER).args(["--port=0", "--tls-cert", manifest, "--tls-key", manifest]))?;
    assert_eq!(worker.wait()?.0.code(), Some(1));
    let message = worker.stderr()?;
    assert!(message.contains("error: the certificates or the key for TLS cannot be used"), "{message}");
    Ok(())
}

#[tokio::test]
async fn what_is_not_finite_is_in_the_log_or_an_error() -> Outcome {
    let map = "%federated_map(<(x:float32 -> %generic_multiply(<x,x>)),%federated_value_at_clients(lit float32 1e30)>)";
    let comp = tff_ir::text::parse(map, &tff_ir::text::Environment::default()).map_err(|_| "not parsed")?.comp;
    let value = Some(pb::Value { tensor: None, value: Some(pb::value::Value::Computation(comp.to_proto()?)) });
    for args in [&[][..], &["--trap-nan"]] {
        let (mut worker, port) = Process::worker(args)?;
        let (mut client, executor) = connect(port).await?;
        let request = pb::CreateValueRequest { executor: executor.clone(), value: value.clone() };
        let value_ref = client.create_value(request).await?.into_inner().value_ref;
        let computed = client.compute(pb::ComputeRequest { executor, value_ref }).await;
        worker.signal("INT")?;
        worker.wait()?;
        let (logs, warning) = (worker.stderr()?, "the result has inf");
        if args.is_empty() {
            assert!(computed.is_ok() && logs.matches(warning).count() == 1, "{logs}");
        } else {
            let error = computed.err().ok_or("no error")?;
            let expected = "the result has inf, as what was computed for client 0 is not finite";
            assert_eq!((error.code(), error.message()), (tonic::Code::InvalidArgument, expected));
            assert!(!logs.contains(warning), "{logs}");
        }
    }
    Ok(())
}
