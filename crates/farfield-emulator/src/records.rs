//! Records of what users did: samples of their requests, notes of their sessions, connections begun.

use farfield_base::{Note, Opened, Sample};

/// Records of a shard's users, until they are taken.
#[derive(Debug, Default)]
pub(crate) struct UserRecords {
    pub samples: Vec<Sample>,
    /// Notes of what happened in sessions.
    pub notes: Vec<Note>,
    /// Connections begun so far.
    pub connects: u64,
    /// Connections begun, if they are noted.
    opened: Option<Vec<Opened>>,
}

impl UserRecords {
    /// Notes the addresses of connections from now on.
    pub fn note_connections(&mut self) {
        self.opened = Some(Vec::new());
    }

    /// Notes a connection, if connections are noted.
    pub fn note_opened(&mut self, opened: impl FnOnce() -> Opened) {
        if let Some(noted) = &mut self.opened {
            noted.push(opened());
        }
    }

    /// Takes the connections that were noted, in the order in which they were begun.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        self.opened.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
