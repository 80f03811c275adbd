//! `tff data`: how the rows of a simulation are divided among its clients.

use super::plot;
use crate::output;
use anyhow::Result;
use plotters::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use tff_sim::data::{ClientId, ClientSummary};
use tff_sim::files::write_bytes;
use tff_sim::simulation::{Config, Process};

const EXAMPLES: &str = "\
Examples:
  tff data examples/digits/digits.toml
  tff data digits.toml --label digit --plot division.svg
  tff data digits.toml --label digit --json | jq '.clients[0].classes'";

const COLUMNS: &str = "\
Printed are the rows of each client, those that are held out for the evaluation, and, with a label, its
rows of each class. --json prints an object: `classes` has their names, `clients` an object for each
client with `client`, `rows`, `held_out` and `classes`, the numbers in the order of the names.

The configuration is that of `tff simulate`; see there for the keys of [data].";

/// The most clients in a picture.
const MAX_BARS: usize = 200;
/// The most classes that have a colour and a name of their own.
const MAX_CLASSES: usize = 20;

/// Shows how the data of a simulation is divided among its clients.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{COLUMNS}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// The configuration of a simulation.
    config: PathBuf,
    /// The column whose values are classes, in place of that of the configuration.
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Print the division as JSON, on one line.
    #[arg(long)]
    json: bool,
    /// Draw a bar for each client, with its rows of each class.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// A division as JSON.
#[derive(Debug, Serialize)]
struct Division<'a> {
    classes: &'a [String],
    clients: &'a [ClientSummary],
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if let Some(path) = &self.plot {
            plot::check_path(path)?;
        }
        let mut config = Config::read(&self.config)?;
        config.data.label = self.label.or(config.data.label.take());
        let process = Process::from_config(&config)?;
        let opened = config.data.open(process.element()).map_err(|error| {
            // As in a simulation, the key is one of this file.
            anyhow::Error::from(error).context(config.name.clone())
        })?;
        let division = Division { classes: opened.classes(), clients: &opened.summary() };
        if self.json {
            output::line(serde_json::to_string(&division)?)?;
        } else {
            division.table().iter().try_for_each(output::line)?;
        }
        if let Some(path) = &self.plot {
            let title = self.config.file_stem().unwrap_or_default().to_string_lossy();
            write_bytes(path, division.draw(&title)?.as_bytes())?;
        }
        Ok(())
    }
}

/// The client as it is printed.
fn name(client: &ClientId) -> String {
    match client {
        ClientId::Name(name) => name.clone(),
        ClientId::Number(number) => number.to_string(),
    }
}

impl Division<'_> {
    fn table(&self) -> Vec<String> {
        let header = ["client", "rows", "held out"].map(str::to_owned).into_iter().chain(self.classes.iter().cloned());
        let row = |it: &ClientSummary| {
            let numbers = [it.rows, it.held_out].into_iter().chain(it.classes.iter().copied());
            std::iter::once(name(&it.client)).chain(numbers.map(|number| number.to_string())).collect()
        };
        let rows: Vec<Vec<String>> = std::iter::once(header.collect()).chain(self.clients.iter().map(row)).collect();
        let mut lines = output::align(&rows);
        let n_rows: usize = self.clients.iter().map(|it| it.rows + it.held_out).sum();
        lines.push(format!("{} clients, {n_rows} rows", self.clients.len()));
        lines
    }

    /// A bar for each client, of its rows by class, and the names of the classes.
    fn draw(&self, title: &str) -> Result<String> {
        let bars: Vec<Vec<usize>> = self.clients.iter().take(MAX_BARS).map(parts).collect();
        let highest = bars.iter().map(|bar| bar.iter().sum::<usize>()).max().unwrap_or(0).max(1);
        let width = u32::try_from(bars.len() * 16)?.max(320) + 220;
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (width, 420)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(32)
            .y_label_area_size(56)
            .right_y_label_area_size(120)
            .build_cartesian_2d(0f64..bars.len().max(1) as f64, 0f64..highest as f64 * 1.05)?;
        chart.configure_mesh().disable_x_mesh().light_line_style(WHITE).x_desc("client").y_desc("rows").draw()?;
        let n_classes = bars.iter().map(Vec::len).max().unwrap_or(0);
        for class in 0..n_classes {
            let rectangles = bars.iter().enumerate().filter_map(|(client_idx, bar)| {
                let below: usize = bar.iter().take(class).sum();
                let (left, low, high) = (client_idx as f64, below as f64, (below + bar.get(class)?) as f64);
                (high > low).then(|| Rectangle::new([(left + 0.1, low), (left + 0.9, high)], colour(class).filled()))
            });
            let series = chart.draw_series(rectangles)?;
            if let Some(name) = self.classes.get(class).filter(|_| class < MAX_CLASSES) {
                series.label(name.clone());
                series.legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour(class).filled()));
            }
        }
        if !self.classes.is_empty() {
            chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
        }
        root.present()?;
        drop(chart);
        drop(root);
        Ok(svg)
    }
}

/// What a bar consists of: the rows of each class, or all rows where there are no classes.
fn parts(client: &ClientSummary) -> Vec<usize> {
    if client.classes.is_empty() { vec![client.rows] } else { client.classes.clone() }
}

fn colour(class: usize) -> HSLColor {
    // By the golden ratio, the next hue is far from all before.
    HSLColor((class as f64 * 0.618_033_988_749_895).fract(), 0.55, 0.5)
}
