//! Keep-alive of a connection of HTTP/2 or HTTP/3: when the origin announces its end (GOAWAY).
//!
//! Streams that are open then are still answered, and so are those that the client opens until it has read
//! the announcement (RFC 9113 section 6.8, RFC 9114 section 5.2). HTTP/1 has these limits in hyper, and in
//! the reply's own fields.

use async_io::Timer;
use farfield_base::Duration;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::Notify;

/// Limits and state of one connection.
pub(crate) struct KeepAlive {
    /// Idle time after which the connection ends; zero ends it after its first reply.
    timeout: Option<Duration>,
    /// Requests after which it ends.
    requests_max: Option<NonZeroU32>,
    activity: Arc<Activity>,
}

#[derive(Debug, Default)]
struct Activity {
    begun: AtomicU32,
    ended: AtomicU32,
    changed: Notify,
}

/// A request that is being answered.
pub(crate) struct ActiveRequest {
    activity: Arc<Activity>,
    number: u32,
}

impl KeepAlive {
    pub(crate) fn new(timeout: Option<Duration>, requests_max: Option<NonZeroU32>) -> KeepAlive {
        KeepAlive { timeout, requests_max, activity: Arc::default() }
    }

    /// Notes that a request has come. It ends when the value is dropped.
    pub(crate) fn begin(&self) -> ActiveRequest {
        let number = self.activity.begun.fetch_add(1, Relaxed).saturating_add(1);
        self.activity.changed.notify_one();
        ActiveRequest { activity: Arc::clone(&self.activity), number }
    }

    /// Waits until a limit is reached.
    pub(crate) async fn over(&self) {
        loop {
            let (begun, ended) = (self.activity.begun.load(Relaxed), self.activity.ended.load(Relaxed));
            let closes_at_once = self.timeout.is_some_and(Duration::is_zero);
            let most = if closes_at_once { Some(NonZeroU32::MIN) } else { self.requests_max };
            if most.is_some_and(|most| begun >= most.get()) {
                return;
            }
            match self.timeout.filter(|timeout| !timeout.is_zero() && begun == ended) {
                None => self.activity.changed.notified().await,
                Some(timeout) => tokio::select! {
                    () = self.activity.changed.notified() => {}
                    _ = Timer::after(timeout.to_std()) => return,
                },
            }
        }
    }

    /// Waits until no request has been answered or awaited an answer for `time`.
    pub(crate) async fn idle_for(&self, time: Duration) {
        loop {
            let (begun, ended) = (self.activity.begun.load(Relaxed), self.activity.ended.load(Relaxed));
            tokio::select! {
                () = self.activity.changed.notified() => {}
                _ = Timer::after(time.to_std()), if begun == ended => return,
            }
        }
    }
}

impl ActiveRequest {
    /// Number of the request on its connection, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.activity.ended.fetch_add(1, Relaxed);
        self.activity.changed.notify_one();
    }
}
