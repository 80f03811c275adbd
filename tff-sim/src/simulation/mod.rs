//! Simulations: an iterative process over the data of many clients.
//!
//! A [`Process`] has the computations, checked against each other; a [`Source`](crate::data::Source) has the clients'
//! data; [`Settings`] say how many rounds there are and who takes part. A [`Simulation`] is the three together. A
//! [`Run`] of it computes the next round when its caller asks for it, so the caller can print, draw, store or stop between
//! two rounds.

mod checkpoint;
mod config;
mod error;
mod history;
mod metrics;
mod not_finite;
mod process;
mod run;
mod sample;

pub use checkpoint::{Checkpoints, Entry};
pub use config::{Config, EvaluateConfig, ProcessConfig};
pub use error::SimulationError;
pub use history::History;
pub use metrics::Reading;
pub use not_finite::NotFiniteRound;
pub use process::{EvaluationComps, NamedComp, Process};
pub use run::{EvaluationReport, RoundReport, Run, Settings, Simulation};
pub use sample::sample_clients;
