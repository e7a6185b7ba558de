//! `farfield serve`: the built-in server on its own.

use crate::exit::Exit;
use crate::flags::serve::ServeFlags;
use crate::output;
use crate::problem::Problem;
use farfield_engine::{descriptors, interrupt};
use farfield_http::tls::Pin;
use farfield_origin::{Counters, Origin, OriginConfig};
use std::sync::atomic::Ordering;
use toml::{Table, Value};

/// Serves until Ctrl-C.
pub fn serve(flags: &ServeFlags) -> Result<Exit, Problem> {
    let config = config(flags)?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let origin = Origin::start(config).map_err(Problem::failed)?;
    let mut said = format!(
        "serving {}://{}/ (its index lists what there is); Ctrl-C ends it\n",
        if origin.public_key_info().is_some() { "https" } else { "http" },
        origin.address()
    );
    if let Some(key) = origin.public_key_info() {
        said += &format!(
            "{}: `--insecure` accepts it, and so does `--set 'tls.pins=[\"{}\"]'`\n",
            if flags.origin.cert.is_some() {
                "with the given certificate"
            } else {
                "its certificate, for localhost, was made just now"
            },
            Pin::of(key)
        );
    }
    // At once: whoever waits for the first line finds the pin as well.
    output::put(&said)?;
    let mut refused = false;
    while !stop.load(Ordering::Relaxed) {
        let served = origin.served();
        if let Some(sentence) = ended(origin.has_died(), &served) {
            return Err(Problem::failed(sentence));
        }
        if served.accept_failures > 0 && !refused {
            refused = true;
            output::put_error(format_args!("farfield: {}\n", without_room(&served)));
        }
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    origin.stop();
    let served = origin.served();
    output::put(&summary(&served))?;
    Ok(Exit::Fine)
}

/// A sentence on the server, if it has ended by itself.
fn ended(has_died: bool, served: &Counters) -> Option<String> {
    has_died.then(|| {
        format!(
            "the server has ended by itself after {} requests, by a defect of farfield that is reported above; start it again",
            served.requests
        )
    })
}

/// The sentence about connections that cannot be accepted.
fn without_room(served: &Counters) -> String {
    let error = std::io::Error::from_raw_os_error(served.accept_error);
    let limit =
        descriptors::limits().hard.map_or("no limit".to_owned(), |limit| format!("{limit} descriptors"));
    format!(
        "a connection cannot be accepted: {error}; clients wait until another connection ends. This process has {limit}; \
         raise it with `ulimit -Hn`, or have fewer connections"
    )
}

/// The last line: what was served.
fn summary(served: &Counters) -> String {
    let failed = match served.accept_failures {
        0 => String::new(),
        count => format!("; accepting a connection failed {count} times"),
    };
    format!(
        "served {} requests on {} connections, {} of them errors on purpose{failed}\n",
        served.requests, served.connections, served.errors
    )
}

/// The flags as the `origin` table of a scenario, so that both get the same checks and messages.
fn config(flags: &ServeFlags) -> Result<OriginConfig, Problem> {
    let written = flags.config.as_deref().unwrap_or_default();
    let mut table: Table = written
        .parse()
        .map_err(|error: toml::de::Error| Problem::usage(format!("--config: {}", error.message())))?;
    flags.origin.lay(&mut table);
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        match error.path().to_string().as_str() {
            "bind" => Problem::usage(format!(
                "{}: write an address and a port, such as 127.0.0.1:8080",
                flags.origin.bind
            )),
            key => Problem::usage(format!(
                "--{key}: {}",
                farfield_scenario::in_user_words(
                    error.inner().to_string().lines().next().unwrap_or_default()
                )
            )),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_died_is_a_problem_of_its_own() {
        let served = Counters { requests: 7, ..Counters::default() };
        assert_eq!(ended(false, &served), None);
        assert!(ended(true, &served).is_some_and(|sentence| sentence.contains("after 7 requests")));
    }

    #[test]
    fn connections_that_could_not_be_accepted_are_counted_in_the_last_line() {
        let served = Counters { requests: 2, connections: 1, ..Counters::default() };
        assert_eq!(summary(&served), "served 2 requests on 1 connections, 0 of them errors on purpose\n");
        let served = Counters { accept_failures: 3, accept_error: 24, ..served };
        assert!(summary(&served).ends_with("purpose; accepting a connection failed 3 times\n"));
        assert!(without_room(&served).contains("Too many open files"));
    }
}
