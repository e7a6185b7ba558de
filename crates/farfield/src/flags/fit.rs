//! The flags of `farfield fit` and `farfield advise`.

use clap::{Args, Subcommand, ValueEnum};
use farfield_base::Duration;
use std::path::PathBuf;

/// `farfield fit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield fit /var/log/nginx/access.log.2.gz /var/log/nginx/access.log.1 -o shop\n  \
    farfield run shop/scenario.toml\n  \
    farfield site make shop/site.json /var/www/shop\n  \
    farfield fit access.log -o shop --target http://127.0.0.1:8080/ --speed 60")]
pub struct FitFlags {
    #[command(flatten)]
    pub log: LogFlags,
    /// Folder for scenario.toml, site.json, fit.json and report.html; it may exist, but must contain none of
    /// these
    #[arg(short = 'o', long, value_name = "DIRECTORY", default_value = "fit")]
    pub out: PathBuf,
    /// URL of a server that has the log's own paths: the scenario then requests these. Without it, the
    /// scenario requests the site in site.json, which the built-in server serves, and any other server once
    /// `farfield site make` has written its files (absent: that site)
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Factor by which sessions arrive, and users think, faster than in the log. By default 1, or more if ten
    /// minutes would then contain next to nothing
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<f64>,
    /// Let the rate of sessions vary as in the log, for as long as the log; by default it is the mean, for
    /// ten minutes at most
    #[arg(long)]
    pub course: bool,
    /// The most objects that the scenario and the site have; the most popular ones are kept
    #[arg(long, value_name = "COUNT", default_value_t = 5_000)]
    pub objects: usize,
}

/// Options for reading and fitting a log.
#[derive(Debug, Args)]
pub struct LogFlags {
    /// Access logs, oldest first, plain or compressed with gzip, zstd, bzip2 or xz; - is standard input
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// Layout of the lines, by default detected from the first of them: common, combined, extended, json, gn,
    /// caddy, traefik, google, ecs, vhost, alb, elb, s3, envoy, haproxy, squid; or a pattern with Apache's
    /// directives or nginx's variables, such as '%h %l %u %t "%r" %>s %b'
    #[arg(long, value_name = "LAYOUT")]
    pub format: Option<String>,
    /// Unit of a transfer time that follows the usual fields; in an extended log, the unit of time-taken, by
    /// default seconds, or milliseconds if its #Software line is Microsoft's
    #[arg(long, value_name = "UNIT", value_enum)]
    pub transfer: Option<Unit>,
    /// A field of JSON lines, such as client=request.remote_ip; one of time, client, agent, method, path,
    /// request, referrer, status, bytes, transfer. May be repeated
    #[arg(long = "field", value_name = "WHAT=NAME")]
    pub fields: Vec<String>,
    /// A request sooner than this after the one before belongs to its page
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub t_min: Duration,
    /// A request later than this after the one before begins a session
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub t_max: Duration,
    /// Treat URLs that differ only in their query as different objects
    #[arg(long)]
    pub keep_query: bool,
    /// The log's times are the ends of requests, as nginx writes them
    #[arg(long)]
    pub stamped_at_end: bool,
    /// Try single distributions only, no mixtures, which is much faster
    #[arg(long, alias = "single-laws")]
    pub single_distributions: bool,
    /// Seed of all random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

/// A unit of transfer times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

/// `farfield advise`
#[derive(Debug, Args)]
pub struct AdviseFlags {
    #[command(subcommand)]
    pub what: AdviseCommand,
}

#[derive(Debug, Subcommand)]
pub enum AdviseCommand {
    /// Recommend a keep-alive timeout, for a server whose connections each hold a worker.
    Keepalive(KeepaliveFlags),
}

/// `farfield advise keepalive`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield advise keepalive access.log.gz --workers 150 --rtt 80ms\n  \
    farfield advise keepalive shop/fit.json --page 200ms --timeout 5s")]
pub struct KeepaliveFlags {
    #[command(flatten)]
    pub log: LogFlags,
    /// Workers of the server, each of which holds one connection
    #[arg(long, value_name = "COUNT", default_value_t = 150)]
    pub workers: u32,
    /// Round-trip time between users and the server
    #[arg(long, value_name = "TIME", default_value = "80ms")]
    pub rtt: Duration,
    /// Extra time that a page takes on a new connection; by default two round trips
    #[arg(long, value_name = "TIME")]
    pub gain: Option<Duration>,
    /// Time for which a page on a kept connection holds a worker; by default one round trip
    #[arg(long, value_name = "TIME")]
    pub page: Option<Duration>,
    /// The server's present timeout, to compare with
    #[arg(long, value_name = "TIME", default_value = "15s")]
    pub timeout: Duration,
    /// Users who leave close their connection; by default the timeout closes it
    #[arg(long)]
    pub leavers_close: bool,
}
