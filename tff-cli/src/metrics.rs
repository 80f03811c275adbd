//! Serves the metrics of the libraries to Prometheus.

use anyhow::{Context, Result};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use std::net::SocketAddr;

/// Upper bounds of the latencies that are counted apart, in seconds.
const SECONDS: [f64; 12] = [0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Serves metrics at this address, from the async runtime this is called in.
pub(crate) fn export(address: SocketAddr) -> Result<()> {
    PrometheusBuilder::new()
        .with_http_listener(address)
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install)
        .with_context(|| format!("cannot serve metrics at {address}"))?;
    tff_exec::service::describe_metrics();
    tracing::info!(%address, "serving metrics");
    Ok(())
}
