//! The flags of `farfield shell`.

use super::scenario::{KeyFlags, NetworkFlags, ServerFlags, network_alone};
use clap::{Args, ValueHint};
use farfield_scenario::Overlay;
use std::ffi::OsString;
use std::path::PathBuf;

/// `farfield shell`
#[derive(Debug, Args)]
#[command(
    after_help = "The exit code is that of the program. Inside, the server is called `server`, and its address and\n\
port are in $FARFIELD_SERVER.\n\n\
Examples:\n  \
    farfield shell --access 4g -- curl -s -o /dev/null -w '%{time_total}\\n' http://server/\n  \
    farfield shell --rtt 80ms http://127.0.0.1:8080/ -- curl http://server:8080/\n  \
    farfield shell --rtt 80ms --server 'nginx -g \"daemon off;\"'\n  \
    farfield shell --scenario wan.toml --as home -- ping -c 3 server\n  \
    farfield shell --scenario wan.toml --as home --beside office='curl -O http://server/' -- curl http://server/"
)]
pub struct ShellFlags {
    /// Scenario with the network and the server; its load is not used; only flags if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// The class of clients whose path the program gets; the first if absent
    #[arg(long = "as", value_name = "CLASS")]
    pub class: Option<String>,
    /// Run COMMAND, by the shell `sh`, at a client of CLASS beside the program, on the same network; it ends
    /// with the program; may be repeated
    #[arg(long = "beside", value_name = "CLASS=COMMAND", value_parser = beside)]
    pub beside: Vec<(String, String)>,
    /// URL of a server that runs already on this machine, or where --server-pid, --server-netns, --container
    /// or --interface say; one is started if absent
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Print nothing but what the program prints
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments; your shell if absent
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub network: NetworkFlags,
    #[command(flatten)]
    pub server: ServerFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// A class and a command.
pub(super) fn beside(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((class, command)) if !class.is_empty() && !command.trim().is_empty() => {
            Ok((class.to_owned(), command.to_owned()))
        }
        _ => Err("write a class of clients and a command, such as `home=ping server`".to_owned()),
    }
}

impl ShellFlags {
    /// The keys that the flags lay over a scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = network_alone("farfield shell");
        if let Some(url) = &self.url {
            overlay.set("target", "URL", url.as_str());
        }
        self.network.lay(&mut overlay);
        self.server.lay(&mut overlay);
        self.keys.lay(&mut overlay);
        overlay
    }
}
