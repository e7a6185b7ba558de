//! The flags by which a run is a part of a rendezvous. They are no keys of the scenario, which comes from the
//! gatherer.

use super::heading::LOAD;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// A part's way to its gatherer.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = LOAD)]
pub struct JoinFlags {
    /// Make a part of the run that `farfield gather` gathers at ADDRESS, which has the scenario; a run of its
    /// own if absent
    ///
    /// The ticket comes from the file of --ticket, or from the environment variable FARFIELD_TOKEN.
    #[arg(long, hide_short_help = true, value_name = "HOST:PORT", value_parser = with_port, conflicts_with = "on")]
    pub join: Option<String>,
    /// File of the ticket that `farfield gather` made; FARFIELD_TOKEN if absent
    #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "join")]
    pub ticket: Option<PathBuf>,
    /// Time for which the gatherer may not be there yet
    #[arg(long, hide_short_help = true, value_name = "TIME", default_value = "1m", requires = "join")]
    pub join_within: String,
}

/// An address with a port: nothing else can be connected to, however long one waits.
fn with_port(given: &str) -> Result<String, String> {
    let port = given.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let port = port.filter(|(host, _)| !host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
    match port.map(|(_, port)| port.parse()) {
        Some(Ok(1..=u16::MAX)) => Ok(given.to_owned()),
        _ => Err("write the gatherer's host and port, such as gatherer.example:9009 or [2001:db8::1]:9009"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::with_port;

    #[test]
    fn an_address_has_a_port() {
        for fine in ["a.example:9009", "10.0.0.1:1", "[::1]:65535"] {
            assert_eq!(with_port(fine).as_deref(), Ok(fine));
        }
        for wrong in ["a.example", ":9009", "a:", "a:0", "a:65536", "a:http", "::1:9009", "[::1]"] {
            assert!(with_port(wrong).is_err(), "{wrong}");
        }
    }
}
