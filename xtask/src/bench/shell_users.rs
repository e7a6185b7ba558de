//! Real clients and farfield's users on the same path: wrk behind 50 ms, whose TCP is the kernel's, and a
//! closed loop of as many users behind 50 ms, whose TCP is farfield's. Both should get the same.

use super::far::{FOLDER, Far, SCENARIO};
use super::generator::{Generator, Reuse, wrk::Wrk};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::process::Command;
use xtask::system;

/// As many users as wrk has connections.
const USERS: &str = r#"
[load]
model = "closed"
users = 50
[network]
clients = 50
rtt = "50ms"
"#;
const CONNECTIONS: &str = "-c50";

/// Rates and mean response times of both, in turn.
pub fn beside_wrk(lab: &Lab) -> Result<String> {
    let wrk = system::find("wrk").context("wrk is missing")?;
    let (mut ours, mut theirs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..lab.extent.pairs {
        let summary = Far { reuse: Reuse::KeepAlive, ..Far::of(lab, USERS) }.run(lab)?;
        ours[0].push(summary.number("/steady/rates/succeeded_per_s")?);
        ours[1].push(summary.number("/steady/times/response/mean_ns")? / 1e6);
        let mut command = Command::new(lab.farfield());
        command.args(["shell", "--scenario"]).arg(lab.scratch().join(FOLDER).join(SCENARIO)).arg("--");
        command.arg(&wrk).args(["-t1", CONNECTIONS]).arg(format!("-d{}s", lab.extent.seconds));
        command.arg("http://server/1k");
        let ran = lab.measure_anywhere(&command, lab.extent.seconds)?;
        theirs[0].push(Wrk.parse(&ran.output)?.per_s);
        theirs[1].push(mean_ms(&ran.output).with_context(|| format!("no latency in {}", ran.output))?);
    }
    let ratios = [0, 1].map(|figure| Spread::of_ratios(&ours[figure], &theirs[figure]));
    Ok(text(&ours, &theirs, &ratios))
}

fn text(ours: &[Vec<f64>; 2], theirs: &[Vec<f64>; 2], ratios: &[Spread; 2]) -> String {
    let mut table = Table::new(&[
        "50 kept-alive connections at 50 ms, 1 KB",
        "farfield's users",
        "wrk in the shell",
        "ratio",
    ]);
    let mut goals = String::new();
    for (figure, (words, digits)) in
        [("requests a second", 0), ("mean response time, ms", 2)].iter().enumerate()
    {
        let [one, other] = [ours, theirs].map(|runs| Spread::of(runs[figure].iter().copied()));
        table.row([
            (*words).to_owned(),
            format!("{one:.digits$}"),
            format!("{other:.digits$}"),
            format!("{:.3}", ratios[figure]),
        ]);
        let is_met = (ratios[figure].median - 1.0).abs() <= 0.03;
        goals += &goal(&format!("{words} within 3 % of wrk's"), &format!("{:.3}", ratios[figure]), is_met);
    }
    format!("{}\n{goals}", table.to_markdown())
}

/// The mean of `    Latency     2.84ms    2.77ms  16.92ms   85.36%`.
fn mean_ms(output: &str) -> Option<f64> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix("Latency"))?;
    let mean = line.split_whitespace().next()?;
    let scales = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    scales.iter().find_map(|(unit, scale)| Some(mean.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_mean_of_wrk() {
        assert_eq!(mean_ms("  Thread Stats\n    Latency    50.84ms    2.77ms\n"), Some(50.84));
        assert_eq!(mean_ms("    Latency   900.00us    2.77ms\n"), Some(0.9));
        assert_eq!(mean_ms("    Latency     1.20s    2.77ms\n"), Some(1200.0));
        assert_eq!(mean_ms("nothing"), None);
    }

    #[test]
    fn three_per_cent_are_the_bound() {
        let runs = |per_s: f64, ms: f64| [vec![per_s], vec![ms]];
        let judged = |ours: &[Vec<f64>; 2], theirs: &[Vec<f64>; 2]| {
            let ratios = [0, 1].map(|figure| Spread::of_ratios(&ours[figure], &theirs[figure]));
            text(ours, theirs, &ratios)
        };
        let good = judged(&runs(1_000.0, 50.1), &runs(990.0, 50.6));
        assert_eq!(good.matches(", met").count(), 2, "{good}");
        let bad = judged(&runs(1_000.0, 50.0), &runs(960.0, 52.0));
        assert_eq!(bad.matches(", missed").count(), 2, "{bad}");
    }
}
