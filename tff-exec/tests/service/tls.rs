//! TLS: encrypted, with the server's certificate, and with the client's where that is asked for.

use crate::peer::Server;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tff_exec::remote::{RemoteOptions, RemoteTls, RemoteWorkers};
use tff_exec::service::{ServerOptions, Tls};
use tff_exec::{ExecError, WorkerError};
use tff_proto::v0::GetExecutorRequest;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// Who signs.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

async fn serve(authority: &Authority, client_ca: Option<&Authority>) -> Server {
    let (certificate, key) = authority.sign("localhost");
    let client_ca = client_ca.map(|authority| authority.pem.clone().into_bytes());
    let mut options = ServerOptions::default();
    options.tls = Some(Tls { certificate: certificate.into_bytes(), key: key.into_bytes(), client_ca });
    Server::start(&options).await
}

/// The code that a call is answered with: of one without cardinalities, which is refused by the
/// service, not on the way to it.
async fn ask(port: u16, tls: Option<ClientTlsConfig>) -> Code {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://localhost:{port}")).unwrap();
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).unwrap();
    }
    let Ok(channel) = endpoint.connect().await else { return Code::Unavailable };
    let answer = ExecutorGroupClient::new(channel).get_executor(GetExecutorRequest::default()).await;
    // What breaks a connection is told in more than one way.
    match answer.unwrap_err().code() {
        Code::NotFound => Code::NotFound,
        _ => Code::Unavailable,
    }
}

fn trusting(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.pem))
}

#[tokio::test]
async fn clients_that_trust_the_certificate_are_served() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = serve(&authority, None).await;
    assert_eq!(ask(server.port, Some(trusting(&authority))).await, Code::NotFound);
    assert_eq!(ask(server.port, Some(trusting(&other))).await, Code::Unavailable);
    assert_eq!(ask(server.port, None).await, Code::Unavailable);
    // A client that failed harms no other.
    assert_eq!(ask(server.port, Some(trusting(&authority))).await, Code::NotFound);
}

#[tokio::test]
async fn where_clients_need_a_certificate_only_those_with_the_right_one_are_served() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let server = serve(&authority, Some(&clients)).await;
    let with =
        |(certificate, key): (String, String)| trusting(&authority).identity(Identity::from_pem(certificate, key));
    assert_eq!(ask(server.port, Some(with(clients.sign("someone")))).await, Code::NotFound);
    assert_eq!(ask(server.port, Some(with(authority.sign("someone")))).await, Code::Unavailable);
    assert_eq!(ask(server.port, Some(trusting(&authority))).await, Code::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_asked_with_the_same_keys() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let server = serve(&authority, Some(&clients)).await;
    let ask = move |ca: &Authority, identity: Option<(String, String)>| {
        let mut options = RemoteOptions::default();
        let identity = identity.map(|(certificate, key)| (certificate.into_bytes(), key.into_bytes()));
        options.tls = Some(RemoteTls { ca: ca.pem.clone().into_bytes(), identity });
        let workers = RemoteWorkers::new(&[format!("localhost:{}", server.port)], &options).unwrap();
        workers.executors(1).map(|executors| executors.len())
    };
    let asked = tokio::task::spawn_blocking(move || {
        assert_eq!(ask(&authority, Some(clients.sign("someone"))).unwrap(), 1);
        for (ca, identity) in [(&authority, None), (&clients, Some(clients.sign("someone")))] {
            assert!(matches!(ask(ca, identity), Err(ExecError::Worker(WorkerError::Unavailable { .. }))));
        }
        let options = |ca: &[u8]| {
            let mut options = RemoteOptions::default();
            options.tls = Some(RemoteTls { ca: ca.to_vec(), identity: None });
            options
        };
        // What is no certificate signs nobody's.
        let workers = RemoteWorkers::new(&["localhost:1"], &options(b"nonsense"));
        assert!(workers.and_then(|workers| workers.executors(1)).is_err());
    });
    asked.await.unwrap();
}
