//! Tables of parts of a run that have names: the flows of its users, the hosts that they ask, the stages of
//! its load, the conditions of its network, and the classes of its clients.

use super::{COLUMNS, LABEL, end_table, fit, or_dash, quantile, row};
use crate::figures::{count, percent, rate, time};
use farfield_measure::Quantile;
use farfield_measure::summary::{ClassSummary, FlowSummary, HostSummary, PartSummary, StageSummary};

/// Stages, and classes of clients, that have a line each; a line counts the others.
const LINES_EACH: usize = 8;

/// A line for each stage of the load, the first ones first, and a blank line behind them; nothing where it
/// has none.
pub(super) fn stages(stages: &[StageSummary]) -> Vec<String> {
    if stages.is_empty() {
        return Vec::new();
    }
    let names = ["ends at", "rate", "errors", "p50", "p99", "max"].map(str::to_owned);
    let mut lines = vec![row("stage", names, "requests")];
    lines.extend(stages.iter().take(LINES_EACH).map(stage_row));
    end_table(lines, stages.len().saturating_sub(LINES_EACH))
}

/// A line for each part of the run between changes of its network, below it what begins there, and a blank
/// line behind them; nothing where it does not change.
pub(super) fn conditions(conditions: &[StageSummary]) -> Vec<String> {
    if conditions.is_empty() {
        return Vec::new();
    }
    let names = ["from", "rate", "errors", "p50", "p99", "max"].map(str::to_owned);
    let mut lines = vec![row("conditions", names, "requests")];
    for own in conditions.iter().take(LINES_EACH) {
        lines.push(part_row_at(&fit(&own.name, LABEL - 1), own.from_ns, &own.steady));
        lines.push(fit(&format!("  {}", own.course), COLUMNS));
    }
    end_table(lines, conditions.len().saturating_sub(LINES_EACH))
}

/// A line for each flow of users, the first ones first, and a blank line behind them; nothing where there are
/// no several.
pub(super) fn flows(flows: &[FlowSummary]) -> Vec<String> {
    parts("flow", flows.iter().map(|flow| (&*flow.name, &flow.steady)))
}

/// A line for each host that users ask, the first ones first, and a blank line behind them; nothing where
/// there are no several.
pub(super) fn hosts(hosts: &[HostSummary]) -> Vec<String> {
    parts("host", hosts.iter().map(|host| (&*host.name, &host.steady)))
}

fn parts<'a>(label: &str, parts: impl ExactSizeIterator<Item = (&'a str, &'a PartSummary)>) -> Vec<String> {
    let all = parts.len();
    if all == 0 {
        return Vec::new();
    }
    let names = ["rate", "errors", "p50", "p90", "p99", "max"].map(str::to_owned);
    let mut lines = vec![row(label, names, "requests")];
    lines.extend(parts.take(LINES_EACH).map(part_row));
    end_table(lines, all.saturating_sub(LINES_EACH))
}

/// A line for each class of clients, the first ones first, and a blank line behind them; nothing where all
/// clients are of one class.
pub(super) fn classes(classes: &[ClassSummary]) -> Vec<String> {
    if classes.len() < 2 {
        return Vec::new();
    }
    let names = ["share", "errors", "p50", "p99", "connect", "rate"].map(str::to_owned);
    let mut lines = vec![row("class", names, "requests")];
    lines.extend(classes.iter().take(LINES_EACH).map(class_row));
    end_table(lines, classes.len().saturating_sub(LINES_EACH))
}

fn stage_row(stage: &StageSummary) -> String {
    part_row_at(&fit(&stage.name, LABEL - 1), stage.to_ns, &stage.steady)
}

fn part_row_at(label: &str, at_ns: u64, steady: &PartSummary) -> String {
    let response = &steady.times.response;
    let columns = [
        time(at_ns),
        or_dash(steady.rates.map(|rates| rates.succeeded_per_s), rate),
        or_dash(steady.error_share, percent),
        quantile(response, Quantile::P50),
        quantile(response, Quantile::P99),
        or_dash(response.as_ref().map(|times| times.max_ns), time),
    ];
    row(label, columns, &count(steady.requests))
}

fn part_row((name, steady): (&str, &PartSummary)) -> String {
    let response = &steady.times.response;
    let columns = [
        or_dash(steady.rates.map(|rates| rates.succeeded_per_s), rate),
        or_dash(steady.error_share, percent),
        quantile(response, Quantile::P50),
        quantile(response, Quantile::P90),
        quantile(response, Quantile::P99),
        or_dash(response.as_ref().map(|times| times.max_ns), time),
    ];
    row(&fit(name, LABEL - 1), columns, &count(steady.requests))
}

fn class_row(class: &ClassSummary) -> String {
    let ClassSummary { name, share, steady, pages: _ } = class;
    let columns = [
        or_dash(*share, percent),
        or_dash(steady.error_share, percent),
        quantile(&steady.times.response, Quantile::P50),
        quantile(&steady.times.response, Quantile::P99),
        quantile(&steady.times.connect, Quantile::P50),
        or_dash(steady.rates.map(|rates| rates.succeeded_per_s), rate),
    ];
    row(&fit(name, LABEL - 1), columns, &count(steady.requests))
}
