//! The flags of `farfield record`.

use super::heading::OUTPUT;
use super::keys::with_seconds;
use super::scenario::TlsFlags;
use clap::{Args, ValueHint};
use farfield_base::Duration;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `farfield record`
#[derive(Debug, Args)]
#[command(after_help = "What is asked for through a proxy at --listen is recorded until Ctrl-C, or until\n\
--duration or COMMAND end. It becomes an HTTP Archive, and a scenario as by\n\
`farfield import --bind`.\n\n\
Examples:\n  \
    farfield record http://shop.example/ -o shop.toml\n  \
    farfield record https://shop.example/ --host https://api.shop.example/ -o shop.toml\n  \
    farfield record http://127.0.0.1:8080/ -- python3 buy.py\n  \
    farfield record http://127.0.0.1:8080/ --reverse --listen 127.0.0.1:9000")]
pub struct RecordFlags {
    /// URL of the server whose requests are recorded
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub url: String,
    /// URL of a server whose requests are recorded along, as a host of the scenario. May be repeated
    #[arg(long = "host", value_name = "URL", conflicts_with = "reverse")]
    pub hosts: Vec<String>,
    /// Address of the proxy; whoever reaches it can use it. 127.0.0.1:8888, or another port if that is taken,
    /// if absent
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Stand in the place of the server, for programs that know no proxy: requests to --listen are the
    /// server's
    #[arg(long)]
    pub reverse: bool,
    /// Time after which the recording ends; at Ctrl-C, or with COMMAND, if absent
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Leave tokens and cookies as they were recorded, and only name those that replies contain; by default
    /// they are taken from the replies
    #[arg(long)]
    pub no_bind: bool,
    /// Write the scenario to FILE, and replace what is there; recorded.toml, which must not be there, if
    /// absent
    #[arg(short = 'o', long, visible_alias = "output", help_heading = OUTPUT, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Write the HTTP Archive to FILE; beside the scenario if absent
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub har: Option<PathBuf>,
    /// Write the certificate of the recording's own CA, for https servers, to FILE; beside the scenario if
    /// absent
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca_out: Option<PathBuf>,
    #[command(flatten)]
    pub tls: TlsFlags,
    /// A program that is recorded, with its arguments: its environment has the proxy and the CA, and
    /// FARFIELD_URL to ask; none if absent
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address and a port, such as 127.0.0.1:8888".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    with_seconds(text).parse().map_err(|error: farfield_base::QuantityError| error.to_string())
}
