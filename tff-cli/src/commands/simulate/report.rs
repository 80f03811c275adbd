//! What a simulation prints: a line for each round, a table at the end, a line for the evaluation.

use crate::{output, render};
use tff_sim::simulation::{Reading, RoundReport};

/// `round 1 accuracy=0.2136895 loss=2.2016385 seconds=0.05`.
pub(super) fn round_line(report: &RoundReport) -> String {
    format!("round {}{} seconds={:.2}", report.round, pairs(&report.metrics), report.seconds)
}

/// `evaluation accuracy=0.9543684 loss=0.18865806`.
pub(super) fn evaluation_line(metrics: &[Reading]) -> String {
    format!("evaluation{}", pairs(metrics))
}

fn pairs(metrics: &[Reading]) -> String {
    metrics.iter().map(|it| format!(" {}={}", it.name, text(it))).collect()
}

/// The number in full.
fn text(reading: &Reading) -> String {
    render::scalar(&reading.scalar)
}

/// For each metric, how it went over the rounds.
pub(super) fn table(rounds: &[RoundReport]) -> Vec<String> {
    let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Vec::new() };
    let mut rows = vec![["metric", "first", "last", "min", "max"].map(str::to_owned).to_vec()];
    for (index, (start, end)) in first.metrics.iter().zip(&last.metrics).enumerate() {
        let all = || rounds.iter().filter_map(|round| round.metrics.get(index));
        // NaN is neither the smallest nor the largest, unless there is nothing else.
        let numbers = || all().filter(|it| !it.number().is_nan());
        let min = numbers().min_by(|a, b| a.number().total_cmp(&b.number())).unwrap_or(start);
        let max = numbers().max_by(|a, b| a.number().total_cmp(&b.number())).unwrap_or(start);
        rows.push(vec![start.name.clone(), text(start), text(end), text(min), text(max)]);
    }
    let seconds = |seconds: f64| format!("{seconds:.2}");
    let all = || rounds.iter().map(|round| round.seconds);
    let (min, max) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    rows.push(vec!["seconds".to_owned(), seconds(first.seconds), seconds(last.seconds), seconds(min), seconds(max)]);
    let total: f64 = all().sum();
    let mut lines = vec![String::new()];
    lines.extend(output::align(&rows));
    lines.push(format!(
        "{} rounds in {total:.2} s, {:.2} rounds/s",
        rounds.len(),
        rounds.len() as f64 / total.max(1e-9)
    ));
    lines.push(String::new());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use tff_ir::Scalar;

    fn report(round: u64, loss: f32) -> RoundReport {
        let loss = Reading { name: "loss".to_owned(), scalar: Scalar::Float32(loss) };
        let n = Reading { name: "num_examples".to_owned(), scalar: Scalar::Float32(1797.0) };
        RoundReport { round, clients: Vec::new(), dropped: Vec::new(), metrics: vec![loss, n], seconds: 0.25 }
    }

    #[test]
    fn a_line_shows_all_digits() {
        insta::assert_snapshot!(round_line(&report(3, 0.213_689_48)), @"round 3 loss=0.21368948 num_examples=1797 seconds=0.25");
        insta::assert_snapshot!(evaluation_line(&report(1, 0.5).metrics), @"evaluation loss=0.5 num_examples=1797");
    }

    #[test]
    fn the_table_shows_how_metrics_went() {
        let rounds = [report(1, 2.5), report(2, f32::NAN), report(3, 0.125)];
        insta::assert_snapshot!(table(&rounds).join("\n"), @r"

    metric        first   last    min   max
    loss            2.5  0.125  0.125   2.5
    num_examples   1797   1797   1797  1797
    seconds        0.25   0.25   0.25  0.25
    3 rounds in 0.75 s, 4.00 rounds/s
    ");
    }
}
