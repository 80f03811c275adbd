//! A picture of the metrics over the rounds.

use anyhow::{Context, Result, bail};
use plotters::prelude::*;
use std::path::Path;
use tff_sim::files::{check_folder, write_bytes};
use tff_sim::simulation::RoundReport;

/// The size of the chart of one metric, in pixels.
const CHART: (u32, u32) = (480, 320);
/// The most charts beside each other.
const MAX_COLUMNS: usize = 2;
/// The most charts in one picture.
const MAX_CHARTS: usize = 64;

/// Checks early that a picture can be written to this path: nothing is lost yet.
pub(super) fn check_path(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "svg") {
        bail!("{}: expected a name that ends in .svg", path.display());
    }
    Ok(check_folder(path)?)
}

/// Draws a chart for each metric and writes them, as one SVG, to a file.
pub(super) fn write(path: &Path, title: &str, rounds: &[RoundReport]) -> Result<()> {
    let svg = draw(title, rounds).with_context(|| path.display().to_string())?;
    Ok(write_bytes(path, svg.as_bytes())?)
}

fn draw(title: &str, rounds: &[RoundReport]) -> Result<String> {
    let names: Vec<&str> =
        rounds.first().into_iter().flat_map(|it| &it.metrics).map(|it| it.name.as_str()).take(MAX_CHARTS).collect();
    let columns = names.len().clamp(1, MAX_COLUMNS);
    let lines = names.len().div_ceil(columns).max(1);
    // Both are at most the number of charts.
    let (width, height) = (CHART.0 * u32::try_from(columns)?, CHART.1 * u32::try_from(lines)? + 40);
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let body = root.titled(title, ("sans-serif", 20))?;
    for (index, (area, name)) in body.split_evenly((lines, columns)).iter().zip(names).enumerate() {
        let points: Vec<(u64, f64)> = rounds
            .iter()
            .filter_map(|it| Some((it.round, it.metrics.get(index)?.number())))
            .filter(|(_, number)| number.is_finite())
            .collect();
        chart(area, name, &points)?;
    }
    root.present()?;
    drop(body);
    drop(root);
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn chart(area: &Area<'_>, name: &str, points: &[(u64, f64)]) -> Result<()> {
    let numbers = || points.iter().map(|point| point.1);
    let (min, max) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
    let (min, max) = if points.is_empty() { (0.0, 1.0) } else { padded(min, max) };
    let first = points.first().map_or(0, |point| point.0);
    let last = points.last().map_or(1, |point| point.0).max(first + 1);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(name, ("sans-serif", 16))
        .x_label_area_size(32)
        .y_label_area_size(56)
        .build_cartesian_2d(first..last, min..max)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(10)
        .y_labels(6)
        .x_desc("round")
        .y_label_formatter(&|number| label(*number))
        .draw()?;
    chart.draw_series(LineSeries::new(points.iter().copied(), BLUE.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|&point| Circle::new(point, 2, BLUE.filled())))?;
    Ok(())
}

/// A range that leaves some room around the numbers, also where they are all the same.
fn padded(min: f64, max: f64) -> (f64, f64) {
    let room = if max > min { (max - min) * 0.05 } else { max.abs().max(1.0) * 0.05 };
    let (low, high) = (min - room, max + room);
    if low.is_finite() && high.is_finite() { (low, high) } else { (min, max) }
}

fn label(number: f64) -> String {
    if number != 0.0 && !(1e-3..1e6).contains(&number.abs()) {
        format!("{number:.1e}")
    } else {
        let text = format!("{number:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
