//! Overload in the manner of the S-Client: the rate of attempts to connect follows D / T far past what the
//! server can take (Banga and Druschel 1999, section 4).

use super::generator::farfield;
use super::goal;
use super::lab::Lab;
use super::page::Table;
use anyhow::Result;

/// A server of 10 ms a request, one at a time: it takes 100 a second, whatever comes.
const KNOBS: [&str; 8] =
    ["--service-time", "10ms", "--servers", "1", "--accept-limit", "4", "--backlog", "8"];

/// Requests that this server takes in a second.
const CAPACITY_PER_S: u32 = 100;

/// T.
const TIMEOUT_MS: u32 = 500;

/// The largest error of the attempt rate against D / T.
const ERROR_MAX: f64 = 0.02;

/// Offers one to ten times the capacity.
pub fn attempts(lab: &Lab) -> Result<String> {
    let all: Vec<u32> = (1..=10).collect();
    let factors: &[u32] = if lab.extent.quick { &[1, 10] } else { &all };
    let mut table = Table::new(&["D", "D/T, 1/s", "× capacity", "attempts/s", "off by", "completed/s"]);
    let mut worst: f64 = 0.0;
    for &factor in factors {
        let intended = factor * CAPACITY_PER_S;
        let descriptors = intended * TIMEOUT_MS / 1000;
        let (attempts, completed) = drive(lab, descriptors)?;
        let error = attempts / f64::from(intended) - 1.0;
        worst = worst.max(error.abs());
        table.row([
            descriptors.to_string(),
            intended.to_string(),
            factor.to_string(),
            format!("{attempts:.1}"),
            format!("{:+.2} %", error * 100.0),
            format!("{completed:.1}"),
        ]);
    }
    let error = format!("{:.2} % at worst", worst * 100.0);
    Ok(format!(
        "The server is farfield's own origin, set to take {CAPACITY_PER_S} requests a second; T is {TIMEOUT_MS} ms.\n\n\
         {}\n{}",
        table.to_markdown(),
        goal("attempts within 2 % of D/T to 10 × the capacity", &error, worst <= ERROR_MAX)
    ))
}

/// Attempts and completed requests a second with so many descriptors, against a fresh server.
fn drive(lab: &Lab, descriptors: u32) -> Result<(f64, f64)> {
    let origin = lab.origin(&KNOBS)?;
    let seconds = lab.extent.seconds;
    let mut command = farfield::run(lab.farfield(), &origin.url("/bytes/1024"), seconds, lab.scratch());
    command.args(["--warm-up", "1s", "--policy", "one-request", "--set", "load.model=overload"]);
    command.arg("--set").arg(format!("load.descriptors={descriptors}"));
    command.arg("--set").arg(format!("load.timeout={TIMEOUT_MS}ms"));
    let (summary, _) = lab.farfield_run(&command, seconds)?;
    Ok((summary.number("/steady/rates/connects_per_s")?, summary.number("/steady/rates/succeeded_per_s")?))
}
