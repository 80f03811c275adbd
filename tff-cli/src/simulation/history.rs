//! The history of a simulation, as lines of JSON.

use super::metrics::Reading;
use crate::data::ClientId;
use crate::json;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A file that gets a JSON object a line.
#[derive(Debug)]
pub(super) struct History {
    name: String,
    file: File,
}

impl History {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| name.clone())?;
        Ok(Self { name, file })
    }

    /// Adds `{"round":1,"clients":[0,1],"metrics":{"loss":0.5},"seconds":0.1}`.
    pub(super) fn round(&mut self, round: u64, clients: &[&ClientId], metrics: &[Reading], seconds: f64) -> Result<()> {
        let clients = serde_json::to_string(clients)?;
        let metrics = object(metrics);
        self.line(&format!(
            "{{\"round\":{round},\"clients\":{clients},\"metrics\":{metrics},\"seconds\":{seconds:.6}}}"
        ))
    }

    /// Adds `{"evaluation":{"loss":0.5},"seconds":0.1}`.
    pub(super) fn evaluation(&mut self, metrics: &[Reading], seconds: f64) -> Result<()> {
        self.line(&format!("{{\"evaluation\":{},\"seconds\":{seconds:.6}}}", object(metrics)))
    }

    /// Lines are written at once: a run that is stopped leaves those of its rounds.
    fn line(&mut self, line: &str) -> Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes()).with_context(|| self.name.clone())
    }
}

fn object(metrics: &[Reading]) -> String {
    let member = |it: &Reading| format!("{}:{}", serde_json::Value::from(it.name.as_str()), json::scalar(&it.scalar));
    format!("{{{}}}", metrics.iter().map(member).collect::<Vec<_>>().join(","))
}
