//! The flags of `farfield shell`.

use super::values::{ACCESS, GATEWAYS, Suggested, count};
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
    /// Scenario with the network and the server; its load is not used
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: Option<PathBuf>,
    /// The class of clients whose path the program gets; the first if absent
    #[arg(long = "as", value_name = "CLASS")]
    pub class: Option<String>,
    /// Run COMMAND, by the shell `sh`, at a client of CLASS beside the program, on the same network; it ends
    /// with the program; may be repeated
    #[arg(long = "beside", value_name = "CLASS=COMMAND", value_parser = beside)]
    pub beside: Vec<(String, String)>,
    /// The access link, such as dsl, fibre, 4g or modem-56k
    #[arg(long, value_name = "KIND", value_parser = Suggested(ACCESS))]
    pub access: Option<String>,
    /// Round-trip time to the server
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<String>,
    /// Command that starts the server; the built-in server if absent
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,
    /// URL of a server that runs already on this machine, or where the next three flags say
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Process of a server that runs already in a network namespace of its own
    #[arg(long, value_name = "PID", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub server_pid: Option<u32>,
    /// Network namespace of a server that runs already: a name of `ip netns`, or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub server_netns: Option<String>,
    /// Container of a server that runs already: of Docker, Podman or Kubernetes
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// Network card by which a server on another machine is reached
    #[arg(long, value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// Kind of gateway at both ends of the path: auto, tun or packet
    #[arg(long, value_name = "DEVICE", value_parser = Suggested(GATEWAYS))]
    pub gateway: Option<String>,
    /// Seed of the links' random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Set any key of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print nothing but what the program prints
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments; your shell if absent
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
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
    /// The flags that are short for keys of the scenario.
    pub fn overlay(&self) -> Overlay {
        Overlay {
            plane: Some("emulated".to_owned()),
            access: self.access.clone(),
            rtt: self.rtt.clone(),
            server: self.server.clone(),
            target: self.url.clone(),
            server_pid: self.server_pid,
            server_netns: self.server_netns.clone(),
            container: self.container.clone(),
            gateway: self.gateway.clone(),
            interface: self.interface.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            no_monitor: true,
            ..Overlay::default()
        }
    }
}
