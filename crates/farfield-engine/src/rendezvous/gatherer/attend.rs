//! One peer of a gatherer, from its first byte to its last, on a thread of its own.

use super::super::clocks::Measurements;
use super::super::link::{Link, LinkError, WaitEnd, Waker};
use super::super::wire::{AnyHello, CHUNK, Frame, Hello, OfGatherer, OfPart, VERSION, plain};
use super::files::{FilesError, PartFiles};
use super::{News, Phase, Seat, Shared, Standing};
use farfield_base::Part;
use farfield_os::clock::monotonic_ns;
use rustls::ServerConnection;
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// Time for a peer's first byte, and to say who it is.
const FIRST_NS: u64 = 2_000_000_000;
const HELLO_NS: u64 = 5_000_000_000;
/// Time between two pings.
const PING_NS: u64 = 500_000_000;
/// Time without a word after which a part that runs is lost, and one that is ready is waited for: named
/// before two seconds are over.
pub(super) const SILENCE_NS: u64 = 1_500_000_000;
/// Time without a word after which a part is gone that has not begun: making its users, or other work on its
/// machine, may take all of that.
const UNBEGUN_NS: u64 = 20_000_000_000;
/// Time without a byte of a part that gets the scenario, or hands its files over: its run is to come, or is
/// over, and many at once may wait for one disk.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Pings that may be on their way at once.
const PINGS: usize = 256;
/// Pings in a row by which a part's clock is measured once it is ready.
const BURST: u32 = 8;

/// Serves a peer to its end.
pub(super) fn attend(
    shared: &Arc<Shared>,
    socket: TcpStream,
    peer: SocketAddr,
    (number, waker): (u64, &Arc<Waker>),
) {
    let greeted = greet(shared, socket, waker);
    shared.strangers().leave(number);
    let (mut link, hello) = match greeted {
        Ok(greeted) => greeted,
        Err(why) => {
            return shared.refuse_stranger(format!("a peer at {peer} was refused: {why}"), monotonic_ns());
        }
    };
    let refuse = |mut link: Link, why: String| {
        let _ = link.send(&OfGatherer::Refused { why: why.clone() });
        link.close();
        shared.say(News::Refused(format!("a part at {peer} was refused: {why}")));
    };
    let (place, part) = match shared.seat(&hello, waker) {
        Ok(seat) => seat,
        Err(why) => return refuse(link, why),
    };
    link.trust();
    let mut attended = Attended::new(shared, place, part);
    let served = attended.serve(&mut link, waker);
    match served {
        Ok(()) => {
            link.close();
            shared.leave(place, None);
        }
        // Named at once, whatever the connection is good for.
        Err(why) => {
            shared.leave(place, Some(why));
            link.close();
        }
    }
}

/// Hears who the peer is, and refuses strangers.
fn greet(shared: &Shared, socket: TcpStream, waker: &Waker) -> Result<(Link, Hello), String> {
    let tls = ServerConnection::new(Arc::clone(&shared.tls)).map_err(|error| error.to_string())?;
    let link = Link::new(tls.into(), socket);
    let mut link = link.map_err(|error| error.to_string())?;
    let began = link.heard_ns();
    let mut received = link.receive(began + FIRST_NS, Some(waker));
    if matches!(received, Ok(WaitEnd::Nothing)) && link.heard_ns() > began {
        received = link.receive(began + HELLO_NS, Some(waker));
    }
    let frame = match received.map_err(|error| error.to_string())? {
        WaitEnd::Frame(frame) => frame,
        WaitEnd::Woken => return Err("it did not say who it is, and others came".to_owned()),
        WaitEnd::Nothing => return Err("it did not say in time who it is".to_owned()),
    };
    let AnyHello { version } = frame.read().map_err(|error| error.to_string())?;
    if version != VERSION {
        let why = format!("it speaks version {version} of the rendezvous, and the gatherer {VERSION}");
        return refuse(link, why);
    }
    let hello: Hello = frame.read().map_err(|error| error.to_string())?;
    let why = if !shared.key.admits(&hello.token) {
        "its token is not that of this rendezvous".to_owned()
    } else if hello.farfield != shared.settings.farfield {
        let (own, other) = (&shared.settings.farfield, plain(&hello.farfield));
        format!("it is farfield {other}, and the gatherer {own}")
    } else {
        return Ok((link, hello));
    };
    refuse(link, why)
}

fn refuse<T>(mut link: Link, why: String) -> Result<T, String> {
    let _ = link.send(&OfGatherer::Refused { why: why.clone() });
    link.close();
    Err(why)
}

impl Shared {
    /// The place of a part that asks for one.
    fn seat(&self, hello: &Hello, waker: &Arc<Waker>) -> Result<(usize, Part), String> {
        let mut state = self.state();
        if state.phase != Phase::Waiting {
            return Err("the run has begun, or is over".to_owned());
        }
        let is_free = |seat: &Seat| seat.standing == Standing::Free;
        let place = match (hello.part, hello.rank) {
            (Some(part), _) => match state.seats.iter().position(|seat| seat.part == part) {
                None => Err(format!("there is no part {part} in this run, but {}", state.seats[0].part)),
                Some(place) if is_free(&state.seats[place]) => Ok(place),
                Some(place) => Err(format!("{} is there already", state.seats[place].name())),
            },
            (None, Some(rank)) => match state.seats.get(rank as usize) {
                None => Err(format!("its rank is {rank}, and there are {} parts", state.seats.len())),
                Some(seat) if is_free(seat) => Ok(rank as usize),
                Some(seat) => Err(format!("its rank is {rank}, and {} is there already", seat.name())),
            },
            (None, None) => {
                state.seats.iter().position(is_free).ok_or_else(|| "all parts are there already".to_owned())
            }
        }?;
        let seat = &mut state.seats[place];
        seat.standing = Standing::Joined;
        seat.host = plain(&hello.host);
        seat.waker = Some(Arc::clone(waker));
        let (part, name) = (seat.part, seat.name());
        state.news.push(News::Joined(name));
        drop(state);
        self.changed.notify_all();
        Ok((place, part))
    }

    /// The end of a part's connection, for a reason if it did not come to its end.
    fn leave(&self, place: usize, why: Option<String>) {
        let mut state = self.state();
        let phase = state.phase.clone();
        let seat = &mut state.seats[place];
        let (name, had_started) = (seat.name(), seat.standing == Standing::Running);
        seat.waker = None;
        let news = match why {
            None if had_started => {
                seat.standing = Standing::Returned;
                News::Returned(name)
            }
            why => {
                let why = why.unwrap_or_default();
                let news = format!("{name}: {why}");
                (seat.figures, seat.error_ns) = (None, None);
                if had_started || matches!(phase, Phase::Started { .. }) {
                    seat.standing = Standing::Lost(why);
                    News::Lost(news)
                } else {
                    (seat.standing, seat.host) = (Standing::Free, String::new());
                    News::Left(news)
                }
            }
        };
        state.news.push(news);
        drop(state);
        self.changed.notify_all();
    }

    fn change(&self, place: usize, change: impl FnOnce(&mut Seat)) {
        change(&mut self.state().seats[place]);
        self.changed.notify_all();
    }

    /// Gives the run up.
    fn give_up(&self, place: usize, why: &str) {
        let mut state = self.state();
        let name = state.seats[place].name();
        state.fatal.get_or_insert(format!("{name}: {why}"));
        drop(state);
        self.changed.notify_all();
    }
}

/// A part on its way.
struct Attended<'a> {
    shared: &'a Shared,
    place: usize,
    part: Part,
    clocks: Measurements,
    /// The pings that are on their way, and when each was sent: a round trip may be longer than the time
    /// between two.
    on_way: VecDeque<(u64, i64)>,
    pings: u64,
    /// Pings that are still to be made in a row.
    burst: u32,
    has_start: bool,
    /// The instant of the start, which it was given.
    starts_ns: u64,
    has_end: bool,
    files: PartFiles,
}

impl<'a> Attended<'a> {
    fn new(shared: &'a Shared, place: usize, part: Part) -> Attended<'a> {
        let name = part.to_string().replace('/', "-of-").replace("..", "-to-");
        let files = PartFiles::new(shared.folder.join(name), shared.settings.bytes_max);
        let (clocks, on_way) = (Measurements::default(), VecDeque::new());
        Attended {
            shared,
            place,
            part,
            clocks,
            on_way,
            pings: 0,
            burst: 0,
            has_start: false,
            starts_ns: 0,
            has_end: false,
            files,
        }
    }

    /// Serves the part until it has handed its files over.
    fn serve(&mut self, link: &mut Link, waker: &Waker) -> Result<(), String> {
        let spoken = self.hand_out(link).map_err(|error| error.to_string());
        spoken?;
        let prepared = monotonic_ns();
        let mut next_ping = prepared;
        loop {
            self.follow_phase(link)?;
            let now = monotonic_ns();
            if now >= next_ping {
                self.send_ping(link)?;
                next_ping = now + PING_NS;
            }
            // The scenario may still be on its way when the kernel has taken all of it.
            let has_spoken = link.heard_ns() > prepared;
            // It is given its start in advance, and need not say anything until then.
            let heard = link.heard_ns().max(prepared).max(self.starts_ns);
            let silence = match () {
                () if self.files.have_begun() || !has_spoken => PATIENCE_NS,
                () if self.has_start => SILENCE_NS,
                () => UNBEGUN_NS,
            };
            match link.receive(next_ping.min(heard + silence), Some(waker)).map_err(in_words)? {
                WaitEnd::Woken => {}
                WaitEnd::Nothing if monotonic_ns() >= link.heard_ns().max(heard) + silence => {
                    return Err(format!("it has said nothing for {} s", silence as f64 / 1e9));
                }
                WaitEnd::Nothing => {}
                WaitEnd::Frame(frame) => {
                    if self.take(link, &frame)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn hand_out(&self, link: &mut Link) -> Result<(), LinkError> {
        link.send(&OfGatherer::Make { part: self.part })?;
        for file in &self.shared.settings.files {
            link.send(&OfGatherer::File { name: file.name.clone(), bytes: file.content.len() as u64 })?;
            for piece in file.content.chunks(CHUNK) {
                link.send_frame(&Frame::Bytes(piece.to_vec()))?;
            }
        }
        link.send(&OfGatherer::Prepare)
    }

    /// Tells the part of its start, or of the end.
    fn follow_phase(&mut self, link: &mut Link) -> Result<(), String> {
        let (phase, given_up) = {
            let state = self.shared.state();
            (state.phase.clone(), state.seats[self.place].given_up.clone())
        };
        if let Some(why) = given_up {
            return Err(why);
        }
        match phase {
            Phase::Started { monotonic_ns: at, unix_ns } if !self.has_start && self.burst == 0 => {
                (self.has_start, self.starts_ns) = (true, at);
                // Measured before it was ready.
                let clock = self.clocks.best(monotonic_ns().cast_signed()).unwrap_or_default();
                self.shared.change(self.place, |seat| seat.standing = Standing::Running);
                let monotonic_ns = at.saturating_add_signed(clock.offset_ns);
                let start = OfGatherer::Start { monotonic_ns, unix_ns, error_ns: clock.error_ns };
                link.send(&start).map_err(in_words)
            }
            Phase::Ending { why } if !self.has_end => {
                self.has_end = true;
                link.send(&OfGatherer::End { why: why.clone() }).map_err(in_words)?;
                // A part that has not begun has nothing to hand over.
                if self.has_start { Ok(()) } else { Err(why) }
            }
            _ => Ok(()),
        }
    }

    fn send_ping(&mut self, link: &mut Link) -> Result<(), String> {
        self.pings += 1;
        if self.on_way.len() == PINGS {
            self.on_way.pop_front();
        }
        self.on_way.push_back((self.pings, monotonic_ns().cast_signed()));
        link.send(&OfGatherer::Ping { number: self.pings }).map_err(in_words)
    }

    /// Takes a frame of the part; true if it was the last.
    fn take(&mut self, link: &mut Link, frame: &Frame) -> Result<bool, String> {
        let heard_ns = monotonic_ns();
        if !self.has_start {
            self.shared.state().seats[self.place].heard_ns = heard_ns;
        }
        let now = heard_ns.cast_signed();
        if let Frame::Bytes(bytes) = frame {
            return self.keep(link, |files| files.write(bytes)).map(|()| false);
        }
        match frame.read::<OfPart>().map_err(|error| format!("it does not speak as it should: {error}"))? {
            OfPart::Pong { number, monotonic_ns } => self.take_pong(link, number, (now, monotonic_ns))?,
            OfPart::Ready { scenario } => self.take_ready(link, &scenario)?,
            OfPart::Figures(figures) if !figures.is_sound() => {
                return Err("it does not speak as it should: figures that are none".to_owned());
            }
            OfPart::Figures(figures) => {
                let mut state = self.shared.state();
                let seat = &mut state.seats[self.place];
                seat.figures = Some(*figures);
                seat.spoke_ns = seat.spoke_ns.max(monotonic_ns());
            }
            OfPart::File { name, bytes } => {
                self.keep(link, |files| files.begin(&name, bytes))?;
                self.shared.change(self.place, |seat| seat.hands_over = true);
            }
            OfPart::Done => {
                self.keep(link, PartFiles::end)?;
                let directory = self.files.directory();
                self.shared.change(self.place, |seat| seat.directory = directory);
                // It has the files on its own disk as well.
                let _ = link.send(&OfGatherer::Kept);
                return Ok(true);
            }
            OfPart::Failed { why } => {
                let why = plain(&why);
                if !self.has_start {
                    self.shared.give_up(self.place, &why);
                }
                return Err(why);
            }
            OfPart::Leaves { why } => return Err(plain(&why)),
        }
        Ok(false)
    }

    fn take_pong(&mut self, link: &mut Link, number: u64, (now, of_part): (i64, i64)) -> Result<(), String> {
        let Some(place) = self.on_way.iter().position(|(sent, _)| *sent == number) else {
            return Ok(());
        };
        let (_, sent_ns) = self.on_way[place];
        // Answers come in the order of what they answer.
        self.on_way.drain(..=place);
        self.clocks.add(sent_ns, now, of_part);
        if self.burst == 0 {
            return Ok(());
        }
        self.burst -= 1;
        if self.burst > 0 {
            return self.send_ping(link);
        }
        let error_ns = self.clocks.best(now).map(|clock| clock.error_ns);
        self.shared.change(self.place, |seat| (seat.standing, seat.error_ns) = (Standing::Ready, error_ns));
        Ok(())
    }

    fn take_ready(&mut self, link: &mut Link, scenario: &str) -> Result<(), String> {
        if self.has_start || self.burst > 0 {
            return Err("it does not speak as it should: it is ready twice".to_owned());
        }
        if self.shared.scenario != scenario {
            let why = "it was given flags or files that make another scenario of it than the gatherer's";
            self.shared.give_up(self.place, why);
            let _ = link.send(&OfGatherer::End { why: why.to_owned() });
            return Err(why.to_owned());
        }
        self.burst = BURST;
        self.send_ping(link)
    }

    /// Does something with the part's files. A disk that refuses them is the gatherer's fault, and the part
    /// hears of it.
    fn keep(
        &mut self,
        link: &mut Link,
        act: impl FnOnce(&mut PartFiles) -> Result<(), FilesError>,
    ) -> Result<(), String> {
        if !self.has_start {
            return Err("it sent files of a run that has not begun".to_owned());
        }
        act(&mut self.files).map_err(|error| {
            let why = error.to_string();
            let _ = link.send(&OfGatherer::NotKept { why: why.clone() });
            why
        })
    }
}

fn in_words(error: LinkError) -> String {
    error.to_string()
}
