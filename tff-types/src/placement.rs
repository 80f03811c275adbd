//! Placements: the collectives on which the members of federated values live.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A placement of the runtime: the protocol's `Placement`, identified by its uri.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// The collective of clients, uri `clients`; its values may differ from member to member.
    Clients,
    /// The one coordinator, uri `server`; its values are all-equal.
    Server,
}

impl Placement {
    /// Both placements.
    pub const ALL: [Self; 2] = [Self::Clients, Self::Server];

    /// What identifies the placement on the wire.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Server => "server",
        }
    }

    /// The name in the notation of types and computations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clients => "CLIENTS",
            Self::Server => "SERVER",
        }
    }

    /// The `all_equal` bit of a federated type that does not say.
    #[must_use]
    pub const fn default_all_equal(self) -> bool {
        matches!(self, Self::Server)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A uri that names no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown placement `{0}`, expected `clients` or `server`")]
pub struct UnknownPlacement(pub String);

impl FromStr for Placement {
    type Err = UnknownPlacement;

    /// Reads a uri.
    fn from_str(uri: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|it| it.uri() == uri).ok_or_else(|| UnknownPlacement(uri.to_owned()))
    }
}

/// Where a federated type is placed: the protocol's `PlacementSpec`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlacementSpec {
    /// A placement of the runtime.
    Value(Placement),
    /// An abstract placement, bound by the signature in which it occurs.
    Label(Arc<str>),
}

impl From<Placement> for PlacementSpec {
    fn from(placement: Placement) -> Self {
        Self::Value(placement)
    }
}

impl fmt::Display for PlacementSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(placement) => placement.fmt(f),
            Self::Label(label) => f.write_str(label),
        }
    }
}
