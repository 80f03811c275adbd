//! The data that computations may refer to, as flags name it.

use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use tff_exec::DataBackend;
use tff_sim::data::{DataConfig, NamedSources, parse_named};

/// The files that `data` in computations may refer to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NamedDataArgs {
    /// A file, or a folder of files, that `data` in computations may refer to by the uri NAME/CLIENT or
    /// NAME/CLIENT?split=SPLIT. Give it for each one; nothing else is opened.
    ///
    /// Data of clients on workers is read by the worker, from what the flags of the worker name.
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_named)]
    data: Vec<(String, PathBuf)>,
    /// The same from a file: TOML with a section for each name, with the keys of [data] in a simulation.
    #[arg(long, value_name = "FILE.toml")]
    data_config: Option<PathBuf>,
}

impl NamedDataArgs {
    /// Whether any is named.
    pub(crate) const fn is_given(&self) -> bool {
        !self.data.is_empty() || self.data_config.is_some()
    }

    /// The sources that were named, if any.
    pub(crate) fn sources(&self) -> Result<Option<Arc<dyn DataBackend>>> {
        if !self.is_given() {
            return Ok(None);
        }
        let mut sources = NamedSources::default();
        if let Some(path) = &self.data_config {
            sources.read(path)?;
        }
        for (name, path) in &self.data {
            sources.insert(name, DataConfig::of_file(path.clone()));
        }
        Ok(Some(Arc::new(sources)))
    }
}
