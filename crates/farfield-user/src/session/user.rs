//! A user as its session sees it.

use super::visit::Visit;
use crate::wanted::Wanted;
use farfield_base::random::Stream;

/// The parts of a user that its session asks, and changes.
#[derive(Debug)]
pub(crate) struct SessionUser<'a> {
    /// The user's number, as in samples.
    pub number: u32,
    /// True if it has a WebSocket.
    pub has_websocket: bool,
    pub rng: &'a mut Stream,
    pub visit: &'a mut Visit,
    /// Pages left in the session, this one included; `None` for a user who never leaves.
    pub pages_left: &'a mut Option<u64>,
    /// Requests of its page.
    pub wanted: &'a mut Wanted,
}
