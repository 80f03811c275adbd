//! The intrinsics that the evaluator runs, by their uris.

/// An intrinsic that is run as it stands; every other one is reduced to these by a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intrinsic {
    FederatedAggregate,
    FederatedApply,
    FederatedBroadcast,
    FederatedEvalAtClients,
    FederatedEvalAtServer,
    FederatedMap,
    FederatedMapAllEqual,
    FederatedSelect,
    FederatedValueAtClients,
    FederatedValueAtServer,
    FederatedZipAtClients,
    FederatedZipAtServer,
    SequenceMap,
    SequenceReduce,
}

impl Intrinsic {
    const ALL: [Self; 14] = [
        Self::FederatedAggregate,
        Self::FederatedApply,
        Self::FederatedBroadcast,
        Self::FederatedEvalAtClients,
        Self::FederatedEvalAtServer,
        Self::FederatedMap,
        Self::FederatedMapAllEqual,
        Self::FederatedSelect,
        Self::FederatedValueAtClients,
        Self::FederatedValueAtServer,
        Self::FederatedZipAtClients,
        Self::FederatedZipAtServer,
        Self::SequenceMap,
        Self::SequenceReduce,
    ];

    pub(crate) const fn uri(self) -> &'static str {
        match self {
            Self::FederatedAggregate => "federated_aggregate",
            Self::FederatedApply => "federated_apply",
            Self::FederatedBroadcast => "federated_broadcast",
            Self::FederatedEvalAtClients => "federated_eval_at_clients",
            Self::FederatedEvalAtServer => "federated_eval_at_server",
            Self::FederatedMap => "federated_map",
            Self::FederatedMapAllEqual => "federated_map_all_equal",
            Self::FederatedSelect => "federated_select",
            Self::FederatedValueAtClients => "federated_value_at_clients",
            Self::FederatedValueAtServer => "federated_value_at_server",
            Self::FederatedZipAtClients => "federated_zip_at_clients",
            Self::FederatedZipAtServer => "federated_zip_at_server",
            Self::SequenceMap => "sequence_map",
            Self::SequenceReduce => "sequence_reduce",
        }
    }

    pub(crate) fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intrinsic| intrinsic.uri() == uri)
    }
}
