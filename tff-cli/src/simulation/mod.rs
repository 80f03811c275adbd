//! Simulations: an iterative process over the data of many clients.

mod config;
mod history;
mod metrics;
mod plot;
mod process;
mod report;
mod run;
mod sample;

pub(crate) use config::Config;
pub(crate) use run::{Outputs, run};
