//! Diagnostics: how farfield itself did in a run, for whoever asks for it (`-v`).
//!
//! Nothing of it is a result. Where it makes a figure doubtful, a check, a mark at the figure or a warning
//! says so in any case; and two of its lines are shown to everybody where a run can be valid all the same:
//! the placement where server and generator share processors, and the generator's where its own times are a
//! good part of those that were measured.

use super::{COLUMNS, LABEL, connections, labelled, wrapped};
use crate::figures::{count, percent, time};
use farfield_measure::summary::{NetworkSummary, TimingSummary};
use farfield_measure::{Quantile, Summary};

/// The end of the reason for a placement where generator and server have no processors of their own.
const SHARED: [&str; 2] = ["share it", "nothing is bound"];
/// The part of the response times' p99 above which the generator's own times can have moved it.
const OWN_TIME: f64 = 0.1;

/// Lines on the generator, the placement of its threads, handshakes of TLS and packets of the emulated
/// network, and a blank line behind them; those alone that make figures doubtful where `all` is false, and
/// nothing where there are none.
pub(super) fn lines(summary: &Summary, all: bool) -> Vec<String> {
    let placement = summary.generator.placement.as_deref();
    let is_shared = |words: &str| SHARED.iter().any(|end| words.ends_with(end));
    let texts = [
        ("generator", (all || is_late(summary)).then(|| own_work(summary))),
        ("placement", placement.filter(|words| all || is_shared(words)).map(str::to_owned)),
        ("handshakes", connections::cost_of_handshakes(summary).filter(|_| all)),
        ("packets", summary.network.as_ref().filter(|_| all).map(packets)),
    ];
    let lines = |(label, text): (&str, Option<String>)| {
        let lines = wrapped(&text.unwrap_or_default(), COLUMNS - LABEL).into_iter().enumerate();
        lines.map(|(nth, line)| labelled(if nth == 0 { label } else { "" }, &line)).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> = texts.into_iter().flat_map(lines).collect();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// True if the generator's lateness or lag is a good part of the response times.
fn is_late(summary: &Summary) -> bool {
    let p99 =
        |times: &Option<TimingSummary>| times.as_ref().and_then(|times| times.quantile_ns(Quantile::P99));
    let Some(response) = p99(&summary.steady.times.response) else { return false };
    let own = [p99(&summary.generator.lateness), p99(&summary.generator.loop_lag)];
    own.into_iter().flatten().any(|own| own as f64 > response as f64 * OWN_TIME)
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
    let mut late = vec![format!("{} out", or_dash(&network.lateness.departure))];
    let ends = [(&network.lateness.delivery, "at the server"), (&network.lateness.pickup, "back")];
    late.extend(ends.into_iter().filter_map(|(times, end)| {
        let times = times.as_ref()?;
        Some(format!("{} {end}", p99(times)))
    }));
    late.push(format!("{} in", or_dash(&network.lateness.arrival)));
    let packets = count(network.packets.passed());
    format!("{packets}, late p99 {}", late.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::scene::Scene;
    use crate::{Look, render};
    use farfield_base::Duration;

    /// Diagnostics are lines more, ahead of the verdict, which stays in sight.
    #[test]
    fn diagnostics_stand_ahead_of_the_verdict_for_whoever_asks() {
        let mut summary = Scene::good().across(&["dsl"]).summary();
        summary.generator.placement = Some("2 processors: server on 0, shard on 1".to_owned());
        let network = summary.network.as_mut().expect("a network");
        network.lateness.pickup = network.lateness.departure.clone();
        let shown = |verbose| render(&summary, Look { verbose, ..Look::default() });
        let added = "
generator   late p99 34.0µs, max 34.0µs; lag p99 120µs; worker 34% busy
placement   2 processors: server on 0, shard on 1
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

    /// Nobody has to ask where server and generator share processors, and where the generator's own times are
    /// more than a tenth of the p99 of 10 ms.
    #[test]
    fn what_makes_figures_doubtful_is_shown_to_everybody() {
        let shown = |scene: &Scene| render(&scene.summary(), Look::default());
        let has = |text: &str, label: &str| text.lines().any(|line| line.starts_with(label));
        let mut scene = Scene::good().across(&["dsl"]);
        for (words, is_shown) in [
            ("1 processor: server, 1 shard and collector share it", true),
            ("2 processors, 2 shards: too few for one each, so nothing is bound", true),
            ("2 processors: server+receive on 0, shard on 1, collector on 0 or 1", false),
        ] {
            scene.stats.placement = Some(words.to_owned());
            let text = shown(&scene);
            assert_eq!(text.contains(&format!("\nplacement   {words}\n")), is_shown, "{text}");
            assert!(!has(&text, "generator") && !has(&text, "packets") && has(&text, "VALID "), "{text}");
        }
        for (late_us, is_shown) in [(900, false), (1_100, true)] {
            for of in 0..2 {
                let mut scene = Scene::good();
                let own = if of == 0 { &mut scene.stats.lateness } else { &mut scene.stats.loop_lag };
                (0..10).for_each(|_| own.record(Duration::from_us(late_us)));
                let text = shown(&scene);
                assert_eq!(has(&text, "generator   late p99 "), is_shown, "{late_us} {of}: {text}");
            }
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
