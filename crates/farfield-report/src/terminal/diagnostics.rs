//! Diagnostics: how farfield itself did in a run, for whoever asks for it (`-v`).
//!
//! Nothing of it is a result. Where it makes a figure doubtful, a check, a mark at the figure or a warning
//! says so in any case.

use super::{COLUMNS, LABEL, connections, labelled, wrapped};
use crate::figures::{count, percent, time};
use farfield_measure::summary::{NetworkSummary, TimingSummary};
use farfield_measure::{Quantile, Summary};

/// Lines on the generator, the placement of its threads, handshakes of TLS and packets of the emulated
/// network, and a blank line behind them.
pub(super) fn lines(summary: &Summary) -> Vec<String> {
    let placement = summary.generator.placement.as_deref();
    let texts = [
        ("generator", Some(own_work(summary))),
        ("placement", placement.map(str::to_owned)),
        ("handshakes", connections::cost_of_handshakes(summary)),
        ("packets", summary.network.as_ref().map(packets)),
    ];
    let lines = |(label, text): (&str, Option<String>)| {
        let lines = wrapped(&text.unwrap_or_default(), COLUMNS - LABEL).into_iter().enumerate();
        lines.map(|(nth, line)| labelled(if nth == 0 { label } else { "" }, &line)).collect::<Vec<_>>()
    };
    texts.into_iter().flat_map(lines).chain([String::new()]).collect()
}

fn p99(times: &TimingSummary) -> String {
    times.quantile_ns(Quantile::P99).map_or("-".to_owned(), time)
}

/// Lateness of requests, lag of the workers' loops, and how busy the busiest worker was.
fn own_work(summary: &Summary) -> String {
    let generator = &summary.generator;
    let mut parts = Vec::new();
    if let Some(lateness) = &generator.lateness {
        parts.push(format!("late p99 {}, max {}", p99(lateness), time(lateness.max_ns)));
    }
    if let Some(lag) = &generator.loop_lag {
        parts.push(format!("lag p99 {}", p99(lag)));
    }
    if let Some(busiest) = generator.worker_busy.iter().copied().max_by(f64::total_cmp) {
        let busiest = percent(busiest);
        parts.push(match generator.worker_busy.len() {
            1 => format!("worker {busiest} busy"),
            _ => format!("busiest worker {busiest}"),
        });
    }
    parts.join("; ")
}

/// Packets of the emulated network, and how late they were at each end of the gateway.
fn packets(network: &NetworkSummary) -> String {
    let or_dash = |times: &Option<TimingSummary>| times.as_ref().map_or("-".to_owned(), p99);
    let mut late = vec![format!("{} out", or_dash(&network.departure_lateness))];
    let ends = [(&network.delivery_lateness, "at the server"), (&network.pickup_lateness, "back")];
    late.extend(ends.into_iter().filter_map(|(times, end)| {
        let times = times.as_ref()?;
        Some(format!("{} {end}", p99(times)))
    }));
    late.push(format!("{} in", or_dash(&network.arrival_lateness)));
    let packets = count(network.packets_up + network.packets_down);
    format!("{packets}, late p99 {}", late.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use crate::{Look, render};

    /// Diagnostics are lines more, ahead of the verdict, which stays in sight.
    #[test]
    fn diagnostics_stand_ahead_of_the_verdict_for_whoever_asks() {
        let mut summary = Scene::good().across(&["dsl"]).summary();
        summary.generator.placement = Some("1 processor: all share it".to_owned());
        let network = summary.network.as_mut().expect("a network");
        network.pickup_lateness = network.departure_lateness.clone();
        let shown = |verbose| render(&summary, Look { verbose, ..Look::default() });
        let added = "
generator   late p99 34.0µs, max 34.0µs; lag p99 120µs; worker 34% busy
placement   1 processor: all share it
packets     30, late p99 30.0µs out, 30.0µs back, 40.0µs in

VALID ";
        let (short, long) = (shown(false), shown(true));
        assert!(long.contains(added), "{long}");
        for label in ["generator", "placement", "packets"] {
            assert!(!short.lines().any(|line| line.starts_with(label)), "{short}");
        }
        // Nothing is lost, and nothing else comes.
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).count();
        assert_eq!(lines(&long), lines(&short) + 3, "{long}");
        for line in short.lines() {
            assert!(long.lines().any(|other| other == line), "{line}: {long}");
        }
    }

    /// The ends of long lists, which are left out otherwise, have their lines.
    #[test]
    fn no_warning_is_left_out() {
        let mut summary = Scene::good().summary();
        summary.warnings = (0..9).map(|n| format!("warning number {n}")).collect();
        let shown = |verbose| render(&summary, Look { verbose, ..Look::default() });
        assert!(shown(false).contains("and 3 more, in summary.json"));
        let whole = shown(true);
        assert!(whole.contains("warning number 8") && !whole.contains(" more, in summary.json"), "{whole}");
    }
}
