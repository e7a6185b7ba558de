//! Runs that are watched while they go on: in a terminal, by monitoring systems, by a browser.

mod browser;
mod descriptors;
mod driver;
mod experiments;
mod form;
mod kept;
mod live;
mod looks;
mod metrics;
mod monitors;
mod workbench;

use crate::common::{Running, poll};
use farfield_testkit::scenes as common;
use std::time::Duration;
use ureq::http::Response;
use ureq::{Agent, Body};

/// A client that takes any status for an answer.
pub fn client() -> Agent {
    let config = Agent::config_builder().http_status_as_error(false).proxy(None).max_redirects(0);
    Agent::new_with_config(config.timeout_global(Some(Duration::from_secs(60))).build())
}

/// The body of an answer as text.
pub fn text(mut answer: Response<Body>) -> String {
    answer.body_mut().read_to_string().expect("text")
}

/// The URL behind `words` in what a farfield has said on standard error.
pub fn url_said(running: &Running, words: &str) -> String {
    poll(&format!("`{words}` to be said"), || {
        let said = running.said();
        let (_, rest) = said.split_once(words)?;
        let (url, _) = rest.split_once('\n')?;
        Some(url.trim().to_owned())
    })
}
