//! The connection of a gatherer and a part: frames over TLS over a socket that never blocks, waited for by
//! poll(2) together with a [`Waker`], by which another thread ends the wait.

use super::wire::{FRAME_MAX, Frame, FrameError, STRANGER_MAX};
use farfield_os::clock::monotonic_ns;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustls::Connection;
use serde::Serialize;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;

/// Nanoseconds for which a peer that reads nothing is waited for.
const WRITE_NS: u64 = 60_000_000_000;

/// Nanoseconds for which a peer is heard after the end.
const LINGER_NS: u64 = 1_000_000_000;

/// The reason why a connection is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("the connection was closed")]
    Closed,
    #[error("it takes no data")]
    Stuck,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("it does not speak as it should: {0}")]
    Tls(#[from] rustls::Error),
    #[error("it does not speak as it should: {0}")]
    Frame(#[from] FrameError),
}

/// Ends the wait of another thread.
#[derive(Debug)]
pub(super) struct Waker(OwnedFd);

impl Waker {
    pub(super) fn new() -> io::Result<Waker> {
        Ok(Waker(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    pub(super) fn wake(&self) {
        // It is full only if it wakes already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn rest(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// The end of a wait.
#[derive(Debug)]
pub(super) enum WaitEnd {
    Frame(Frame),
    Woken,
    /// The time is over.
    Nothing,
}

/// The connection.
pub(super) struct Link {
    tls: Connection,
    socket: TcpStream,
    inbox: Vec<u8>,
    frame_max: usize,
    /// The peer sends nothing more; what it has sent before still counts.
    ended: bool,
    /// The monotonic clock when its last byte came.
    heard_ns: u64,
}

impl Link {
    /// A connection over `socket`, whose handshake is made as frames are sent and received.
    pub(super) fn new(mut tls: Connection, socket: TcpStream) -> io::Result<Link> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        tls.set_buffer_limit(None);
        Ok(Link {
            tls,
            socket,
            inbox: Vec::new(),
            frame_max: STRANGER_MAX,
            ended: false,
            heard_ns: monotonic_ns(),
        })
    }

    /// Takes longer frames from now on: the peer has shown who it is.
    pub(super) fn trust(&mut self) {
        self.frame_max = FRAME_MAX;
    }

    /// The monotonic clock when the peer's last byte came, of a frame that is whole or not.
    pub(super) fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<(), LinkError> {
        self.send_frame(&Frame::message(message))
    }

    /// Sends a frame, and waits until the kernel has it.
    pub(super) fn send_frame(&mut self, frame: &Frame) -> Result<(), LinkError> {
        self.tls.writer().write_all(&frame.encode())?;
        let until = monotonic_ns() + WRITE_NS;
        loop {
            self.flush()?;
            let handshaking = self.tls.is_handshaking();
            if !handshaking && !self.tls.wants_write() {
                return Ok(());
            }
            let wanted = if self.tls.wants_write() { PollFlags::OUT } else { PollFlags::IN };
            if self.wait(wanted, until, None)?.is_none() {
                return Err(LinkError::Stuck);
            }
            if handshaking {
                self.read()?;
            }
            if self.ended {
                return Err(LinkError::Closed);
            }
        }
    }

    /// Waits until `until_ns` of the monotonic clock for a frame, or for `waker`.
    pub(super) fn receive(&mut self, until_ns: u64, waker: Option<&Waker>) -> Result<WaitEnd, LinkError> {
        loop {
            if let Some(frame) = Frame::take(&mut self.inbox, self.frame_max)? {
                return Ok(WaitEnd::Frame(frame));
            }
            if self.ended {
                return Err(LinkError::Closed);
            }
            let more = if self.tls.wants_write() { PollFlags::OUT } else { PollFlags::empty() };
            match self.wait(PollFlags::IN | more, until_ns, waker)? {
                None => return Ok(WaitEnd::Nothing),
                Some(true) => return Ok(WaitEnd::Woken),
                Some(false) => {
                    // One that takes nothing more may have said why.
                    let flushed = self.flush();
                    self.read()?;
                    self.ended |= flushed.is_err();
                }
            }
        }
    }

    /// Waits for the socket; true if `waker` ended the wait, `None` if the time did.
    fn wait(&self, wanted: PollFlags, until_ns: u64, waker: Option<&Waker>) -> io::Result<Option<bool>> {
        loop {
            let left = until_ns.saturating_sub(monotonic_ns());
            let left =
                Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
            let own = PollFd::new(&self.socket, wanted);
            let other = waker.map_or_else(|| own.clone(), |waker| PollFd::new(&waker.0, PollFlags::IN));
            let mut both = [own, other];
            // The socket once, where there is no waker: bytes that come between two looks at it would be
            // found by the second alone.
            let asked = 1 + usize::from(waker.is_some());
            match poll(&mut both[..asked], Some(&left)) {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(None),
                Ok(_) => {}
            }
            // What was received counts first: a peer that is heard is not silent.
            if !both[0].revents().is_empty() {
                return Ok(Some(false));
            }
            if let Some(waker) = waker {
                waker.rest();
            }
            return Ok(Some(true));
        }
    }

    /// Reads what there is.
    fn read(&mut self) -> Result<(), LinkError> {
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => self.ended = true,
            Ok(_) => self.heard_ns = monotonic_ns(),
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.ended = true,
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The peer is to get the alert, if it can be had.
            let _ = self.flush();
            return Err(error.into());
        }
        let mut piece = [0; 16 << 10];
        loop {
            match self.tls.reader().read(&mut piece) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.inbox.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The end of the connection without that of TLS.
                Err(_) => {
                    self.ended = true;
                    break;
                }
            }
        }
        self.ended |= self.flush().is_err();
        Ok(())
    }

    /// Writes what the kernel takes.
    fn flush(&mut self) -> Result<(), LinkError> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind()) => {
                    return Err(LinkError::Closed);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Ends the connection. What the peer still sends is read for a while: a socket that is closed with bytes
    /// unread is reset (RFC 9293, section 3.10.4), and the peer might lose what it was sent last.
    pub(super) fn close(mut self) {
        self.tls.send_close_notify();
        let _ = self.flush();
        let _ = self.socket.shutdown(Shutdown::Write);
        let until = monotonic_ns() + LINGER_NS;
        let mut piece = [0; 16 << 10];
        while let Ok(Some(_)) = self.wait(PollFlags::IN, until, None) {
            match self.socket.read(&mut piece) {
                Ok(0) => return,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {}
            }
        }
    }
}
