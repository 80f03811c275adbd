//! The history of a simulation, as lines of JSON.

use super::{Entry, EvaluationReport, Reading, RoundReport};
use crate::data::ClientId;
use crate::files::{FileError, FileProblem, name_of};
use crate::json;
use serde_json::Value as Json;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A file that gets a JSON object a line.
#[derive(Debug)]
pub struct History {
    name: String,
    file: File,
}

impl History {
    /// Creates the file; what was in it is lost.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let name = name_of(path);
        let file = File::create(path).map_err(|error| FileProblem::Io(error).of(&name))?;
        Ok(Self { name, file })
    }

    /// Adds an entry, as [`History::round`] and [`History::evaluation`] do.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), FileError> {
        match entry {
            Entry::Round(report) => self.round(report),
            Entry::Evaluation(report) => self.evaluation(report),
        }
    }

    /// Adds `{"round":1,"clients":[0,1],"metrics":{"loss":0.5},"seconds":0.1}`. Lines are written at once: a run that is
    /// stopped leaves those of its rounds.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn round(&mut self, report: &RoundReport) -> Result<(), FileError> {
        self.line(&report.to_json())
    }

    /// Adds `{"evaluation":{"loss":0.5},"seconds":0.1}`.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn evaluation(&mut self, report: &EvaluationReport) -> Result<(), FileError> {
        self.line(&report.to_json())
    }

    fn line(&mut self, line: &str) -> Result<(), FileError> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| FileProblem::Io(error).of(&self.name))
    }
}

impl RoundReport {
    /// `{"round":1,"clients":[0,1],"metrics":{"loss":0.5},"seconds":0.1}`; with `"dropped":[2]` where clients vanished.
    #[must_use]
    pub fn to_json(&self) -> String {
        let id = |id: &ClientId| match id {
            ClientId::Name(name) => Json::from(name.as_str()).to_string(),
            ClientId::Number(number) => number.to_string(),
        };
        let list = |clients: &[ClientId]| clients.iter().map(id).collect::<Vec<_>>().join(",");
        let Self { round, seconds, .. } = self;
        let (metrics, clients) = (object(&self.metrics), list(&self.clients));
        let dropped = match self.dropped.as_slice() {
            [] => String::new(),
            dropped => format!("\"dropped\":[{}],", list(dropped)),
        };
        format!("{{\"round\":{round},\"clients\":[{clients}],{dropped}\"metrics\":{metrics},\"seconds\":{seconds:.6}}}")
    }
}

impl EvaluationReport {
    /// `{"evaluation":{"loss":0.5},"seconds":0.1}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!("{{\"evaluation\":{},\"seconds\":{:.6}}}", object(&self.metrics), self.seconds)
    }
}

fn object(metrics: &[Reading]) -> String {
    let member = |it: &Reading| format!("{}:{}", Json::from(it.name.as_str()), json::scalar(&it.scalar));
    format!("{{{}}}", metrics.iter().map(member).collect::<Vec<_>>().join(","))
}
