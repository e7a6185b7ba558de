//! `farfield serve`: the built-in server on its own.

use crate::exit::Exit;
use crate::flags::ServeFlags;
use crate::output;
use crate::problem::Problem;
use farfield_engine::{descriptors, interrupt};
use farfield_http::tls::Pin;
use farfield_origin::{Origin, OriginConfig};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use toml::{Table, Value};

/// Serves until Ctrl-C.
pub fn serve(flags: &ServeFlags) -> Result<Exit, Problem> {
    let config = config(flags)?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let origin = Origin::start(config).map_err(Problem::failed)?;
    output::put(&format!(
        "serving {}://{}/ (its index lists what there is); Ctrl-C ends it\n",
        if origin.public_key_info().is_some() { "https" } else { "http" },
        origin.address()
    ))?;
    if let Some(key) = origin.public_key_info() {
        output::put(&format!(
            "{}: `--insecure` accepts it, and so does `--set 'tls.pins=[\"{}\"]'`\n",
            if flags.cert.is_some() {
                "with the given certificate"
            } else {
                "its certificate, for localhost, was made just now"
            },
            Pin::of(key)
        ))?;
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    origin.stop();
    let served = origin.served();
    output::put(&format!(
        "served {} requests on {} connections, {} of them errors on purpose\n",
        served.requests, served.connections, served.errors
    ))?;
    Ok(Exit::Fine)
}

/// The flags as the `origin` table of a scenario, so that both get the same checks and messages.
fn config(flags: &ServeFlags) -> Result<OriginConfig, Problem> {
    let written = flags.config.as_deref().unwrap_or_default();
    let mut table: Table = written
        .parse()
        .map_err(|error: toml::de::Error| Problem::usage(format!("--config: {}", error.message())))?;
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.as_ref().map(|text| Value::from(text.as_str()));
    let count = |count: Option<u32>| count.map(|count| Value::from(i64::from(count)));
    set("bind", Some(flags.bind.as_str().into()));
    set("tls", flags.tls.then(|| Value::from(true)));
    let path =
        |path: &Option<PathBuf>| path.as_ref().map(|path| Value::from(path.to_string_lossy().as_ref()));
    set("certificate", path(&flags.cert));
    set("key", path(&flags.key));
    set("threads", count(flags.threads));
    set("service-time", text(&flags.service_time));
    set("servers", count(flags.servers));
    set("error-rate", text(&flags.error_rate));
    set("stall", text(&flags.stall));
    set("hiccup", text(&flags.hiccup));
    set("slow-tail", text(&flags.slow_tail));
    set("slow-start", text(&flags.slow_start));
    set("accept-limit", count(flags.accept_limit));
    set("backlog", count(flags.backlog));
    set("keep-alive-timeout", text(&flags.keep_alive_timeout));
    set("keep-alive-requests", count(flags.keep_alive_requests));
    set("seed", flags.seed.map(|seed| Value::from(seed as i64)));
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        match error.path().to_string().as_str() {
            "bind" => {
                Problem::usage(format!("{}: write an address and a port, such as 127.0.0.1:8080", flags.bind))
            }
            key => Problem::usage(format!(
                "--{key}: {}",
                farfield_scenario::in_user_words(
                    error.inner().to_string().lines().next().unwrap_or_default()
                )
            )),
        }
    })
}
