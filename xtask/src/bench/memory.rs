//! Memory: of many users that are connected at once, and of samples in a run that goes on.

use super::generator::farfield;
use super::goal;
use super::lab::Lab;
use super::page::Table;
use anyhow::Result;
use xtask::nginx::Speaks;

/// Users that are connected at once.
const USERS: u32 = 10_000;

/// The memory that they may take, in MiB.
const USERS_MIB_MAX: f64 = 64.0;

/// The memory that they may take over TLS, in MiB.
const SECURE_USERS_MIB_MAX: f64 = 400.0;

/// Seconds of a run over TLS: the handshakes take most of a server's first seconds.
const SECURE_S_MIN: u32 = 12;

/// Users of the run that goes on. They ask as fast as they are answered: an open loop above what the machine
/// can take would measure its backlog.
const BUSY_USERS: u32 = 64;

/// The memory that the long run may take beyond the short one, in MiB. Kept samples would take hundreds.
const GROWTH_MIB_MAX: f64 = 8.0;

/// 10,000 users who think for a second between requests on connections that stay.
pub fn users(lab: &Lab) -> Result<String> {
    let nginx = lab.nginx()?;
    let seconds = lab.extent.seconds.max(5);
    let mut command = farfield::run(lab.farfield(), &nginx.url("/1k"), seconds, lab.scratch());
    command.args(["-c", &USERS.to_string(), "--think", "1s", "--warm-up", "3s"]);
    let (summary, usage) = lab.farfield_run(&command, seconds)?;
    let open = summary.number("/connections/open_max")?;
    let mut table =
        Table::new(&["users", "connected at once", "completed/s", "peak of memory, MiB", "a user, KiB"]);
    table.row([
        USERS.to_string(),
        format!("{open:.0}"),
        format!("{:.0}", summary.number("/steady/rates/succeeded_per_s")?),
        format!("{:.1}", usage.peak_mib()),
        format!("{:.2}", usage.peak_kib as f64 / f64::from(USERS)),
    ]);
    let is_met = usage.peak_mib() <= USERS_MIB_MAX && open >= f64::from(USERS);
    let seen = format!("{:.1} MiB, {open:.0} connected", usage.peak_mib());
    Ok(format!(
        "{}\n{}",
        table.to_markdown(),
        goal("10,000 connected users in at most 64 MiB", &seen, is_met)
    ))
}

/// 10,000 users with a connection each over TLS, who ask once in five seconds: over HTTP/1.1 and HTTP/2
/// before nginx, and over HTTP/3 before Caddy.
pub fn secure_users(lab: &Lab) -> Result<String> {
    let seconds = lab.extent.seconds.max(SECURE_S_MIN);
    let heads =
        ["protocol", "users", "connected at once", "completed/s", "peak of memory, MiB", "a user, KiB"];
    let (mut table, mut goals) = (Table::new(&heads), String::new());
    for (http, words) in [("1.1", "HTTP/1.1"), ("2", "HTTP/2"), ("3", "HTTP/3")] {
        let server = match http {
            "3" => lab.caddy()?,
            _ => lab.nginx_speaking(Speaks { tls: true, http2: true })?,
        };
        let mut command = farfield::run(lab.farfield(), &server.url("/1k"), seconds, lab.scratch());
        command.args(["--insecure", "--http", http, "-c", &USERS.to_string(), "--think", "5s"]);
        // Users begin over one think time.
        command.args(["--warm-up", "7s"]);
        let (summary, usage) = lab.farfield_run(&command, seconds)?;
        let open = summary.number("/connections/open_max")?;
        table.row([
            words.to_owned(),
            USERS.to_string(),
            format!("{open:.0}"),
            format!("{:.0}", summary.number("/steady/rates/succeeded_per_s")?),
            format!("{:.1}", usage.peak_mib()),
            format!("{:.2}", usage.peak_kib as f64 / f64::from(USERS)),
        ]);
        let is_met = usage.peak_mib() <= SECURE_USERS_MIB_MAX && open >= f64::from(USERS);
        let seen = format!("{:.1} MiB, {open:.0} connected", usage.peak_mib());
        goals += &goal(&format!("10,000 idle connections of {words} in at most 400 MiB"), &seen, is_met);
    }
    Ok(format!("{}\n{goals}", table.to_markdown()))
}

/// One load for a short and for a long time.
pub fn samples(lab: &Lab) -> Result<String> {
    let nginx = lab.nginx()?;
    let mut table = Table::new(&["seconds", "requests recorded", "requests/s", "peak of memory, MiB"]);
    let mut peaks_mib = Vec::new();
    for seconds in [lab.extent.seconds, lab.extent.long_seconds] {
        let mut command = farfield::run(lab.farfield(), &nginx.url("/1k"), seconds, lab.scratch());
        command.args(["-c", &BUSY_USERS.to_string(), "--warm-up", "1s"]);
        let (summary, usage) = lab.farfield_run(&command, seconds)?;
        table.row([
            seconds.to_string(),
            summary.outcomes(|_| true).to_string(),
            format!("{:.0}", summary.number("/steady/rates/succeeded_per_s")?),
            format!("{:.1}", usage.peak_mib()),
        ]);
        peaks_mib.push(usage.peak_mib());
    }
    let growth = peaks_mib[1] - peaks_mib[0];
    let seen = format!("{growth:+.1} MiB");
    Ok(format!(
        "{}\n{}",
        table.to_markdown(),
        goal("samples of a longer run take no more memory (at most 8 MiB)", &seen, growth <= GROWTH_MIB_MAX)
    ))
}
