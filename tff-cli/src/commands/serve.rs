//! `tff serve`: runs computations for other machines.

use super::ExecutorArgs;
use crate::server::{self, ServerArgs};
use anyhow::Result;

const EXAMPLES: &str = "\
Examples:
  tff serve --port 8000
  tff serve --port 8000 --host 0.0.0.0 --tls-cert server.pem --tls-key server.key --tls-ca clients.pem
  tff serve --port 8000 --metrics-addr 127.0.0.1:9090 --log-format json -v";

/// Serves computations to TFF's clients over gRPC, as tff-worker does.
///
/// The services are tensorflow_federated.v0.ExecutorGroup, grpc.health.v1.Health and server
/// reflection. SIGTERM lets running calls finish, SIGINT ends the server at once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    executor: ExecutorArgs,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        server::run(&self.server, self.executor.executor()?)
    }
}
