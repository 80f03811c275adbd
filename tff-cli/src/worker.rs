//! The `tff-worker` command: a drop-in for TFF's own worker binary.
//!
//! It takes the flags that TFF's launcher passes, in all the spellings of absl: `--port=8000`,
//! `--port 8000`, `-port=8000`.

use crate::executor::{CompilationArgs, executor};
use clap::Parser;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;
use tff_exec::Executor;
use tff_exec::service::{ServerOptions, bind, serve};
use tokio::signal::unix::{SignalKind, signal};

/// Serves tensorflow_federated.v0.ExecutorGroup: runs federated computations for TFF's clients.
#[derive(Debug, Parser)]
#[command(name = "tff-worker", version, about, after_help = EXAMPLES)]
struct Args {
    /// The port to listen on; 0 takes a free one and prints it.
    #[arg(long, default_value_t = 10000, value_name = "PORT")]
    port: u16,
    /// An address to listen on, for more than this machine; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    host: Vec<IpAddr>,
    /// The largest message in either direction, in megabytes; at most 2047.
    #[arg(long, default_value_t = 2047, value_name = "MB")]
    grpc_max_message_length_megabytes: u32,
    /// How many threads compute; all cores if that is less than 1.
    #[arg(long, default_value_t = -1, allow_hyphen_values = true, value_name = "N")]
    max_concurrent_computation_calls: i32,
    /// Exit when the process of this number is gone.
    #[arg(long, value_name = "PID")]
    parent_pid: Option<i32>,
    #[command(flatten)]
    compilation: CompilationArgs,
    /// How long calls under way may take to finish after SIGTERM, in milliseconds.
    #[arg(long, default_value_t = 800, value_name = "MS")]
    drain_ms: u64,
}

const EXAMPLES: &str = "\
Examples:
  tff-worker --port=8000
  tff-worker --port=8000 --max_concurrent_computation_calls=4
  tff-worker --port=8000 --host=0.0.0.0";

/// Spells flags as clap knows them: two dashes, hyphens between words.
fn respell(arg: String) -> String {
    let Some(flag) = arg.strip_prefix('-') else { return arg };
    let flag = flag.strip_prefix('-').unwrap_or(flag);
    // A value such as -1 and the one-letter flags stay as they are.
    if flag.len() < 2 || !flag.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return arg;
    }
    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
    let name = name.replace('_', "-");
    value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}"))
}

/// Runs the `tff-worker` command with the arguments of the process; ends the process.
pub fn worker() -> ! {
    let args = Args::parse_from(std::env::args().map(respell));
    // The library's directory is set in the environment here, before there are threads.
    let executor = executor(usize::try_from(args.max_concurrent_computation_calls).ok(), &args.compilation);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run(&args, executor)),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => exit(0),
        Err(error) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            exit(1)
        }
    }
}

/// Ends the process at once: exit handlers of native libraries must not run while their threads
/// compute.
fn exit(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}

async fn run(args: &Args, executor: Executor) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let listeners = bind(&args.host, args.port).await?;
    for listener in &listeners {
        tracing::info!(address = %listener.local_addr()?, "listening");
    }
    if args.port == 0
        && let Some(listener) = listeners.first()
    {
        writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
    }
    // The library takes most of a second to open: meanwhile clients can connect.
    let warm = executor.clone();
    std::thread::spawn(move || {
        if let Err(error) = warm.tensorflow().open() {
            tracing::warn!("{error}");
        }
    });
    let mut server = ServerOptions::default();
    server.max_message_bytes = (args.grpc_max_message_length_megabytes.min(2047) as usize) << 20;
    let (drain, drained) = tokio::sync::oneshot::channel::<()>();
    let drain_time = Duration::from_millis(args.drain_ms);
    let serving = serve(executor, &server, listeners, async {
        // A dropped sender shuts down as well as a message does.
        let _ = drained.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        result = &mut serving => return Ok(result?),
        _ = interrupt.recv() => return Ok(()),
        () = parent_gone(args.parent_pid) => return Ok(()),
        _ = terminate.recv() => drop(drain),
    }
    tokio::select! {
        result = &mut serving => Ok(result?),
        _ = interrupt.recv() => Ok(()),
        () = tokio::time::sleep(drain_time) => Ok(()),
    }
}

/// Waits until there is no process of this number any more; for ever where there is none to watch.
async fn parent_gone(pid: Option<i32>) {
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { return std::future::pending().await };
    while rustix::process::test_kill_process(pid).is_ok() {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
