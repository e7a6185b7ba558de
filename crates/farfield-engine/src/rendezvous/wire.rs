//! Frames between a gatherer and a part: a length of four bytes, a kind of one, and the content. Messages are
//! JSON; the bytes of files follow the message that announces them.
//!
//! A peer may send no more than these bounds. Before its token was seen a frame has [`STRANGER_MAX`] bytes.

use crate::collector::Progress;
use farfield_base::{Merge, Outcome, Part};
use farfield_measure::Histogram;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the protocol.
pub(super) const VERSION: u32 = 2;
/// Bytes of a frame of a peer that has not shown its token.
pub(super) const STRANGER_MAX: usize = 4 << 10;
/// Bytes of any other frame: a histogram of response times takes some 100 kB at most.
pub(super) const FRAME_MAX: usize = 1 << 20;
/// Bytes of a file in one frame: a peer with a thin uplink is heard often.
pub(super) const CHUNK: usize = 16 << 10;
/// Bytes of a frame's head.
pub(super) const HEAD: usize = 5;
/// Files of a handout, and their bytes together.
pub(super) const HANDOUT_FILES: usize = 1_000;
pub(super) const HANDOUT_MAX: u64 = 1 << 30;
/// Characters of a name, a host or a reason that a peer sends.
pub(super) const WORDS_MAX: usize = 300;

const MESSAGE: u8 = 1;
const BYTES: u8 = 2;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    Message(Vec<u8>),
    Bytes(Vec<u8>),
}

/// Bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame of {0} bytes is longer than any")]
    TooLong(u32),
    #[error("a frame of an unknown kind ({0})")]
    Kind(u8),
    #[error("a message that is none")]
    Message,
}

impl Frame {
    /// A message.
    pub(super) fn message(message: &impl Serialize) -> Frame {
        Frame::Message(serde_json::to_vec(message).expect("names are strings and numbers are finite"))
    }

    /// The bytes of the frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, content) = match self {
            Frame::Message(content) => (MESSAGE, content),
            Frame::Bytes(content) => (BYTES, content),
        };
        let length = u32::try_from(content.len()).expect("frames are short");
        let mut bytes = Vec::with_capacity(HEAD + content.len());
        bytes.extend(length.to_be_bytes());
        bytes.push(kind);
        bytes.extend(content);
        bytes
    }

    /// Takes the first frame of `inbox`, if all of it is there.
    pub(super) fn take(inbox: &mut Vec<u8>, max: usize) -> Result<Option<Frame>, FrameError> {
        let Some(head) = inbox.first_chunk::<HEAD>() else { return Ok(None) };
        let [a, b, c, d, kind] = *head;
        let length = u32::from_be_bytes([a, b, c, d]);
        if length as usize > max {
            return Err(FrameError::TooLong(length));
        }
        if ![MESSAGE, BYTES].contains(&kind) {
            return Err(FrameError::Kind(kind));
        }
        let end = HEAD + length as usize;
        if inbox.len() < end {
            return Ok(None);
        }
        let content = inbox[HEAD..end].to_vec();
        inbox.drain(..end);
        Ok(Some(if kind == MESSAGE { Frame::Message(content) } else { Frame::Bytes(content) }))
    }

    /// The message, if it is one.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, FrameError> {
        match self {
            Frame::Message(text) => serde_json::from_slice(text).map_err(|_| FrameError::Message),
            Frame::Bytes(_) => Err(FrameError::Message),
        }
    }
}

/// The first message of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub version: u32,
    pub farfield: String,
    pub token: String,
    /// The part that it asks for.
    pub part: Option<Part>,
    /// The place of its process among those of its engine, from 0.
    pub rank: Option<u32>,
    /// The name of its machine.
    pub host: String,
}

/// The version in a hello of any version of the protocol.
#[derive(Debug, Deserialize)]
pub(super) struct AnyHello {
    pub version: u32,
}

/// A message of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum OfPart {
    /// The answer to a ping, with its monotonic clock.
    Pong { number: u64, monotonic_ns: i64 },
    /// The part's users are there; all that it lacks is the start. With the digest of its scenario.
    Ready { scenario: String },
    /// The figures so far.
    Figures(Box<PartFigures>),
    /// A file of its run directory: so many bytes follow.
    File { name: String, bytes: u64 },
    /// All files were sent.
    Done,
    /// The part cannot run.
    Failed { why: String },
    /// The part goes before the start; another process may take its place.
    Leaves { why: String },
}

/// A message of the gatherer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum OfGatherer {
    /// The peer is not admitted.
    Refused { why: String },
    /// The part to make.
    Make { part: Part },
    /// A file of the scenario: so many bytes follow.
    File { name: String, bytes: u64 },
    /// All files were sent.
    Prepare,
    /// Asks for the monotonic clock.
    Ping { number: u64 },
    /// The start in the part's own monotonic clock and in the gatherer's wall clock, and the error of the
    /// former.
    Start { monotonic_ns: u64, unix_ns: u64, error_ns: u64 },
    /// The run is to end now.
    End { why: String },
    /// The files are kept.
    Kept,
    /// The files cannot be kept.
    NotKept { why: String },
}

/// A file of a scenario, by its path in the folder of the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoutFile {
    /// The file's path, with `/` between names.
    pub name: String,
    /// The file's content.
    pub content: Vec<u8>,
}

/// Figures of a part, or of all, so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartFigures {
    /// Time of the run, in nanoseconds.
    pub now_ns: u64,
    /// Start and end of what is measured.
    pub measured_ns: (u64, u64),
    /// Requests that have ended, and those of them that have failed.
    pub ended: u64,
    /// Requests that have failed.
    pub failed: u64,
    /// Connections open or being opened.
    pub connections: u64,
    /// Requests due and not over.
    pub in_system: u64,
    /// Response times of the measured part.
    pub response: Histogram,
}

impl PartFigures {
    /// Figures of a run's progress.
    pub fn of(run: &Progress<'_>) -> PartFigures {
        let phases = [run.fold.warm_up(), run.fold.steady()];
        let ended: u64 = phases.iter().map(|phase| phase.requests()).sum();
        let succeeded: u64 = phases.iter().map(|phase| phase.count(Outcome::Ok)).sum();
        let window = run.fold.window();
        PartFigures {
            now_ns: run.now.as_ns(),
            measured_ns: (window.measure_from.as_ns(), window.measure_to.as_ns()),
            ended,
            failed: ended.saturating_sub(succeeded),
            connections: run.live.connections,
            in_system: run.live.in_system,
            response: run.fold.steady().times.response.clone(),
        }
    }

    /// False if the numbers of a peer's histogram are none of times: their sums could overflow.
    pub(super) fn is_sound(&self) -> bool {
        // Those of all parts, of which there are 4,096 at most, add up to 2⁵³.
        const COUNT_MAX: u64 = (1 << 53) / 4_096;
        let (count, response) = (self.response.count(), &self.response);
        let sum_max = u128::from(count) * u128::from(Histogram::TOP.as_ns());
        count <= COUNT_MAX && response.clamped() <= count && response.sum_ns() <= sum_max
    }

    /// Adds those of another part.
    pub(super) fn add(&mut self, other: &PartFigures) {
        self.now_ns = self.now_ns.max(other.now_ns);
        self.ended = self.ended.saturating_add(other.ended);
        self.failed = self.failed.saturating_add(other.failed);
        self.connections = self.connections.saturating_add(other.connections);
        self.in_system = self.in_system.saturating_add(other.in_system);
        self.response.merge(&other.response);
    }
}

/// Words of a peer, without control characters and no longer than needed.
pub(super) fn plain(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let frames = [
            Frame::message(&OfGatherer::Ping { number: 7 }),
            Frame::Bytes(vec![0; 300]),
            Frame::Bytes(Vec::new()),
        ];
        let all: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let (mut inbox, mut taken) = (Vec::new(), Vec::new());
        for byte in all {
            inbox.push(byte);
            taken.extend(Frame::take(&mut inbox, FRAME_MAX).expect("frames"));
        }
        assert_eq!(taken, frames);
        assert_eq!(taken[0].read(), Ok(OfGatherer::Ping { number: 7 }));
        assert_eq!(taken[1].read::<OfGatherer>(), Err(FrameError::Message));
    }

    #[test]
    fn what_is_no_frame_is_refused_by_its_head() {
        for (head, error) in [
            ([255, 255, 255, 255, 1], FrameError::TooLong(u32::MAX)),
            ([0, 0, 16, 1, 1], FrameError::TooLong(4_097)),
            ([0, 0, 0, 1, 9], FrameError::Kind(9)),
            (*b"GET /", FrameError::TooLong(0x4745_5420)),
        ] {
            assert_eq!(Frame::take(&mut head.to_vec(), STRANGER_MAX), Err(error));
        }
        assert_eq!(
            Frame::Message(b"{\"kind\":\"nothing\"}".to_vec()).read::<OfPart>(),
            Err(FrameError::Message)
        );
    }
}
