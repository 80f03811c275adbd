//! The state of a simulation in a folder, from which it goes on.
//!
//! A checkpoint is one file, `checkpoint`: a line of JSON that says what follows, the history, an entry a line, and the
//! state as a serialized `Value`. It is written beside the old one and then takes its place, so there is a whole one at
//! any moment.

use super::{EvaluationReport, Reading, RoundReport, SimulationError};
use crate::data::ClientId;
use crate::files::{FileError, FileProblem, name_of};
use crate::json;
use bytes::Bytes;
use prost::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tff_exec::{Value, value_from_proto, value_to_proto};
use tff_proto::{Limits, v0 as pb};
use tff_types::Type;

/// What is counted up when the form of the file changes.
const FORMAT: u32 = 1;
const FILE: &str = "checkpoint";

/// A folder for the state of a simulation.
#[derive(Debug)]
pub struct Checkpoints {
    path: PathBuf,
}

/// What a simulation must have in common with the one that wrote a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) seed: u64,
    pub(super) n_chosen: usize,
    pub(super) n_clients: usize,
    pub(super) dropout: f64,
    /// The type of the state, `S@SERVER`.
    pub(super) state: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: u32,
    round: u64,
    identity: Identity,
    /// How many lines of history follow.
    history: usize,
    /// How many bytes of state follow.
    bytes: usize,
}

/// An entry of the history of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A round.
    Round(RoundReport),
    /// An evaluation.
    Evaluation(EvaluationReport),
}

/// A simulation at the end of a round.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) round: u64,
    pub(super) identity: Identity,
    pub(super) history: Vec<Entry>,
    pub(super) state: Value,
}

impl Checkpoints {
    /// Makes the folder where there is none.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn new(folder: &Path) -> Result<Self, FileError> {
        fs::create_dir_all(folder).map_err(|error| FileProblem::Io(error).of(name_of(folder)))?;
        Ok(Self { path: folder.join(FILE) })
    }

    pub(super) fn write(&self, saved: &Saved, state_ty: &Type) -> Result<(), SimulationError> {
        let name = name_of(&self.path);
        let state = value_to_proto(&saved.state, state_ty);
        let state = state.map_err(|source| SimulationError::Exec { name: name.clone(), source })?.encode_to_vec();
        let (history, identity) = (saved.history.len(), saved.identity.clone());
        let head = Head { format: FORMAT, round: saved.round, identity, history, bytes: state.len() };
        let mut content = serde_json::to_string(&head).map_err(|error| problem(error).of(&name))?;
        for entry in &saved.history {
            content.push('\n');
            content.push_str(&entry.to_line());
        }
        content.push('\n');
        let replace = || {
            let new = self.path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(content.as_bytes())?;
            file.write_all(&state)?;
            // What was not written to disk must not take the place of what was.
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        replace().map_err(|error| FileProblem::Io(error).of(&name).into())
    }

    /// The latest checkpoint, if there is one.
    pub(super) fn read(&self, identity: &Identity, state_ty: &Type) -> Result<Option<Saved>, SimulationError> {
        let name = name_of(&self.path);
        let content = match fs::read(&self.path) {
            Ok(content) => Bytes::from(content),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileProblem::Io(error).of(&name).into()),
        };
        let unexpected = |expected: &str, found: &str| FileProblem::unexpected(expected, found).of(&name);
        let mut rest = &content[..];
        let mut line = || {
            let end = rest.iter().position(|&byte| byte == b'\n')?;
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            Some(line)
        };
        let no_head = || unexpected("a checkpoint", "something else");
        let head: Head = line().and_then(|line| serde_json::from_slice(line).ok()).ok_or_else(no_head)?;
        if head.format != FORMAT {
            return Err(unexpected(&format!("format {FORMAT}"), &format!("format {}", head.format)).into());
        }
        if head.identity != *identity {
            let shown = |it: &Identity| serde_json::to_string(it).unwrap_or_default();
            return Err(unexpected(
                &format!("a checkpoint of this simulation, {}", shown(identity)),
                &shown(&head.identity),
            )
            .into());
        }
        let mut history = Vec::new();
        for _ in 0..head.history {
            let entry = line().and_then(|line| serde_json::from_slice(line).ok()).and_then(|it| Entry::from_json(&it));
            history.push(entry.ok_or_else(|| unexpected("a line of history", "something else"))?);
        }
        if rest.len() != head.bytes {
            return Err(unexpected(&format!("{} bytes of state", head.bytes), &rest.len().to_string()).into());
        }
        let bytes = content.slice(content.len() - rest.len()..);
        let limits = Limits { max_bytes: bytes.len().max(1) };
        let state: pb::Value =
            tff_proto::decode(&bytes, &limits).map_err(|error| FileProblem::from(error).of(&name))?;
        let state = value_from_proto(&state, state_ty)
            .map_err(|source| SimulationError::Exec { name: name.clone(), source })?;
        Ok(Some(Saved { round: head.round, identity: head.identity, history, state }))
    }
}

fn problem(error: serde_json::Error) -> FileProblem {
    FileProblem::Io(error.into())
}

impl Entry {
    /// `[1,[0,1],[],[["loss","float32",0.5]],0.1]` of a round, and `[1,[["loss","float32",0.5]],0.1]` of an evaluation: with
    /// the types, so that the numbers are the same when they are read.
    fn to_line(&self) -> String {
        let readings = |readings: &[Reading]| {
            let reading = |it: &Reading| {
                let dtype = tff_ir::Array::from_scalar(it.scalar.clone()).dtype();
                format!("[{},\"{dtype}\",{}]", Json::from(it.name.as_str()), json::scalar(&it.scalar))
            };
            format!("[{}]", readings.iter().map(reading).collect::<Vec<_>>().join(","))
        };
        let clients = |clients: &[ClientId]| serde_json::to_string(clients).unwrap_or_default();
        match self {
            Self::Round(it) => {
                let (round, seconds, metrics) = (it.round, it.seconds, readings(&it.metrics));
                format!("[{round},{},{},{metrics},{seconds}]", clients(&it.clients), clients(&it.dropped))
            }
            Self::Evaluation(it) => format!("[{},{},{}]", it.round, readings(&it.metrics), it.seconds),
        }
    }

    fn from_json(json: &Json) -> Option<Self> {
        let clients = |json: &Json| json.as_array()?.iter().map(client).collect::<Option<Vec<_>>>();
        let readings = |json: &Json| json.as_array()?.iter().map(reading).collect::<Option<Vec<_>>>();
        match json.as_array()?.as_slice() {
            [round, taken, dropped, metrics, seconds] => Some(Self::Round(RoundReport {
                round: round.as_u64()?,
                clients: clients(taken)?,
                dropped: clients(dropped)?,
                metrics: readings(metrics)?,
                seconds: seconds.as_f64()?,
            })),
            [round, metrics, seconds] => {
                let (round, metrics) = (round.as_u64()?, readings(metrics)?);
                Some(Self::Evaluation(EvaluationReport { round, metrics, seconds: seconds.as_f64()? }))
            }
            _ => None,
        }
    }
}

fn client(json: &Json) -> Option<ClientId> {
    match json {
        Json::String(name) => Some(ClientId::Name(name.clone())),
        number => Some(ClientId::Number(usize::try_from(number.as_u64()?).ok()?)),
    }
}

fn reading(json: &Json) -> Option<Reading> {
    let [name, dtype, number] = json.as_array()?.as_slice() else { return None };
    let ty = Type::scalar(dtype.as_str()?.parse().ok()?);
    let Value::Tensor(tensor) = json::read(number, &ty).ok()? else { return None };
    Some(Reading { name: name.as_str()?.to_owned(), scalar: tensor.array().get(0)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tff_ir::Scalar;

    fn saved() -> Saved {
        let readings = vec![
            Reading { name: "a \"b\"".to_owned(), scalar: Scalar::Float32(0.1) },
            Reading { name: "n".to_owned(), scalar: Scalar::Int64(i64::MAX) },
            Reading { name: "nan".to_owned(), scalar: Scalar::Float64(f64::INFINITY) },
        ];
        let round = RoundReport {
            round: 3,
            clients: vec![ClientId::Number(4), ClientId::Name("x\n".to_owned())],
            dropped: vec![ClientId::Number(1)],
            metrics: readings.clone(),
            seconds: 0.1,
        };
        let evaluation = EvaluationReport { round: 3, metrics: readings, seconds: 1.5 };
        let identity = Identity { seed: 1, n_chosen: 2, n_clients: 5, dropout: 0.1, state: "int32@SERVER".to_owned() };
        let state = Value::at_server(Value::scalar(Scalar::Int32(7)));
        Saved { round: 3, identity, history: vec![Entry::Round(round), Entry::Evaluation(evaluation)], state }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(&folder.path().join("a/b")).unwrap();
        let (saved, ty) = (saved(), "int32@SERVER".parse().unwrap());
        assert!(checkpoints.read(&saved.identity, &ty).unwrap().is_none());
        checkpoints.write(&saved, &ty).unwrap();
        let read = checkpoints.read(&saved.identity, &ty).unwrap().unwrap();
        assert_eq!((read.round, &read.history), (3, &saved.history));
        assert_eq!(value_to_proto(&read.state, &ty).unwrap(), value_to_proto(&saved.state, &ty).unwrap());
    }

    #[test]
    fn what_is_no_checkpoint_of_this_simulation_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(folder.path()).unwrap();
        let (saved, ty) = (saved(), "int32@SERVER".parse().unwrap());
        checkpoints.write(&saved, &ty).unwrap();
        let other = Identity { seed: 2, ..saved.identity.clone() };
        let error = checkpoints.read(&other, &ty).unwrap_err().to_string();
        assert!(error.contains("checkpoint: expected a checkpoint of this simulation, {\"seed\":2,"), "{error}");
        let whole = fs::read(folder.path().join(FILE)).unwrap();
        for end in 0..whole.len() {
            fs::write(folder.path().join(FILE), &whole[..end]).unwrap();
            assert!(checkpoints.read(&saved.identity, &ty).is_err(), "{end}");
        }
    }
}
