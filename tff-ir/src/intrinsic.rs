//! The table of intrinsics: the functions that the framework knows by their uri.
//!
//! This is the only file with uris in quotes. Code that treats intrinsics differently matches on [`Intrinsic`], so the
//! compiler names the places where a new one must be handled.

use crate::diag::FirstLine;
use std::sync::{Arc, LazyLock};
use tff_types::{Mismatch, TemplateError, Type};

/// What is known about an intrinsic of the table.
#[derive(Debug)]
pub struct IntrinsicDef {
    /// What identifies it in messages: `federated_sum`.
    pub uri: &'static str,
    /// The type of all its instances, with abstract types, in compact notation.
    pub signature: &'static str,
    /// What it sends between clients and server.
    pub communication: Communication,
    /// What it does, in one or two sentences.
    pub doc: &'static str,
    template: LazyLock<Type>,
}

/// What an intrinsic sends between clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Communication {
    /// Nothing.
    Local,
    /// Values of the clients, combined at the server.
    Aggregation(Privacy),
    /// A value of the server, or parts of it, to the clients.
    Broadcast(Privacy),
}

/// What the server learns from a communication between clients and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Privacy {
    /// Possibly what each single client sends or asks for.
    Default,
    /// Nothing about a single client.
    Secure,
}

/// Why a type is not one that an intrinsic has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an instance of {signature} for {uri}: {}", FirstLine(error))]
pub struct InstanceError {
    /// What identifies the intrinsic.
    pub uri: &'static str,
    /// Its signature.
    pub signature: &'static str,
    /// What is wrong.
    pub error: InstanceProblem,
}

/// What keeps a type from being one that an intrinsic has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstanceProblem {
    /// It is no instance of the signature.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The result of a zip is another struct than the parameter without placements.
    #[error("the result is not the parameter without placements: {}", FirstLine(.0))]
    Zipped(#[source] Box<Mismatch>),
}

macro_rules! intrinsics {
    ($($(#[doc = $doc:literal])+ $name:ident: $uri:literal, $signature:literal, $communication:expr;)+) => {
        /// A function that the framework knows by its uri.
        ///
        /// ```
        /// use tff_ir::Intrinsic;
        ///
        /// assert_eq!(Intrinsic::from("federated_sum"), Intrinsic::FederatedSum);
        /// assert_eq!(Intrinsic::FederatedSum.uri(), "federated_sum");
        /// assert_eq!(Intrinsic::from("of_a_runtime").uri(), "of_a_runtime");
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Intrinsic {
            $($(#[doc = $doc])+ $name,)+
            /// One that is not in the table: only a runtime may know it. Made by `from`, which finds the uris of the
            /// table first.
            Other(Arc<str>),
        }

        impl Intrinsic {
            /// All intrinsics of the table, in the order in which the reference lists them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// What is known about it; `None` for one that is not in the table.
            #[must_use]
            pub fn def(&self) -> Option<&'static IntrinsicDef> {
                match self {
                    $(Self::$name => {
                        static DEF: IntrinsicDef = IntrinsicDef {
                            uri: $uri,
                            signature: $signature,
                            communication: $communication,
                            doc: concat!($($doc),+).trim_ascii_start(),
                            template: LazyLock::new(|| template($signature)),
                        };
                        Some(&DEF)
                    })+
                    Self::Other(_) => None,
                }
            }

            /// What identifies it in messages.
            #[must_use]
            pub fn uri(&self) -> &str {
                match self {
                    $(Self::$name => $uri,)+
                    Self::Other(uri) => uri,
                }
            }

            fn known(uri: &str) -> Option<Self> {
                match uri {
                    $($uri => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

const LOCAL: Communication = Communication::Local;
const AGGREGATION: Communication = Communication::Aggregation(Privacy::Default);
const BROADCAST: Communication = Communication::Broadcast(Privacy::Default);
const SECURE_AGGREGATION: Communication = Communication::Aggregation(Privacy::Secure);
const SECURE_BROADCAST: Communication = Communication::Broadcast(Privacy::Secure);

intrinsics! {
    /// Folds the values of the clients from zero with `accumulate`, possibly in several parts that `merge` joins, and
    /// applies `report` to the result.
    FederatedAggregate: "federated_aggregate",
        "(<{T}@CLIENTS,U,(<U,T> -> U),(<U,U> -> U),(U -> R)> -> R@SERVER)", AGGREGATION;
    /// Applies a function at the server.
    FederatedApply: "federated_apply", "(<(T -> U),T@SERVER> -> U@SERVER)", LOCAL;
    /// Copies a value of the server to all clients.
    FederatedBroadcast: "federated_broadcast", "(T@SERVER -> T@CLIENTS)", BROADCAST;
    /// Runs a function without parameter on each client.
    FederatedEvalAtClients: "federated_eval_at_clients", "(( -> T) -> {T}@CLIENTS)", LOCAL;
    /// Runs a function without parameter at the server.
    FederatedEvalAtServer: "federated_eval_at_server", "(( -> T) -> T@SERVER)", LOCAL;
    /// Applies a function on each client.
    FederatedMap: "federated_map", "(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)", LOCAL;
    /// Applies a function to the value that all clients share; the results are the same everywhere, too.
    FederatedMapAllEqual: "federated_map_all_equal", "(<(T -> U),T@CLIENTS> -> U@CLIENTS)", LOCAL;
    /// The mean over the clients.
    FederatedMean: "federated_mean", "({T}@CLIENTS -> T@SERVER)", AGGREGATION;
    /// The least value over the clients, for each element.
    FederatedMin: "federated_min", "({T}@CLIENTS -> T@SERVER)", AGGREGATION;
    /// The greatest value over the clients, for each element.
    FederatedMax: "federated_max", "({T}@CLIENTS -> T@SERVER)", AGGREGATION;
    /// The sum over clients of integers between 0 and a greatest value; the server learns only the sum.
    FederatedSecureSum: "federated_secure_sum", "(<{V}@CLIENTS,M> -> V@SERVER)", SECURE_AGGREGATION;
    /// The sum over clients of integers of so many bits; the server learns only the sum.
    FederatedSecureSumBitwidth: "federated_secure_sum_bitwidth", "(<{V}@CLIENTS,B> -> V@SERVER)", SECURE_AGGREGATION;
    /// Sends each client, for each of its keys in order, what a function of the server selects.
    FederatedSelect: "federated_select",
        "(<{Ks}@CLIENTS,int32@SERVER,T@SERVER,(<T,int32> -> U)> -> {U*}@CLIENTS)", BROADCAST;
    /// As `federated_select`; the server does not see the keys.
    FederatedSecureSelect: "federated_secure_select",
        "(<{Ks}@CLIENTS,int32@SERVER,T@SERVER,(<T,int32> -> U)> -> {U*}@CLIENTS)", SECURE_BROADCAST;
    /// The sum over the clients.
    FederatedSum: "federated_sum", "({T}@CLIENTS -> T@SERVER)", AGGREGATION;
    /// Places a value on all clients.
    FederatedValueAtClients: "federated_value_at_clients", "(T -> T@CLIENTS)", LOCAL;
    /// Places a value at the server.
    FederatedValueAtServer: "federated_value_at_server", "(T -> T@SERVER)", LOCAL;
    /// The mean over the clients, each with the weight it gives.
    FederatedWeightedMean: "federated_weighted_mean", "(<{T}@CLIENTS,{U}@CLIENTS> -> T@SERVER)", AGGREGATION;
    /// Turns a struct of values on clients into structs on clients: `U` is `T` without placements, which the
    /// signature cannot say.
    FederatedZipAtClients: "federated_zip_at_clients", "(T -> {U}@CLIENTS)", LOCAL;
    /// Turns a struct of values at the server into a struct at the server.
    FederatedZipAtServer: "federated_zip_at_server", "(T -> U@SERVER)", LOCAL;
    /// The sum of two values, for each element.
    GenericPlus: "generic_plus", "(<T,T> -> T)", LOCAL;
    /// The product of two values, for each element.
    GenericMultiply: "generic_multiply", "(<T,T> -> T)", LOCAL;
    /// The quotient of two values, for each element; that of integers is a floating-point number.
    GenericDivide: "generic_divide", "(<T,T> -> U)", LOCAL;
    /// The zero of a type. It is a value, not a function.
    GenericZero: "generic_zero", "T", LOCAL;
    /// Applies a function to each element.
    SequenceMap: "sequence_map", "(<(T -> U),T*> -> U*)", LOCAL;
    /// Folds the elements from zero, in order.
    SequenceReduce: "sequence_reduce", "(<T*,U,(<U,T> -> U)> -> U)", LOCAL;
    /// The sum of the elements.
    SequenceSum: "sequence_sum", "(T* -> T)", LOCAL;
    /// The sum over clients of integers, modulo a number; the server learns only that.
    FederatedSecureModularSum: "federated_secure_modular_sum", "(<{V}@CLIENTS,M> -> V@SERVER)", SECURE_AGGREGATION;
}

fn template(signature: &str) -> Type {
    // A test parses every signature.
    signature.parse().unwrap_or_else(|_| Type::abstract_type("T"))
}

impl Intrinsic {
    /// Checks that a concrete type is an instance of the signature; what is not in the table has any type.
    ///
    /// # Errors
    /// Where it is not.
    pub fn check_instance(&self, ty: &Type) -> Result<(), InstanceError> {
        let Some(def) = self.def() else { return Ok(()) };
        let checked = ty.check_instance_of(def.template()).map_err(InstanceProblem::from);
        let checked = checked.and_then(|_| if self.is_zip() { check_zipped(ty) } else { Ok(()) });
        checked.map_err(|error| InstanceError { uri: def.uri, signature: def.signature, error })
    }

    pub(crate) const fn is_zip(&self) -> bool {
        matches!(self, Self::FederatedZipAtClients | Self::FederatedZipAtServer)
    }

    /// The uri of the table that is most like this one, if any is much like it.
    ///
    /// ```
    /// # use tff_ir::Intrinsic;
    /// assert_eq!(Intrinsic::nearest("federated_sun"), Some("federated_sum"));
    /// assert_eq!(Intrinsic::nearest("something_else_entirely"), None);
    /// ```
    #[must_use]
    pub fn nearest(uri: &str) -> Option<&'static str> {
        const MAX_COMPARED: usize = 64;
        let uri: String = uri.chars().take(MAX_COMPARED).collect();
        let known = Self::ALL.iter().filter_map(Self::def).map(|def| (distance(&uri, def.uri), def.uri));
        known.min().filter(|(distance, _)| *distance <= uri.len().div_ceil(3)).map(|(_, uri)| uri)
    }
}

/// Checks what the signature of a zip cannot say: its result has the elements of the parameter, in their order and under
/// their names.
fn check_zipped(ty: &Type) -> Result<(), InstanceProblem> {
    let Some(function) = ty.as_function() else { return Ok(()) };
    let (Some(parameter), Some(zipped)) = (&function.parameter, function.result.as_federated()) else { return Ok(()) };
    let checked = parameter.strip_placement().check_equivalent_to(&zipped.member);
    checked.map_err(|mismatch| InstanceProblem::Zipped(Box::new(mismatch)))
}

impl IntrinsicDef {
    /// The signature as a type.
    #[must_use]
    pub fn template(&self) -> &Type {
        &self.template
    }
}

impl From<&str> for Intrinsic {
    fn from(uri: &str) -> Self {
        Self::known(uri).unwrap_or_else(|| Self::Other(uri.into()))
    }
}

impl From<Arc<str>> for Intrinsic {
    fn from(uri: Arc<str>) -> Self {
        Self::known(&uri).unwrap_or(Self::Other(uri))
    }
}

/// How many characters have to be inserted, dropped or replaced.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (position, left) in left.chars().enumerate() {
        let mut diagonal = position;
        let mut last = position + 1;
        if let Some(first) = row.first_mut() {
            *first = last;
        }
        for (cell, right) in row.iter_mut().skip(1).zip(right.chars()) {
            let replaced = diagonal + usize::from(left != right);
            diagonal = *cell;
            last = replaced.min(diagonal + 1).min(last + 1);
            *cell = last;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Intrinsic;

    #[test]
    fn what_is_nearly_right_is_suggested() {
        assert_eq!(Intrinsic::nearest("federated_sun"), Some("federated_sum"));
        assert_eq!(Intrinsic::nearest("federated_collect"), Some("federated_select"));
        assert_eq!(Intrinsic::nearest("something_else_entirely_different"), None);
        assert_eq!(Intrinsic::nearest(&"x".repeat(1 << 20)), None);
    }
}
