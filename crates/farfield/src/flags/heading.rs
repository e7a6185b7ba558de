//! The headings under which help lists flags, the same in all commands.

/// Users, their rate, and the length of a run.
pub const LOAD: &str = "Load";
/// The carrier of the traffic, and the paths of clients.
pub const PATHS: &str = "Paths";
/// The server under test.
pub const SERVER: &str = "Server";
/// Certificates, and who trusts them.
pub const TLS: &str = "TLS";
/// Requests, their version of HTTP, and connections.
pub const PROTOCOL: &str = "Protocol";
/// The results that are printed, kept and shown.
pub const OUTPUT: &str = "Output";
/// Conditions on the result, repeats, and what farfield and the server may take of the machine.
pub const LIMITS: &str = "Limits";
