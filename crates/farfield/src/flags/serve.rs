//! The flags of `farfield serve`, which are short for keys of a scenario's `origin` table.

use super::keys::keyed;
use clap::{Args, ValueHint};
use std::path::PathBuf;

keyed! {
    /// The built-in server: its address, what it speaks, and what makes it slow.
    pub struct OriginFlags {
        /// Serve over TLS, with a certificate that is made at the start
        #[arg(long)]
        tls: bool => "tls",
        /// PEM file of the certificate to serve over TLS with; one is made if absent
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        cert: Option<PathBuf> => "certificate",
        /// PEM file of the certificate's key; the certificate's file if absent
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
        key: Option<PathBuf> => "key",
        /// The address to listen on
        #[arg(default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
        bind: String => "bind",
        /// Number of event loops
        #[arg(short = 't', long, value_name = "COUNT")]
        threads: Option<u32> => "threads",
        /// Time to serve each request
        #[arg(long, value_name = "TIME")]
        service_time: Option<String> => "service-time",
        /// The most requests served at once; the others wait; no limit if absent
        #[arg(long, value_name = "COUNT")]
        servers: Option<u32> => "servers",
        /// The share of requests answered with 503
        #[arg(long, value_name = "SHARE")]
        error_rate: Option<String> => "error-rate",
        /// Serve nothing for a time in every period, such as '500ms every 5s'; no stalls if absent
        #[arg(long, value_name = "TIME every TIME")]
        stall: Option<String> => "stall",
        /// Serve nothing for a time, once, such as '2s at 3s' after the first request; not if absent
        #[arg(long, value_name = "TIME at TIME")]
        hiccup: Option<String> => "hiccup",
        /// Take longer to serve a share of the requests, such as '1% take 200ms'; none if absent
        #[arg(long, value_name = "SHARE take TIME")]
        slow_tail: Option<String> => "slow-tail",
        /// Take longer at first, and less and less so, such as '100ms for 3s'; not if absent
        #[arg(long, value_name = "TIME for TIME")]
        slow_start: Option<String> => "slow-start",
        /// The most connections held at once; others wait in the kernel's accept queue; no limit if absent
        #[arg(long, value_name = "COUNT")]
        accept_limit: Option<u32> => "accept-limit",
        /// Length of that queue
        #[arg(long, value_name = "COUNT")]
        backlog: Option<u32> => "backlog",
        /// Time after which an idle connection is closed; never if absent
        #[arg(long, value_name = "TIME")]
        keep_alive_timeout: Option<String> => "keep-alive-timeout",
        /// The most requests served on one connection; no limit if absent
        #[arg(long, value_name = "COUNT")]
        keep_alive_requests: Option<u32> => "keep-alive-requests",
        /// Seed of the pages and of the errors
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64> => "seed",
    }
}

/// `farfield serve`
#[derive(Debug, Args)]
pub struct ServeFlags {
    #[command(flatten)]
    pub origin: OriginFlags,
    /// Any key of a scenario's `origin` table, as TOML; other flags outrank it; none if absent
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
}
