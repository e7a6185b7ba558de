//! Server-sent events (WHATWG HTML, section 9.2): a stream for each client, and all of them fed together.
//!
//! Feeding never waits. A client that has not taken the events before is disconnected; its browser connects
//! anew and gets what is newest.

use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Events that may wait for a client.
const WAITING: usize = 16;
/// Clients at once.
const CLIENTS_MAX: usize = 32;

/// Events on their way to a client.
#[derive(Debug)]
pub struct Events {
    waiting: Receiver<Bytes>,
    /// Shows the hub that the stream is open.
    _open: Arc<()>,
}

impl Events {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.waiting.poll_recv(context)
    }
}

/// All clients of a stream, and the newest event of each name, which a new client gets first.
#[derive(Debug, Default)]
pub struct EventHub {
    fed: Mutex<EventFeed>,
    /// Held by each stream of events that is open.
    open: Arc<()>,
}

#[derive(Debug, Default)]
struct EventFeed {
    clients: Vec<Sender<Bytes>>,
    newest: Vec<(String, Bytes)>,
    closed: bool,
}

impl EventHub {
    /// Sends an event to all clients. `data` is a document of JSON, and so has no line ends.
    pub fn send(&self, name: &str, data: &serde_json::Value) {
        let event = Bytes::from(format!("event: {name}\ndata: {data}\n\n"));
        let mut fed = self.fed.lock().unwrap_or_else(PoisonError::into_inner);
        match fed.newest.iter_mut().find(|(known, _)| known == name) {
            Some((_, newest)) => *newest = event.clone(),
            None => fed.newest.push((name.to_owned(), event.clone())),
        }
        fed.clients.retain(|client| client.try_send(event.clone()).is_ok());
    }

    /// A new client; `None` where there are too many.
    pub fn join(&self) -> Option<Events> {
        let (send, receive) = channel(WAITING);
        let mut fed = self.fed.lock().unwrap_or_else(PoisonError::into_inner);
        fed.clients.retain(|client| !client.is_closed());
        if fed.clients.len() >= CLIENTS_MAX {
            return None;
        }
        // A comment makes the browser see at once that the stream is open.
        let opening = std::iter::once(Bytes::from_static(b": farfield\n\n"));
        for event in opening.chain(fed.newest.iter().map(|(_, event)| event.clone())) {
            // Names are few: there is room for all.
            let _ = send.try_send(event);
        }
        if !fed.closed {
            fed.clients.push(send);
        }
        Some(Events { waiting: receive, _open: Arc::clone(&self.open) })
    }

    /// Ends the streams once their clients have what was sent.
    pub fn close(&self) {
        let mut fed = self.fed.lock().unwrap_or_else(PoisonError::into_inner);
        fed.clients.clear();
        fed.closed = true;
    }

    /// Waits until the clients of a hub that was closed have what was sent, or for `at_most`.
    pub fn wait_until_taken(&self, at_most: Duration) {
        let clock = Clock::starting_in(Duration::ZERO);
        while Arc::strong_count(&self.open) > 1 && clock.now() < Instant::ZERO + at_most {
            std::thread::park_timeout(Duration::from_ms(5).to_std());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn taken(events: &mut Events) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(event) = events.waiting.try_recv() {
            all.push(String::from_utf8(event.to_vec()).expect("UTF-8"));
        }
        all
    }

    #[test]
    fn a_new_client_gets_the_newest_and_a_slow_one_is_dropped() {
        let hub = EventHub::default();
        hub.send("a", &json!(1));
        hub.send("a", &json!({ "text": "two\nlines" }));
        let mut slow = hub.join().expect("room");
        let mut quick = hub.join().expect("room");
        let first = taken(&mut quick);
        assert_eq!(first, [": farfield\n\n", "event: a\ndata: {\"text\":\"two\\nlines\"}\n\n"]);
        for number in 0..20 {
            hub.send("b", &json!(number));
            assert_eq!(taken(&mut quick).len(), 1);
        }
        assert!(taken(&mut slow).len() <= WAITING, "what waits for a client is bounded");
        assert!(slow.waiting.try_recv().is_err());
        hub.close();
        hub.wait_until_taken(Duration::ZERO);
        assert!(matches!(
            quick.waiting.try_recv(),
            Err(tokio::sync::mpsc::error::TryRecvError::Disconnected)
        ));
    }
}
