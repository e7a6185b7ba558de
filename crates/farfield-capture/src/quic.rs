//! QUIC version 1 (RFC 9000, RFC 9001) of a pair of addresses, decrypted by the secrets that its client
//! wrote down: what both ends said on their streams, with the datagrams that carried it.
//!
//! Streams are put in order by what orders a direction of TCP, so that instants mean the same: a byte of a
//! request counts when it was first captured, one of a reply when it is available in order on its stream. A
//! packet is read if its tag is right, and no connection is followed to other addresses.

mod connection;
mod frame;
mod packet;
mod protection;
mod table;

pub(crate) use table::QuicTable;
