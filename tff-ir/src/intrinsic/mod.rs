//! The table of intrinsics: the functions that the framework knows by their uri.

mod federated;
mod generic;
mod secure;
mod sequence;

use crate::diag::FirstLine;
use std::collections::HashMap;
use std::sync::LazyLock;
use tff_types::{TemplateError, Type};

/// An intrinsic: the uri that computations name it by, and what is known about it.
#[derive(Debug, PartialEq, Eq)]
pub struct IntrinsicDef {
    /// What identifies it.
    pub uri: &'static str,
    /// The type of all its instances, with abstract types, in compact notation.
    pub signature: &'static str,
    /// Whether it combines values of clients at the server, and who sees them on the way.
    pub aggregation: Option<Privacy>,
    /// Whether it sends a value of the server to clients, and who sees what they ask for.
    pub broadcast: Option<Privacy>,
}

/// What the server learns from a communication between clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privacy {
    /// Possibly what each single client sends or asks for.
    Default,
    /// Nothing about a single client.
    Secure,
}

/// Why a type is none that an intrinsic has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an instance of {signature} for {uri}: {}", FirstLine(error))]
pub struct InstanceError {
    /// What identifies the intrinsic.
    pub uri: &'static str,
    /// Its signature.
    pub signature: &'static str,
    /// What is wrong.
    pub error: TemplateError,
}

/// All intrinsics, in the order in which the reference lists them.
pub static INTRINSICS: [&IntrinsicDef; 28] = [
    &federated::AGGREGATE,
    &federated::APPLY,
    &federated::BROADCAST,
    &federated::EVAL_AT_CLIENTS,
    &federated::EVAL_AT_SERVER,
    &federated::MAP,
    &federated::MAP_ALL_EQUAL,
    &federated::MEAN,
    &federated::MIN,
    &federated::MAX,
    &secure::SUM,
    &secure::SUM_BITWIDTH,
    &federated::SELECT,
    &secure::SELECT,
    &federated::SUM,
    &federated::VALUE_AT_CLIENTS,
    &federated::VALUE_AT_SERVER,
    &federated::WEIGHTED_MEAN,
    &federated::ZIP_AT_CLIENTS,
    &federated::ZIP_AT_SERVER,
    &generic::PLUS,
    &generic::MULTIPLY,
    &generic::DIVIDE,
    &generic::ZERO,
    &sequence::MAP,
    &sequence::REDUCE,
    &sequence::SUM,
    &secure::MODULAR_SUM,
];

impl IntrinsicDef {
    /// The definition of the intrinsic of this uri; `None` for one that only a runtime may know.
    #[must_use]
    pub fn find(uri: &str) -> Option<&'static Self> {
        static BY_URI: LazyLock<HashMap<&str, &IntrinsicDef>> =
            LazyLock::new(|| INTRINSICS.into_iter().map(|intrinsic| (intrinsic.uri, intrinsic)).collect());
        BY_URI.get(uri).copied()
    }

    /// The signature as a type.
    #[must_use]
    pub fn template(&self) -> &'static Type {
        static BY_URI: LazyLock<HashMap<&str, Type>> = LazyLock::new(|| {
            let parse = |it: &IntrinsicDef| it.signature.parse().ok().map(|template| (it.uri, template));
            INTRINSICS.into_iter().filter_map(parse).collect()
        });
        static UNKNOWN: LazyLock<Type> = LazyLock::new(|| Type::abstract_type("T"));
        // A test parses every signature.
        BY_URI.get(self.uri).unwrap_or(&UNKNOWN)
    }

    /// Checks that a concrete type is an instance of the signature.
    ///
    /// # Errors
    /// Where it is not.
    pub fn check_instance(&self, ty: &Type) -> Result<(), InstanceError> {
        let checked = ty.check_instance_of(self.template());
        checked.map(drop).map_err(|error| InstanceError { uri: self.uri, signature: self.signature, error })
    }
}
