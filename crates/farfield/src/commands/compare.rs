//! `farfield compare`: runs held against each other.

use crate::exit::Exit;
use crate::flags::compare::{CompareFlags, CompareFormat};
use crate::output;
use crate::problem::Problem;
use farfield_report::Look;
use farfield_report::comparison::drawing::ComparisonCharts;
use farfield_report::comparison::fail_if::{FailIf, Judgement};
use farfield_report::comparison::metric::Metric;
use farfield_report::comparison::scoped::ScopedMetric;
use farfield_report::comparison::side::SideError;
use farfield_report::comparison::{self, Comparison, html, markdown, text};
use std::io::IsTerminal;

/// Compares sides, and prints what differs.
pub fn compare(flags: &CompareFlags) -> Result<Exit, Problem> {
    let conditions = parsed::<FailIf>(&flags.fail_ifs)?;
    let mut metrics = Metric::DEFAULT.map(ScopedMetric::from).to_vec();
    let further = parsed::<ScopedMetric>(&flags.metrics)?;
    for metric in further.into_iter().chain(conditions.iter().map(FailIf::metric).cloned()) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let sides = comparison::open(&flags.directories).map_err(refused)?;
    for metric in &metrics {
        metric.check(&sides).map_err(Problem::usage)?;
    }
    let (base, others) = sides.split_first().expect("clap asks for two directories");
    let compared = comparison::compare(base, others, &metrics);
    let judged = judge(conditions, &compared);
    match flags.format {
        CompareFormat::Text => output::put_coloured(&text::render(&compared, &judged, look()))?,
        CompareFormat::Markdown => output::put(&markdown::render(&compared, &judged))?,
        CompareFormat::Html => output::put(&html::render(&compared, &judged, &ComparisonCharts::of(&sides)))?,
        CompareFormat::Json => output::put(&json(&compared, &judged))?,
    }
    Ok(exit(&judged))
}

/// The look of text on standard output.
pub(super) fn look() -> Look<'static> {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Look { colour, ..Look::default() }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(texts: &[String]) -> Result<Vec<T>, Problem> {
    texts.iter().map(|text| text.parse().map_err(Problem::usage)).collect()
}

/// Runs that were measured and may not be believed end as such a run does.
pub(super) fn refused(error: SideError) -> Problem {
    match error {
        SideError::NoneValid { .. } => Problem::invalid(error),
        error => Problem::usage(error),
    }
}

fn judge(conditions: Vec<FailIf>, compared: &Comparison) -> Vec<(FailIf, Vec<Judgement>)> {
    let judgements =
        |condition: &FailIf| compared.others.iter().map(|other| condition.judge(other)).collect();
    conditions.into_iter().map(|condition| (condition.clone(), judgements(&condition))).collect()
}

/// An exceeded limit outranks an undecided one.
fn exit(judged: &[(FailIf, Vec<Judgement>)]) -> Exit {
    let any = |judgement| judged.iter().any(|(_, judgements)| judgements.contains(&judgement));
    if any(Judgement::Exceeded) {
        Exit::Threshold
    } else if any(Judgement::Undecided) {
        Exit::Invalid
    } else {
        Exit::Fine
    }
}

fn json(compared: &Comparison, judged: &[(FailIf, Vec<Judgement>)]) -> String {
    let conditions: Vec<_> = judged
        .iter()
        .map(
            |(condition, judgements)| serde_json::json!({ "condition": condition, "judgements": judgements }),
        )
        .collect();
    let document = serde_json::json!({ "comparison": compared, "conditions": conditions });
    let mut text = serde_json::to_string_pretty(&document).expect("names are strings");
    text.push('\n');
    text
}
