//! HTTP/1 (RFC 9112) out of the two directions of a connection: a reader of its own on the lines that
//! httparse finds, which sees what was captured and not what a client made of it. It does not judge: lenient
//! where messages can still be delimited, it gives up a connection only where they cannot.

mod chunked;
mod conversation;
mod head;
mod reader;

pub(crate) use conversation::{Conversation, HttpCounts, HttpLimits};
pub use head::authority_hash;
pub(crate) use head::begins;
pub(crate) use reader::Body;
