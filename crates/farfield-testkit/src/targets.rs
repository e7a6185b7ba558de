//! The fuzz targets: what `cargo xtask fuzz` runs, each with the property that ordinary tests check on the
//! same corpus.

use crate::corpus::Property;
use crate::properties::{
    captures, connections, handshakes, http2, http3, http3_replies, logs, packets, quic, recordings, replies,
    servers, sessions, sites, traces,
};
#[cfg(feature = "runs")]
use crate::properties::{gateways, imports, runs, scenarios};

/// A fuzz target. Its corpus is the folder of its name in `fuzz/corpus/`.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The target's name.
    pub name: &'static str,
    /// Meaning of the bytes.
    pub about: &'static str,
    /// Property that holds for any bytes.
    pub property: Property,
}

const fn target(name: &'static str, property: Property, about: &'static str) -> FuzzTarget {
    FuzzTarget { name, about, property }
}

/// All targets, by name.
pub const TARGETS: &[FuzzTarget] = &[
    target("capture_rebuild", captures::of_a_capture, "a capture file, and segments of a connection"),
    #[cfg(feature = "runs")]
    target("gateway_clients", gateways::of_clients, "packets of a network to emulated clients"),
    #[cfg(feature = "runs")]
    target("gateway_packet", gateways::of_packet, "a packet from a kernel, with its offload header"),
    target("http1_reply", replies::of_stream, "replies of an HTTP/1 server, cut anywhere"),
    target("http2_frames", http2::of_frames, "frames of an HTTP/2 server, cut anywhere"),
    target("http2_hpack", http2::of_blocks, "HPACK header blocks"),
    target("http2_server", servers::of_client_frames, "frames of an HTTP/2 client, cut anywhere"),
    target("http3_qpack", http3::of_sections, "QPACK field sections and instructions"),
    target("http3_replies", http3_replies::of_replies, "the stream of a request from an HTTP/3 server"),
    target("http3_requests", servers::of_request_stream, "the stream of a request from an HTTP/3 client"),
    target("http3_streams", http3::of_streams, "unidirectional streams of an HTTP/3 server"),
    #[cfg(feature = "runs")]
    target("import_curl", imports::of_curl, "commands of curl, imported"),
    #[cfg(feature = "runs")]
    target("import_har", imports::of_har, "a browser's archive (HAR), imported"),
    #[cfg(feature = "runs")]
    target("import_jmeter", imports::of_jmeter, "a JMeter plan, imported"),
    #[cfg(feature = "runs")]
    target("import_openapi", imports::of_openapi, "an OpenAPI document, imported"),
    #[cfg(feature = "runs")]
    target("import_postman", imports::of_postman, "a Postman collection, imported"),
    target("log_common", logs::of_common, "a log in the Common Log Format or the combined one"),
    target("log_compressed", logs::of_compressed, "a compressed log"),
    target("log_extended", logs::of_extended, "a log in the W3C's Extended Log File Format"),
    target("log_gn", logs::of_gn, "a log of the GN/WN server"),
    target("log_json", logs::of_json, "a log of JSON lines"),
    target("log_layouts", logs::of_layouts, "a layout by name or pattern, and lines of it"),
    target("net_trace", traces::of_trace, "a delivery trace"),
    target("quic_packets", quic::of_packets, "datagrams to a client of QUIC, and timers"),
    #[cfg(feature = "runs")]
    target("run_directory", runs::of_directory, "the files of a run directory"),
    #[cfg(feature = "runs")]
    target("run_histograms", runs::of_histograms, "histograms of a run (hlog)"),
    #[cfg(feature = "runs")]
    target("run_samples", runs::of_samples, "samples of a run (Parquet)"),
    #[cfg(feature = "runs")]
    target("run_series", runs::of_series, "series and monitors of a run (Parquet)"),
    #[cfg(feature = "runs")]
    target("run_summary", runs::of_summary, "summary.json of a run"),
    #[cfg(feature = "runs")]
    target("scenario_text", scenarios::of_text, "the text of a scenario (TOML)"),
    target("session_cookie", sessions::of_cookie, "a cookie that a server sets"),
    target("session_data", sessions::of_data, "rows of data for sessions"),
    target("session_document", sessions::of_document, "what a scenario says of sessions"),
    target("session_form", sessions::of_form, "a page with a form"),
    target("session_har", recordings::of_har, "a browser's archive (HAR)"),
    target("session_link", sessions::of_link, "a link that a session follows"),
    target("session_list", recordings::of_list, "a list of paths or URLs, vegeta's targets, or a sitemap"),
    target("session_log", recordings::of_log_again, "an access log that is asked for again"),
    target("session_reply", sessions::of_reply, "what a server sends to users in sessions"),
    target("session_stream", sessions::of_stream, "what a server sends on a connection that it ends somehow"),
    target("session_template", sessions::of_template, "a template of a session"),
    target("session_wsesslog", recordings::of_wsesslog, "httperf's session file"),
    target("site_folder", sites::of_folder, "a path of a site, written to a folder"),
    target("site_manifest", sites::of_manifest, "a site's list of files"),
    target("site_page", sites::of_page, "a page of a site"),
    target("tcp_connection", connections::of_connection, "segments, timers and calls of a TCP connection"),
    target("tls_session", handshakes::of_stream, "records and handshakes of a TLS server"),
    target("wire_capture", packets::of_a_capture, "a pcapng file"),
    target("wire_fragments", packets::of_fragments, "fragments that come to a host"),
    target("wire_offload", packets::of_offload, "a packet from a gateway with offload"),
    target("wire_packet", packets::of_a_packet, "an IP packet"),
];
