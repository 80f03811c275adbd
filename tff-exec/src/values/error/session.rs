//! What can be wrong with the requests of a session's peers.

/// Why a session refuses what a peer asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// No value has this number.
    #[error("value not found: {0}")]
    UnknownValue(u64),
    /// A peer sent more than may be alive at a time.
    #[error(
        "a value of {bytes} bytes exceeds the limit of {limit} live bytes, of which {alive} are in use: dispose of values"
    )]
    LiveBytes {
        /// The size of what was sent.
        bytes: usize,
        /// How much is alive.
        alive: usize,
        /// How much may be.
        limit: usize,
    },
}
