//! Numbers of a round that are not finite: where they are, and of which clients.

use crate::data::ClientId;
use std::fmt;
use tff_exec::{NotFiniteClients, NotFiniteNumber, Value};
use thiserror::Error;

/// How many clients a message names.
const MAX_NAMED: usize = 10;

/// What of a round is not finite. Where neither data nor clients are listed, the numbers arose at the server, or on
/// workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct NotFiniteRound {
    /// The clients whose data has nan or inf.
    pub data: Vec<ClientId>,
    /// The clients for which nan or inf was computed, such as an update that the process then leaves out. Clients on
    /// workers are not looked at.
    pub computed: Vec<ClientId>,
    /// What the next state has.
    pub state: Option<NotFiniteNumber>,
    /// What the metrics have.
    pub metrics: Option<NotFiniteNumber>,
}

impl NotFiniteRound {
    /// Looks at a round of these clients; `None` where all is finite. Their data is looked at only where
    /// something else is not finite, and as far as it is in memory.
    pub(super) fn find(
        clients: &[ClientId],
        data: &Value,
        computed: &NotFiniteClients,
        state: Option<&Value>,
        metrics: &Value,
    ) -> Option<Self> {
        let ids = |positions: Vec<usize>| positions.into_iter().filter_map(|it| clients.get(it).cloned()).collect();
        let (computed, state) = (ids(computed.get()), state.and_then(Value::not_finite));
        let mut found = Self { data: Vec::new(), computed, state, metrics: metrics.not_finite() };
        if found == Self::default() {
            return None;
        }
        found.data = ids(data.not_finite_clients());
        Some(found)
    }
}

impl fmt::Display for NotFiniteRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |what: &str, found: Option<NotFiniteNumber>| found.map(|it| format!("{what} ({it})"));
        let of = |what: &str, ids: &[ClientId]| (!ids.is_empty()).then(|| format!("{what} {}", named(ids)));
        let parts = [
            of("the data of", &self.data),
            of("what was computed for", &self.computed),
            number("the next state", self.state),
            number("the metrics", self.metrics),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        write!(f, "not finite: {}", parts.join(", "))?;
        if self.data.is_empty() && self.computed.is_empty() {
            f.write_str("; the cause is not known, such as a mean over no weight at the server")?;
        }
        Ok(())
    }
}

/// The clients in a message.
fn named(ids: &[ClientId]) -> String {
    let shown = ids.iter().take(MAX_NAMED).map(|id| match id {
        ClientId::Name(name) => crate::files::quoted(name),
        ClientId::Number(number) => number.to_string(),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let clients = if ids.len() == 1 { "client" } else { "clients" };
    match ids.len().saturating_sub(MAX_NAMED) {
        0 => format!("{clients} {shown}"),
        more => format!("{clients} {shown} and {more} more"),
    }
}
