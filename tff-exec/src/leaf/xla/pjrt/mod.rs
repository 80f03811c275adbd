//! The runtime for a PJRT plugin, a shared library that vendors of devices offer. It is opened when
//! the first module is compiled.

mod abi;
mod ffi;

use super::runtime::{Failure, Runtime};
use super::signature::Signature;
use crate::ExecError;
pub use ffi::Handler;
use ffi::{Buffer, Client, Executable};
use prost::Message;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tff_ir::Array;

/// A PJRT plugin, and how its client is made.
///
/// A process may have several plugins open, and several clients of one.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Plugin {
    /// Shared libraries that export `GetPjrtApi`: the first one that exists is opened.
    pub files: Vec<PathBuf>,
    /// What the plugin is told as its client is made, by name: which names there are, and of which type,
    /// is the plugin's own. For GPUs, `memory_fraction` is a [`OptionValue::Float`].
    pub options: Vec<(String, OptionValue)>,
    /// Which of the plugin's devices computes.
    pub device: usize,
}

impl Plugin {
    /// The first of these files that exists, on its first device.
    #[must_use]
    pub const fn new(files: Vec<PathBuf>) -> Self {
        Self { files, options: Vec::new(), device: 0 }
    }
}

/// The value of an option of a plugin.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "they are called what they are")]
pub enum OptionValue {
    String(String),
    Int64(i64),
    Int64List(Vec<i64>),
    Float(f32),
    Bool(bool),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "{text:?}"),
            Self::Int64(integer) => integer.fmt(f),
            Self::Int64List(integers) => write!(f, "{integers:?}"),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

/// What the process has opened, and what it gives to each plugin.
struct Open {
    /// Each client with the one file that it is of.
    clients: Vec<(Plugin, &'static Client)>,
    handlers: Vec<Handler>,
}

static OPEN: Mutex<Open> = Mutex::new(Open { clients: Vec::new(), handlers: Vec::new() });

/// Gives handlers to the plugins for CPUs that this process has open or opens: modules that are compiled from now on
/// may call them. What was refused for lack of them stays refused. A handler that a plugin has keeps its name.
pub fn add_handlers(handlers: Vec<Handler>) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for (_, client) in &open.clients {
        register(client, &handlers);
    }
    open.handlers.extend(handlers);
}

fn register(client: &Client, handlers: &[Handler]) {
    if client.platform() != "cpu" {
        return;
    }
    for handler in handlers {
        // A module that needs it is told, by the plugin, that there is none.
        if let Err(error) = client.register(handler) {
            tracing::debug!(%error, ?handler, "a PJRT plugin refused a handler");
        }
    }
}

/// The client of a plugin, opened unless it is open.
///
/// # Errors
/// [`ExecError::Library`] if there is no such file, it is not a plugin, or it refuses the options,
/// with what to do.
pub(super) fn open(plugin: &Plugin) -> Result<&'static Client, ExecError> {
    let path = match plugin.files.as_slice() {
        [file] => file,
        files => files.iter().find(|path| path.is_file()).ok_or_else(|| missing(files))?,
    };
    open_file(path, plugin).map_err(|reason| library_error(&format!("{} {reason}", path.display())))
}

fn open_file(path: &Path, plugin: &Plugin) -> Result<&'static Client, String> {
    // One file is one plugin, however it is named.
    let path = path.canonicalize().map_err(|error| format!("cannot be opened: {error}"))?;
    let plugin = Plugin { files: vec![path.clone()], ..plugin.clone() };
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = open.clients.iter().find(|(other, _)| *other == plugin) {
        return Ok(client);
    }
    let client = Client::open(&path, &plugin.options, plugin.device)?;
    tracing::debug!(platform = client.platform(), path = %path.display(), "opened a PJRT plugin");
    register(client, &open.handlers);
    open.clients.push((plugin, client));
    Ok(client)
}

fn missing(files: &[PathBuf]) -> ExecError {
    let looked: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    library_error(&match looked.as_slice() {
        [] => "none is named".to_owned(),
        looked => format!("there is no file {}", looked.join(", ")),
    })
}

fn library_error(reason: &str) -> ExecError {
    ExecError::Library {
        library: "a PJRT plugin for XLA",
        reason: format!("{reason}; run scripts/native.sh pjrt, or set TFF_PJRT_PLUGIN to a plugin"),
    }
}

/// How modules are compiled: the part that is used of XLA's `CompileOptionsProto`.
#[derive(Clone, PartialEq, Message)]
struct CompileOptions {
    #[prost(bool, tag = "2")]
    parameter_is_tupled_arguments: bool,
    #[prost(message, required, tag = "3")]
    executable_build_options: BuildOptions,
}

/// The part that is used of XLA's `ExecutableBuildOptionsProto`.
#[derive(Clone, PartialEq, Message)]
struct BuildOptions {
    #[prost(int64, tag = "4")]
    num_replicas: i64,
    #[prost(int64, tag = "5")]
    num_partitions: i64,
    #[prost(message, required, tag = "9")]
    device_assignment: DeviceAssignment,
}

/// XLA's `DeviceAssignmentProto`: the device of each replica of each partition.
#[derive(Clone, PartialEq, Message)]
struct DeviceAssignment {
    #[prost(int32, tag = "1")]
    replica_count: i32,
    #[prost(int32, tag = "2")]
    computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    computation_devices: Vec<ReplicaDevices>,
}

#[derive(Clone, PartialEq, Message)]
struct ReplicaDevices {
    #[prost(int64, repeated, tag = "1")]
    replica_device_ids: Vec<i64>,
}

impl Runtime for Client {
    type Executable = Executable;
    type Buffer = Buffer;

    fn compile(&'static self, module: &[u8], signature: &Signature) -> Result<Executable, Failure> {
        let options = CompileOptions {
            parameter_is_tupled_arguments: signature.is_tupled,
            executable_build_options: BuildOptions {
                num_replicas: 1,
                num_partitions: 1,
                device_assignment: DeviceAssignment {
                    replica_count: 1,
                    computation_count: 1,
                    computation_devices: vec![ReplicaDevices { replica_device_ids: vec![self.device_id()] }],
                },
            },
        };
        self.compile(module, &options.encode_to_vec())
    }

    fn upload(&'static self, array: &Array) -> Result<Buffer, Failure> {
        self.upload(array)
    }

    fn owns(&self, buffer: &Buffer) -> bool {
        buffer.is_of(self)
    }

    fn execute(&self, executable: &Executable, arguments: &[&Buffer]) -> Result<Vec<Buffer>, Failure> {
        executable.execute(arguments)
    }

    fn download(&self, buffer: &Arc<Buffer>) -> Result<Array, Failure> {
        let (dtype, dims) = buffer.shape()?;
        let size =
            dims.iter().try_fold(dtype.size().unwrap_or(0), |size, &dim| size.checked_mul(usize::try_from(dim).ok()?));
        let size = size.ok_or_else(|| tff_ir::ArrayError::TooLarge(dims.clone()))?;
        let bytes = match buffer.view(dims.len(), size)? {
            Some(bytes) => bytes,
            None => buffer.copy(dims.len(), size)?,
        };
        Ok(Array::dense(dtype, dims, bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use tff_types::DType;

    /// Devices whose memory the process cannot read are not at hand: what is copied from them is
    /// compared with views of one that is.
    #[test]
    fn a_copy_is_what_a_view_shows() {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let own = std::env::var_os("TFF_PJRT_PLUGIN").map(PathBuf::from).into_iter();
        let plugins: Vec<_> = own.chain(above.map(|dir| dir.join(".native/pjrt/pjrt_c_api_cpu_plugin.so"))).collect();
        let client = open(&Plugin::new(plugins)).unwrap();
        for (dtype, dims) in
            [(DType::UInt8, &[2u64, 3, 5][..]), (DType::Float32, &[7]), (DType::Int16, &[]), (DType::Bool, &[0, 4])]
        {
            let rank = dims.len();
            let len = usize::try_from(dims.iter().product::<u64>()).unwrap() * dtype.size().unwrap();
            let bytes: Bytes = (0..=u8::MAX).take(len).collect();
            let array = Array::dense(dtype, dims, bytes.clone()).unwrap();
            let buffer = Arc::new(Runtime::upload(client, &array).unwrap());
            assert_eq!(buffer.copy(rank, len).unwrap(), bytes);
            assert_eq!(buffer.view(rank, len).unwrap(), Some(bytes));
            assert_eq!(client.download(&buffer).unwrap(), array);
            if len > 0 {
                assert!(buffer.view(rank, len + 1).is_err());
                assert!(buffer.copy(rank, len - 1).is_err());
            }
        }
    }
}
