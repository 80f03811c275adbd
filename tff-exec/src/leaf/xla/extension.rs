//! The runtime for an XLA that is linked into this program, on the CPU, through the crate `xla`.

use super::runtime::{Failure, Runtime};
use super::signature::Signature;
use crate::ExecError;
use bytes::Bytes;
use prost::Message;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::Array;
use tff_types::DType;
use xla::{ElementType, HloModuleProto, PjRtBuffer, PjRtLoadedExecutable, XlaBuilder, XlaComputation};

/// The client of the CPU; it computes on the threads that call it.
pub(super) struct Client(xla::PjRtClient);

/// The one client of the process, or why it could not be made.
static OPEN: OnceLock<Result<Client, String>> = OnceLock::new();

/// The client, made when it is first needed.
///
/// # Errors
/// [`ExecError::Library`] where XLA cannot make one.
pub(super) fn open() -> Result<&'static Client, ExecError> {
    let open = OPEN.get_or_init(|| {
        // XLA would also write the errors that it returns to stderr, some with its stack.
        xla::set_min_log_level(xla::TfLogLevel::Fatal);
        let client = xla::PjRtClient::cpu().map_err(|error| failure(error).message)?;
        tracing::debug!(platform = client.platform_name(), "opened the linked XLA");
        Ok(Client(client))
    });
    open.as_ref().map_err(|reason| ExecError::Library { library: "the linked XLA", reason: reason.clone() })
}

fn failure(error: xla::Error) -> Failure {
    match error {
        // Without the backtrace, which its text has.
        xla::Error::XlaError { msg, .. } => msg.into(),
        other => other.to_string().into(),
    }
}

/// XLA's `HloSnapshot`, the outermost of the messages that the crate tries to read bytes as: a module
/// that was given as it is might be read as one of the others.
#[derive(Clone, PartialEq, Message)]
struct Snapshot {
    #[prost(message, required, tag = "1")]
    hlo: Hlo,
}

/// XLA's `HloProto`.
#[derive(Clone, PartialEq, Message)]
struct Hlo {
    #[prost(message, required, tag = "1")]
    module: Module,
}

/// The part of XLA's `HloModuleProto` that says what is computed, which is not read here. What is left
/// out says how: above all, which arguments are overwritten by results, and here an argument is
/// somebody's value.
#[derive(Clone, PartialEq, Message)]
struct Module {
    #[prost(bytes = "bytes", tag = "1")]
    name: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    entry_computation_name: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "3")]
    computations: Vec<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    host_program_shape: Option<Bytes>,
    #[prost(int64, tag = "5")]
    id: i64,
    #[prost(int64, tag = "6")]
    entry_computation_id: i64,
}

/// A computation that takes each parameter by itself, of a module that takes one tuple of them.
///
/// XLA has a compile option for this, and the crate has not. What its builder can call a computation by
/// is a condition; XLA sees that this one always holds.
fn untuple(module: &HloModuleProto, signature: &Signature) -> Result<XlaComputation, xla::Error> {
    let builder = XlaBuilder::new("untupled");
    let mut parameters = Vec::with_capacity(signature.parameters.len());
    for (number, shape) in (0..).zip(&signature.parameters) {
        let dims: Vec<i64> = shape.dims.iter().map(|&dim| dim.cast_signed()).collect();
        let ty = element_type(shape.dtype).unwrap_or(ElementType::Pred);
        parameters.push(builder.parameter(number, ty, &dims, "")?);
    }
    let tuple = builder.tuple(&parameters)?;
    let [call, never] = [(); 2].map(|()| XlaComputation::from_proto(module));
    builder.build(&builder.one(ElementType::Pred)?.conditional(tuple.clone(), call, tuple, never)?)
}

impl Runtime for Client {
    type Executable = PjRtLoadedExecutable;
    type Buffer = PjRtBuffer;

    fn compile(&'static self, module: &[u8], signature: &Signature) -> Result<PjRtLoadedExecutable, Failure> {
        let module = Module::decode(module).map_err(|error| Failure::from(error.to_string()))?;
        let snapshot = Snapshot { hlo: Hlo { module } }.encode_to_vec();
        let compile = || {
            let module = HloModuleProto::parse_proto(&snapshot, true)?;
            let computation = match signature.is_tupled {
                true => untuple(&module, signature)?,
                false => XlaComputation::from_proto(&module),
            };
            self.0.compile(&computation)
        };
        compile().map_err(failure)
    }

    fn upload(&'static self, array: &Array) -> Result<PjRtBuffer, Failure> {
        let (Some(ty), Some(bytes)) = (element_type(array.dtype()), array.as_dense()) else {
            return Err(Failure::from(format!("XLA has no {}", array.dtype())));
        };
        let dims: Result<Vec<usize>, _> = array.dims().iter().map(|&dim| usize::try_from(dim)).collect();
        let dims = dims.map_err(|_| tff_ir::ArrayError::TooLarge(array.dims().to_vec()))?;
        self.0.buffer_from_host_raw_bytes(ty, bytes, &dims, None).map_err(failure)
    }

    fn owns(&self, _: &PjRtBuffer) -> bool {
        // There is one client.
        true
    }

    fn execute(
        &self,
        executable: &PjRtLoadedExecutable,
        arguments: &[&PjRtBuffer],
    ) -> Result<Vec<PjRtBuffer>, Failure> {
        // The results on each device.
        let results = executable.execute_b(arguments).map_err(failure)?;
        results.into_iter().next().ok_or_else(|| Failure::from("no device ran the module"))
    }

    fn download(&self, buffer: &Arc<PjRtBuffer>) -> Result<Array, Failure> {
        let literal = buffer.to_literal_sync().map_err(failure)?;
        let shape = literal.array_shape().map_err(failure)?;
        let dtype = ELEMENT_TYPES.iter().find(|(_, ty)| *ty == shape.ty()).map(|(dtype, _)| *dtype);
        let dtype =
            dtype.ok_or_else(|| Failure::from(format!("a result is of type {:?}, which no tensor is", shape.ty())))?;
        let dims: Result<Vec<u64>, _> = shape.dims().iter().map(|&dim| u64::try_from(dim)).collect();
        let dims = dims.map_err(|_| Failure::from("a result has a negative size"))?;
        let mut bytes = vec![0; literal.size_bytes()];
        literal.copy_untyped_to(&mut bytes).map_err(failure)?;
        Ok(Array::dense(dtype, dims, bytes.into())?)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("platform", &self.0.platform_name()).finish_non_exhaustive()
    }
}

fn element_type(dtype: DType) -> Option<ElementType> {
    ELEMENT_TYPES.iter().find(|(other, _)| *other == dtype).map(|(_, ty)| *ty)
}

/// What the crate `xla` calls the element types: all but strings.
const ELEMENT_TYPES: [(DType, ElementType); 15] = [
    (DType::Bool, ElementType::Pred),
    (DType::Int8, ElementType::S8),
    (DType::Int16, ElementType::S16),
    (DType::Int32, ElementType::S32),
    (DType::Int64, ElementType::S64),
    (DType::UInt8, ElementType::U8),
    (DType::UInt16, ElementType::U16),
    (DType::UInt32, ElementType::U32),
    (DType::UInt64, ElementType::U64),
    (DType::Float16, ElementType::F16),
    (DType::BFloat16, ElementType::Bf16),
    (DType::Float32, ElementType::F32),
    (DType::Float64, ElementType::F64),
    (DType::Complex64, ElementType::C64),
    (DType::Complex128, ElementType::C128),
];
