//! The codes for kinds of errors, which are the same in gRPC and in the native libraries.

/// What a code is called in the documents of gRPC.
pub(crate) const fn name(code: i32) -> &'static str {
    match code {
        0 => "OK",
        1 => "CANCELLED",
        3 => "INVALID_ARGUMENT",
        4 => "DEADLINE_EXCEEDED",
        5 => "NOT_FOUND",
        6 => "ALREADY_EXISTS",
        7 => "PERMISSION_DENIED",
        8 => "RESOURCE_EXHAUSTED",
        9 => "FAILED_PRECONDITION",
        10 => "ABORTED",
        11 => "OUT_OF_RANGE",
        12 => "UNIMPLEMENTED",
        13 => "INTERNAL",
        14 => "UNAVAILABLE",
        15 => "DATA_LOSS",
        16 => "UNAUTHENTICATED",
        _ => "UNKNOWN",
    }
}

/// The code of an error of which nothing else is known.
pub(crate) const UNKNOWN: i32 = 2;

/// The code of an error that should not occur.
pub(crate) const INTERNAL: i32 = 13;
