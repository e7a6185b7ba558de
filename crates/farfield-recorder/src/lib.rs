//! A proxy through which a browser or a program works, and which keeps what passes: requests and replies of
//! the servers that are named become an HTTP Archive (HAR 1.2).
//!
//! A client asks it in absolute form, or for a tunnel (CONNECT, RFC 9110 section 9.3.6); inside the tunnel to
//! a named server TLS ends here, with a certificate of an [authority](CertificateAuthority) that is made for
//! the recording and can sign for the named servers alone. In reverse mode it stands in the place of one
//! server. Traffic of other servers passes unrecorded and unread, and is counted.
//!
//! Messages stream through: neither end waits for a whole body. What is kept of them is bounded
//! ([`RecordingBounds`]), and what is left out is counted by reason. Nothing here knows scenarios or
//! terminals.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod authority;
mod clock;
mod content;
mod exchange;
mod fields;
mod har;
mod ledger;
mod page;
mod recorder;
mod service;
mod tee;
mod tunnel;
mod upstream;
mod web_origin;

pub use authority::{AuthorityError, CertificateAuthority};
pub use exchange::{BodyCopy, RecordedExchange, RecordedReply};
pub use har::{ArchiveAccount, write_archive};
pub use ledger::{NameCounts, Recording, RecordingBounds, Unrecorded};
pub use recorder::{Recorder, RecorderConfig, RecorderError};
pub use upstream::{ClientIdentity, UpstreamError};
pub use web_origin::WebOrigin;
