//! The messages in which federated computations, their types and their values
//! are exchanged.
//!
//! Everything in [`v0`], [`tensorflow`], [`xla`] and [`google`] is generated
//! from the sources in `proto/`. The bytes are those of the reference
//! implementation, versions 0.80 to 0.87, and of TensorFlow; encoding is
//! deterministic. `bytes` fields share the buffer they were decoded from.
//!
//! This crate has no rules about what a message means. It adds what any
//! reader of messages needs: [`decode()`] with limits and typed errors, and
//! typed packing of [`Any`](google::protobuf::Any).
//!
//! ```
//! use tff_proto::google::protobuf::Any;
//! use tff_proto::{Limits, decode, tensorflow::GraphDef, v0::TensorFlow};
//! use prost::Message;
//!
//! let comp = TensorFlow {
//!     graph_def: Some(Any::pack(&GraphDef::default())),
//!     ..TensorFlow::default()
//! };
//! let comp: TensorFlow = decode(&comp.encode_to_vec().into(), &Limits::default())?;
//! let graph = comp.graph_def.map(|any| any.unpack::<GraphDef>()).transpose()?;
//! assert_eq!(graph, Some(GraphDef::default()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The feature `service` adds the gRPC client and server of `ExecutorGroup`.

mod any;
mod decode;
mod hlo;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use any::AnyError;
pub use decode::{DecodeError, Limits, MAX_DEPTH, decode};

/// Well-known messages of protobuf itself.
pub mod google {
    /// The package `google.protobuf`.
    #[allow(missing_docs, reason = "the upstream comments hold code that rustdoc would run")]
    pub mod protobuf {
        include!("generated/google.protobuf.rs");
    }
}

/// The package `tensorflow`: graphs and the options of sessions.
#[allow(missing_docs, reason = "generated; the fields are TensorFlow's and documented there")]
pub mod tensorflow {
    include!("generated/tensorflow.rs");
}

/// The package `xla`: as much of a module as is read.
#[allow(missing_docs, reason = "generated; the fields are XLA's and documented there")]
pub mod xla {
    include!("generated/xla.rs");
}

// Generated paths count the parts of a package, so the module keeps its place.
mod tensorflow_federated {
    /// The package `tensorflow_federated.v0`: computations, types, values and
    /// the service that runs them.
    #[allow(unused_qualifications, reason = "generated")]
    pub mod v0 {
        include!("generated/tensorflow_federated.v0.rs");
    }
}

pub use tensorflow_federated::v0;

/// The `FileDescriptorSet` of `ExecutorGroup` and its messages, for gRPC server reflection.
#[cfg(feature = "service")]
pub const SERVICE_DESCRIPTORS: &[u8] = include_bytes!("generated/executor.desc");
