//! A part of a rendezvous: joins the gatherer, waits for the start, reports its figures, and hands the files
//! of its run directory over.
//!
//! A thread of its own holds the connection, so that pings are answered at once whatever the run does. Where
//! the gatherer is gone, or says nothing for [`SILENCE_NS`], the run ends as by Ctrl-C, and what was measured
//! is on the part's own disk.

use super::gatherer::FILES;
use super::link::{Link, LinkError, WaitEnd, Waker};
use super::scenario_digest;
use super::ticket::Ticket;
use super::wire::{
    CHUNK, Frame, FrameError, HANDOUT_FILES, HANDOUT_MAX, HandoutFile, Hello, OfGatherer, OfPart,
    PartFigures, VERSION, plain,
};
use crate::run::{CommonStart, StartError, StartSource};
use farfield_base::Part;
use farfield_files::open_regular;
use farfield_os::clock::monotonic_ns;
use rustls::ClientConnection;
use rustls::pki_types::{IpAddr, Ipv4Addr, ServerName};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Time without a word after which the gatherer is taken for gone: it pings twice a second.
const SILENCE_NS: u64 = 3_000_000_000;
/// Time without a word ahead of the start: the machines may be busy with making users.
const UNBEGUN_NS: u64 = 20_000_000_000;
/// Time for the handout, and for what the gatherer has to say at the end.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Time to connect to one address.
const CONNECT: Duration = Duration::from_secs(3);
/// Time between two tries to connect.
const AGAIN: Duration = Duration::from_millis(200);
/// The longest wait between two looks at a flag.
const LOOK: Duration = Duration::from_millis(100);

/// The words by which a part joins.
#[derive(Debug, Clone)]
pub struct JoinSettings {
    /// Address of the gatherer, `host:port`.
    pub address: String,
    /// The gatherer's ticket.
    pub ticket: Ticket,
    /// The part that is asked for; any if absent.
    pub part: Option<Part>,
    /// The place of this process among those of its engine, from 0.
    pub rank: Option<u32>,
    /// The version of farfield.
    pub farfield: String,
    /// The name of this machine.
    pub host: String,
    /// Time for which the gatherer may not be there yet, in nanoseconds.
    pub wait_ns: u64,
}

/// The reason why a part is in no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Nobody is there.
    #[error("no gatherer at {address}: {why}")]
    Unreachable {
        /// The address.
        address: String,
        /// The last reason.
        why: String,
    },
    /// The connection ended before the scenario was there.
    #[error("the gatherer at {address} is busy, or gone: {why}")]
    Broken {
        /// The address.
        address: String,
        /// The last reason.
        why: String,
    },
    /// The gatherer has another key.
    #[error("the gatherer at {0} is not the one of this ticket: its key is another")]
    OtherKey(String),
    /// The gatherer refuses this part.
    #[error("the gatherer refused this part: {0}")]
    Refused(String),
    /// The gatherer is gone, or has ended the run.
    #[error("the gatherer ended it: {0}")]
    Ended(String),
}

/// A part that has joined.
pub struct Member {
    shared: Arc<Shared>,
    part: Part,
    files: Vec<HandoutFile>,
}

struct Shared {
    state: Mutex<MemberState>,
    changed: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct MemberState {
    /// Messages to be sent, in order.
    out: VecDeque<OfPart>,
    /// The latest figures.
    figures: Option<PartFigures>,
    /// A directory to be handed over.
    directory: Option<PathBuf>,
    start: Option<CommonStart>,
    /// The scenario as it was read here.
    scenario: Option<String>,
    /// The run is to end, and why.
    ended: Option<String>,
    /// The end of the connection: all is handed over, or why not.
    over: Option<Result<(), String>>,
    stop: Option<Arc<AtomicBool>>,
}

impl MemberState {
    fn end(&mut self, why: &str) {
        self.ended.get_or_insert_with(|| why.to_owned());
        if let Some(stop) = &self.stop {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, post: impl FnOnce(&mut MemberState)) {
        post(&mut self.state());
        self.waker.wake();
    }

    /// Waits for what `found` finds, with a look now and then.
    fn wait<T>(&self, mut found: impl FnMut(&MemberState) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return found;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Member({})", self.part)
    }
}

impl Member {
    /// Joins the gatherer. One that is not there yet, or is beset by strangers, is tried again for a while.
    ///
    /// # Errors
    /// If it is not there, is another one, or refuses.
    #[expect(clippy::disallowed_methods, reason = "no event says that another machine has time")]
    pub fn join(joining: &JoinSettings) -> Result<Member, JoinError> {
        let until = monotonic_ns() + joining.wait_ns;
        loop {
            match Member::try_to_join(joining, until) {
                Err(JoinError::Broken { .. }) if monotonic_ns() < until => std::thread::sleep(AGAIN),
                joined => return joined,
            }
        }
    }

    fn try_to_join(joining: &JoinSettings, until: u64) -> Result<Member, JoinError> {
        let socket = connect(joining, until)?;
        let io = |error: io::Error| JoinError::Ended(error.to_string());
        // Raw keys have no name; TLS wants one.
        let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::from([127, 0, 0, 1])));
        let tls = ClientConnection::new(joining.ticket.client(), name);
        let tls = tls.map_err(|error| JoinError::Ended(error.to_string()))?;
        let mut link = Link::new(tls.into(), socket).map_err(io)?;
        let wrong = |error: LinkError| match error {
            LinkError::Tls(rustls::Error::InvalidCertificate(_)) => {
                JoinError::OtherKey(joining.address.clone())
            }
            error => JoinError::Broken { address: joining.address.clone(), why: error.to_string() },
        };
        let hello = Hello {
            version: VERSION,
            farfield: joining.farfield.clone(),
            token: joining.ticket.token(),
            part: joining.part,
            rank: joining.rank,
            host: plain(&joining.host),
        };
        link.send(&hello).map_err(wrong)?;
        link.trust();
        let (part, files) = take_handout(&mut link, joining.part).map_err(|refused| match refused {
            Ok(error) => error,
            Err(error) => wrong(error),
        })?;
        let waker = Waker::new().map_err(io)?;
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), waker });
        let own = Arc::clone(&shared);
        let begun = Builder::new().name("rendezvous".to_owned()).spawn(move || hold(&own, link));
        begun.map_err(io)?;
        Ok(Member { shared, part, files })
    }

    /// The part to make.
    pub fn part(&self) -> Part {
        self.part
    }

    /// The scenario and its files.
    pub fn files(&self) -> &[HandoutFile] {
        &self.files
    }

    /// Notes the scenario as it was read here, with this part's flags, which the gatherer compares with its
    /// own before the start.
    pub fn holds(&self, scenario: String) {
        self.shared.state().scenario = Some(scenario);
    }

    /// Sets `stop` when the run is to end.
    pub fn ends(&self, stop: &Arc<AtomicBool>) {
        let mut state = self.shared.state();
        state.stop = Some(Arc::clone(stop));
        if state.ended.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// The reason why the gatherer has ended the run, or that it is gone.
    pub fn ended(&self) -> Option<String> {
        self.shared.state().ended.clone()
    }

    /// Reports the figures so far.
    pub fn report(&self, figures: PartFigures) {
        self.shared.post(|state| state.figures = Some(figures));
    }

    /// Reports that there is no run, and why.
    pub fn fail(&self, why: &str) {
        self.shared.post(|state| state.out.push_back(OfPart::Failed { why: plain(why) }));
        let _ = self.over();
    }

    /// Leaves before the start, so that another process may take the place.
    pub fn leave(&self, why: &str) {
        self.shared.post(|state| state.out.push_back(OfPart::Leaves { why: plain(why) }));
        let _ = self.over();
    }

    /// Hands the files of the run directory over, and waits until they are kept.
    ///
    /// # Errors
    /// A reason why they are not kept.
    pub fn hand_over(&self, directory: &Path) -> Result<(), String> {
        self.shared.post(|state| state.directory = Some(directory.to_owned()));
        self.over()
    }

    fn over(&self) -> Result<(), String> {
        self.shared.wait(|state| state.over.clone())
    }
}

impl StartSource for Member {
    fn await_start(&self, scenario: Option<&str>, stop: &AtomicBool) -> Result<CommonStart, StartError> {
        let read = self.shared.state().scenario.clone();
        let scenario = scenario_digest(read.as_deref().or(scenario).unwrap_or_default());
        self.shared.post(|state| state.out.push_back(OfPart::Ready { scenario }));
        self.shared.wait(|state| match (state.start, &state.ended) {
            (_, Some(_)) => Some(Err(StartError::Interrupted)),
            (Some(start), None) => Some(Ok(start)),
            (None, None) => stop.load(Ordering::Relaxed).then_some(Err(StartError::Interrupted)),
        })
    }
}

/// Connects, and waits for a gatherer that is not there yet.
#[expect(clippy::disallowed_methods, reason = "no event says that another machine begins to listen")]
fn connect(joining: &JoinSettings, until: u64) -> Result<TcpStream, JoinError> {
    loop {
        let addresses = joining.address.to_socket_addrs().map(Vec::from_iter);
        let mut why = match &addresses {
            Ok(some) if some.is_empty() => "the name has no address".to_owned(),
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        };
        for address in addresses.unwrap_or_default() {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(socket) => return Ok(socket),
                Err(error) => why = error.to_string(),
            }
        }
        if monotonic_ns() >= until {
            return Err(JoinError::Unreachable { address: joining.address.clone(), why });
        }
        std::thread::sleep(AGAIN);
    }
}

/// Takes the part and the scenario. The error is a refusal, or that of the connection.
fn take_handout(
    link: &mut Link,
    asked: Option<Part>,
) -> Result<(Part, Vec<HandoutFile>), Result<JoinError, LinkError>> {
    let none = || Ok(JoinError::Ended("it sent no scenario in time".to_owned()));
    let mut part = None;
    let mut files: Vec<(HandoutFile, u64)> = Vec::new();
    let mut room = HANDOUT_MAX;
    loop {
        let until = link.heard_ns() + PATIENCE_NS;
        let frame = match link.receive(until, None).map_err(Err)? {
            WaitEnd::Frame(frame) => frame,
            _ if link.heard_ns() + PATIENCE_NS > until => continue,
            _ => return Err(none()),
        };
        if let Frame::Bytes(bytes) = &frame {
            let refused = Err(LinkError::Frame(FrameError::Message));
            let Some((file, left)) = files.last_mut() else { return Err(refused) };
            let Some(rest) = left.checked_sub(bytes.len() as u64) else { return Err(refused) };
            *left = rest;
            file.content.extend(bytes);
            continue;
        }
        match frame.read::<OfGatherer>().map_err(|error| Err(error.into()))? {
            OfGatherer::Refused { why } => return Err(Ok(JoinError::Refused(plain(&why)))),
            OfGatherer::End { why } => return Err(Ok(JoinError::Ended(plain(&why)))),
            OfGatherer::Make { part: given }
                if given.is_whole() || asked.is_some_and(|asked| asked != given) =>
            {
                let why = format!("it gave part {given}, for which nobody had asked");
                return Err(Ok(JoinError::Ended(why)));
            }
            OfGatherer::Make { part: given } => part = Some(given),
            OfGatherer::File { name, bytes } if files.len() < HANDOUT_FILES && bytes <= room => {
                room -= bytes;
                files.push((HandoutFile { name, content: Vec::new() }, bytes));
            }
            OfGatherer::Prepare if files.iter().all(|(_, left)| *left == 0) => {
                let part = part.ok_or_else(none)?;
                return Ok((part, files.into_iter().map(|(file, _)| file).collect()));
            }
            _ => return Err(Err(LinkError::Frame(FrameError::Message))),
        }
    }
}

/// Holds the connection to its end.
fn hold(shared: &Shared, mut link: Link) {
    let held = hold_on(shared, &mut link);
    link.close();
    let mut state = shared.state();
    if let Err(why) = &held {
        state.end(why);
    }
    state.over.get_or_insert(held);
    drop(state);
    shared.changed.notify_all();
}

fn hold_on(shared: &Shared, link: &mut Link) -> Result<(), String> {
    let gone = |error: LinkError| format!("the gatherer is gone ({error})");
    loop {
        let (out, figures, directory, start) = {
            let mut state = shared.state();
            let out = std::mem::take(&mut state.out);
            (out, state.figures.take(), state.directory.take(), state.start)
        };
        for message in out {
            link.send(&message).map_err(gone)?;
            if let OfPart::Failed { .. } | OfPart::Leaves { .. } = message {
                return Ok(());
            }
        }
        if let Some(figures) = figures {
            link.send(&OfPart::Figures(Box::new(figures))).map_err(gone)?;
        }
        if let Some(directory) = directory {
            return send_files(link, &directory);
        }
        // The start is given in advance.
        let (silence_ns, starts_ns) = match start {
            Some(start) => (SILENCE_NS, start.monotonic_ns),
            None => (UNBEGUN_NS, 0),
        };
        let until = link.heard_ns().max(starts_ns) + silence_ns;
        match link.receive(until, Some(&shared.waker)).map_err(gone)? {
            WaitEnd::Woken => continue,
            WaitEnd::Nothing if link.heard_ns().max(starts_ns) + silence_ns > until => continue,
            WaitEnd::Nothing => {
                return Err(format!("the gatherer has said nothing for {} s", silence_ns / 1_000_000_000));
            }
            WaitEnd::Frame(frame) => take(shared, link, &frame).map_err(gone)?,
        }
    }
}

/// Takes a message of the gatherer.
fn take(shared: &Shared, link: &mut Link, frame: &Frame) -> Result<(), LinkError> {
    match frame.read::<OfGatherer>()? {
        OfGatherer::Ping { number } => {
            return link.send(&OfPart::Pong { number, monotonic_ns: monotonic_ns().cast_signed() });
        }
        OfGatherer::Start { monotonic_ns, unix_ns, error_ns } => {
            shared.state().start = Some(CommonStart { monotonic_ns, unix_ns, error_ns });
        }
        OfGatherer::End { why } => shared.state().end(&plain(&why)),
        _ => return Err(LinkError::Frame(FrameError::Message)),
    }
    shared.changed.notify_all();
    Ok(())
}

/// Sends the files of a run directory, and waits for the answer.
fn send_files(link: &mut Link, directory: &Path) -> Result<(), String> {
    let gone = |error: LinkError| format!("the gatherer is gone ({error})");
    let mut piece = vec![0; CHUNK];
    for name in FILES {
        let unreadable = |error: io::Error| format!("{name} cannot be read: {error}");
        let file = match open_regular(&directory.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file.map_err(unreadable)?,
        };
        let bytes = file.metadata().map_err(unreadable)?.len();
        link.send(&OfPart::File { name: name.to_owned(), bytes }).map_err(gone)?;
        let mut file = file.take(bytes);
        loop {
            match file.read(&mut piece).map_err(unreadable)? {
                0 => break,
                count => {
                    if let Err(error) = link.send_frame(&Frame::Bytes(piece[..count].to_vec())) {
                        return Err(refusal(link).unwrap_or_else(|| gone(error)));
                    }
                }
            }
        }
    }
    link.send(&OfPart::Done).map_err(gone)?;
    let until = monotonic_ns() + PATIENCE_NS;
    loop {
        let WaitEnd::Frame(frame) = link.receive(until, None).map_err(gone)? else {
            return Err("the gatherer has not said that it keeps the files".to_owned());
        };
        match frame.read::<OfGatherer>().map_err(|error| gone(error.into()))? {
            OfGatherer::Kept => return Ok(()),
            OfGatherer::NotKept { why } => return Err(plain(&why)),
            // Pings that were on their way.
            _ => {}
        }
    }
}

/// The reason that the gatherer gave for what it takes no more of.
fn refusal(link: &mut Link) -> Option<String> {
    let until = monotonic_ns();
    loop {
        let Ok(WaitEnd::Frame(frame)) = link.receive(until, None) else { return None };
        if let Ok(OfGatherer::NotKept { why }) = frame.read() {
            return Some(plain(&why));
        }
    }
}
