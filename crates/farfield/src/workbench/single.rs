//! The page of one run, `farfield run --ui`: the live view in a browser, while the run goes on.
//!
//! Its server runs at idle priority. It takes the figures that the live view takes, through a channel of its
//! own, and never delays the run.

use super::guarded;
use super::shown::shown;
use super::site::{is_page_file, page_file};
use crate::live::figures::{Figures, RunFacts};
use crate::live::view::View;
use crate::problem::Problem;
use crate::web::events::EventHub;
use crate::web::work::Work;
use crate::web::{Priority, Server, Site, WebReply, WebRequest};
use farfield_base::{Duration, printable};
use farfield_engine::Run;
use farfield_os::IdleThread;
use farfield_os::clock::Clock;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// Figures that may wait for the page.
const WAITING: usize = 8;
/// Time that the end of a run waits for the page to have the last figures, and then for its reader to have
/// them.
const PATIENCE: Duration = Duration::from_secs(2);

/// The page of a run.
pub struct RunPage {
    figures: SyncSender<Figures>,
    next_second: usize,
    server: Server,
    hub: Arc<EventHub>,
    done: Receiver<()>,
    drawing: IdleThread,
}

struct OneRun {
    hub: Arc<EventHub>,
    stop: Arc<AtomicBool>,
}

impl RunPage {
    /// Begins the page of a run; `stop` ends the run. Returns its URL too.
    pub fn begin(
        listener: TcpListener,
        run: &Run,
        directory: &Path,
        stop: &Arc<AtomicBool>,
    ) -> Result<(RunPage, String), Problem> {
        let failed = |error: std::io::Error| Problem::failed(format!("--ui: {error}"));
        let (guard, url) = guarded(&listener).map_err(failed)?;
        let hub = Arc::new(EventHub::default());
        let site = Arc::new(OneRun { hub: Arc::clone(&hub), stop: Arc::clone(stop) });
        let server = Server::begin(listener, Priority::Idle, guard, site).map_err(failed)?;
        let (figures, to_show) = sync_channel(WAITING);
        let (ending, done) = channel();
        let view = View::new(RunFacts::of(run), false);
        let name = directory.file_name().unwrap_or(directory.as_os_str()).to_string_lossy();
        let shown_by = Arc::clone(&hub);
        let (name, scenario) = (printable(&name, &[]).into_owned(), run.settings.heading.scenario.clone());
        let stop = Arc::clone(stop);
        let drawing = IdleThread::spawn("page", move || {
            show(view, &to_show, &shown_by, &stop, &name, &scenario);
            drop(ending);
        });
        let drawing = drawing.map_err(failed)?;
        Ok((RunPage { figures, next_second: 0, server, hub, done, drawing }, url))
    }

    /// Hands over the progress of the run.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        let mut next = self.next_second;
        if self.figures.try_send(Figures::of(run, &mut next)).is_ok() {
            self.next_second = next;
        }
    }

    /// Ends the page once it has the last figures.
    pub fn end(self) {
        drop((self.figures, self.drawing));
        // An error means that it has them, or that it gets no processor.
        let _ = self.done.recv_timeout(PATIENCE.to_std());
        self.hub.wait_until_taken(PATIENCE);
        drop(self.server);
    }
}

fn show(
    mut view: View,
    figures: &Receiver<Figures>,
    hub: &EventHub,
    stop: &AtomicBool,
    name: &str,
    scenario: &str,
) {
    let clock = Clock::starting_in(Duration::ZERO);
    let event = |view: &View, running: bool| {
        let figures = shown(view, clock.now());
        let exit = Value::Null;
        json!({ "id": 1, "name": name, "scenario": printable(scenario, &[]), "running": running, "exit": exit,
                "messages": "", "figures": figures })
    };
    hub.send("run", &event(&view, true));
    for figures in figures {
        view.take(figures, clock.now());
        view.ending = stop.load(Ordering::Relaxed);
        hub.send("run", &event(&view, true));
    }
    (view.ending, view.ended) = (false, true);
    hub.send("run", &event(&view, false));
    hub.close();
}

impl Site for OneRun {
    fn is_public(&self, path: &str) -> bool {
        is_page_file(path)
    }

    fn work(&self, _asked: &WebRequest) -> Work {
        Work::Memory
    }

    fn answer(&self, asked: &WebRequest) -> WebReply {
        match (&asked.method, asked.path.as_str()) {
            (&Method::GET, "/api/about") => WebReply::json(
                &json!({ "single": true, "read_only": false, "version": env!("CARGO_PKG_VERSION") }),
            ),
            (&Method::GET, "/api/events") => match self.hub.join() {
                Some(events) => WebReply::events(events),
                None => WebReply::refusal(StatusCode::SERVICE_UNAVAILABLE, "too many pages show this run"),
            },
            (&Method::POST, "/api/stop") => {
                self.stop.store(true, Ordering::Relaxed);
                WebReply::json(&json!({}))
            }
            (&Method::GET, path) => page_file(path).unwrap_or_else(WebReply::nothing),
            _ => WebReply::nothing(),
        }
    }
}
