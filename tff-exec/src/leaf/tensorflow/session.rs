//! Sessions and single runs.

use super::ffi::{Failure, Graph, Native, NativeSession, Operation, Port};
use prost::Message;
use std::sync::LazyLock;
use tff_proto::tensorflow as pb;

/// The options of every session: those of the reference that results depend on. No rewriting of
/// the graph before it runs, and ops placed wherever they have a kernel.
static CONFIG: LazyLock<Vec<u8>> = LazyLock::new(|| {
    pb::ConfigProto {
        allow_soft_placement: true,
        graph_options: Some(pb::GraphOptions {
            optimizer_options: Some(pb::OptimizerOptions {
                opt_level: pb::optimizer_options::Level::L0 as i32,
                global_jit_level: pb::optimizer_options::GlobalJitLevel::Off as i32,
                ..Default::default()
            }),
            rewrite_options: Some(pb::RewriterConfig { disable_meta_optimizer: true, ..Default::default() }),
            ..Default::default()
        }),
        experimental: Some(pb::config_proto::Experimental {
            optimize_for_static_graph: true,
            disable_output_partition_graphs: true,
            ..Default::default()
        }),
        ..Default::default()
    }
    .encode_to_vec()
});

/// The options of every run: on the caller's thread, which is some twenty times faster for a
/// small graph than the hand-over to a pool of TensorFlow's own.
static RUN_OPTIONS: LazyLock<Vec<u8>> =
    LazyLock::new(|| pb::RunOptions { inter_op_thread_pool: -1, ..Default::default() }.encode_to_vec());

/// A session, with state of its own, on a graph that is complete.
pub(super) fn open(graph: &Graph) -> Result<NativeSession, Failure> {
    NativeSession::new(graph, &CONFIG)
}

/// Runs a graph once on the caller's thread.
pub(super) fn run<'a>(
    session: &NativeSession,
    feeds: impl IntoIterator<Item = (&'a Port, &'a Native)>,
    targets: &[&Operation],
    fetches: &[Port],
) -> Result<Vec<Native>, Failure> {
    session.run(&RUN_OPTIONS, feeds, targets, fetches)
}
