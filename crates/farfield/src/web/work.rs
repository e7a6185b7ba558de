//! Answers that take their time, in lanes that do not wait for one another.
//!
//! A check reads the files that a scenario names, a report the samples of a run: on a slow disk, or of a
//! large run, either may take long, or never end. Each kind of work has threads of its own, a bound on
//! what may wait for them, and limits on the time of waiting and of answering. Work that does not end
//! keeps its thread, which nothing can take from it, and no other kind notices.

use super::WebReply;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task;
use tokio::time::timeout;

/// The kind of work that an answer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Memory alone: it is answered at once, by the thread that serves connections.
    Memory,
    /// The lists and files of a folder.
    Folder,
    /// A scenario that is read, with the files that it names.
    Check,
    /// The results of runs.
    Report,
    /// The end of a run.
    Stop,
}

/// Bounds of each lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneLimits {
    /// Threads.
    pub threads: usize,
    /// Requests that may wait for one of them.
    pub waiting: usize,
    /// The longest wait for a thread.
    pub turn: Duration,
    /// The longest that an answer may take then.
    pub answer: Duration,
}

impl Default for LaneLimits {
    fn default() -> LaneLimits {
        let seconds = Duration::from_secs;
        LaneLimits { threads: 2, waiting: 16, turn: seconds(10), answer: seconds(120) }
    }
}

impl LaneLimits {
    /// Threads of all lanes.
    pub fn threads_of_all(&self) -> usize {
        LANES * self.threads
    }
}

/// Kinds of work that have threads.
const LANES: usize = 4;

/// The lanes of a server.
#[derive(Debug)]
pub struct Lanes {
    bounds: LaneLimits,
    folder: Lane,
    check: Lane,
    report: Lane,
    stop: Lane,
}

#[derive(Debug)]
struct Lane {
    /// The name of its work, for its refusals.
    name: &'static str,
    /// Leave to be in the lane, at work or waiting.
    places: Arc<Semaphore>,
    /// Leave to be at work.
    threads: Arc<Semaphore>,
}

impl Lane {
    fn new(name: &'static str, bounds: LaneLimits) -> Lane {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let places = semaphore(bounds.threads + bounds.waiting);
        Lane { name, places, threads: semaphore(bounds.threads) }
    }
}

impl Lanes {
    pub fn new(bounds: LaneLimits) -> Lanes {
        let lane = |name| Lane::new(name, bounds);
        let (folder, check) = (lane("readings of a folder"), lane("checks of scenarios"));
        Lanes { bounds, folder, check, report: lane("reports"), stop: lane("ends of runs") }
    }

    /// The answer that `answer` makes, in the lane of `work`. Whoever no longer waits for it leaves the
    /// queue.
    pub async fn answer(&self, work: Work, answer: impl FnOnce() -> WebReply + Send + 'static) -> WebReply {
        let lane = match work {
            Work::Memory => return answer(),
            Work::Folder => &self.folder,
            Work::Check => &self.check,
            Work::Report => &self.report,
            Work::Stop => &self.stop,
        };
        let Ok(place) = Arc::clone(&lane.places).try_acquire_owned() else { return lane.is_full() };
        let turn = timeout(self.bounds.turn, Arc::clone(&lane.threads).acquire_owned()).await;
        let Ok(Ok(thread)) = turn else { return lane.is_full() };
        let working = task::spawn_blocking(move || {
            let answer = answer();
            // Not before the work has ended, whether anybody waits for it or not.
            drop((place, thread));
            answer
        });
        match timeout(self.bounds.answer, working).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                let sentence = "farfield could not answer; this is a bug of it";
                WebReply::refusal(StatusCode::INTERNAL_SERVER_ERROR, sentence)
            }
            Err(_) => WebReply::refusal(
                StatusCode::GATEWAY_TIMEOUT,
                &format!(
                    "there is no answer after {} s: a disk or a file that it reads does not answer; \
                     other pages of the workbench do",
                    self.bounds.answer.as_secs()
                ),
            ),
        }
    }
}

impl Lane {
    fn is_full(&self) -> WebReply {
        let sentence = format!(
            "earlier {} are still at work; try again later, and see whether a file that they read answers",
            self.name
        );
        WebReply::refusal(StatusCode::SERVICE_UNAVAILABLE, &sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    const LONG: Duration = Duration::from_secs(600);

    fn runtime(bounds: LaneLimits) -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().max_blocking_threads(bounds.threads_of_all()).build().expect("an event loop")
    }

    /// Work that lasts until the sender goes.
    fn stuck() -> (Sender<()>, impl FnOnce() -> WebReply + Send + 'static) {
        let (release, released): (Sender<()>, Receiver<()>) = channel();
        (release, move || {
            let _ = released.recv();
            WebReply::nothing()
        })
    }

    fn fine() -> WebReply {
        WebReply::file("text/plain", "fine")
    }

    #[test]
    fn stuck_checks_hold_up_checks_alone_and_a_bounded_number_of_them() {
        let bounds = LaneLimits { threads: 2, waiting: 3, turn: LONG, answer: LONG };
        runtime(bounds).block_on(async {
            let lanes = Arc::new(Lanes::new(bounds));
            let (mut releases, mut held) = (Vec::new(), Vec::new());
            for _ in 0..5 {
                let (release, work) = stuck();
                releases.push(release);
                let lanes = Arc::clone(&lanes);
                held.push(task::spawn(async move { lanes.answer(Work::Check, work).await }));
            }
            task::yield_now().await;
            let refused = lanes.answer(Work::Check, fine).await;
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
            for other in [Work::Memory, Work::Folder, Work::Report, Work::Stop] {
                assert_eq!(lanes.answer(other, fine).await.whole(), b"fine", "{other:?}");
            }
            // One that gives up waiting makes room for another.
            held.pop().expect("one that waits").abort();
            task::yield_now().await;
            let (release, work) = stuck();
            releases.push(release);
            let next = task::spawn({
                let lanes = Arc::clone(&lanes);
                async move { lanes.answer(Work::Check, work).await }
            });
            task::yield_now().await;
            assert_eq!(lanes.answer(Work::Check, fine).await.status(), StatusCode::SERVICE_UNAVAILABLE);
            drop(releases);
            for answer in held.into_iter().chain([next]) {
                assert_eq!(answer.await.expect("an answer").status(), StatusCode::NOT_FOUND);
            }
            assert_eq!(lanes.answer(Work::Check, fine).await.whole(), b"fine", "they have ended");
        });
    }

    #[test]
    fn an_answer_that_does_not_come_is_said_to() {
        let bounds = LaneLimits { threads: 1, waiting: 1, turn: Duration::ZERO, answer: Duration::ZERO };
        runtime(bounds).block_on(async {
            let lanes = Lanes::new(bounds);
            let (release, work) = stuck();
            let late = lanes.answer(Work::Report, work).await;
            assert_eq!(late.status(), StatusCode::GATEWAY_TIMEOUT);
            // Its thread is still at work.
            let refused = lanes.answer(Work::Report, fine).await;
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
            drop(release);
        });
    }

    #[test]
    fn a_panic_gives_its_thread_back() {
        let bounds = LaneLimits { threads: 1, waiting: 0, turn: LONG, answer: LONG };
        runtime(bounds).block_on(async {
            let lanes = Lanes::new(bounds);
            let broken = lanes.answer(Work::Folder, || panic!("a defect, on purpose")).await;
            assert_eq!(broken.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(lanes.answer(Work::Folder, fine).await.whole(), b"fine");
        });
    }
}
