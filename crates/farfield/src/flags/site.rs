//! The flags of `farfield site`.

use clap::{Args, Subcommand};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// `farfield site`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield site make surge www\n  \
    farfield site show today > model.toml\n  \
    farfield site make model.toml www --seed 7\n  \
    farfield site read /var/www/html -o site.json\n  \
    farfield site crawl http://127.0.0.1:8080/ -o site.json\n\n\
A scenario drives such a site with [requests] site = \"www/site.json\"; without a target the built-in server serves \
it.")]
pub struct SiteFlags {
    #[command(subcommand)]
    pub what: SiteCommand,
}

#[derive(Debug, Subcommand)]
pub enum SiteCommand {
    /// Write the files of a site, each of exactly its size, for any web server to serve.
    Make(MakeFlags),
    /// Print a model that comes with farfield, as a start for your own.
    Show {
        /// surge, prowgen, wagon or today
        model: String,
    },
    /// Describe a folder of files as a site: pages by their HTML, with what they embed and link to.
    Read {
        /// The folder
        directory: PathBuf,
        /// The file for the site
        #[arg(short = 'o', long, value_name = "FILE", default_value = "site.json")]
        out: PathBuf,
    },
    /// Describe what a server serves as a site: follow links and embedded objects from a page, one request
    /// at a time.
    Crawl(CrawlFlags),
}

/// `farfield site make`
#[derive(Debug, Args)]
pub struct MakeFlags {
    /// surge, prowgen, wagon, today, a model such as model.toml, or a site such as site.json
    pub model: String,
    /// Folder for the files; it must be empty, or not exist yet
    pub directory: PathBuf,
    /// Seed of the site, as `site-seed` in a scenario's `[requests]`
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

/// `farfield site crawl`
#[derive(Debug, Args)]
pub struct CrawlFlags {
    /// Page to start from, such as http://127.0.0.1:8080/
    pub url: String,
    /// The file for the site
    #[arg(short = 'o', long, value_name = "FILE", default_value = "site.json")]
    pub out: PathBuf,
    /// Number of objects after which the crawl ends
    #[arg(long, value_name = "NUMBER", default_value = "10000")]
    pub objects_max: NonZeroU32,
}
