//! Captures of HTTPS, over HTTP/1.1, HTTP/2 and HTTP/3, on sockets and across an emulated path, read by
//! tshark with the key log: it finds the requests and replies that the samples have, and nothing damaged.

use crate::common::wan::{CALM_PACKETS, may_build};
use crate::common::{Ended, Place, skip};
use farfield_base::{Outcome, Sample};
use std::process::Command;

/// The capture of a run, as tshark reads it with the secrets in `keys`.
struct Read<'a> {
    ended: &'a Ended,
    keys: &'a str,
}

impl Read<'_> {
    /// The values of each of `fields` in the packets that match `filter`.
    fn values<const N: usize>(&self, filter: &str, fields: [&str; N]) -> [Vec<String>; N] {
        let lines = self.lines(filter, &fields);
        std::array::from_fn(|at| {
            let columns = lines.iter().map(|line| line.split('\t').nth(at).expect("a column for each field"));
            // A packet may have several, or none.
            let values = columns.flat_map(|column| column.split(',')).filter(|value| !value.is_empty());
            values.map(str::to_owned).collect()
        })
    }

    /// The kinds and lengths of the frames of HTTP/3 in the packets that match `filter`.
    fn frames(&self, filter: &str) -> Vec<(u64, u64)> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).expect("a number"),
            None => text.parse().expect("a number"),
        };
        let lines = self.lines(filter, &["http3.frame_type", "http3.frame_length"]);
        let frames = |line: &String| {
            let (kinds, lengths) = line.split_once('\t').expect("two fields");
            let both = kinds.split(',').zip(lengths.split(','));
            both.map(|(kind, length)| (number(kind), number(length))).collect::<Vec<_>>()
        };
        lines.iter().flat_map(frames).collect()
    }

    /// A line with the values of `fields` for each of the packets that match `filter`.
    fn lines(&self, filter: &str, fields: &[&str]) -> Vec<String> {
        let file = |name: &str| self.ended.directory.join(name).display().to_string();
        let keys = format!("tls.keylog_file:{}", file(self.keys));
        let mut tshark = Command::new("tshark");
        tshark.args(["-r", &file("capture.pcapng"), "-d", "tcp.port==1-65535,tls", "-o", &keys]);
        // A capture of the emulated plane has one interface before the network, and others behind it.
        tshark.args(["-Y", &format!("frame.interface_id == 0 && ({filter})"), "-T", "fields"]);
        fields.iter().for_each(|field| _ = tshark.args(["-e", field]));
        let output = tshark.output().expect("tshark runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

/// Holds what tshark reads against the samples.
#[track_caller]
fn is_read(ended: &Ended, http: &str) {
    let samples = ended.samples();
    let all_well = |sample: &Sample| sample.outcome == Outcome::Ok && sample.body_bytes == 1000;
    assert!(samples.iter().all(all_well), "{samples:?}");
    if http == "3" {
        return are_frames_read(ended, samples.len());
    }
    let [asked, answered, length] = match http {
        "2" => ["http2.headers.method", "http2.headers.status", "http2.headers.content_length"],
        _ => ["http.request.method", "http.response.code", "http.content_length"],
    };
    let read = Read { ended, keys: "keys.log" };
    let any = format!("{asked} || {answered} || {length}");
    let values = read.values(&any, [asked, answered, length]);
    assert_eq!(values, ["GET", "200", "1000"].map(|value| vec![value; samples.len()]), "HTTP/{http}");
    // Warnings and errors; what is worth a note or a remark begins below (PI_WARN is 6 << 20).
    // Findings of tshark on TCP alone are the kernel's affair, such as segments that a busy machine sends
    // again, or the RST of a closed socket to a server that says goodbye as well.
    let of_tcp = "tcp.analysis.flags || tcp.flags.reset == 1 || tcp.options.sack_le";
    let wrong = format!("_ws.malformed || (tls && _ws.expert.severity >= 0x600000 && !({of_tcp}))");
    assert_eq!(read.lines(&wrong, &["frame.number"]), [""; 0], "HTTP/{http}");
    // Without the secrets there is nothing to be read.
    assert_eq!(Read { ended, keys: "none.log" }.lines(answered, &[answered]), [""; 0]);
}

/// Holds the frames of HTTP/3 that tshark reads against so many requests. It does not decode QPACK.
#[track_caller]
fn are_frames_read(ended: &Ended, requests: usize) {
    let read = Read { ended, keys: "keys.log" };
    let frames = read.frames("http3.frame_type");
    let of_kind = |kind: u64| frames.iter().filter(move |frame| frame.0 == kind);
    // HEADERS of each request and each reply, and the bodies in DATA.
    assert_eq!(of_kind(1).count(), 2 * requests, "{frames:?}");
    assert_eq!(of_kind(0).map(|(_, length)| length).sum::<u64>(), 1000 * requests as u64, "{frames:?}");
    // The socket of a client that has said goodbye is closed, and an ICMP error quotes the beginning of what
    // comes after that, which tshark cannot decrypt.
    let wrong = "!icmp && (_ws.malformed || ((quic || http3) && _ws.expert.severity >= 0x600000))";
    assert_eq!(read.lines(wrong, &["frame.number"]), [""; 0]);
    assert_eq!(Read { ended, keys: "none.log" }.frames("http3"), []);
}

/// True if packets can be captured and read here; if not, `test` is skipped.
fn may_capture(test: &str) -> bool {
    if Command::new("tshark").arg("-v").output().is_err() {
        skip(test, "no tshark");
        return false;
    }
    may_build(test)
}

const CAPTURED: &str = "--capture --set capture.snap=65535 --set tls.key-log=true -n 40 -c 3";

/// Connections that stay, and one for each request; HTTP/2 with several streams at once too. Of HTTP/3 these
/// would be datagrams that the server's kernel captures before it cuts them apart: tshark takes them for one.
const WAYS: [(&str, &str); 7] = [
    ("1.1", ""),
    ("1.1", "--policy one-request"),
    ("2", ""),
    ("2", "--policy one-request"),
    ("2", "--policy multiplexed --set connections.streams=5"),
    ("3", ""),
    ("3", "--policy one-request"),
];

#[test]
fn captures_of_sockets_are_read_with_the_key_log() {
    if !may_capture("captures_of_sockets_are_read_with_the_key_log") {
        return;
    }
    let place = Place::new();
    let server = place.serve("--tls");
    for (http, words) in WAYS {
        let url = format!("{}/bytes/1kB -k --http {http}", server.url);
        is_read(&place.run(&format!("{url} {CAPTURED} {words}")).exits(0), http);
    }
}

#[test]
fn captures_of_an_emulated_path_are_read_with_the_key_log() {
    if !may_capture("captures_of_an_emulated_path_are_read_with_the_key_log") {
        return;
    }
    let place = Place::new();
    place.write("path.toml", "[[requests.request]]\npath = '/bytes/1kB'\n");
    for (http, words) in WAYS {
        let path = format!("path.toml --rtt 20ms --set origin.tls=true -k --http {http} {CALM_PACKETS}");
        is_read(&place.run(&format!("{path} {CAPTURED} {words}")).exits(0), http);
    }
}
