//! A capture file rebuilt into connections and the transactions of HTTP on them, so that a client's own
//! numbers can be compared with the packets (Hashemian et al. 2011, section 3): HTTP/1 and HTTP/2 over TCP
//! and, with the [secrets](Secrets) of its sessions, within TLS, and HTTP/3 over QUIC.
//!
//! [`read`] takes a pcapng or pcap file and returns a [`Capture`]; [`read_into`] hands connections and
//! transactions on as they end, for captures of any length. What could not be rebuilt is counted by cause in
//! [`Limits`]; nothing is guessed in silence.
//!
//! The client whose word is tested runs on farfield-tcp, farfield-http and farfield-user. This crate uses
//! none of them: headers, reassembly and HTTP are read here a second time, on purpose. It shares
//! farfield-wire's pcapng reader, internet checksum and reassembly of IP fragments, which that crate's
//! tests hold against tshark; a packet that they misread would be missing or damaged in [`Limits`], not
//! wrong in silence. With the client it shares httparse, which reads the lines of a head of HTTP/1; what they
//! mean is found here by other code. The ciphers are those of the library that the client uses too: what they
//! opened wrongly would have a wrong tag.
//!
//! [`TransactionState::Complete`] is a claim: request and reply were captured whole, and are each other's.
//! A transaction that was inferred, because packets are missing from the capture or its beginning, is
//! [`TransactionState::Lossy`].
//!
//! # Which instant is which
//! All instants are those of the capture, and belong to the place where it was taken. At the client they are
//! comparable with the instants of a `farfield_base::Sample`:
//!
//! | sample | here | is |
//! | --- | --- | --- |
//! | `due` | | not in packets |
//! | `connect_begun` | [`Connection::syn`] | the first SYN |
//! | `connected` | [`Connection::syn_ack`] | the SYN-ACK that was acknowledged: its arrival completes connect; of QUIC the server's first datagram |
//! | `tls.secured` | [`Connection::secured`] | the packet that completed the server's last message of the handshake |
//! | `sent` | [`Transaction::request_first`] | the packet that first carried the request's first byte |
//! | `first_byte` | [`Transaction::reply_first`] | the packet that made the final reply's first byte readable |
//! | `done` | [`Transaction::reply_last`] | the packet that made the reply's last byte readable |
//! | `events` | [`Transaction::events`] | the packets that made the last bytes of events readable |
//!
//! For bytes of a *request* the first packet that carried them counts, even if it was lost later and sent
//! again: the client had written them by then. For bytes of a *reply* the packet counts that makes them
//! available in order: a byte behind a hole cannot be read before the retransmission fills the hole. A
//! reply that is delimited by the end of the connection ends with the server's FIN, because its last byte
//! is known as such only then. Streams of QUIC are read by the rule of TCP, each by itself.
//!
//! Within TLS a byte is in the packet that carried its ciphertext, and no byte of a record can be read
//! before the last one has come, with which its tag is checked. The end of what a server says is then its
//! alert `close_notify`, or the FIN, whichever comes first.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod connection;
mod duplicate;
mod events;
mod file;
mod http;
mod http2;
mod http3;
mod instant;
mod limits;
mod link;
mod options;
mod quic;
mod rebuild;
mod secrets;
mod segment;
mod sorted;
mod spoken;
mod stream;
mod table;
mod tls;
mod tracked;
mod transaction;
mod websocket;

pub use connection::{Connection, Direction, End, Side};
pub use events::ReplyEvents;
pub use http::authority_hash;
pub use instant::UnixNs;
pub use limits::{InterfaceSeen, Limits};
pub use options::{Options, ServerFilter};
pub use rebuild::{Capture, CaptureError, Sink, read, read_into};
pub use secrets::Secrets;
pub use transaction::{Transaction, TransactionState};
pub use websocket::{ServerMessage, SocketMessage, SocketStage};
