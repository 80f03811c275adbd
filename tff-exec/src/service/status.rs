//! From errors to the status codes of the protocol.

use crate::{EvalError, ExecError, SessionError, WireError, WorkerError};
use tff_ir::ArrayError;
use tff_types::Brief;
use tonic::{Code, Status};

/// The most characters of a message. It goes into a header, and clients take 16 KB of headers; a
/// character may be 12 bytes there.
const MAX_MESSAGE: usize = 1000;

/// The status for an error. Never `UNAVAILABLE` or `FAILED_PRECONDITION`, at which TFF's client
/// would repeat the whole invocation for ever. Repeating never cures what a computation does.
pub(super) fn of(error: ExecError) -> Status {
    let code = match error.cause() {
        ExecError::IndexOutOfRange { .. }
        | ExecError::Eval(EvalError::UnboundReference(_))
        | ExecError::Session(SessionError::UnknownValue(_)) => Code::NotFound,
        ExecError::Unsupported(_)
        | ExecError::Array(ArrayError::Missing(_) | ArrayError::RawStrings)
        | ExecError::Decode(WireError::Empty) => Code::Unimplemented,
        ExecError::Placement(_) => Code::Unknown,
        ExecError::Limit { .. } | ExecError::Session(SessionError::LiveBytes { .. }) => Code::ResourceExhausted,
        ExecError::GivenUp => Code::Cancelled,
        ExecError::Deadline => Code::DeadlineExceeded,
        // Of a worker behind this one. To repeat is what helps there.
        ExecError::Worker(WorkerError::Unavailable { .. }) => Code::Unavailable,
        ExecError::Library { .. }
        | ExecError::Run { .. }
        | ExecError::Own(_)
        | ExecError::Worker(WorkerError::Failed { .. })
        | ExecError::Internal(_) => Code::Internal,
        ExecError::Mismatch { .. }
        | ExecError::MissingArgument(_)
        | ExecError::UnexpectedArgument
        | ExecError::Cardinality { .. }
        | ExecError::UnknownCardinality
        | ExecError::Eval(_)
        | ExecError::Prepare { .. }
        | ExecError::Array(_)
        | ExecError::Type(_)
        | ExecError::Decode(_)
        | ExecError::NotFinite(_)
        | ExecError::At { .. } => Code::InvalidArgument,
    };
    Status::new(code, Brief::start(&error, MAX_MESSAGE).to_string())
}
