//! WebSocket (RFC 6455): a client's end, from the request that upgrades a connection of HTTP/1.1 on.
//!
//! [`Key`] is that request's challenge, and what the server must answer to it. From the reply on, a
//! [`MessageReader`] finds the server's messages in whatever bytes it is handed, and [`write_frame`] writes
//! the client's frames. No extension is offered, so that payloads are as they were sent (section 9).

mod frame;
mod handshake;
mod reader;

pub use frame::{FrameKind, MaskSource, close_payload, write_frame};
pub use handshake::{Key, accepts};
pub use reader::{Incoming, Message, MessageReader, Violation};
